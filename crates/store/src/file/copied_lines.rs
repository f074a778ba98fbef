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
use crate::rules::{SourceLog, SourceName};
use crate::scan::{Damage, LogScan, ScannedLine};
use crate::{
    ChatKey, RotateError, SealedName, Seq, StorageError, StorageProblem, StorageProblemKind,
};

/// Opens another chat; `None` if no chat has this key.
pub(crate) type OtherChats<'a> =
    dyn Fn(&ChatKey) -> Result<Option<Arc<ChatFiles>>, StorageError> + 'a;

/// The logs that a rotation copies lines from.
#[derive(Default)]
pub(crate) struct CopySources {
    pub(crate) logs: HashMap<SourceName, SourceLog>,
    /// The damage of the chat's own logs, and that of others.
    own_damage: Vec<LogDamage>,
    other_damage: Vec<LogDamage>,
}

/// The stretches of a log that cannot be read.
pub(crate) struct LogDamage {
    path: PathBuf,
    problems: Vec<StorageProblem>,
    /// The unreadable bytes and their offsets.
    bytes: Vec<(u64, Vec<u8>)>,
}

impl CopySources {
    /// Reads the logs that a rotation of `chat` needs; `others` opens other chats.
    pub(crate) fn read(
        chat: &ChatFiles,
        others: &OtherChats<'_>,
        names: Vec<SourceName>,
    ) -> Result<Self, RotateError> {
        let mut sources = Self::default();
        for name in names {
            let other = match name.chat == chat.key {
                true => None,
                false => {
                    let other = others(&name.chat)?;
                    Some(other.ok_or_else(|| RotateError::NoChat(name.chat.clone()))?)
                }
            };
            let from = other.as_deref().unwrap_or(chat);
            let (log, damage) = match &name.log {
                Some(sealed) => from.copy_of_sealed(sealed)?,
                None => from.copy_of_live()?,
            };
            match other {
                Some(_) => sources.other_damage.push(damage),
                None => sources.own_damage.push(damage),
            }
            sources.logs.insert(name, log);
        }
        Ok(sources)
    }

    /// Copies the damaged bytes of this chat's logs to its quarantine, and returns all damage; what was in the
    /// quarantine before is known. The damage of another chat is left to the repair of that chat.
    pub(crate) fn quarantine_damage(
        mut self,
        env: &Env,
        folder: &Path,
    ) -> Result<Vec<StorageProblem>, StorageError> {
        for damage in &mut self.own_damage {
            damage.quarantine(env, folder)?;
        }
        let all = self.own_damage.into_iter().chain(self.other_damage);
        Ok(all.flat_map(|damage| damage.problems).collect())
    }
}

impl LogDamage {
    /// Copies the damaged bytes to the quarantine, and marks the problems with those that it had before.
    fn quarantine(&mut self, env: &Env, folder: &Path) -> Result<(), StorageError> {
        for (offset, bytes) in &self.bytes {
            let is_new = quarantine::quarantine_bytes(env, folder, &self.path, *offset, bytes)?;
            let mut problems = self.problems.iter_mut();
            if let Some(problem) = problems.find(|problem| problem.offset == *offset) {
                problem.is_reported = !is_new;
            }
        }
        Ok(())
    }
}

/// Takes the lines of a log that should have those of `range`, if that is known, and its damage.
fn read_source(
    path: &Path,
    bytes: &[u8],
    scan: LogScan,
    range: Option<(Seq, Seq)>,
) -> Result<(SourceLog, LogDamage), StorageError> {
    let end = |found: Option<&ScannedLine>| found.map(|found| Seq::new(found.line.seq));
    let found = end(scan.lines.first()).zip(end(scan.lines.last()));
    // A log without its head still has its lines; one of a newer program is refused.
    let headless = match check_head(path, &scan) {
        Ok(()) => false,
        Err(StorageError::Damaged { .. }) => true,
        Err(error) => return Err(error),
    };
    let mut problems = scan_problems(path, bytes.len(), &scan, 0);
    // Glued lines are read like others.
    problems.retain(|problem| problem.kind != StorageProblemKind::Glued);
    problems.extend(range.and_then(|range| missing_end_problem(path, bytes, &scan, range)));
    let bad = |damage: &Damage| {
        let stretch = &bytes[damage.offset..damage.offset + damage.len];
        (damage.offset as u64, stretch.to_vec())
    };
    let bytes = scan.damage.iter().map(bad).collect();
    // The head is left out, because the new log has one of its own.
    let lines = scan.lines.into_iter().skip(usize::from(!headless)).map(|found| found.line);
    let damage = LogDamage { path: path.to_owned(), problems, bytes };
    Ok((SourceLog::new(lines, range.or(found)), damage))
}

impl ChatFiles {
    /// Reads a sealed log of this chat.
    pub(super) fn copy_of_sealed(
        &self,
        name: &SealedName,
    ) -> Result<(SourceLog, LogDamage), RotateError> {
        let path = sealed_path(&self.paths.archive, name);
        let Some((_, bytes)) = self.env.read(&path)? else {
            return Err(self.no_sealed_log_error(name).into());
        };
        let scan = scan_log(&path, &bytes);
        if let Some(purged) = purge::purge_in_scan(&scan) {
            return Err(self.purged_log_error(name, purged).into());
        }
        Ok(read_source(&path, &bytes, scan, Some(name.range()))?)
    }

    /// Reads the live log of this chat.
    fn copy_of_live(&self) -> Result<(SourceLog, LogDamage), RotateError> {
        let path = self.paths.live.clone();
        let Some((_, bytes)) = self.env.read(&path)? else {
            // A chat without sealed logs simply has no context yet.
            self.check_first()?;
            let damage = LogDamage { path, problems: Vec::new(), bytes: Vec::new() };
            return Ok((SourceLog::default(), damage));
        };
        let scan = scan_log(&path, &bytes);
        Ok(read_source(&path, &bytes, scan, None)?)
    }
}
