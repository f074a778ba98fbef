//! Compares the inbox cursor of the context with the ledger.
//!
//! After a ledger or a context is restored from an older copy, one is behind the other. The next entry must be
//! above both, or no run would ever read it. So each accept checks whether the context has changed.

use std::path::Path;

use parking_lot::Mutex;

use super::chat::ChatFiles;
use super::ledger;
use super::right::HeldRight;
use crate::disk::FileLook;
use crate::{
    ANSWER_KEY, AnsweredEntries, LedgerBody, LedgerLine, LedgerSeq, Metadata, ReadError,
    StorageError, StorageProblem, StorageProblemKind,
};

/// The cursor that was last read, and the log it was read from.
#[derive(Default)]
pub(crate) struct CursorCache {
    read: Mutex<Option<(FileLook, Option<LedgerSeq>)>>,
}

impl CursorCache {
    fn get(&self, log: FileLook) -> Option<Option<LedgerSeq>> {
        let read = self.read.lock();
        read.filter(|(known, _)| *known == log).map(|(_, cursor)| cursor)
    }

    fn set(&self, log: FileLook, cursor: Option<LedgerSeq>) {
        *self.read.lock() = Some((log, cursor));
    }
}

impl ChatFiles {
    /// Returns the last entry that the context has promoted. The log is read only if another program has changed it
    /// since the last time. If there is no readable live log, the newest sealed one decides.
    pub(crate) fn cursor(&self) -> Result<Option<LedgerSeq>, StorageError> {
        self.find_cursor(|| self.cursor_in_view())
    }

    /// Returns the cursor for a writer. It reads a changed log like a write does, which a later write then need not do.
    pub(super) fn cursor_for(&self, right: &HeldRight) -> Result<Option<LedgerSeq>, StorageError> {
        self.find_cursor(|| match self.context.begin_unsynced(right) {
            Ok(writing) => Ok(writing.tail().and_then(|known| known.fold.inbox())),
            Err(StorageError::Damaged { .. }) => self.cursor_in_view(),
            Err(error) => Err(error),
        })
    }

    fn find_cursor(
        &self,
        read: impl FnOnce() -> Result<Option<LedgerSeq>, StorageError>,
    ) -> Result<Option<LedgerSeq>, StorageError> {
        let Some(log) = self.env.glance(&self.paths.live)? else { return self.sealed_cursor() };
        let ours = self.context.last_known(|known| {
            ((known.file, known.len) == (log.file, log.len)).then(|| known.fold.inbox())
        });
        if let Some(cursor) = ours.or_else(|| self.cursors.get(log)) {
            return Ok(cursor);
        }
        let cursor = read()?;
        self.cursors.set(log, cursor);
        Ok(cursor)
    }

    fn cursor_in_view(&self) -> Result<Option<LedgerSeq>, StorageError> {
        match self.view() {
            Ok(view) => Ok(view.and_then(|view| view.inbox)),
            // A message is accepted even if the log cannot be read: the next run repairs the log.
            Err(error) => {
                pass_failed_read_on(error)?;
                self.sealed_cursor()
            }
        }
    }

    fn sealed_cursor(&self) -> Result<Option<LedgerSeq>, StorageError> {
        for name in self.sealed_names()?.iter().rev() {
            match self.sealed_view(name) {
                Ok(view) => return Ok(view.inbox),
                Err(error) => pass_failed_read_on(error)?,
            }
        }
        Ok(None)
    }

    /// Reports a ledger that is behind the context, or a context that is behind the ledger's answers.
    pub(crate) fn compare_cursor(&self) -> Result<Vec<StorageProblem>, StorageError> {
        let (folder, live) = (&self.paths.conversations, &self.paths.live);
        let mut found = Vec::new();
        if self.env.stat(live)?.is_none() {
            return Ok(found);
        }
        let cursor = self.cursor()?;
        let read = match cursor {
            Some(cursor) => format!("the context has read up to {cursor}"),
            None => "the context has read nothing of it".to_owned(),
        };
        let end =
            ledger::last_given_number(&self.env, &ledger::live_path(folder))?.map(LedgerSeq::new);
        if let Some(end) = end.filter(|end| Some(*end) < cursor) {
            let message = format!("the ledger ends at entry {end}, but {read}");
            let remedy = "restore it from a backup; new entries are numbered above both";
            found.push(behind_problem(&ledger::live_path(folder), message, remedy));
        }
        let mut answered = AnsweredEntries::default();
        let mut last_answer = self.last_answer();
        // Problems of the ledger itself are reported by its own check.
        for line in self.ledger_after(None, usize::MAX).unwrap_or_default() {
            answered.take(&line);
            last_answer.note(&line);
        }
        if let Some(entry) = last_answer.missing_for() {
            let message =
                format!("the answer to entry {entry} is missing, though the context has it");
            let remedy = "nothing to do: the next message adds it again";
            found.push(behind_problem(&ledger::live_path(folder), message, remedy));
        }
        if let Some(last) = answered.last().filter(|last| Some(*last) > cursor) {
            let message = format!("the ledger has answers up to entry {last}, but {read}");
            let remedy = "restore it from a backup; answered messages are not run again either way";
            found.push(behind_problem(live, message, remedy));
        }
        Ok(found)
    }
}

/// Returns the error if a log could not be read now. It may be whole and readable a moment later, and the cursor of an
/// older log could give its numbers again.
fn pass_failed_read_on(error: ReadError) -> Result<(), StorageError> {
    match error {
        ReadError::Storage(
            error @ (StorageError::Io { .. }
            | StorageError::OpenFiles { .. }
            | StorageError::Denied { .. }),
        ) => Err(error),
        _ => Ok(()),
    }
}

/// The last answer in a context, and what the ledger has of it.
#[derive(Default)]
struct LastAnswer {
    /// The key of its ledger entry, and the entry that it answers.
    answer: Option<(String, LedgerSeq)>,
    has_question: bool,
    has_answer: bool,
}

impl LastAnswer {
    fn note(&mut self, line: &LedgerLine) {
        let (Some((key, question)), LedgerBody::Entry(entry)) = (&self.answer, &line.body) else {
            return;
        };
        self.has_question |= line.seq == *question;
        self.has_answer |= entry.key == *key;
    }

    /// Returns the question whose answer the ledger lacks.
    fn missing_for(&self) -> Option<LedgerSeq> {
        let (_, question) =
            self.answer.as_ref().filter(|_| self.has_question && !self.has_answer)?;
        Some(*question)
    }
}

impl ChatFiles {
    /// Finds the last answer in the context, if it was given in this chat.
    fn last_answer(&self) -> LastAnswer {
        let Ok(Some(view)) = self.view() else { return LastAnswer::default() };
        let answer = view.messages().next_back().map(Metadata::of).and_then(|about| {
            let is_here = about.chat_key() == Some(self.key.as_str());
            let run = about.run_id().filter(|_| is_here)?;
            Some((format!("{ANSWER_KEY}{run}"), about.answers_to()?))
        });
        LastAnswer { answer, ..LastAnswer::default() }
    }
}

fn behind_problem(path: &Path, message: String, remedy: &str) -> StorageProblem {
    StorageProblem::new(path.display().to_string(), StorageProblemKind::Missing, message, remedy)
}
