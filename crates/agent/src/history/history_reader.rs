//! Reads the messages of a history one after the other, with at most one sealed log in memory.

use std::collections::VecDeque;
use std::sync::Arc;

use ship_message::UiMessage;
use ship_store::{Chat, ContextId, LedgerSeq, ReadError, SealedLog, SealedName, View};

use super::found_messages::{FoundInLogs, FoundMessage, FoundMessages, HistoryPlace};
use super::history_cursor::HistoryCursor;
use super::history_page::HistoryMessage;
use crate::inbox::{newest_waiting, queued_message};

/// Some messages of a history, oldest first, to be read one by one. Only their places are in memory, so there may be any
/// number of them.
pub struct HistoryReader {
    chat: Arc<dyn Chat>,
    live: Option<View>,
    sealed: Vec<SealedLog>,
    /// The sealed log that was read last, with its index.
    open: Option<(usize, View)>,
    /// The messages of the logs in their order.
    said: Vec<(String, FoundMessage)>,
    /// The messages that wait behind them.
    waiting: Vec<(LedgerSeq, UiMessage)>,
    /// The cursor of the messages before these; `None` if there are none.
    older: Option<HistoryCursor>,
}

impl std::fmt::Debug for HistoryReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HistoryReader").field("len", &self.len()).finish_non_exhaustive()
    }
}

impl HistoryReader {
    /// Finds the last `limit` messages of a chat. It needs no agent, so a chat can be read whatever is wrong with the model.
    ///
    /// # Errors
    /// Fails if the chat cannot be read.
    pub async fn open(chat: Arc<dyn Chat>, limit: usize) -> Result<Self, ReadError> {
        Self::open_before(chat, None, limit).await
    }

    /// Finds all messages of one context, in any of its logs. They stand in the order of the log that has had them
    /// first, each in its newest form.
    ///
    /// # Errors
    /// Fails if the chat cannot be read.
    pub async fn of_context(chat: Arc<dyn Chat>, context: &ContextId) -> Result<Self, ReadError> {
        let live = chat.log().view().await?;
        let mut found = FoundInLogs::default();
        live.iter()
            .filter(|view| view.head.context == *context)
            .for_each(|view| found.add_log(view, 0));
        let mut logs = LogWalk::new(&*chat, None, None);
        while logs.list_next().await? {
            let is_of_it = |log: &SealedLog| log.head.context == *context && log.purged.is_none();
            let Some(log) = logs.sealed.last().filter(|log| is_of_it(log)) else { continue };
            let view = chat.log().sealed_view_if_readable(&log.name).await?;
            view.iter().for_each(|view| found.add_log(view, logs.sealed.len()));
        }
        let sealed = logs.sealed;
        let said = found.in_order();
        Ok(Self { chat, live, sealed, open: None, said, waiting: Vec::new(), older: None })
    }

    /// Finds the last `limit` messages before a cursor, or the newest ones.
    pub(super) async fn open_before(
        chat: Arc<dyn Chat>,
        before: Option<&HistoryCursor>,
        limit: usize,
    ) -> Result<Self, ReadError> {
        // Waiting messages are read first: one that is answered meanwhile is then found twice, and given once.
        let waiting = waiting_messages(&*chat, before, limit).await?;
        let mut found = FoundMessages::default();
        // The live log goes before the sealed ones: if it is rotated meanwhile, it is then found among them.
        let live = chat.log().view().await?;
        live.iter().for_each(|view| found.add_log(view, 0));
        let mut logs = LogWalk::new(&*chat, live.as_ref(), before);
        while found.count_settled(before, logs.promoted) < limit && logs.read_next().await? {
            let nth = logs.sealed.len();
            logs.open.iter().for_each(|(_, view)| found.add_log(view, nth));
        }
        let is_new =
            |(_, message): &(LedgerSeq, UiMessage)| !found.has(message.id().unwrap_or_default());
        let mut waiting: Vec<_> = waiting.into_iter().filter(is_new).collect();
        waiting.drain(..waiting.len().saturating_sub(limit));
        let mut said = found.in_order(before);
        let first = said.len().saturating_sub(limit - waiting.len());
        said.drain(..first);
        let is_more = first > 0 || !logs.is_at_end;
        let older = is_more.then(|| logs.cursor_before(&said, &waiting)).flatten();
        let LogWalk { sealed, open, .. } = logs;
        Ok(Self { chat, live, sealed, open, said, waiting, older })
    }

