//! Rotates a log: the whole log is sealed under a second name, and a new one takes its place.
//!
//! Nothing is lost at any point, because the old file never loses its last name. It gets the name in
//! `messages/archive/`, durably, before the live name goes to the new file, which is complete and synced by then.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::blobs::put_texts;
use super::context::{ContextFold, LinePosition};
use super::copied_lines::CopySources;
use super::log::{LogTail, Span, Writing};
use super::log_reading::scan_log;
use super::published::{CopiedRange, LogToPublish, missing_end};
use super::recovered_head::recovered_head;
use super::store_env::Env;
use super::view::{newest_revisions, read_view};
use crate::line::{RawLine, UnnumberedLine, decode};
use crate::rules::{PreparedLine, prepare_line};
use crate::scan::scan;
use crate::{
    ChatKey, Gen, Head, LedgerSeq, LogPiece, Position, RefusedInput, RotateError, Rotated,
    Rotation, SealedName, Seq, StorageError,
};

/// A rotation with its new lines prepared.
pub(crate) struct PreparedRotation {
    expected: Option<Gen>,
    head: Head,
    pieces: Vec<PreparedPiece>,
}

enum PreparedPiece {
    Keep(Seq, Option<Seq>),
    /// Lines of another log, and their range in a sealed log of the chat.
    Copied(Option<CopiedRange>, Vec<RawLine>),
    New(PreparedLine),
}

impl PreparedRotation {
    /// Returns the highest ledger position that the rotation promotes.
    pub(crate) fn promoted_position(&self) -> Option<u64> {
        let inbox = |piece: &PreparedPiece| match piece {
            PreparedPiece::New(new) => new.line.inbox,
            // Kept and copied lines never move the cursor.
            PreparedPiece::Keep(..) | PreparedPiece::Copied(..) => None,
        };
        // A first context may begin behind answered entries, and these must be in the ledger too.
        let begins_behind = self.head.inbox.filter(|_| self.expected.is_none());
        self.pieces.iter().filter_map(inbox).max().max(begins_behind.map(LedgerSeq::get))
    }
}

/// Checks the new lines of a rotation, stores their blobs, and reads the lines that it copies.
pub(crate) fn prepare_rotation(
    env: &Env,
    rotation: Rotation,
    sources: &mut CopySources<'_>,
) -> Result<PreparedRotation, RotateError> {
    let Rotation { expected, head, pieces } = rotation;
    let mut prepared = Vec::with_capacity(pieces.len());
    for piece in pieces {
        prepared.push(match piece {
            LogPiece::Keep(first, last) => PreparedPiece::Keep(first, Some(last)),
            LogPiece::KeepFrom(first) => PreparedPiece::Keep(first, None),
            LogPiece::Sealed { log, first, last } => sealed_piece(sources, log, first, last)?,
            // A piece of the chat's own logs is taken from there, like any kept or sealed line.
            LogPiece::Of { chat, log, first, last } if sources.is_own(&chat) => match log {
                Some(log) => sealed_piece(sources, log, first, last)?,
                None => PreparedPiece::Keep(first, Some(last)),
            },
            LogPiece::Of { chat, log, first, last } => {
                PreparedPiece::Copied(None, sources.lines_of_chat(chat, log, (first, last))?)
            }
            LogPiece::New(new) => {
                let (line, texts) = prepare_line(new, env.options.message_bytes_max)?;
                put_texts(env, &texts)?;
                PreparedPiece::New(line)
            }
        });
    }
    Ok(PreparedRotation { expected, head, pieces: prepared })
}

fn sealed_piece(
    sources: &mut CopySources<'_>,
    log: SealedName,
    first: Seq,
    last: Seq,
) -> Result<PreparedPiece, RotateError> {
    let lines = sources.sealed_lines(log.clone(), (first, last))?;
    Ok(PreparedPiece::Copied(Some(CopiedRange { log: Some(log), first, last }), lines))
}

/// Rotates the log that `writing` holds; the old log is sealed in `archive`.
pub(crate) fn rotate(
    env: &Env,
    writing: &mut Writing<'_, ContextFold>,
    chat: &ChatKey,
    archive: &Path,
    prepared: PreparedRotation,
) -> Result<Rotated, RotateError> {
    let known = writing.tail();
    let found = known.map(|known| known.fold.generation());
    if found != prepared.expected {
        return Err(RotateError::Moved { chat: chat.clone(), expected: prepared.expected, found });
    }
    let now = env.options.now();
    let last = known.map_or(0, |known| known.last_seq);
    let sealed_crc = known.map_or(0, |known| known.fold.crc());
    let sealed = known.map(|known| SealedName::new(now, Seq::new(known.first_seq), Seq::new(last)));
    let head = Head {
        generation: found.map_or(Gen::new(0), Gen::next),
        sealed: sealed.clone(),
        // The cursor of the log counts, not that of the caller: a promoted entry must not run again.
        inbox: known.map_or(prepared.head.inbox, |known| known.fold.inbox()),
        checkpoints: place_checkpoints(&prepared.head, sealed.as_ref()),
        ..prepared.head
    };
    let first = known.map_or(1, LogTail::next_seq);
    let copies = copied_ranges(&prepared.pieces, Seq::new(last));
    let lines = new_lines(writing, prepared.pieces, head.inbox)?;
    let seq = Seq::new(first + lines.len() as u64);
    let sealed_path = sealed.as_ref().map(|name| sealed_path(archive, name));
    let log = LogToPublish { head: &head, lines, copies, first };
    log.publish(env, writing, chat, sealed_path.as_deref())?;
    let position = Position { generation: head.generation, seq };
    Ok(Rotated { position, sealed, sealed_crc, damage: Vec::new() })
}

