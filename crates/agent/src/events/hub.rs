//! The hub: takes the events of all chats, and gives each reader its own.
//!
//! One lock holds everything. It is held while a place is moved or an event is added, never while a reader is woken or
//! an event is made. A chat is in the hub while it has a reader, an answer that is being written, or something that a
//! reader of all chats has not read.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use parking_lot::Mutex;
use ship_message::Chunk;
use ship_store::ChatKey;

use super::RunEvent;
use super::chat_events::{ChatEvents, EventLimits, ReaderId};
use super::listener::{AgentListener, Listener};
use crate::memory_budget::{BudgetShare, MemoryBudget};

/// The number of chats that a reader of all chats may leave unread. Of more, it misses those without a run.
pub(super) const UNREAD_CHATS: usize = 1_000;

/// The number of chats of which a reader of all chats may miss something. One that misses more ends.
pub(super) const MISSED_CHATS: usize = 10_000;

/// Takes the events of all chats. Its listeners end when it is dropped.
#[derive(Debug, Default)]
pub(crate) struct EventHub {
    shared: Arc<SharedHub>,
}

/// What a hub and its listeners share.
#[derive(Debug, Default)]
pub(super) struct SharedHub(Mutex<HubState>);

#[derive(Debug, Default)]
struct HubState {
    limits: EventLimits,
    /// The memory of all caches, in which the events count that are kept for readers.
    memory: Option<MemoryBudget>,
    chats: HashMap<ChatKey, ChatEvents>,
    /// The readers of all chats. Each is a reader of every chat that is here.
    agent_readers: BTreeMap<ReaderId, AgentReader>,
    next_id: ReaderId,
    is_closed: bool,
}

/// A reader of all chats.
#[derive(Debug, Default)]
struct AgentReader {
    /// The chats with something to read, the longest unread first.
    unread: VecDeque<ChatKey>,
    /// The chats of which it missed something, which are not here any more.
    missed: BTreeSet<ChatKey>,
    waker: Option<Waker>,
}

impl EventHub {
    /// Makes a hub whose events count in the memory of all caches.
    pub(crate) fn within(budget: &MemoryBudget) -> Self {
        let hub = Self::default();
        hub.shared.0.lock().memory = Some(budget.clone());
        hub
    }

    /// Follows a chat.
    pub(crate) fn listen(&self, chat: &ChatKey) -> Listener {
        let mut hub = self.shared.0.lock();
        let id = hub.new_id();
        hub.chat(chat).join(id);
        Listener::new(Arc::clone(&self.shared), chat.clone(), id)
    }

    /// Follows all chats.
    pub(crate) fn listen_to_all(&self) -> AgentListener {
        let mut hub = self.shared.0.lock();
        let id = hub.new_id();
        let mut reader = AgentReader::default();
        for (key, chat) in &mut hub.chats {
            chat.join(id);
            reader.unread.extend(chat.enlist(id).then(|| key.clone()));
        }
        hub.agent_readers.insert(id, reader);
        AgentListener::new(Arc::clone(&self.shared), id)
    }

    /// Sends an event to the listeners of a chat.
    pub(crate) fn send(&self, chat: &ChatKey, event: RunEvent) {
        self.shared.change(chat, |events| events.push(event));
    }

    /// Begins a message or continues it: the present listeners of its chat get `events`, and those that join later get
    /// the chunks `before` instead, which make the message as it is now.
    pub(crate) fn begin(
        &self,
        chat: &ChatKey,
        message_id: String,
        events: Vec<RunEvent>,
        before: Vec<Chunk>,
    ) {
        self.shared.change(chat, |chat| chat.begin(message_id, events, before));
    }

    /// Returns the number of chats that take memory.
    #[cfg(test)]
    pub(super) fn chat_count(&self) -> usize {
        self.shared.0.lock().chats.len()
    }