    /// Returns the number of messages.
    pub fn len(&self) -> usize {
        self.said.len() + self.waiting.len()
    }

    /// Whether there are no messages.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the cursor of the messages before these; `None` if there are none.
    pub(super) fn older(&self) -> Option<HistoryCursor> {
        self.older.clone()
    }

    /// Returns the context in which the chat is now; `None` before the first.
    pub fn active_context(&self) -> Option<&ContextId> {
        self.live.as_ref().map(|view| &view.head.context)
    }

    /// Returns the place of the message with an id; `None` if it is not among these.
    pub fn place_of(&self, id: &str) -> Option<usize> {
        let said = self.said.iter().position(|(known, _)| known == id);
        let waits = || self.waiting.iter().position(|(_, message)| message.id() == Some(id));
        said.or_else(|| waits().map(|at| self.said.len() + at))
    }

    /// Returns the context of a message; `None` if it waits.
    pub fn context_of(&self, nth: usize) -> Option<&ContextId> {
        match self.said.get(nth)?.1.log.checked_sub(1) {
            None => self.active_context(),
            Some(sealed) => self.sealed.get(sealed).map(|log| &log.head.context),
        }
    }

    /// Reads a message; `None` if its log was purged meanwhile.
    ///
    /// # Errors
    /// Fails if the chat cannot be read.
    pub async fn message(&mut self, nth: usize) -> Result<Option<HistoryMessage>, ReadError> {
        let Some((_, FoundMessage { log, seq, .. })) = self.said.get(nth) else {
            let waiting = self.waiting.get(nth - self.said.len());
            return Ok(waiting.map(|(_, message)| HistoryMessage::waiting(message.clone())));
        };
        let (log, seq) = (*log, *seq);
        self.open_log(log).await?;
        let view = match log {
            0 => self.live.as_ref(),
            _ => self.open.as_ref().map(|(_, view)| view),
        };
        let at = |view: &View| view.lines.binary_search_by_key(&seq, |line| line.seq).ok();
        let line = view.and_then(|view| view.lines.get(at(view)?));
        let Some(message) = line.and_then(|line| line.message().cloned()) else { return Ok(None) };
        Ok(Some(HistoryMessage {
            message,
            context: self.context_of(nth).cloned(),
            log: log.checked_sub(1).map(|sealed| self.sealed[sealed].name.clone()),
            is_queued: false,
        }))
    }

    /// Reads a sealed log, unless it was read last.
    async fn open_log(&mut self, log: usize) -> Result<(), ReadError> {
        let Some(sealed) = log.checked_sub(1) else { return Ok(()) };
        if self.open.as_ref().is_none_or(|(open, _)| *open != log) {
            drop(self.open.take());
            let view = self.chat.log().sealed_view_if_readable(&self.sealed[sealed].name).await?;
            self.open = view.map(|view| (log, view));
        }
        Ok(())
    }
}

/// Returns the newest messages before a cursor that are in no context yet, each with its entry.
async fn waiting_messages(
    chat: &dyn Chat,
    before: Option<&HistoryCursor>,
    limit: usize,
) -> Result<Vec<(LedgerSeq, UiMessage)>, ReadError> {
    let view = chat.log().view().await?;
    let inbox = view.as_ref().and_then(|view| view.inbox);
    let before = before.map(|cursor| LedgerSeq::new(cursor.place.entry));
    let lines = newest_waiting(chat, inbox, before, limit).await?;
    let message = |line| queued_message(view.as_ref(), &line).map(|message| (line.seq, message));
    Ok(lines.into_iter().filter_map(message).collect())
}

