//! Rotates a log: the whole log is sealed under a second name, and a new one takes its place.
//!
//! Nothing is lost at any point, because the old file never loses its last name. It gets the name in
//! `messages/archive/`, durably, before the live name goes to the new file, which is complete and synced by then.

use std::path::{Path, PathBuf};

use super::context::{ContextFold, LinePosition};
use super::log::{Span, Writing};
use super::log_reading::scan_log;
use super::published::{missing_end, publish};
use super::recovered_head::recovered_head;
use super::store_env::Env;
use super::view::read_view;
use crate::line::{RawLine, decode};
use crate::rules::{CopiedRange, NewLog, PreparedRotation, copied_line, newest_revisions};
use crate::scan::scan;
use crate::{ChatKey, Head, SealedName, Seq, StorageError};

/// Returns the path of a sealed log.
pub(crate) fn sealed_path(archive: &Path, name: &SealedName) -> PathBuf {
    archive.join(format!("{name}.jsonl"))
}

/// Replaces a log that has lost its head or its end by one with a head, the same lines, and `missing` ones after
/// them. The old one is sealed.
pub(crate) fn replace_damaged(
    env: &Env,
    mut writing: Writing<'_, ContextFold>,
    chat: &ChatKey,
    live: &Path,
    archive: &Path,
    missing: Vec<RawLine>,
) -> Result<(), StorageError> {
    let Some(view) = read_view(env, live)? else { return Ok(()) };
    let Some((_, bytes)) = env.read(live)? else { return Ok(()) };
    let scan = scan(&bytes, None);
    // The numbers of lines that were cut off are not given again.
    let next = scan.given.max(missing_end(&scan).unwrap_or(0)) + 1;
    let lines = scan.lines;
    let (first, last) = (
        lines.first().map_or(view.position.seq, |found| Seq::new(found.line.seq)),
        view.position.seq,
    );
    let now = env.options.now();
    let sealed = SealedName::new(now, first, last);
    let mut head = view.head;
    let left = head.sealed.replace(sealed.clone());
    head.note_left_log(left.as_ref());
    let head = Head { generation: head.generation.next(), inbox: view.inbox, ..head };
    let lines =
        lines.into_iter().map(|found| found.line).filter(|line| line.event() != Some("head"));
    let missing = missing.into_iter().map(|line| copied_line(line, head.inbox));
    let kept = newest_revisions(lines.chain(missing));
    let log = NewLog {
        head,
        lines: kept.into_iter().map(RawLine::into_draft).collect(),
        copies: vec![CopiedRange { log: None, first, last }],
        first: Seq::new(next),
    };
    publish(log, env, &mut writing, chat, Some(&sealed_path(archive, &sealed)))
}

/// Continues from a sealed log after the live one was lost: its lines are copied. The rest of the live log goes
/// to the folder `aside`.
pub(crate) fn restore_sealed(
    env: &Env,
    mut writing: Writing<'_, ContextFold>,
    chat: &ChatKey,
    archive: &Path,
    name: SealedName,
    aside: &Path,
) -> Result<(), StorageError> {
    let path = sealed_path(archive, &name);
    let head = match read_view(env, &path) {
        Ok(Some(view)) => {
            let mut head = view.head;
            let left = head.sealed.take();
            head.note_left_log(left.as_ref());
            Head { generation: head.generation.next(), inbox: view.inbox, ..head }
        }
        // Nothing of it can be read; only its name is known.
        Ok(None) | Err(StorageError::Damaged { .. }) => {
            recovered_head(env, &path, name.range().0.get(), [].iter())?
        }
        Err(error) => return Err(error),
    };
    let bytes = env.read(&path)?.map(|(_, bytes)| bytes).unwrap_or_default();
    let now = env.options.now();
    let scan = scan_log(&path, &bytes);
    // The end of the sealed log may be missing, but its name tells the last number.
    let next = scan.given.max(name.range().1.get()) + 1;
    let range = name.range();
    let head = Head { sealed: Some(name), ..head };
    let lines = scan.lines.into_iter().map(|found| found.line);
    // Purged lines stay purged; only the head is carried on.
    let kept = lines.filter(|line| line.event() != Some("head") && !line.is_tombstone());
    let kept = newest_revisions(kept);
    env.ensure_folder(aside)?;
    let aside = aside.join(format!("{}-history.jsonl", now.file_name()));
    let log = NewLog {
        head,
        lines: kept.into_iter().map(RawLine::into_draft).collect(),
        copies: vec![CopiedRange { log: None, first: range.0, last: range.1 }],
        first: Seq::new(next),
    };
    publish(log, env, &mut writing, chat, Some(&aside))
}

/// Reads the lines of the live log that a rotation keeps, each id once.
pub(crate) fn kept_lines(
    writing: &Writing<'_, ContextFold>,
    rotation: &PreparedRotation,
) -> Result<Vec<RawLine>, StorageError> {
    let places = writing.tail().map(|known| known.fold.lines()).unwrap_or_default();
    let mut lines = Vec::new();
    for (first, last) in rotation.kept_ranges() {
        let from = places.partition_point(|line| line.seq < first.get());
        let to = places.partition_point(|line| line.seq <= last.get());
        let kept = places.get(from..to).unwrap_or_default();
        // Lines that follow one another are read at once.
        for stretch in kept.chunk_by(|line, next| next.span.follows(line.span)) {
            lines.extend(read_lines(writing, stretch)?);
        }
    }
    Ok(lines)
}

/// Reads lines of the live log that follow one another.
fn read_lines(
    writing: &Writing<'_, ContextFold>,
    lines: &[LinePosition],
) -> Result<Vec<RawLine>, StorageError> {
    let ([first, ..], [.., last]) = (lines, lines) else { return Ok(Vec::new()) };
    let (start, end) = (first.span.offset, last.span.offset + last.span.len);
    let bytes = writing.read(Span { offset: start, len: end - start })?;
    // A line that was damaged since the log was read costs itself alone; the sealed log keeps its bytes.
    let line = |place: &LinePosition| {
        let from = (place.span.offset - start) as usize;
        let line = decode(bytes.get(from..from + place.span.len as usize)?)?;
        Some(RawLine { seq: place.seq, ..line })
    };
    Ok(lines.iter().filter_map(line).collect())
}
