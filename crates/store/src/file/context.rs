//! Appends batches to a context log.

use std::collections::HashMap;

use ship_message::json::{Json, Object};

use super::log::{Fold, Span, Writing};
use super::published::{self, published_end};
use crate::line::{LineKind, LineOutline, RawLine, UnnumberedLine, decode};
use crate::rules::PreparedLine;
use crate::{
    AppendError, ChatKey, Gen, Head, LedgerSeq, MessageId, Position, RefusedInput, Seq,
    StorageError,
};

/// The state of a context log in memory: the place of each id, and how far the inbox was read.
#[derive(Default)]
pub(crate) struct ContextFold {
    /// Whether the head was read. A second one, from another log, counts as any event.
    is_begun: bool,
    generation: u64,
    inbox: Option<u64>,
    /// The last line that the log was published with.
    published: u64,
    /// The checksum of the last line.
    crc: u32,
    /// The newest revision of each id, with the number of its first line. Lines without an id share one place.
    places: HashMap<String, LinePosition>,
}

/// The place of a line's newest revision, and the number of its first line.
#[derive(Clone, Copy)]
pub(crate) struct LinePosition {
    pub(crate) seq: u64,
    rev: u64,
    pub(crate) span: Span,
}

impl ContextFold {
    pub(crate) fn generation(&self) -> Gen {
        Gen::new(self.generation)
    }

    pub(crate) fn inbox(&self) -> Option<LedgerSeq> {
        self.inbox.map(LedgerSeq::new)
    }

    pub(crate) fn crc(&self) -> u32 {
        self.crc
    }

    /// Returns the places of the lines in their order, each id once.
    pub(crate) fn lines(&self) -> Vec<LinePosition> {
        let mut lines: Vec<LinePosition> = self.places.values().copied().collect();
        lines.sort_unstable_by_key(|line| line.seq);
        lines
    }
}

impl Fold for ContextFold {
    fn apply(&mut self, line: &RawLine, span: Span) {
        self.crc = line.crc;
        self.inbox = self.inbox.max(line.inbox);
        if line.event() == Some("head") && !self.is_begun {
            self.is_begun = true;
            let data = line.body.get("data").and_then(Json::as_object);
            let head = data.and_then(Head::from_data);
            self.published = published_end(line).unwrap_or(0);
            self.generation = head.as_ref().map_or(0, |head| head.generation.get());
            self.inbox = self.inbox.max(head.and_then(|head| head.inbox).map(LedgerSeq::get));
        } else {
            let id = line.body.str("id").unwrap_or_default();
            self.set_place(id, LinePosition { seq: line.seq, rev: line.rev, span });
        }
    }

    fn apply_outline(&mut self, message: &LineOutline<'_>, span: Span) {
        self.crc = message.crc;
        self.inbox = self.inbox.max(message.inbox);
        let id = message.id.unwrap_or_default();
        // A revision has no outline.
        self.set_place(id, LinePosition { seq: message.seq, rev: 0, span });
    }

    fn loss(&self, given: u64) -> Option<String> {
        let published = self.published;
        (given < published).then(|| published::missing_end_text(given, published))
    }
}

impl ContextFold {
    fn set_place(&mut self, id: &str, place: LinePosition) {
        let known = self.places.entry(id.to_owned()).or_insert(place);
        if place.rev > known.rev {
            *known = LinePosition { seq: known.seq, ..place };
        }
    }
}

/// A batch that waits to be appended.
pub(crate) struct Batch {
    pub(crate) lines: Vec<PreparedLine>,
    pub(crate) expected: Position,
}

