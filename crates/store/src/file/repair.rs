//! Repairs a chat: torn, lost and unreadable data is set aside, and the chat continues from what can be read.

use std::collections::HashMap;
use std::path::Path;

use super::chat::ChatFiles;
use super::ledger::{LedgerFold, LedgerWriter};
use super::log::Writing;
use super::log_reading::scan_log;
use super::published::missing_end;
use super::right::HeldRight;
use super::rotate::{self, sealed_path};
use super::{journal, verify};
use crate::line::RawLine;
use crate::rules::{CopiedRange, SourceLog, copied_ranges, read_head};
use crate::scan::LogScan;
use crate::{Derived, RotateError, SealedName, StorageError, StorageProblem, StorageProblemKind};

impl ChatFiles {
    /// Brings every log up to date: cuts torn tails, recreates lost files, and removes leftovers.
    /// Returns what it did.
    pub(crate) fn repair(&self) -> Result<Vec<StorageProblem>, StorageError> {
        let right = self.take_write_right("repair")?;
        self.repair_about()?;
        // The context goes before the ledger: the next ledger number must be above the context's cursor.
        self.repair_context(&right)?;
        self.set_unpublished_aside()?.into_iter().for_each(|problem| self.note(problem));
        self.link_active();
        self.repair_ledger(&right)?;
        // The records of requests are read in the archive too.
        for (log, archive) in [(&self.run, None), (&self.requests, Some(&*self.paths.archive))] {
            let loss = self.log_loss(&log.path)?;
            // What it has got is synced before something is written to it.
            if is_unreadable(log.begin_unsynced(&right))? {
                journal::replace_unreadable(log, &right, &self.paths.quarantine, archive)?;
                self.note_new_log(&log.path, loss);
            }
        }
        let removed = [verify::unreadable_derived(self)?, verify::leftovers(self)?];
        for problem in removed.into_iter().flatten() {
            self.env.remove(Path::new(&problem.place))?;
            self.note(problem);
        }
        let mut notes = std::mem::take(&mut *self.notes.lock());
        notes.extend(self.context.take_notes());
        notes.extend(self.ledger.take_notes());
        notes.extend(self.run.take_notes());
        notes.extend(self.requests.take_notes());
        Ok(notes)
    }

