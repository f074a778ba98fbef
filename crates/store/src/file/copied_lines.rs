//! Reads the lines that a rotation copies: from a sealed log of its chat, or from any log of another chat.
//!
//! They are read before the rotation takes its right. A sealed log does not change. If another chat's live log is
//! rotated meanwhile, its lines no longer have these numbers, and the copy is refused. Blobs are not read: a line
//! carries its references along.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::archive::missing_end_problem;
use super::chat::ChatFiles;
use super::log_reading::{check_head, scan_log, scan_problems};
use super::rotate::sealed_path;
use super::store_env::Env;
use super::{purge, quarantine};
use crate::line::RawLine;
use crate::rules::{lines_between, newest_revisions};
use crate::scan::{Damage, LogScan, ScannedLine};
use crate::{
    ChatKey, RefusedInput, RotateError, SealedName, Seq, StorageError, StorageProblem,
    StorageProblemKind,
};

/// Opens another chat; `None` if no chat has this key.
pub(crate) type OtherChats<'a> =
    dyn Fn(&ChatKey) -> Result<Option<Arc<ChatFiles>>, StorageError> + 'a;

/// The source of lines that are not in the live log.
pub(crate) struct CopySources<'a> {
    chat: &'a ChatFiles,
    others: &'a OtherChats<'a>,
    /// The logs read so far; several pieces may come from one log.
    read: HashMap<(ChatKey, Option<SealedName>), CopiedLog>,
}

impl<'a> CopySources<'a> {
    pub(crate) fn new(chat: &'a ChatFiles, others: &'a OtherChats<'a>) -> Self {
        Self { chat, others, read: HashMap::new() }
    }

    /// Returns the key of the chat that is rotated.
    pub(crate) fn own_key(&self) -> &ChatKey {
        &self.chat.key
    }

    /// Returns lines of a sealed log of the chat that is rotated.
    pub(crate) fn sealed_lines(
        &mut self,
        log: SealedName,
        (first, last): (Seq, Seq),
    ) -> Result<Vec<RawLine>, RotateError> {
        let chat = self.chat.key.clone();
        Ok(self.open_source(chat, Some(log))?.lines_between(first, last)?.to_vec())
    }

    /// Returns lines of another chat, without their ledger positions: this chat has a ledger of its own.
    pub(crate) fn lines_of_chat(
        &mut self,
        chat: ChatKey,
        log: Option<SealedName>,
        (first, last): (Seq, Seq),
    ) -> Result<Vec<RawLine>, RotateError> {
        let lines = self.open_source(chat, log)?.lines_between(first, last)?.iter();
        Ok(lines.map(|line| RawLine { inbox: None, ..line.clone() }).collect())
    }

    fn open_source(
        &mut self,
        chat: ChatKey,
        log: Option<SealedName>,
    ) -> Result<&CopiedLog, RotateError> {
        let key = (chat, log);
        if !self.read.contains_key(&key) {
            let source = self.read_source(&key.0, key.1.as_ref())?;
            self.read.insert(key.clone(), source);
        }
        Ok(&self.read[&key])
    }

    fn read_source(
        &self,
        chat: &ChatKey,
        log: Option<&SealedName>,
    ) -> Result<CopiedLog, RotateError> {
        let other = match *chat == self.chat.key {
            true => None,
            false => {
                let other = (self.others)(chat)?;
                Some(other.ok_or_else(|| RotateError::NoChat(chat.clone()))?)
            }
        };
        let from = other.as_deref().unwrap_or(self.chat);
        match log {
            Some(name) => from.copy_of_sealed(name),
            None => from.copy_of_live(),
        }
    }

    /// Copies the damaged bytes of this chat's logs to its quarantine, and returns all damage; what was in the
    /// quarantine before is known. The damage of another chat is left to the repair of that chat.
    pub(crate) fn quarantine_damage(
        self,
        folder: &Path,
    ) -> Result<Vec<StorageProblem>, StorageError> {
        let mut found = Vec::new();
        for ((chat, _), mut source) in self.read {
            if chat == self.chat.key {
                source.quarantine_damage(&self.chat.env, folder)?;
            }
            found.extend(source.problems);
        }
        Ok(found)
    }
}

