//! The inbox cursor and the ledger: what the context says that it has read, and what the ledger has.
//!
//! A ledger or a context that was restored from an older copy leaves the one behind the other. The next entry
//! must be above both, or no run would ever read it; so each accept looks whether the context has changed.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use super::chat::ChatFiles;
use super::ledger;
use crate::disk::FileLook;
use crate::{
    AnsweredEntries, LedgerSeq, ReadError, StorageError, StorageProblem, StorageProblemKind,
};

/// The cursor as it was last read, and of what log.
#[derive(Default)]
pub(crate) struct CursorCache {
    read: Mutex<Option<(FileLook, Option<LedgerSeq>)>>,
}

impl CursorCache {
    fn of(&self, log: FileLook) -> Option<Option<LedgerSeq>> {
        let read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        read.filter(|(known, _)| *known == log).map(|(_, cursor)| cursor)
    }

    fn keep(&self, log: FileLook, cursor: Option<LedgerSeq>) {
        *self.read.lock().unwrap_or_else(PoisonError::into_inner) = Some((log, cursor));
    }
}

impl ChatFiles {
    /// How far the context has promoted entries. The log is read only when it has changed since the last time,
    /// and not by this program. Without a live log that can be read, the newest sealed one tells.
    pub(crate) fn cursor(&self) -> Result<Option<LedgerSeq>, StorageError> {
        let Some(log) = self.env.look(&self.paths.live)? else { return self.sealed_cursor() };
        let ours = self.context.last_known(|known| {
            ((known.file, known.len) == (log.file, log.len)).then(|| known.fold.inbox())
        });
        if let Some(cursor) = ours.or_else(|| self.cursors.of(log)) {
            return Ok(cursor);
        }
        let cursor = match self.view() {
            Ok(view) => view.and_then(|view| view.inbox),
            Err(ReadError::Storage(
                error @ (StorageError::Io { .. } | StorageError::Denied { .. }),
            )) => return Err(error),
            // A message is accepted though nothing can be read of the log: the next run repairs that.
            Err(_) => self.sealed_cursor()?,
        };
        self.cursors.keep(log, cursor);
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

    /// What is wrong when the ledger and the context do not know the same.
    pub(crate) fn compare_cursor(&self) -> Result<Vec<StorageProblem>, StorageError> {
        let (folder, live) = (&self.paths.conversations, &self.paths.live);
        let mut found = Vec::new();
        if self.env.look(live)?.is_none() {
            return Ok(found);
        }
        let cursor = self.cursor()?;
        let read = match cursor {
            Some(cursor) => format!("the context has read up to {cursor}"),
            None => "the context has read nothing of it".to_owned(),
        };
        let end = ledger::last_given(&self.env, &ledger::live(folder))?.map(LedgerSeq::new);
        if let Some(end) = end.filter(|end| Some(*end) < cursor) {
            let message = format!("the ledger ends at entry {end}, and {read}");
            let remedy = "restore it from a copy; the next entry goes above both in any case";
            found.push(behind(&ledger::live(folder), message, remedy));
        }
        let mut answered = AnsweredEntries::default();
        // What is wrong with the ledger itself is told where that is looked at.
        for line in self.ledger_after(None, usize::MAX).unwrap_or_default() {
            answered.take(&line);
        }
        if let Some(last) = answered.last().filter(|last| Some(*last) > cursor) {
            let message = format!("the ledger has answers up to entry {last}, and {read}");
            let remedy = "restore it from a copy; what was answered is not run again without it";
            found.push(behind(live, message, remedy));
        }
        Ok(found)
    }
}

fn behind(path: &Path, message: String, remedy: &str) -> StorageProblem {
    StorageProblem::new(path.display().to_string(), StorageProblemKind::Missing, message, remedy)
}
