//! The changes of chats, for callers that wait for one.
//!
//! There are two kinds. What *arrives* in a chat, an entry of its ledger or a lane that is given back, may come from
//! any process, and ends the waits for that chat. What the holder of the lane *writes* to the context log ends only the
//! waits for the whole store: a run that waits for what arrives is not woken by its own writes.
//!
//! A caller takes a [`Moment`], reads what it needs, and then waits for a change after that moment. So it misses no
//! change between the reading and the waiting. A wait may end without a change that matters to the caller: it reads
//! again and waits again.

use std::collections::{HashMap, VecDeque};
use std::pin::Pin;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::ChatKey;

/// The future of a wait for changes. It cannot fail: a store that cannot watch looks again after a while.
pub type ChangeFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A moment in the life of a process. It means nothing to another process, and is not stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(u64);

/// The chats of a store that have changed after a moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedChats {
    /// The moment of the last change; the next wait begins there.
    pub moment: Moment,
    /// The chats that have changed, each once, in no order.
    pub chats: Vec<ChatKey>,
    /// Whether other chats may have changed too, because the given moment is too long ago or the
    /// store was not watched.
    pub is_partial: bool,
}

/// The number of changes that are remembered. A caller that lags further behind looks at every chat.
const REMEMBERED: usize = 4096;

/// The changes that one process has made or noticed, and the callers that wait for the next.
///
/// A store notes each change here. The feed holds the latest changes and the chats that callers wait for, so its size
/// does not depend on the number of chats.
#[derive(Debug, Default)]
pub struct ChangeFeed {
    state: Mutex<FeedState>,
    any_chat: Notify,
}

#[derive(Debug, Default)]
struct FeedState {
    now: u64,
    /// The latest changes, the newest last. A chat that changed again has a newer entry in `latest`.
    recent: VecDeque<(u64, ChatKey)>,
    latest: HashMap<ChatKey, u64>,
    /// The last arrival in each chat, as long as it is remembered.
    arrivals: HashMap<ChatKey, u64>,
    /// The last change that is no longer remembered.
    forgotten: u64,
    waiting: HashMap<ChatKey, Arc<Notify>>,
}

impl ChangeFeed {
    /// Returns the present moment.
    pub fn now(&self) -> Moment {
        Moment(self.state.lock().now)
    }

    /// Notes that something has arrived in a chat: a ledger entry, or its lane is free.
    pub fn note_arrival(&self, chat: &ChatKey) {
        let waiting = {
            let mut state = self.state.lock();
            state.note(chat);
            let now = state.now;
            state.arrivals.insert(chat.clone(), now);
            state.waiting.get(chat).map(Arc::clone)
        };
        if let Some(waiting) = waiting {
            waiting.notify_waiters();
        }
        self.any_chat.notify_waiters();
    }

    /// Notes that the context log of a chat has changed.
    pub fn note_write(&self, chat: &ChatKey) {
        self.state.lock().note(chat);
        self.any_chat.notify_waiters();
    }

    /// Notes that any chat may have changed, and wakes all callers.
    pub fn note_unknown(&self) {
        let waiting: Vec<Arc<Notify>> = {
            let mut state = self.state.lock();
            state.now += 1;
            state.forgotten = state.now;
            state.recent.clear();
            state.latest.clear();
            state.arrivals.clear();
            state.waiting.values().map(Arc::clone).collect()
        };
        waiting.iter().for_each(|waiting| waiting.notify_waiters());
        self.any_chat.notify_waiters();
    }

    /// Waits until something has arrived in a chat after a moment. Returns the present moment then.
    pub async fn chat_changed(&self, chat: &ChatKey, after: Moment) -> Moment {
        let waiting = ChatWaiter::begin(self, chat);
        loop {
            // The wake-up is asked for before the look, so that none is missed between the two.
            let mut woken = std::pin::pin!(waiting.notify.notified());
            woken.as_mut().enable();
            if let Some(now) = self.state.lock().moment_of_arrival(chat, after) {
                return now;
            }
            woken.await;
        }
    }