/// The lines of one log after its head, each id once, in the order of their numbers.
#[derive(Default)]
struct CopiedLog {
    path: PathBuf,
    range: Option<(Seq, Seq)>,
    lines: Vec<RawLine>,
    /// The problems with stretches that cannot be read.
    problems: Vec<StorageProblem>,
    /// The unreadable bytes and their offsets.
    damaged_bytes: Vec<(u64, Vec<u8>)>,
}

impl CopiedLog {
    /// Reads a log that should have the lines of `range`, if that is known.
    fn new(
        path: &Path,
        bytes: &[u8],
        scan: LogScan,
        range: Option<(Seq, Seq)>,
    ) -> Result<Self, StorageError> {
        let end = |found: Option<&ScannedLine>| found.map(|found| Seq::new(found.line.seq));
        let found = end(scan.lines.first()).zip(end(scan.lines.last()));
        // A log without its head still has its lines; one of a newer program is refused.
        let headless = match check_head(path, &scan) {
            Ok(()) => false,
            Err(StorageError::Damaged { .. }) => true,
            Err(error) => return Err(error),
        };
        let mut problems = scan_problems(path, bytes, &scan, 0);
        // Glued lines are read like others.
        problems.retain(|problem| problem.kind != StorageProblemKind::Glued);
        problems.extend(range.and_then(|range| missing_end_problem(path, bytes, &scan, range)));
        let bad = |damage: &Damage| {
            let stretch = &bytes[damage.offset..damage.offset + damage.len];
            (damage.offset as u64, stretch.to_vec())
        };
        let bad = scan.damage.iter().map(bad).collect();
        // The head is left out, because the new log has one of its own.
        let lines = scan.lines.into_iter().skip(usize::from(!headless)).map(|found| found.line);
        let (path, range) = (path.to_owned(), range.or(found));
        Ok(Self { path, range, lines: newest_revisions(lines), problems, damaged_bytes: bad })
    }

    /// Copies the damaged bytes to the quarantine, and marks the problems with those that it had before.
    fn quarantine_damage(&mut self, env: &Env, folder: &Path) -> Result<(), StorageError> {
        for (offset, bytes) in &self.damaged_bytes {
            let is_new = quarantine::quarantine_bytes(env, folder, &self.path, *offset, bytes)?;
            let mut problems = self.problems.iter_mut();
            if let Some(problem) = problems.find(|problem| problem.offset == *offset) {
                problem.is_reported = !is_new;
            }
        }
        Ok(())
    }

    fn lines_between(&self, first: Seq, last: Seq) -> Result<&[RawLine], RefusedInput> {
        lines_between(&self.lines, self.range, (first, last))
    }
}

impl ChatFiles {
    fn copy_of_sealed(&self, name: &SealedName) -> Result<CopiedLog, RotateError> {
        let path = sealed_path(&self.paths.archive, name);
        let Some((_, bytes)) = self.env.read(&path)? else {
            return Err(self.no_sealed_log_error(name).into());
        };
        let scan = scan_log(&path, &bytes);
        if let Some(purged) = purge::purge_in_scan(&scan) {
            return Err(self.purged_log_error(name, purged).into());
        }
        Ok(CopiedLog::new(&path, &bytes, scan, Some(name.range()))?)
    }

    /// Reads the live log of this chat.
    fn copy_of_live(&self) -> Result<CopiedLog, RotateError> {
        let path = self.paths.live.clone();
        let Some((_, bytes)) = self.env.read(&path)? else {
            // A chat without sealed logs simply has no context yet.
            self.check_first()?;
            return Ok(CopiedLog { path, ..CopiedLog::default() });
        };
        let scan = scan_log(&path, &bytes);
        Ok(CopiedLog::new(&path, &bytes, scan, None)?)
    }
}