    /// Keeps the stream of a run from being left open.
    pub(crate) fn guard(self: &Arc<Self>, chat: &ChatKey) -> StreamGuard {
        StreamGuard { hub: Arc::clone(self), chat: chat.clone() }
    }
}

impl Drop for EventHub {
    fn drop(&mut self) {
        let mut wakers = Vec::new();
        let mut hub = self.shared.0.lock();
        hub.is_closed = true;
        hub.chats.values_mut().for_each(|chat| chat.take_wakers(&mut wakers));
        wakers.extend(hub.agent_readers.values_mut().filter_map(|reader| reader.waker.take()));
        drop(hub);
        wakers.into_iter().for_each(Waker::wake);
    }
}

/// Ends the stream of a run that is dropped before its end.
#[derive(Debug)]
pub(crate) struct StreamGuard {
    hub: Arc<EventHub>,
    chat: ChatKey,
}

impl Drop for StreamGuard {
    fn drop(&mut self) {
        self.hub.shared.change(&self.chat, ChatEvents::abandon);
    }
}

impl SharedHub {
    /// Changes the events of a chat, and wakes the readers that wait for them.
    fn change(&self, chat: &ChatKey, change: impl FnOnce(&mut ChatEvents)) {
        let mut wakers = Vec::new();
        let mut hub = self.0.lock();
        let events = hub.chat(chat);
        change(events);
        events.take_wakers(&mut wakers);
        hub.tell_agent_readers(chat, &mut wakers);
        hub.forget_unused(chat);
        drop(hub);
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Reads the next event of a chat; none when the hub is gone.
    pub(super) fn poll_chat(
        &self,
        chat: &ChatKey,
        id: ReaderId,
        context: &mut Context<'_>,
    ) -> Poll<Option<Arc<RunEvent>>> {
        let mut hub = self.0.lock();
        let is_closed = hub.is_closed;
        let Some(events) = hub.chats.get_mut(chat) else { return Poll::Ready(None) };
        match events.read(id) {
            None if !is_closed => {
                events.wake_later(id, context.waker());
                Poll::Pending
            }
            event => Poll::Ready(event),
        }
    }

    /// Reads the next event of a chat if there is one.
    pub(super) fn read_chat(&self, chat: &ChatKey, id: ReaderId) -> Option<Arc<RunEvent>> {
        self.0.lock().chats.get_mut(chat)?.read(id)
    }

    /// Reads the next event of any chat; none when the hub is gone or the reader was ended.
    pub(super) fn poll_all(
        &self,
        id: ReaderId,
        context: &mut Context<'_>,
    ) -> Poll<Option<(ChatKey, Arc<RunEvent>)>> {
        let mut hub = self.0.lock();
        let found = hub.read_any(id);
        if found.is_some() || hub.is_closed {
            return Poll::Ready(found);
        }
        match hub.agent_readers.get_mut(&id) {
            Some(reader) => {
                reader.waker = Some(context.waker().clone());
                Poll::Pending
            }
            None => Poll::Ready(None),
        }
    }

    /// Reads the next event of any chat if there is one.
    pub(super) fn read_any(&self, id: ReaderId) -> Option<(ChatKey, Arc<RunEvent>)> {
        self.0.lock().read_any(id)
    }

    /// Forgets a reader of a chat.
    pub(super) fn leave_chat(&self, chat: &ChatKey, id: ReaderId) {
        let mut hub = self.0.lock();
        hub.chat(chat).leave(id);
        hub.forget_unused(chat);
    }

    /// Forgets a reader of all chats.
    pub(super) fn leave_all(&self, id: ReaderId) {
        let mut hub = self.0.lock();
        hub.agent_readers.remove(&id);
        hub.chats.values_mut().for_each(|chat| chat.leave(id));
        hub.forget_all_unused();
    }
}

impl HubState {
    fn new_id(&mut self) -> ReaderId {
        self.next_id += 1;
        self.next_id
    }

