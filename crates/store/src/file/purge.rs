//! Purges a sealed log: its lines are gone for good, and a tombstone takes its name.
//!
//! The tombstone is a log like any other: the head, so that the chain of logs stays whole, and one event that
//! describes the purge. The event has the number of the last purged line, and its `in` is the highest of all purged
//! lines, so that a log that continues from it knows how far the inbox was read. The tombstone is complete before
//! it gets the name, so neither log is ever half there.

use std::path::Path;

use ship_message::json::{Json, Object};

use super::chat::ChatFiles;
use super::log_reading::check_head;
use super::recovered_head::recovered_head;
use super::rotate::sealed_path;
use super::store_env::Env;
use super::view;
use crate::line::{LineKind, PURGED, RawLine, UnnumberedLine};
use crate::rules::head_line;
use crate::scan::{LogScan, scan};
use crate::{ContextBody, ContextEvent, PurgeError, Purged, SealedName, Seq, StorageError, View};

/// Reads the purge from a tombstone with this second line; `None` if the log is not one. Usually that line suffices.
pub(crate) fn read_purge(
    env: &Env,
    path: &Path,
    second: Option<&RawLine>,
) -> Result<Option<Purged>, StorageError> {
    match second {
        Some(second) if second.event() != Some("head") => Ok(purge_in_line(second)),
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
    scan.lines.iter().find_map(|found| purge_in_line(&found.line))
}

fn purge_in_line(line: &RawLine) -> Option<Purged> {
    line.is_tombstone().then(|| purge_in_event(&ContextEvent::from_body(&line.body)?)).flatten()
}

fn purge_in_event(event: &ContextEvent) -> Option<Purged> {
    if event.event != PURGED {
        return None;
    }
    let (lines, by) = (event.data.get("lines"), event.data.get("by"));
    Some(Purged {
        ts: event.ts,
        lines: lines.and_then(Json::as_u64).unwrap_or_default(),
        by: by.and_then(Json::as_str).unwrap_or_default().to_owned(),
    })
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
        let lines = scan.lines.iter().filter(|found| found.line.event() != Some("head"));
        let purged =
            Purged { ts: self.env.options.now(), lines: lines.count() as u64, by: by.to_owned() };
        let inbox = scan.lines.iter().filter_map(|found| found.line.inbox).max();
        self.env.replace(&path, &tombstone(name, &head, &purged, inbox))?;
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

/// Returns the bytes of a tombstone. A log with only a head needs no event.
fn tombstone(
    name: &SealedName,
    head: &UnnumberedLine,
    purged: &Purged,
    inbox: Option<u64>,
) -> Vec<u8> {
    let (first, last): (Seq, Seq) = name.range();
    let mut bytes = Vec::new();
    head.write(first.get(), None, &mut bytes);
    if last > first {
        let event = ContextEvent {
            id: format!("e{last}"),
            ts: purged.ts,
            event: PURGED.to_owned(),
            data: Object::from([
                ("lines", Json::from(purged.lines)),
                ("by", purged.by.as_str().into()),
            ])
            .into(),
            ref_msg_id: None,
            inbox: None,
        };
        let draft = UnnumberedLine::new(LineKind::Event, event.into_body());
        UnnumberedLine { inbox, ..draft }.write(last.get(), None, &mut bytes);
    }
    bytes
}