/// Appends waiting batches. Each batch is checked against the end that the batch before it leaves, and all that
/// pass are written as one.
pub(crate) fn append(
    writing: &mut Writing<'_, ContextFold>,
    chat: &ChatKey,
    waiting: Vec<Batch>,
    sync: bool,
) -> Vec<Result<Position, AppendError>> {
    let Some(known) = writing.tail() else {
        let none = |_| Err(AppendError::NoContext { chat: chat.clone() });
        return waiting.into_iter().map(none).collect();
    };
    let generation = known.fold.generation();
    let mut end = Position { generation, seq: Seq::new(known.last_seq) };
    let mut next = known.next_seq();
    let mut drafts: Vec<UnnumberedLine> = Vec::new();
    let mut pending: HashMap<MessageId, (u64, UnnumberedLine)> = HashMap::new();
    let mut results = Vec::with_capacity(waiting.len());
    for batch in waiting {
        let added = lines_of_batch(writing, chat, batch, (end, next), &pending);
        results.push(added.map(|new| {
            for PreparedLine { id, line } in new {
                pending.insert(id, (next, line.clone()));
                drafts.push(line);
                end.seq = Seq::new(next);
                next += 1;
            }
            end
        }));
    }
    if drafts.is_empty() {
        return results;
    }
    match writing.append(&drafts, sync) {
        Ok(_) => results,
        // All batches were one write, so its failure is the failure of each.
        Err(error) => {
            let failed = |result: Result<Position, AppendError>| {
                result.and_then(|_| Err(error.share().into()))
            };
            results.into_iter().map(failed).collect()
        }
    }
}

/// Returns the new lines of a batch, or the reason why it cannot be appended.
fn lines_of_batch(
    writing: &Writing<'_, ContextFold>,
    chat: &ChatKey,
    batch: Batch,
    (end, next): (Position, u64),
    pending: &HashMap<MessageId, (u64, UnnumberedLine)>,
) -> Result<Vec<PreparedLine>, AppendError> {
    let expected = batch.expected;
    let mut new: Vec<PreparedLine> = Vec::new();
    for line in batch.lines {
        // The newest line of the same id counts, even one in this batch.
        let within = new.iter().rfind(|other| other.id == line.id).map(|other| &other.line);
        let present = match (within, pending.get(&line.id)) {
            (Some(draft), _) => Some((next, draft.clone())),
            (None, Some(known)) => Some(known.clone()),
            (None, None) => read_line(writing, &line.id)?,
        };
        match present {
            None if line.line.rev > 0 => {
                return Err(RefusedInput::NothingToReplace(line.id.as_str().to_owned()).into());
            }
            None => new.push(line),
            Some((_, present)) if same_content(&present, &line.line) => {}
            Some((_, present)) if line.line.rev == present.rev + 1 => new.push(line),
            Some((seq, present)) => {
                let next_rev = present.rev + 1;
                return Err(AppendError::Conflict { id: line.id, seq: Seq::new(seq), next_rev });
            }
        }
    }
    // A caller may repeat lines that exist, at any position: it may have lost our first answer.
    match expected == end || new.is_empty() {
        true => Ok(new),
        false => Err(AppendError::Moved { chat: chat.clone(), expected, found: end }),
    }
}

fn read_line(
    writing: &Writing<'_, ContextFold>,
    id: &MessageId,
) -> Result<Option<(u64, UnnumberedLine)>, StorageError> {
    let known = writing.tail().and_then(|known| known.fold.places.get(id.as_str())).copied();
    let Some(place) = known else { return Ok(None) };
    let line = decode(&writing.read(place.span)?);
    Ok(line.map(|line| (place.seq, line.into_draft())))
}

/// Whether two lines have the same content; the order of keys does not matter.
fn same_content(a: &UnnumberedLine, b: &UnnumberedLine) -> bool {
    let parse = |draft: &UnnumberedLine| Json::parse(&format!("{{{}}}", draft.body)).ok();
    let blobs =
        |draft: &UnnumberedLine| draft.blobs.as_deref().and_then(|text| Json::parse(text).ok());
    a.kind == b.kind && parse(a) == parse(b) && blobs(a) == blobs(b)
}

/// Makes the first line of a log from the data of its head.
pub(crate) fn head_line(data: Object, seq: u64, now: crate::Timestamp) -> UnnumberedLine {
    let mut body = Object::new();
    body.set("id", format!("e{seq}"));
    body.set("ts", now.to_string());
    body.set("event", "head");
    body.set("data", data);
    UnnumberedLine::new(LineKind::Event, body)
}
