//! Purges a sealed log: its lines are gone for good, and a tombstone takes its name.
//!
//! The tombstone is complete before it gets the name, so neither log is ever half there.

use std::path::Path;

use super::chat::ChatFiles;
use super::log_reading::check_head;
use super::recovered_head::recovered_head;
use super::rotate::sealed_path;
use super::store_env::Env;
use super::view;
use crate::line::{RawLine, UnnumberedLine};
use crate::rules::{Tombstone, head_line, purge_in_event, purge_in_lines};
use crate::scan::{LogScan, scan};
use crate::{ContextBody, PurgeError, Purged, SealedName, Seq, StorageError, View};

/// Reads the purge from a tombstone with this second line; `None` if the log is not one. Usually that line suffices.
pub(crate) fn read_purge(
    env: &Env,
    path: &Path,
    second: Option<&RawLine>,
) -> Result<Option<Purged>, StorageError> {
    match second {
        Some(second) if second.event() != Some("head") => Ok(purge_in_lines([second].into_iter())),
        // The head may be doubled, for example; then the lines after it decide.
        _ => Ok(env.read(path)?.and_then(|(_, bytes)| purge_in_scan(&scan(&bytes, None)))),
    }
}

/// Returns the purge if this is the view of a tombstone.
pub(crate) fn purge_in_view(view: &View) -> Option<Purged> {
    view.lines.iter().find_map(|line| match &line.body {
        ContextBody::Event(event) => purge_in_event(event),
        ContextBody::Message(_) => None,
    })
}

/// Returns the purge if these are the lines of a tombstone.
pub(crate) fn purge_in_scan(scan: &LogScan) -> Option<Purged> {
    purge_in_lines(scan.lines.iter().map(|found| &found.line))
}

impl ChatFiles {
    /// Replaces a sealed log by a tombstone.
    pub(crate) fn purge(&self, name: &SealedName, by: &str) -> Result<Purged, PurgeError> {
        let right = self.take_write_right("purge")?;
        // The log that replaced this one must be durable before this one goes.
        let writing = self.context.begin_writing(&right)?;
        let Some(live) = writing.tail().map(|known| known.file) else {
            self.check_first()?;
            return Err(self.not_sealed_error(name));
        };
        let path = sealed_path(&self.paths.archive, name);
        let Some((look, bytes)) = self.env.read(&path)? else {
            return Err(self.not_sealed_error(name));
        };
        // An interrupted rotation may have left the live log a second name.
        if look.file == live {
            return Err(self.not_sealed_error(name));
        }
        let scan = scan(&bytes, None);
        if let Some(purged) = purge_in_scan(&scan) {
            // The process that purged it may have ended before it synced the folder.
            self.env.replace(&path, &bytes)?;
            return Ok(purged);
        }
        let head = self.head_to_keep(&path, &bytes, &scan, name.range().0)?;
        let head = head.ok_or_else(|| self.not_sealed_error(name))?;
        let lines = scan.lines.iter().map(|found| &found.line);
        let now = self.env.options.now();
        let Tombstone { purged, lines } = Tombstone::new(name, head, lines, by, now);
        let mut bytes = Vec::new();
        lines.iter().for_each(|(seq, line)| line.write(seq.get(), None, &mut bytes));
        // First of all, so that no reader misses the purge.
        self.list_purge(name)?;
        self.env.replace(&path, &bytes)?;
        self.env.changes.note_write(&self.key);
        Ok(purged)
    }

    /// Returns the head of the log, or the head that it must have had; `None` if the log belongs to another chat.
    fn head_to_keep(
        &self,
        path: &Path,
        bytes: &[u8],
        scan: &LogScan,
        first: Seq,
    ) -> Result<Option<UnnumberedLine>, StorageError> {
        match check_head(path, scan) {
            Ok(()) => {
                let line = scan.lines.first().map(|found| found.line.clone());
                let owner = |line: &RawLine| {
                    line.body
                        .get("data")?
                        .get("chatKey")?
                        .as_str()
                        .map(|key| key == self.key.as_str())
                };
                Ok(line.filter(|line| owner(line) == Some(true)).map(RawLine::into_draft))
            }
            Err(StorageError::Damaged { .. }) => {
                let head = match scan.lines.is_empty() {
                    true => recovered_head(&self.env, path, first.get(), [].iter())?,
                    false => view::view_of(&self.env, path, bytes)?.view.head,
                };
                Ok(Some(head_line(head.to_data(&self.key), first, self.env.options.now())))
            }
            Err(error) => Err(error),
        }
    }

    fn not_sealed_error(&self, name: &SealedName) -> PurgeError {
        PurgeError::NotSealed { chat: self.key.clone(), name: name.as_str().to_owned() }
    }
}