/// Returns the places of the lines that a rotation copies. `last` is the last line of the log that it seals.
fn copied_ranges(pieces: &[PreparedPiece], last: Seq) -> Vec<CopiedRange> {
    let mut ranges = Vec::new();
    for piece in pieces {
        let range = match piece {
            PreparedPiece::Keep(first, end) => {
                Some(CopiedRange { log: None, first: *first, last: end.unwrap_or(last) })
            }
            PreparedPiece::Copied(range, _) => range.clone(),
            PreparedPiece::New(_) => None,
        };
        if let Some(range) = range {
            range.add_to(&mut ranges);
        }
    }
    ranges
}

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
    let log = LogToPublish {
        head: &head,
        lines: kept.into_iter().map(RawLine::into_draft).collect(),
        copies: vec![CopiedRange { log: None, first, last }],
        first: next,
    };
    log.publish(env, &mut writing, chat, Some(&sealed_path(archive, &sealed)))
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
    let log = LogToPublish {
        head: &head,
        lines: kept.into_iter().map(RawLine::into_draft).collect(),
        copies: vec![CopiedRange { log: None, first: range.0, last: range.1 }],
        first: next,
    };
    log.publish(env, &mut writing, chat, Some(&aside))
}

/// Gives the checkpoints in the log that is being sealed the name of that log.
fn place_checkpoints(head: &Head, sealed: Option<&SealedName>) -> Vec<crate::Checkpoint> {
    let mut checkpoints = head.checkpoints.clone();
    for checkpoint in &mut checkpoints {
        checkpoint.sealed = checkpoint.sealed.take().or_else(|| sealed.cloned());
    }
    checkpoints
}

/// Returns the lines of the new log after its head.
fn new_lines(
    writing: &Writing<'_, ContextFold>,
    pieces: Vec<PreparedPiece>,
    inbox: Option<LedgerSeq>,
) -> Result<Vec<UnnumberedLine>, RotateError> {
    let old = writing.tail().map(|known| known.fold.lines()).unwrap_or_default();
    let mut body = NewLog::default();
    for piece in pieces {
        match piece {
            PreparedPiece::New(new) => body.add_new(new)?,
            PreparedPiece::Keep(first, last) => {
                check_range(writing, first, last)?;
                // The lines are in the order of their numbers.
                let from = old.partition_point(|line| line.seq < first.get());
                let kept = old[from..].iter();
                let kept = kept.take_while(|line| last.is_none_or(|last| line.seq <= last.get()));
                let kept: Vec<LinePosition> = kept.copied().collect();
                // Lines that follow one another are read at once.
                for lines in kept.chunk_by(|line, next| next.span.follows(line.span)) {
                    read_lines(writing, lines)?.into_iter().for_each(|line| body.add_copy(line));
                }
            }
            PreparedPiece::Copied(_, lines) => {
                lines.into_iter().for_each(|line| body.add_copy(copied_line(line, inbox)));
            }
        }
    }
    Ok(body.drafts)
}

/// Returns a line for a log with this cursor. A copied line must not move the cursor, neither back nor on.
fn copied_line(line: RawLine, cursor: Option<LedgerSeq>) -> RawLine {
    let inbox = line.inbox.filter(|&seq| cursor >= Some(LedgerSeq::new(seq)));
    RawLine { inbox, ..line }
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
        decode(bytes.get(from..from + place.span.len as usize)?)
    };
    Ok(lines.iter().filter_map(line).collect())
}

/// A new log, in which each id stands once.
#[derive(Default)]
struct NewLog {
    drafts: Vec<UnnumberedLine>,
    /// The index of each id, and whether the line is a copy.
    places: HashMap<String, (usize, bool)>,
}

impl NewLog {
    fn add_new(&mut self, PreparedLine { id, line }: PreparedLine) -> Result<(), RefusedInput> {
        let id = id.as_str().to_owned();
        if self.places.contains_key(&id) {
            return Err(RefusedInput::Twice(id));
        }
        self.places.insert(id, (self.drafts.len(), false));
        self.drafts.push(line);
        Ok(())
    }

    /// Adds a line of another log, unless its id is there. Of two copies the newer revision counts, at the
    /// place of the first.
    fn add_copy(&mut self, line: RawLine) {
        let id = line.body.str("id").unwrap_or_default();
        match self.places.get(id) {
            Some(&(at, true)) if line.rev > self.drafts[at].rev => {
                self.drafts[at] = line.into_draft();
            }
            Some(_) => {}
            None => {
                self.places.insert(id.to_owned(), (self.drafts.len(), true));
                self.drafts.push(line.into_draft());
            }
        }
    }
}

/// Refuses to keep lines that the log does not have.
fn check_range(
    writing: &Writing<'_, ContextFold>,
    first: Seq,
    last: Option<Seq>,
) -> Result<(), RefusedInput> {
    let Some(last) = last else { return Ok(()) };
    let there = |known: &LogTail<ContextFold>| {
        known.first_seq <= first.get() && first <= last && last.get() <= known.last_seq
    };
    match writing.tail().is_some_and(there) {
        true => Ok(()),
        false => Err(RefusedInput::NoLines { first, last }),
    }
}