    /// Returns the events of a chat, which the readers of all chats read, too.
    fn chat(&mut self, chat: &ChatKey) -> &mut ChatEvents {
        if !self.chats.contains_key(chat) {
            let memory = self.memory.as_ref().map(BudgetShare::of).unwrap_or_default();
            let mut events = ChatEvents::new(self.limits, memory);
            self.agent_readers.keys().for_each(|id| events.join(*id));
            self.chats.insert(chat.clone(), events);
        }
        self.chats.entry(chat.clone()).or_default()
    }

    /// Notes for the readers of all chats that a chat has something to read, and takes the wakers of those that wait.
    fn tell_agent_readers(&mut self, chat: &ChatKey, wakers: &mut Vec<Waker>) {
        let mut is_skipping = false;
        for (id, reader) in &mut self.agent_readers {
            let Some(events) = self.chats.get_mut(chat) else { return };
            if events.enlist(*id) {
                reader.unread.push_back(chat.clone());
                wakers.extend(reader.waker.take());
                if reader.unread.len() > UNREAD_CHATS {
                    reader.skip_chats(*id, &mut self.chats);
                    is_skipping = true;
                }
            }
        }
        if is_skipping {
            self.end_absent_readers();
            self.forget_all_unused();
        }
    }

    /// Ends the readers of all chats that miss too much, or what is kept for them would grow without end.
    fn end_absent_readers(&mut self) {
        let is_absent =
            |(_, reader): &(&ReaderId, &AgentReader)| reader.missed.len() > MISSED_CHATS;
        let absent = self.agent_readers.iter().filter(is_absent).map(|(id, _)| *id);
        for id in absent.collect::<Vec<_>>() {
            self.agent_readers.remove(&id);
            self.chats.values_mut().for_each(|chat| chat.leave(id));
        }
    }

    fn read_any(&mut self, id: ReaderId) -> Option<(ChatKey, Arc<RunEvent>)> {
        let reader = self.agent_readers.get_mut(&id)?;
        if let Some(chat) = reader.missed.pop_first() {
            return Some((chat, Arc::new(RunEvent::Missed)));
        }
        loop {
            let reader = self.agent_readers.get_mut(&id)?;
            let chat = reader.unread.pop_front()?;
            let Some(events) = self.chats.get_mut(&chat) else { continue };
            let event = events.read(id);
            events.unlist(id);
            if events.enlist(id) {
                // The other chats come first.
                reader.unread.push_back(chat.clone());
            }
            self.forget_unused(&chat);
            if let Some(event) = event {
                return Some((chat, event));
            }
        }
    }

    fn forget_all_unused(&mut self) {
        let readers = &self.agent_readers;
        self.chats.retain(|_, events| !is_unused(events, readers));
    }

    /// Forgets a chat without readers and without a run.
    fn forget_unused(&mut self, chat: &ChatKey) {
        let events = self.chats.get(chat);
        if events.is_some_and(|events| is_unused(events, &self.agent_readers)) {
            self.chats.remove(chat);
        }
    }
}

impl AgentReader {
    /// Misses what is unread of the chats without a run.
    fn skip_chats(&mut self, id: ReaderId, chats: &mut HashMap<ChatKey, ChatEvents>) {
        let unread = std::mem::take(&mut self.unread);
        for chat in unread {
            match chats.get_mut(&chat) {
                Some(events) if !events.has_answer() => {
                    events.leave(id);
                    events.join(id);
                    self.missed.insert(chat);
                }
                _ => self.unread.push_back(chat),
            }
        }
    }
}

/// Whether a chat has no answer that is being written, no reader of its own, and nothing unread.
fn is_unused(events: &ChatEvents, agent_readers: &BTreeMap<ReaderId, AgentReader>) -> bool {
    !events.has_answer()
        && events.readers().all(|id| agent_readers.contains_key(&id) && !events.has_unread(id))
}