    /// Returns what has changed after a moment, which may be nothing.
    pub(crate) fn changed_since(&self, after: Moment) -> ChangedChats {
        let state = self.state.lock();
        let moment = Moment(state.now);
        let nothing = ChangedChats { moment, chats: Vec::new(), is_partial: false };
        state.changed_after(after).unwrap_or(nothing)
    }

    /// Waits until any chat has changed after a moment.
    pub async fn any_changed(&self, after: Moment) -> ChangedChats {
        loop {
            let mut woken = std::pin::pin!(self.any_chat.notified());
            woken.as_mut().enable();
            if let Some(changed) = self.state.lock().changed_after(after) {
                return changed;
            }
            woken.await;
        }
    }
}

impl FeedState {
    fn note(&mut self, chat: &ChatKey) {
        self.now += 1;
        self.latest.insert(chat.clone(), self.now);
        self.recent.push_back((self.now, chat.clone()));
        if self.recent.len() > REMEMBERED
            && let Some((number, chat)) = self.recent.pop_front()
        {
            self.forgotten = number;
            for changes in [&mut self.latest, &mut self.arrivals] {
                if changes.get(&chat) == Some(&number) {
                    changes.remove(&chat);
                }
            }
        }
    }

    /// Returns the present moment if something has arrived in a chat after a moment, or may have.
    fn moment_of_arrival(&self, chat: &ChatKey, after: Moment) -> Option<Moment> {
        let is_changed = self.arrivals.get(chat).is_some_and(|&number| number > after.0);
        (is_changed || after.0 < self.forgotten).then_some(Moment(self.now))
    }

    fn changed_after(&self, after: Moment) -> Option<ChangedChats> {
        let chats = self.recent.iter().rev().take_while(|(number, _)| *number > after.0);
        let newest = chats.filter(|(number, chat)| self.latest.get(chat) == Some(number));
        let chats: Vec<ChatKey> = newest.map(|(_, chat)| chat.clone()).collect();
        let is_partial = after.0 < self.forgotten;
        let changed = ChangedChats { moment: Moment(self.now), chats, is_partial };
        (!changed.chats.is_empty() || is_partial).then_some(changed)
    }
}

/// A caller that waits for a chat.
struct ChatWaiter<'a> {
    feed: &'a ChangeFeed,
    chat: ChatKey,
    notify: Arc<Notify>,
}

impl<'a> ChatWaiter<'a> {
    fn begin(feed: &'a ChangeFeed, chat: &ChatKey) -> Self {
        let mut state = feed.state.lock();
        let notify = Arc::clone(state.waiting.entry(chat.clone()).or_default());
        Self { feed, chat: chat.clone(), notify }
    }
}

