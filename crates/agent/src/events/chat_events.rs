//! The events of one chat, which all its readers read from one list.
//!
//! A reader is a place in the list, so a reader that does not read costs nothing of its own and delays no run. The
//! list holds the answer that is being written from its first chunk: a reader that joins late begins there, and gets
//! everything once and in order, like those that were there before. Deltas of one part are joined after a while, but never
//! across the place of a reader; see [`join`](super::join).
//!
//! What ended before the present answer stays for the readers that have not read it, as long as they are at most
//! `kept_bytes` behind that answer, and nothing of it when the caches of all chats have no room. A reader that is further
//! behind misses it: it is told so, and joins anew. Nothing is lost with it, because the store has all that ended.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::task::Waker;

use ship_message::Chunk;

use super::RunEvent;
use super::event_size::event_size;
use super::join::{is_of_answer, join};
use crate::memory_budget::BudgetShare;

/// The number that names a reader.
pub(super) type ReaderId = u64;

/// The limits of what is kept for readers.
#[derive(Clone, Copy, Debug)]
pub(super) struct EventLimits {
    /// The number of events in the list above which they are joined.
    pub(super) unjoined: usize,
    /// The bytes by which a reader may be behind the present answer.
    pub(super) kept_bytes: u64,
}

impl Default for EventLimits {
    fn default() -> Self {
        Self { unjoined: 256, kept_bytes: 1 << 20 }
    }
}

/// An event and its place.
#[derive(Clone, Debug)]
pub(super) struct PlacedEvent {
    pub(super) place: u64,
    /// The bytes of all events before it.
    pub(super) bytes_before: u64,
    pub(super) event: Arc<RunEvent>,
}

/// The answer that is being written.
#[derive(Debug)]
struct OpenAnswer {
    message_id: String,
    /// The chunks of the message when the run began or continued it.
    before: Arc<[Arc<RunEvent>]>,
    /// The place of the first event behind those.
    from: u64,
}

/// A reader and its place.
#[derive(Debug, Default)]
struct Reader {
    /// The chunks of the answer to read first, and how many of them are read.
    before: Arc<[Arc<RunEvent>]>,
    read_before: usize,
    /// The place of the next event.
    next: u64,
    /// The place of the first event after the reader joined.
    joined: u64,
    has_missed: bool,
    /// Whether the reader of all chats knows that this one has something to read.
    is_enlisted: bool,
    waker: Option<Waker>,
}

/// The events of one chat.
#[derive(Debug, Default)]
pub(super) struct ChatEvents {
    limits: EventLimits,
    events: VecDeque<PlacedEvent>,
    next_place: u64,
    /// The bytes of all events so far.
    bytes: u64,
    /// The same when the last answer ended.
    bytes_at_end: u64,
    answer: Option<OpenAnswer>,
    readers: BTreeMap<ReaderId, Reader>,
    /// The length of the list at which events are joined next.
    join_at: usize,
    /// The memory of the list, as a part of all caches.
    memory: BudgetShare,
}

impl ChatEvents {
    pub(super) fn new(limits: EventLimits, memory: BudgetShare) -> Self {
        Self { limits, join_at: limits.unjoined, memory, ..Self::default() }
    }

    /// Adds a reader. It begins with the answer that is being written, or with the next event.
    pub(super) fn join(&mut self, id: ReaderId) {
        let mut reader =
            Reader { next: self.next_place, joined: self.next_place, ..Reader::default() };
        if let Some(answer) = &self.answer {
            (reader.before, reader.next) = (Arc::clone(&answer.before), answer.from);
        }
        self.readers.insert(id, reader);
    }

    /// Removes a reader, and what was kept for it alone.
    pub(super) fn leave(&mut self, id: ReaderId) {
        self.readers.remove(&id);
        self.trim();
    }

    pub(super) fn has_answer(&self) -> bool {
        self.answer.is_some()
    }

    pub(super) fn readers(&self) -> impl Iterator<Item = ReaderId> {
        self.readers.keys().copied()
    }

    /// Adds an event. The end of a run ends its answer.
    pub(super) fn push(&mut self, event: RunEvent) {
        let is_end = matches!(event, RunEvent::Ended { .. });
        self.add(event);
        match is_end {
            true => self.end(),
            false => self.skip_idle_events(),
        }
    }

    /// Begins an answer, or continues it. Present readers get `events`; later ones get the chunks `before`, which make
    /// the message as it is now.
    pub(super) fn begin(&mut self, message_id: String, events: Vec<RunEvent>, before: Vec<Chunk>) {
        let bytes = self.bytes;
        events.into_iter().for_each(|event| self.add(event));
        let before = before.into_iter().map(|chunk| Arc::new(RunEvent::Chunk(chunk))).collect();
        self.answer = Some(OpenAnswer { message_id, before, from: self.next_place });
        self.skip_behind(bytes);
        self.trim();
    }

    /// Ends the answer if its run has not, and tells so.
    pub(super) fn abandon(&mut self) {
        if let Some(answer) = self.answer.take() {
            self.add(RunEvent::Left { message_id: answer.message_id });
            self.end();
        }
    }

    fn add(&mut self, event: RunEvent) {
        let (place, bytes_before) = (self.next_place, self.bytes);
        self.next_place += 1;
        self.bytes += event_size(&event);
        self.events.push_back(PlacedEvent { place, bytes_before, event: Arc::new(event) });
        if self.events.len() > self.join_at {
            let readers: BTreeSet<u64> = self.readers.values().map(|it| it.next).collect();
            let answer = self.answer.as_ref().map(|answer| answer.from);
            self.events = join(std::mem::take(&mut self.events), &readers, answer);
            self.join_at = self.limits.unjoined.max(self.events.len() * 2);
        }
        self.count_memory();
    }

