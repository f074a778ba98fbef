//! The context log: appending to it, and reading it as a view.

use std::collections::HashMap;
use std::path::Path;

use ship_message::json::{Json, Object};

use super::env::Env;
use super::log::{Fold, Span, Writing, check_head, problems};
use super::prepare::{self, Prepared};
use super::rotate::sealed_path;
use crate::line::{Draft, Kind, RawLine, decode};
use crate::scan::{Scan, scan};
use crate::{
    AppendError, Body, ChatKey, ContextId, Gen, Head, LedgerSeq, Line, MessageId, Position,
    Problem, ProblemKind, Refused, SealedName, Seq, StorageError, View,
};

/// What is kept in memory of a context log: where each id is, and how far the inbox was read.
#[derive(Default)]
pub(crate) struct ContextFold {
    generation: u64,
    inbox: Option<u64>,
    /// The newest revision of each id, and the line where it was first said.
    places: HashMap<MessageId, Place>,
}

#[derive(Clone, Copy)]
struct Place {
    seq: u64,
    rev: u64,
    span: Span,
}

impl ContextFold {
    pub(crate) fn generation(&self) -> Gen {
        Gen::new(self.generation)
    }

    pub(crate) fn inbox(&self) -> Option<LedgerSeq> {
        self.inbox.map(LedgerSeq::new)
    }
}

impl Fold for ContextFold {
    fn apply(&mut self, line: &RawLine, span: Span) {
        self.inbox = self.inbox.max(line.inbox);
        if line.event() == Some("head") {
            let data = line.body.get("data").and_then(Json::as_object);
            let head = data.and_then(Head::from_data);
            self.generation = head.as_ref().map_or(0, |head| head.generation.get());
            self.inbox = self.inbox.max(head.and_then(|head| head.inbox).map(LedgerSeq::get));
        } else if let Some(id) = line.body.str("id").and_then(MessageId::new) {
            let place = Place { seq: line.seq, rev: line.rev, span };
            let known = self.places.entry(id).or_insert(place);
            if line.rev == known.rev + 1 {
                *known = Place { seq: known.seq, ..place };
            }
        }
    }
}

/// A batch that waits to be appended.
pub(crate) struct Batch {
    pub(crate) lines: Vec<Prepared>,
    pub(crate) expected: Position,
}

/// Appends what waits: each batch is checked against the end that the one before it leaves, and all that
/// pass are written as one.
pub(crate) fn append(
    writing: &mut Writing<'_, ContextFold>,
    chat: &ChatKey,
    waiting: Vec<Batch>,
    sync: bool,
) -> Vec<Result<Position, AppendError>> {
    let Some(known) = writing.known() else {
        let none = |_| Err(AppendError::NoContext { chat: chat.clone() });
        return waiting.into_iter().map(none).collect();
    };
    let generation = known.fold.generation();
    let mut end = Position { generation, seq: Seq::new(known.last_seq) };
    let mut drafts: Vec<Draft> = Vec::new();
    let mut pending: HashMap<MessageId, (u64, Draft)> = HashMap::new();
    let mut results = Vec::with_capacity(waiting.len());
    for batch in waiting {
        let added = add(writing, chat, batch, end, &pending);
        results.push(added.map(|new| {
            for Prepared { id, draft } in new {
                pending.insert(id, (end.seq.get() + 1, draft.clone()));
                drafts.push(draft);
                end.seq = end.seq.next();
            }
            end
        }));
    }
    if drafts.is_empty() {
        return results;
    }
    match writing.append(&drafts, sync) {
        Ok(_) => results,
        Err(error) => {
            let failed = |result: Result<Position, AppendError>| {
                result.and_then(|_| Err(error.share().into()))
            };
            results.into_iter().map(failed).collect()
        }
    }
}