impl Drop for ChatWaiter<'_> {
    fn drop(&mut self) {
        let mut state = self.feed.state.lock();
        // The feed and this caller are the last two that have it.
        if Arc::strong_count(&self.notify) == 2 {
            state.waiting.remove(&self.chat);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chat(name: &str) -> ChatKey {
        name.parse().expect("a chat key")
    }

    /// Polls a wait once: a change that was noted ends it at once, otherwise it never ends.
    fn at_once<T>(wait: impl Future<Output = T>) -> Option<T> {
        let mut wait = std::pin::pin!(wait);
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        match wait.as_mut().poll(&mut context) {
            std::task::Poll::Ready(value) => Some(value),
            std::task::Poll::Pending => None,
        }
    }

    #[test]
    fn a_change_between_the_reading_and_the_waiting_ends_the_wait() {
        let feed = ChangeFeed::default();
        let moment = feed.now();
        feed.note_arrival(&chat("a"));
        assert_eq!(at_once(feed.chat_changed(&chat("a"), moment)), Some(feed.now()));
        assert_eq!(at_once(feed.chat_changed(&chat("a"), feed.now())), None);
        assert_eq!(at_once(feed.chat_changed(&chat("b"), moment)), None);
    }

    #[test]
    fn a_write_to_the_context_log_ends_only_the_waits_for_the_store() {
        let feed = ChangeFeed::default();
        let moment = feed.now();
        feed.note_write(&chat("a"));
        assert_eq!(at_once(feed.chat_changed(&chat("a"), moment)), None);
        let changed = at_once(feed.any_changed(moment)).expect("a chat has changed");
        assert_eq!(changed.chats, [chat("a")]);
    }

    #[test]
    fn a_change_wakes_the_callers_of_its_chat_and_those_of_the_store() {
        let feed = ChangeFeed::default();
        let (a, b) = (chat("a"), chat("b"));
        let mut waits = [&a, &a, &b].map(|chat| Box::pin(feed.chat_changed(chat, feed.now())));
        let mut of_store = Box::pin(feed.any_changed(feed.now()));
        assert!(waits.iter_mut().all(|wait| at_once(wait.as_mut()).is_none()));
        assert!(at_once(of_store.as_mut()).is_none());
        feed.note_arrival(&a);
        let [first, second, other] = &mut waits;
        assert!(at_once(first.as_mut()).is_some());
        assert!(at_once(second.as_mut()).is_some());
        assert!(at_once(other.as_mut()).is_none());
        assert_eq!(at_once(of_store).map(|changed| changed.chats), Some(vec![a.clone()]));
    }

    #[test]
    fn a_store_names_each_changed_chat_once_and_says_when_it_has_forgotten_some() {
        let feed = ChangeFeed::default();
        let start = feed.now();
        for name in ["a", "b", "a"] {
            feed.note_arrival(&chat(name));
        }
        let changed = at_once(feed.any_changed(start)).expect("chats have changed");
        assert_eq!((changed.chats, changed.is_partial), (vec![chat("a"), chat("b")], false));
        for number in 0..REMEMBERED {
            feed.note_arrival(&chat(&format!("chat-{number}")));
        }
        let changed = at_once(feed.any_changed(start)).expect("chats have changed");
        assert!(changed.is_partial);
        assert_eq!(changed.chats.len(), REMEMBERED);
        assert!(at_once(feed.chat_changed(&chat("quiet"), start)).is_some(), "it may have changed");
    }

    #[test]
    fn a_disk_that_lost_count_wakes_every_caller() {
        let feed = ChangeFeed::default();
        let quiet = chat("quiet");
        let mut of_chat = Box::pin(feed.chat_changed(&quiet, feed.now()));
        let mut of_store = Box::pin(feed.any_changed(feed.now()));
        assert!(at_once(of_chat.as_mut()).is_none());
        assert!(at_once(of_store.as_mut()).is_none());
        feed.note_unknown();
        assert!(at_once(of_chat).is_some());
        assert!(at_once(of_store).is_some_and(|changed| changed.is_partial));
        assert!(at_once(feed.chat_changed(&quiet, feed.now())).is_none());
    }

    #[test]
    fn nothing_is_kept_of_callers_that_are_gone_or_of_chats_beyond_the_latest() {
        let feed = ChangeFeed::default();
        {
            let moment = feed.now();
            let quiet = chat("quiet");
            let mut first = Box::pin(feed.chat_changed(&quiet, moment));
            assert!(at_once(first.as_mut()).is_none());
            assert!(at_once(feed.chat_changed(&quiet, moment)).is_none());
            assert_eq!(feed.state.lock().waiting.len(), 1);
        }
        for number in 0..3 * REMEMBERED {
            feed.note_arrival(&chat(&format!("chat-{number}")));
        }
        let state = feed.state.lock();
        assert_eq!((state.waiting.len(), state.recent.len()), (0, REMEMBERED));
        assert_eq!((state.latest.len(), state.arrivals.len()), (REMEMBERED, REMEMBERED));
    }
}