/// Reads the sealed logs of a chat, the newest first, from the place of a cursor on.
struct LogWalk<'a> {
    chat: &'a dyn Chat,
    /// The log behind those that are read.
    newer_log: Option<SealedName>,
    /// The logs that were read.
    sealed: Vec<SealedLog>,
    /// The logs that come next.
    next: VecDeque<SealedLog>,
    /// The log that was read last, with its index; `None` if it was purged or cannot be read.
    open: Option<(usize, View)>,
    /// How far the ledger was read when the logs before the last one were sealed.
    promoted: u64,
    is_at_end: bool,
}

/// The number of sealed logs that are listed at once.
const LOGS_LISTED: usize = 4;

impl<'a> LogWalk<'a> {
    fn new(chat: &'a dyn Chat, live: Option<&View>, before: Option<&HistoryCursor>) -> Self {
        let newer_log = before.and_then(|cursor| cursor.newer_log.clone());
        // Behind a gap, nothing is known of the logs in it.
        let live = live.filter(|_| newer_log.is_none());
        Self {
            chat,
            newer_log,
            sealed: Vec::new(),
            next: VecDeque::new(),
            open: None,
            promoted: live.map_or(u64::MAX, |view| promoted_before(view.head.inbox)),
            is_at_end: false,
        }
    }

    /// Reads the next log. Returns `false` if there is none.
    async fn read_next(&mut self) -> Result<bool, ReadError> {
        // The log before it is dropped first, so that only one is in memory.
        drop(self.open.take());
        if !self.list_next().await? {
            return Ok(false);
        }
        let nth = self.sealed.len();
        let Some(log) = self.sealed.last() else { return Ok(false) };
        if log.purged.is_none() {
            let view = self.chat.log().sealed_view_if_readable(&log.name).await?;
            self.open = view.map(|view| (nth, view));
        }
        self.promoted = promoted_before(log.head.inbox);
        Ok(true)
    }

    /// Adds the next log to the list. Returns `false` if there is none.
    async fn list_next(&mut self) -> Result<bool, ReadError> {
        if self.next.is_empty() {
            let before = self.sealed.last().map(|log| &log.name).or(self.newer_log.as_ref());
            let listed = self.chat.log().sealed_logs(before.cloned(), LOGS_LISTED).await?;
            self.next = listed.into();
        }
        let Some(log) = self.next.pop_front() else {
            self.is_at_end = true;
            return Ok(false);
        };
        self.sealed.push(log);
        Ok(true)
    }

    /// Returns the cursor before the first of these messages.
    fn cursor_before(
        &self,
        said: &[(String, FoundMessage)],
        waiting: &[(LedgerSeq, UiMessage)],
    ) -> Option<HistoryCursor> {
        let (id, place) = match (said.first(), waiting.first()) {
            (Some((id, found)), _) => (id.clone(), found.place),
            (None, Some((seq, message))) => {
                let place = HistoryPlace { entry: seq.get(), is_behind: false };
                (message.id().unwrap_or_default().to_owned(), place)
            }
            (None, None) => return None,
        };
        Some(HistoryCursor { place, newer_log: self.newest_without(place.entry), id })
    }

    /// Returns the oldest log that is newer than all that may have messages for ledger entries up to `entry`.
    ///
    /// They are in the log that took the entry in, and in the next one, which has copies of what was purged or damaged.
    /// A run that was interrupted by rotations has answered in the logs that began at the same entry as that one.
    fn newest_without(&self, entry: u64) -> Option<SealedName> {
        let begins = |log: &SealedLog| promoted_before(log.head.inbox);
        let took_in = self.sealed.iter().take_while(|log| begins(log) >= entry).count();
        let begun = took_in.checked_sub(1).map(|copies| begins(&self.sealed[copies]));
        let is_newer = |log: &&SealedLog| begun.is_some_and(|begun| begins(log) > begun);
        let newer = self.sealed.iter().take_while(is_newer).last();
        newer.map(|log| log.name.clone()).or_else(|| self.newer_log.clone())
    }
}

fn promoted_before(inbox: Option<LedgerSeq>) -> u64 {
    inbox.map_or(0, LedgerSeq::get)
}