/// Returns the lines of a batch that are new, or why it cannot be appended.
fn add(
    writing: &Writing<'_, ContextFold>,
    chat: &ChatKey,
    batch: Batch,
    end: Position,
    pending: &HashMap<MessageId, (u64, Draft)>,
) -> Result<Vec<Prepared>, AppendError> {
    let expected = batch.expected;
    let mut new: Vec<Prepared> = Vec::new();
    for line in batch.lines {
        // The newest of the same id counts, be it in this very batch.
        let within = new.iter().rfind(|other| other.id == line.id).map(|other| &other.draft);
        let present = match (within, pending.get(&line.id)) {
            (Some(draft), _) => Some((end.seq.get() + 1, draft.clone())),
            (None, Some(known)) => Some(known.clone()),
            (None, None) => on_disk(writing, &line.id)?,
        };
        match present {
            None if line.draft.rev > 0 => {
                return Err(Refused::NothingToReplace(line.id.as_str().to_owned()).into());
            }
            None => new.push(line),
            Some((_, present)) if same_content(&present, &line.draft) => {}
            Some((_, present)) if line.draft.rev == present.rev + 1 => new.push(line),
            Some((seq, present)) => {
                let next_rev = present.rev + 1;
                return Err(AppendError::Conflict { id: line.id, seq: Seq::new(seq), next_rev });
            }
        }
    }
    // What is there already may be said again from anywhere: its first answer was lost.
    match expected == end || new.is_empty() {
        true => Ok(new),
        false => Err(AppendError::Moved { chat: chat.clone(), expected, found: end }),
    }
}

fn on_disk(
    writing: &Writing<'_, ContextFold>,
    id: &MessageId,
) -> Result<Option<(u64, Draft)>, StorageError> {
    let known = writing.known().and_then(|known| known.fold.places.get(id)).copied();
    let Some(place) = known else { return Ok(None) };
    let line = decode(&writing.read(place.span)?);
    Ok(line.map(|line| (place.seq, line.into_draft())))
}

/// Whether two lines say the same, whatever the order of their keys.
fn same_content(a: &Draft, b: &Draft) -> bool {
    let parse = |draft: &Draft| Json::parse(&format!("{{{}}}", draft.body)).ok();
    let blobs = |draft: &Draft| draft.blobs.as_deref().and_then(|text| Json::parse(text).ok());
    a.kind == b.kind && parse(a) == parse(b) && blobs(a) == blobs(b)
}

/// The lines of a log, each id once, in its newest revision at its first place.
pub(crate) fn collapse(lines: impl Iterator<Item = RawLine>) -> Vec<RawLine> {
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut collapsed: Vec<RawLine> = Vec::new();
    for line in lines {
        let id = line.body.str("id").unwrap_or_default().to_owned();
        match places.get(&id).map(|&at| &mut collapsed[at]) {
            Some(known) if line.rev == known.rev + 1 => *known = RawLine { seq: known.seq, ..line },
            Some(_) => {}
            None => {
                places.insert(id, collapsed.len());
                collapsed.push(line);
            }
        }
    }
    collapsed
}

/// Reads a log as a view; `None` if there is no file. Stops at the last whole batch, changes nothing.
pub(crate) fn view(env: &Env, path: &Path) -> Result<Option<View>, StorageError> {
    view_of(env, path, None)
}

