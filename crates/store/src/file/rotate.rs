//! Rotation: the whole log is sealed under a second name, and a new one takes its place.
//!
//! Nothing is lost at any point, because the old file never loses its last name: it gets the one in
//! `messages/archive/`, durably, before the live name goes to the new file, which is complete and synced
//! by then.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::context::{ContextFold, head_line};
use super::env::Env;
use super::log::{Known, Writing};
use super::prepare::{self, PrepareError, Prepared};
use super::view::{collapse, view};
use crate::line::{Draft, RawLine};
use crate::scan::scan;
use crate::{
    ChatKey, Gen, Head, LedgerSeq, MessageId, OnDamage, Piece, Position, Refused, RotateError,
    Rotated, Rotation, SealedName, Seq, StorageError,
};

impl From<PrepareError> for RotateError {
    fn from(error: PrepareError) -> Self {
        match error {
            PrepareError::Refused(refused) => Self::Refused(refused),
            PrepareError::Storage(error) => Self::Storage(error),
        }
    }
}

/// A rotation whose new lines are ready.
pub(crate) struct Ready {
    expected: Option<Gen>,
    head: Head,
    pieces: Vec<ReadyPiece>,
    damage: OnDamage,
}

enum ReadyPiece {
    Keep(Seq, Option<Seq>),
    New(Prepared),
}

impl Ready {
    /// The highest ledger position that it promotes.
    pub(crate) fn promotes(&self) -> Option<u64> {
        let inbox = |piece: &ReadyPiece| match piece {
            ReadyPiece::New(new) => new.draft.inbox,
            ReadyPiece::Keep(..) => None,
        };
        let begins_behind = self.head.inbox.filter(|_| self.expected.is_none());
        self.pieces.iter().filter_map(inbox).max().max(begins_behind.map(LedgerSeq::get))
    }
}

/// Checks what a rotation brings, and keeps its blobs.
pub(crate) fn prepare(env: &Env, rotation: Rotation) -> Result<Ready, RotateError> {
    let Rotation { expected, head, pieces, damage } = rotation;
    let ready = |piece| {
        Ok(match piece {
            Piece::Keep(first, last) => ReadyPiece::Keep(first, Some(last)),
            Piece::KeepFrom(first) => ReadyPiece::Keep(first, None),
            Piece::New(entry) => ReadyPiece::New(prepare::entry(env, entry)?),
        })
    };
    let pieces = pieces.into_iter().map(ready).collect::<Result<_, RotateError>>()?;
    Ok(Ready { expected, head, pieces, damage })
}

/// Rotates the log that `writing` holds; sealed logs go to `archive`.
pub(crate) fn rotate(
    env: &Env,
    writing: &mut Writing<'_, ContextFold>,
    chat: &ChatKey,
    archive: &Path,
    ready: Ready,
) -> Result<Rotated, RotateError> {
    let known = writing.known();
    let found = known.map(|known| known.fold.generation());
    if found != ready.expected {
        return Err(RotateError::Moved { chat: chat.clone(), expected: ready.expected, found });
    }
    let count = known.map_or(0, |known| known.damaged);
    if count > 0 && ready.damage == OnDamage::Refuse {
        return Err(RotateError::Damaged { chat: chat.clone(), count });
    }
    let now = env.options.now();
    let last = known.map_or(0, |known| known.last_seq);
    let sealed = known.map(|known| SealedName::new(now, Seq::new(known.first_seq), Seq::new(last)));
    let head = Head {
        generation: found.map_or(Gen::new(0), Gen::next),
        sealed: sealed.clone(),
        inbox: known.map_or(ready.head.inbox, |known| known.fold.inbox()),
        checkpoints: place_checkpoints(&ready.head, sealed.as_ref()),
        ..ready.head
    };
    let first = last + 1;
    let mut drafts = vec![head_line(&head, chat, first, now)];
    drafts.extend(body(writing, ready.pieces)?);
    let sealed_path = sealed.as_ref().map(|name| sealed_path(archive, name));
    writing.publish(&drafts, first, sealed_path.as_deref())?;
    let seq = Seq::new(last + drafts.len() as u64);
    Ok(Rotated { position: Position { generation: head.generation, seq }, sealed })
}

/// Where a sealed log is.
pub(crate) fn sealed_path(archive: &Path, name: &SealedName) -> PathBuf {
    archive.join(format!("{name}.jsonl"))
}