    /// Counts the list in the memory of all caches. Joined deltas count as before they were joined.
    fn count_memory(&mut self) {
        let first = self.events.front().map_or(self.bytes, |event| event.bytes_before);
        self.memory.set(usize::try_from(self.bytes - first).unwrap_or(usize::MAX));
    }

    /// Returns the bytes by which a reader may be behind.
    fn kept_bytes(&self) -> u64 {
        if self.memory.is_short() { 0 } else { self.limits.kept_bytes }
    }

    fn end(&mut self) {
        self.answer = None;
        self.bytes_at_end = self.bytes;
        self.trim();
    }

    /// Bounds what is told about a chat in which no run is going on.
    fn skip_idle_events(&mut self) {
        if self.answer.is_none() {
            if self.bytes - self.bytes_at_end > self.kept_bytes() {
                self.skip_behind(self.bytes);
                self.bytes_at_end = self.bytes;
            }
            if self.readers.is_empty() {
                self.trim();
            }
        }
    }

    /// Lets those readers miss what is there for them that are too far behind this number of bytes.
    fn skip_behind(&mut self, bytes: u64) {
        let kept_bytes = self.kept_bytes();
        let is_behind =
            |reader: &Reader| bytes.saturating_sub(self.bytes_before(reader.next)) > kept_bytes;
        let readers = self.readers.iter().filter(|(_, reader)| is_behind(reader));
        let behind: Vec<ReaderId> = readers.map(|(id, _)| *id).collect();
        behind.into_iter().for_each(|id| self.skip(id));
    }

    /// Lets a reader miss what is there for it: it joins anew, and is told so.
    fn skip(&mut self, id: ReaderId) {
        let Some(Reader { waker, is_enlisted, .. }) = self.readers.remove(&id) else { return };
        self.join(id);
        if let Some(reader) = self.readers.get_mut(&id) {
            *reader = Reader { waker, is_enlisted, has_missed: true, ..std::mem::take(reader) };
        }
    }

    fn bytes_before(&self, place: u64) -> u64 {
        let at = self.events.partition_point(|event| event.place < place);
        self.events.get(at).map_or(self.bytes, |event| event.bytes_before)
    }

    /// Forgets the events that all readers have read and that are not of the present answer.
    fn trim(&mut self) {
        let needed = self.readers.values().map(|reader| reader.next);
        let needed = needed.chain(self.answer.as_ref().map(|answer| answer.from)).min();
        let needed = needed.unwrap_or(self.next_place);
        let count = self.events.partition_point(|event| event.place < needed);
        self.events.drain(..count);
        if self.events.is_empty() {
            self.events = VecDeque::new();
        }
        self.join_at = self.limits.unjoined.max(self.events.len() * 2);
        self.count_memory();
    }

    /// Returns the number of events and their bytes.
    #[cfg(test)]
    pub(super) fn size(&self) -> (usize, u64) {
        (self.events.len(), self.events.iter().map(|it| event_size(&it.event)).sum())
    }

    /// Whether a reader has something to read.
    pub(super) fn has_unread(&self, id: ReaderId) -> bool {
        self.readers.get(&id).is_some_and(|reader| {
            reader.has_missed
                || reader.read_before < reader.before.len()
                || self.events.back().is_some_and(|last| last.place >= reader.next)
        })
    }

    /// Reads the next event of a reader.
    pub(super) fn read(&mut self, id: ReaderId) -> Option<Arc<RunEvent>> {
        let reader = self.readers.get_mut(&id)?;
        if std::mem::take(&mut reader.has_missed) {
            return Some(Arc::new(RunEvent::Missed));
        }
        if let Some(event) = reader.before.get(reader.read_before).cloned() {
            reader.read_before += 1;
            return Some(event);
        }
        reader.before = Arc::default();
        let first = self.events.partition_point(|event| event.place < reader.next);
        let unread = self.events.range(first..);
        let mut unread = unread.filter(|it| it.place >= reader.joined || is_of_answer(&it.event));
        let found = unread.next().cloned();
        reader.next = found.as_ref().map_or(self.next_place, |found| found.place + 1);
        if self.answer.is_none() && reader.next >= self.next_place {
            self.trim();
        }
        found.map(|found| found.event)
    }

    /// Whether a reader of all chats has something new to read here, of which it does not know yet. Now it does.
    pub(super) fn enlist(&mut self, id: ReaderId) -> bool {
        let has_unread = self.has_unread(id);
        let reader = self.readers.get_mut(&id).filter(|_| has_unread);
        reader.is_some_and(|reader| !std::mem::replace(&mut reader.is_enlisted, true))
    }

    /// Notes that a reader of all chats has been here.
    pub(super) fn unlist(&mut self, id: ReaderId) {
        if let Some(reader) = self.readers.get_mut(&id) {
            reader.is_enlisted = false;
        }
    }

    /// Wakes a reader at the next event.
    pub(super) fn wake_later(&mut self, id: ReaderId, waker: &Waker) {
        if let Some(reader) = self.readers.get_mut(&id)
            && !reader.waker.as_ref().is_some_and(|known| known.will_wake(waker))
        {
            reader.waker = Some(waker.clone());
        }
    }

    /// Takes the wakers of the readers that wait.
    pub(super) fn take_wakers(&mut self, wakers: &mut Vec<Waker>) {
        wakers.extend(self.readers.values_mut().filter_map(|reader| reader.waker.take()));
    }
}