/// As [`view`], but nothing beyond `believed` bytes is believed.
pub(crate) fn view_of(
    env: &Env,
    path: &Path,
    believed: Option<u64>,
) -> Result<Option<View>, StorageError> {
    let Some((_, mut bytes)) = env.read(path)? else { return Ok(None) };
    bytes.truncate(believed.and_then(|len| usize::try_from(len).ok()).unwrap_or(usize::MAX));
    let scan = scan(&bytes, None);
    let mut found = problems(path, &bytes, &scan, 0);
    // While another process writes, the end of the file is not torn but unfinished.
    found.retain(|problem| problem.kind != crate::ProblemKind::TornTail);
    let (head, skip) = match check_head(path, &scan) {
        // What a newer program wrote is read as far as we understand it.
        Ok(()) | Err(StorageError::Newer { .. }) => (known_head(path, &scan)?, 1),
        // The lines are whole, and the logs before this one tell most of what the head said.
        Err(_) if !scan.lines.is_empty() => (recovered_head(env, path, scan.lines[0].line.seq)?, 0),
        Err(error) => return Err(error),
    };
    let last = scan.lines.last().expect("a log with a head has a line");
    let (seq, crc) = (Seq::new(last.line.seq), last.line.crc);
    let promoted = scan.lines.iter().filter_map(|found| found.line.inbox).max();
    let inbox = head.inbox.max(promoted.map(LedgerSeq::new));
    let file = path.display().to_string();
    let mut lines = Vec::new();
    for mut raw in collapse(scan.lines.into_iter().skip(skip).map(|found| found.line)) {
        prepare::resolve(env, &mut raw, &file, &mut found)?;
        let seq = raw.seq;
        match to_line(raw) {
            Some(line) => lines.push(line),
            None => found.push(Problem {
                file: file.clone(),
                offset: 0,
                kind: ProblemKind::Damage,
                message: format!("line {seq} is whole, but its event lacks a field"),
                remedy: "see what wrote it; the lines around it are read".to_owned(),
            }),
        }
    }
    let position = Position { generation: head.generation, seq };
    Ok(Some(View { head, position, crc, inbox, lines, problems: found }))
}

fn known_head(path: &Path, scan: &Scan) -> Result<Head, StorageError> {
    let data = scan.lines[0].line.body.get("data").and_then(Json::as_object);
    data.and_then(Head::from_data).ok_or_else(|| StorageError::Damaged {
        path: path.to_owned(),
        what: "its head lacks a context id or a generation".to_owned(),
    })
}

/// What the head of a log must have said, from the newest sealed log before its line `first`.
fn recovered_head(env: &Env, path: &Path, first: u64) -> Result<Head, StorageError> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let archive = match folder.ends_with("archive") {
        true => folder.to_owned(),
        false => folder.join("archive"),
    };
    let names = env.list(&archive)?;
    let sealed = names.iter().filter_map(|name| SealedName::parse(name.strip_suffix(".jsonl")?));
    let before = sealed.filter(|name| name.range().1.get() < first).max_by_key(SealedName::range);
    let lost = ContextId::new(crate::Timestamp::from_millis(0), 0);
    let Some(name) = before else { return Ok(Head::new(lost)) };
    let Some(old) = view(env, &sealed_path(&archive, &name))? else { return Ok(Head::new(lost)) };
    Ok(Head {
        generation: old.head.generation.next(),
        sealed: Some(name),
        inbox: old.inbox,
        ..old.head
    })
}

fn to_line(raw: RawLine) -> Option<Line> {
    let body = match raw.kind {
        Kind::Message => Body::Message(raw.body),
        Kind::Event => Body::Event(prepare::event(&raw.body)?),
    };
    let (seq, inbox) = (Seq::new(raw.seq), raw.inbox.map(LedgerSeq::new));
    Some(Line { seq, rev: raw.rev, inbox, body })
}

/// The first line of a log.
pub(crate) fn head_line(head: &Head, chat: &ChatKey, seq: u64, now: crate::Timestamp) -> Draft {
    let mut body = Object::new();
    body.set("id", format!("e{seq}"));
    body.set("ts", now.to_string());
    body.set("event", "head");
    body.set("data", head.to_data(chat));
    Draft::new(Kind::Event, body)
}

/// Reads the head of a log, from its first line alone.
pub(crate) fn read_head(env: &Env, path: &Path) -> Result<Option<Head>, StorageError> {
    let line = super::log::first_line(env, path)?;
    let head = line.filter(|line| line.event() == Some("head"));
    Ok(head.and_then(|line| Head::from_data(line.body.get("data")?.as_object()?)))
}