/// Replaces a log that has lost its head by one with a head and the same lines. The old one is sealed.
pub(crate) fn mend(
    env: &Env,
    mut writing: Writing<'_, ContextFold>,
    chat: &ChatKey,
    live: &Path,
    archive: &Path,
) -> Result<(), StorageError> {
    let Some(view) = view(env, live)? else { return Ok(()) };
    let Some((_, bytes)) = env.read(live)? else { return Ok(()) };
    let lines = scan(&bytes, None).lines;
    let first = lines.first().map_or(view.position.seq, |found| Seq::new(found.line.seq));
    let now = env.options.now();
    let sealed = SealedName::new(now, first, view.position.seq);
    let head = Head {
        generation: view.head.generation.next(),
        sealed: Some(sealed.clone()),
        inbox: view.inbox,
        ..view.head
    };
    let next = view.position.seq.next().get();
    let mut drafts = vec![head_line(&head, chat, next, now)];
    let kept = collapse(lines.into_iter().map(|found| found.line));
    drafts.extend(kept.into_iter().map(RawLine::into_draft));
    writing.publish(&drafts, next, Some(&sealed_path(archive, &sealed)))
}

/// Goes on from a sealed log, its lines copied, after the live one was lost. What remains of that goes to
/// the folder `aside`.
pub(crate) fn begin_again(
    env: &Env,
    mut writing: Writing<'_, ContextFold>,
    chat: &ChatKey,
    archive: &Path,
    name: SealedName,
    aside: &Path,
) -> Result<(), StorageError> {
    let path = sealed_path(archive, &name);
    let Some(view) = view(env, &path)? else { return Ok(()) };
    let Some((_, bytes)) = env.read(&path)? else { return Ok(()) };
    let now = env.options.now();
    let next = view.position.seq.max(name.range().1).next().get();
    let head = Head {
        generation: view.head.generation.next(),
        sealed: Some(name),
        inbox: view.inbox,
        ..view.head
    };
    let lines = scan(&bytes, None).lines.into_iter().map(|found| found.line);
    let kept = collapse(lines.filter(|line| line.event() != Some("head")));
    let mut drafts = vec![head_line(&head, chat, next, now)];
    drafts.extend(kept.into_iter().map(RawLine::into_draft));
    env.ensure_folder(aside)?;
    let aside = aside.join(format!("{}-history.jsonl", now.file_name()));
    writing.publish(&drafts, next, Some(&aside))
}

/// A checkpoint in the log that is being sealed gets the name of it.
fn place_checkpoints(head: &Head, sealed: Option<&SealedName>) -> Vec<crate::Checkpoint> {
    let mut checkpoints = head.checkpoints.clone();
    for checkpoint in &mut checkpoints {
        checkpoint.sealed = checkpoint.sealed.take().or_else(|| sealed.cloned());
    }
    checkpoints
}

/// What the new log holds after its head.
fn body(
    writing: &Writing<'_, ContextFold>,
    pieces: Vec<ReadyPiece>,
) -> Result<Vec<Draft>, RotateError> {
    let bytes = writing.read_all()?;
    let lines = scan(&bytes, None).lines.into_iter().skip(1).map(|found| found.line);
    let mut old: Vec<Option<RawLine>> = collapse(lines).into_iter().map(Some).collect();
    let mut ids: HashSet<MessageId> = HashSet::new();
    let mut drafts = Vec::new();
    for piece in pieces {
        match piece {
            ReadyPiece::New(Prepared { id, draft }) => {
                if !ids.insert(id.clone()) {
                    return Err(Refused::Twice(id.as_str().to_owned()).into());
                }
                drafts.push(draft);
            }
            ReadyPiece::Keep(first, last) => {
                check_range(writing, first, last)?;
                let wanted = |seq: u64| seq >= first.get() && last.is_none_or(|l| seq <= l.get());
                for line in old.iter_mut() {
                    // A line that an earlier range took is not taken again.
                    let Some(line) = line.take_if(|line| wanted(line.seq)) else { continue };
                    let id = line.body.str("id").and_then(MessageId::new);
                    if id.is_none_or(|id| ids.insert(id)) {
                        drafts.push(line.into_draft());
                    }
                }
            }
        }
    }
    Ok(drafts)
}

/// Refuses to keep lines that the log does not have.
fn check_range(
    writing: &Writing<'_, ContextFold>,
    first: Seq,
    last: Option<Seq>,
) -> Result<(), Refused> {
    let Some(last) = last else { return Ok(()) };
    let there = |known: &Known<ContextFold>| {
        known.first_seq <= first.get() && first <= last && last.get() <= known.last_seq
    };
    match writing.known().is_some_and(there) {
        true => Ok(()),
        false => Err(Refused::NoLines { first, last }),
    }
}
