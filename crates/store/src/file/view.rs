//! Reads a context log as a view: the messages that the model could be shown.

use std::path::Path;
use std::sync::Arc;

use ship_message::UiMessage;

use super::blobs::read_blob;
use super::log_reading::{check_head, scan_log, scan_problems};
use super::recovered_head::recovered_head;
use super::store_env::Env;
use crate::line::{LineKind, RawLine};
use crate::rules::{newest_revisions, read_head, restore_texts};
use crate::scan::LogScan;
use crate::{
    ContextBody, ContextEvent, ContextLine, Head, LedgerSeq, Position, Seq, StorageError,
    StorageProblem, StorageProblemKind, View,
};

/// Reads a log as a view; `None` if there is no file. Reads up to the last whole batch and changes nothing.
pub(crate) fn read_view(env: &Env, path: &Path) -> Result<Option<View>, StorageError> {
    let Some((_, bytes)) = env.read(path)? else { return Ok(None) };
    Ok(Some(view_of(env, path, &bytes)?.view))
}

/// A view, and whether later lines can simply be added to it.
pub(crate) struct ReadView {
    pub(crate) view: View,
    /// Whether all bytes are lines below a head that we understand, so that appended lines only add to the view.
    pub(crate) whole: bool,
}

/// Reads the bytes of a log as a view.
pub(crate) fn view_of(env: &Env, path: &Path, bytes: &[u8]) -> Result<ReadView, StorageError> {
    let scan = scan_log(path, bytes);
    let mut found = scan_problems(path, bytes, &scan, 0);
    // While another process writes, the end of the file is unfinished and not torn.
    found.retain(|problem| problem.kind != StorageProblemKind::TornTail);
    let checked = check_head(path, &scan);
    let recovered = |scan: &LogScan| {
        let lines = scan.lines.iter().map(|found| &found.line);
        recovered_head(env, path, scan.lines[0].line.seq, lines)
    };
    let mut whole = checked.is_ok() && scan.is_whole(bytes);
    let (head, skip) = match checked {
        // The log of a newer program is read as far as we understand it.
        Ok(()) | Err(StorageError::Newer { .. }) => match read_head(&scan.lines[0].line) {
            Some(head) => (head, 1),
            None => (recovered(&scan)?, 1),
        },
        // The lines are whole, and with the log before them they give most of what the head said.
        Err(_) if !scan.lines.is_empty() => (recovered(&scan)?, 0),
        Err(error) => return Err(error),
    };
    let last = scan.lines.last().expect("a log with a head has a line");
    let (seq, crc) = (Seq::new(last.line.seq), last.line.crc);
    let promoted = scan.lines.iter().filter_map(|found| found.line.inbox).max();
    let inbox = head.inbox.max(promoted.map(LedgerSeq::new));
    let file = path.display().to_string();
    let mut lines = Vec::new();
    for mut raw in newest_revisions(scan.lines.into_iter().skip(skip).map(|found| found.line)) {
        let lost = restore_texts(&mut raw, |digest| read_blob(env, digest))?;
        found.extend(lost.into_iter().map(|text| text.into_problem(&file)));
        let seq = raw.seq;
        match to_line(raw) {
            Some(line) => lines.push(Arc::new(line)),
            None => found.push(StorageProblem::new(
                file.as_str(),
                StorageProblemKind::Damage,
                format!("line {seq} is whole, but its event lacks a field"),
                "see what wrote it; the lines around it are read",
            )),
        }
    }
    whole &= found.is_empty();
    let position = Position { generation: head.generation, seq };
    let view = View { head, position, crc, inbox, lines, problems: found };
    Ok(ReadView { view, whole })
}

/// Converts a line into the form of a view; `None` if it is an event that lacks a field.
pub(crate) fn to_line(raw: RawLine) -> Option<ContextLine> {
    let body = match raw.kind {
        LineKind::Message => ContextBody::Message(UiMessage::from_object(raw.body)),
        LineKind::Event => ContextBody::Event(ContextEvent::from_body(&raw.body)?),
    };
    let (seq, inbox) = (Seq::new(raw.seq), raw.inbox.map(LedgerSeq::new));
    Some(ContextLine { seq, rev: raw.rev, inbox, body })
}

/// Reads the head of a log, from its first line alone.
pub(crate) fn first_head(env: &Env, path: &Path) -> Result<Option<Head>, StorageError> {
    Ok(super::log_reading::first_line(env, path)?.as_ref().and_then(read_head))
}
