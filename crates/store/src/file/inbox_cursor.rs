//! Compares the inbox cursor of the context with the ledger.
//!
//! After a ledger or a context is restored from an older copy, one is behind the other. The next entry must be
//! above both, or no run would ever read it. So each accept checks whether the context has changed.

use std::path::Path;

use super::chat::ChatFiles;
use super::ledger;
use crate::disk::FileLook;
use crate::{
    AnsweredEntries, LedgerSeq, ReadError, StorageError, StorageProblem, StorageProblemKind,
};
use parking_lot::Mutex;

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
        let Some(log) = self.env.stat(&self.paths.live)? else { return self.sealed_cursor() };
        let ours = self.context.last_known(|known| {
            ((known.file, known.len) == (log.file, log.len)).then(|| known.fold.inbox())
        });
        if let Some(cursor) = ours.or_else(|| self.cursors.get(log)) {
            return Ok(cursor);
        }
        let cursor = match self.view() {
            Ok(view) => view.and_then(|view| view.inbox),
            Err(ReadError::Storage(
                error @ (StorageError::Io { .. } | StorageError::Denied { .. }),
            )) => return Err(error),
            // A message is accepted even if the log cannot be read: the next run repairs the log.
            Err(_) => self.sealed_cursor()?,
        };
        self.cursors.set(log, cursor);
        Ok(cursor)
    }

    fn sealed_cursor(&self) -> Result<Option<LedgerSeq>, StorageError> {
        for name in self.sealed_names()?.iter().rev() {
            if let Ok(view) = self.sealed_view(name) {
                return Ok(view.inbox);
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
            let message = format!("the ledger ends at entry {end}, and {read}");
            let remedy = "restore it from a copy; the next entry goes above both in any case";
            found.push(behind_problem(&ledger::live_path(folder), message, remedy));
        }
        let mut answered = AnsweredEntries::default();
        // Problems of the ledger itself are reported by its own check.
        for line in self.ledger_after(None, usize::MAX).unwrap_or_default() {
            answered.take(&line);
        }
        if let Some(last) = answered.last().filter(|last| Some(*last) > cursor) {
            let message = format!("the ledger has answers up to entry {last}, and {read}");
            let remedy = "restore it from a copy; what was answered is not run again without it";
            found.push(behind_problem(live, message, remedy));
        }
        Ok(found)
    }
}

fn behind_problem(path: &Path, message: String, remedy: &str) -> StorageProblem {
    StorageProblem::new(path.display().to_string(), StorageProblemKind::Missing, message, remedy)
}
