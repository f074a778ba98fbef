//! The state of a context log in memory, which decides about appends and rotations.

use std::collections::HashMap;

use super::log::{Fold, LogTail, Span, Writing};
use super::published;
use crate::line::{LineOutline, RawLine, decode};
use crate::rules::{Batch, LiveLog, LogEnd, PreparedLine, PresentLine, published_end, read_head};
use crate::{Gen, LedgerSeq, MessageId, Position, Seq, StorageError};

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
    /// The bytes of those ids.
    ids_bytes: u64,
}

/// The memory of a place without the bytes of its id, with the room that a map keeps free.
const PLACE_BYTES: u64 = 128;

/// The place of a line's newest revision, and the number of its first line.
#[derive(Clone, Copy)]
pub(crate) struct LinePosition {
    pub(crate) seq: u64,
    rev: u64,
    pub(crate) span: Span,
}

impl ContextFold {
    pub(crate) fn inbox(&self) -> Option<LedgerSeq> {
        self.inbox.map(LedgerSeq::new)
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
            let head = read_head(line);
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

    fn cached_bytes(&self) -> u64 {
        self.places.len() as u64 * PLACE_BYTES + self.ids_bytes
    }

    fn loss(&self, given: u64) -> Option<String> {
        let published = self.published;
        (given < published).then(|| published::missing_end_text(given, published))
    }
}

impl ContextFold {
    fn set_place(&mut self, id: &str, place: LinePosition) {
        if let Some(known) = self.places.get_mut(id) {
            if place.rev > known.rev {
                *known = LinePosition { seq: known.seq, ..place };
            }
            return;
        }
        self.ids_bytes += id.len() as u64;
        self.places.insert(id.to_owned(), place);
    }
}

/// Returns the state of the log that decides about appends and rotations.
pub(crate) fn live_log(known: &LogTail<ContextFold>) -> LiveLog {
    let (generation, seq) = (Gen::new(known.fold.generation), Seq::new(known.last_seq));
    LiveLog {
        first: Seq::new(known.first_seq),
        end: LogEnd { position: Position { generation, seq }, next: Seq::new(known.next_seq()) },
        crc: known.fold.crc,
        inbox: known.fold.inbox(),
    }
}

/// Reads the lines of the log that have an id of the batch.
pub(crate) fn present_lines(
    writing: &Writing<'_, ContextFold>,
    batch: &Batch,
) -> Result<HashMap<MessageId, PresentLine>, StorageError> {
    let mut present = HashMap::new();
    let Some(known) = writing.tail() else { return Ok(present) };
    for PreparedLine { id, .. } in &batch.lines {
        let Some(place) = known.fold.places.get(id.as_str()) else { continue };
        if let Some(line) = decode(&writing.read(place.span)?) {
            let (seq, line) = (Seq::new(place.seq), line.into_draft());
            present.insert(id.clone(), PresentLine { seq, line });
        }
    }
    Ok(present)
}