    /// Returns the ledger, ready for additions, which sync what other processes have written. A missing ledger or one without a head is repaired first, and so is
    /// the context log: no message is refused because of damage.
    pub(super) fn ledger_to_write(
        &self,
        right: &HeldRight,
    ) -> Result<Writing<'_, LedgerFold>, StorageError> {
        match self.ledger.begin_unsynced(right) {
            // The next number must be above the context's cursor, so the context log must be readable too.
            Ok(writing) if writing.tail().is_some() => match self.cursor_for(right) {
                Err(StorageError::Damaged { .. }) => {}
                _ => return Ok(writing),
            },
            Ok(_) | Err(StorageError::Damaged { .. }) => {}
            Err(error) => return Err(error),
        }
        self.repair_context(right)?;
        self.repair_ledger(right)?;
        self.ledger.begin_unsynced(right)
    }

    /// Writes `chat.json` again if it is missing or unreadable.
    fn repair_about(&self) -> Result<(), StorageError> {
        if self.read_whole_about()?.is_some() || !self.has_logs()? {
            return Ok(());
        }
        self.write_about_anew(&self.about_in_ledger())?;
        let message = "it was missing or unreadable, and was rewritten";
        self.note(lost_file_problem(
            &self.paths.about,
            message,
            "nothing to do: the logs tell which chat it is",
        ));
        Ok(())
    }

    /// Gives the context log a new head and the copied lines that it lost or, if nothing of it can be read, the lines of the newest sealed log.
    fn repair_context(&self, right: &HeldRight) -> Result<(), StorageError> {
        let (live, archive) = (&self.paths.live, &self.paths.archive);
        let loss = self.log_loss(live)?;
        let sealed = match self.env.stat(live)?.is_none() {
            true => self.sealed_names()?,
            false if !is_unreadable(self.context.begin_unsynced(right))? => return Ok(()),
            false => self.sealed_names()?,
        };
        let found = self.env.read(live)?.map(|(_, bytes)| scan_log(live, &bytes));
        if let Some(found) = found.filter(|found| !found.lines.is_empty()) {
            let loss = if missing_end(&found).is_some() { LogLoss::End } else { loss };
            let missing = self.missing_copies(&found)?;
            let writing = self.context.begin_replacing(right)?;
            rotate::replace_damaged(&self.env, writing, &self.key, live, archive, missing)?;
            self.note_new_log(live, loss);
            return Ok(());
        }
        let Some(name) = self.readable_sealed(&sealed)? else {
            // The next run begins a context after the last entry that the ledger marks as answered.
            if self.context.begin_replacing(right)?.quarantine_log()? {
                let message = "it was unreadable, and was set aside";
                self.note(lost_file_problem(
                    live,
                    message,
                    "nothing to do: the next message begins a context",
                ));
            }
            return Ok(());
        };
        let (writing, aside) = (self.context.begin_replacing(right)?, &self.paths.quarantine);
        rotate::restore_sealed(&self.env, writing, &self.key, archive, name, aside)?;
        // The list of contexts was made when another one was active.
        self.env.remove(&self.paths.derived(&Derived::ContextIndex))?;
        self.note_new_log(live, loss);
        Ok(())
    }

    /// Returns the lines that a log was published with and that were cut off, from the logs they came from. Lines
    /// that are in the log already are among them.
    fn missing_copies(&self, log: &LogScan) -> Result<Vec<RawLine>, StorageError> {
        let Some(head) = log.lines.first().filter(|_| missing_end(log).is_some()) else {
            return Ok(Vec::new());
        };
        let replaced = read_head(&head.line).and_then(|head| head.sealed);
        let mut sources: HashMap<SealedName, SourceLog> = HashMap::new();
        let mut missing = Vec::new();
        for CopiedRange { log, first, last } in copied_ranges(&head.line) {
            let Some(name) = log.or_else(|| replaced.clone()) else { continue };
            if !sources.contains_key(&name) {
                let source = match self.copy_of_sealed(&name) {
                    Ok((source, _)) => source,
                    Err(RotateError::Storage(error)) => return Err(error),
                    // That log is gone or purged, and its lines with it.
                    Err(_) => SourceLog::default(),
                };
                sources.insert(name.clone(), source);
            }
            let lines = sources[&name].lines_between(first, last);
            missing.extend(lines.unwrap_or_default().iter().cloned());
        }
        Ok(missing)
    }

    /// Returns the newest sealed log that can be read, or else the newest; `None` if there is none. A read that fails
    /// says nothing about the log, and must not bring an older one back.
    fn readable_sealed(&self, sealed: &[SealedName]) -> Result<Option<SealedName>, StorageError> {
        for name in sealed.iter().rev() {
            if self.sealed_head(&sealed_path(&self.paths.archive, name))?.is_some() {
                return Ok(Some(name.clone()));
            }
        }
        Ok(sealed.last().cloned())
    }

    /// Seals a ledger that has lost its head or is behind the context, or begins a new one if the ledger is gone.
    fn repair_ledger(&self, right: &HeldRight) -> Result<(), StorageError> {
        let ledger = self.paths.conversations.join("history.jsonl");
        let loss = self.log_loss(&ledger)?;
        let (env, folder) = (&*self.env, &*self.paths.conversations);
        let (chat, cursor) = (&self.key, || self.cursor());
        let writer = |writing| LedgerWriter { env, chat, folder, writing, cursor: &cursor };
        if !self.is_ledger_lost()? {
            match self.ledger.begin_unsynced(right) {
                Ok(writing) => {
                    if writer(writing).seal_if_behind()? {
                        let message = "it was an older copy of a sealed ledger, and was set aside";
                        let remedy = "nothing to do: the sealed ledger has all of it";
                        self.note(lost_file_problem(&ledger, message, remedy));
                    }
                    return Ok(());
                }
                Err(StorageError::Damaged { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        writer(self.ledger.begin_replacing(right)?).seal_without_head(&self.paths.quarantine)?;
        self.note_new_log(&ledger, loss);
        Ok(())
    }

    fn note(&self, problem: StorageProblem) {
        self.notes.lock().push(problem);
    }

    /// Returns what is wrong with a log that cannot be written.
    fn log_loss(&self, log: &Path) -> Result<LogLoss, StorageError> {
        Ok(match self.env.stat(log)?.map(|look| look.len) {
            None => LogLoss::Missing,
            Some(0) => LogLoss::Empty,
            Some(_) => LogLoss::Head,
        })
    }

    fn note_new_log(&self, log: &Path, loss: LogLoss) {
        let rest = "the chat continues with its other files";
        let (message, remedy) = match loss {
            LogLoss::Missing => (format!("the log was missing; {rest}"), NO_COPY),
            LogLoss::Empty => (format!("the log was empty; {rest}"), NO_COPY),
            LogLoss::End => (
                "the log had lost lines at its end; those found in other logs were copied back"
                    .to_owned(),
                "nothing to do: the damaged log is kept as it was",
            ),
            LogLoss::Head => (
                "the log had lost its head; a new log continues where it ended".to_owned(),
                "nothing to do: the damaged log is kept as it was",
            ),
        };
        self.note(lost_file_problem(log, &message, remedy));
    }
}

/// The remedy for a log of which nothing is left.
const NO_COPY: &str = "nothing to do, unless you have a backup to compare it with";

/// The reason why a log was begun again.
#[derive(Clone, Copy)]
enum LogLoss {
    Missing,
    Empty,
    /// The file does not begin with a head.
    Head,
    /// The file ends before the last line that it was published with.
    End,
}

fn lost_file_problem(file: &Path, message: &str, remedy: &str) -> StorageProblem {
    StorageProblem::new(file.display().to_string(), StorageProblemKind::Damage, message, remedy)
}

/// Whether a log cannot be written because it does not begin with a head.
fn is_unreadable<T>(writing: Result<T, StorageError>) -> Result<bool, StorageError> {
    match writing {
        Ok(_) => Ok(false),
        Err(StorageError::Damaged { .. }) => Ok(true),
        Err(error) => Err(error),
    }
}
