//! Decides in which order the messages of all logs were said.
//!
//! A log that the chat came back to has messages older than those of other logs. So all are sorted in the order of the
//! ledger, which does not depend on any clock. Only their places are in memory.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

use ship_context::compact::is_summary;
use ship_context::contexts::is_reference;
use ship_store::{LedgerSeq, Seq, View};

use super::history_cursor::HistoryCursor;

/// The position of a message: at its own ledger entry, or after that of the last question before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct HistoryPlace {
    pub(super) entry: u64,
    pub(super) is_behind: bool,
}

/// A message with its position in the order.
#[derive(Clone, Copy)]
pub(super) struct FoundMessage {
    pub(super) place: HistoryPlace,
    /// The index of the newest log that has the message: 0 is the live log, 1 the newest sealed one that was read.
    pub(super) log: usize,
    pub(super) seq: Seq,
}

impl FoundMessage {
    /// Returns the order of the messages. At one position, those of older logs come first.
    fn order(&self) -> (HistoryPlace, Reverse<usize>, Seq) {
        (self.place, Reverse(self.log), self.seq)
    }
}

/// The messages of one context, which has had them in the order of its logs.
#[derive(Default)]
pub(super) struct FoundInLogs {
    by_id: HashMap<String, (FoundMessage, (Reverse<usize>, Seq))>,
}

impl FoundInLogs {
    /// Adds the messages of a log. The newest log comes first.
    pub(super) fn add_log(&mut self, view: &View, log: usize) {
        for line in &view.lines {
            let Some(message) = line.message() else { continue };
            if is_summary(message) || is_reference(message) {
                continue;
            }
            let found = FoundMessage { place: HistoryPlace::default(), log, seq: line.seq };
            let first = (Reverse(log), line.seq);
            let id = message.id().unwrap_or_default().to_owned();
            // An older log has it at its first place.
            self.by_id.entry(id).or_insert((found, first)).1 = first;
        }
    }

    /// Returns the messages in the order in which they came into the context.
    pub(super) fn in_order(self) -> Vec<(String, FoundMessage)> {
        let mut found: Vec<_> = self.by_id.into_iter().collect();
        found.sort_by_key(|(_, (_, first))| *first);
        found.into_iter().map(|(id, (found, _))| (id, found)).collect()
    }
}

/// The messages that were found, by their ids.
#[derive(Default)]
pub(super) struct FoundMessages {
    by_id: HashMap<String, FoundMessage>,
}

impl FoundMessages {
    /// Adds the messages of a log that are not found yet. Logs are added in the order of their age, the newest first.
    pub(super) fn add_log(&mut self, view: &View, log: usize) {
        let mut said = HistoryPlace::default();
        let mut promoted = 0;
        for line in &view.lines {
            let own = line.inbox.map(LedgerSeq::get);
            promoted = promoted.max(own.unwrap_or(0));
            let Some(message) = line.message() else { continue };
            if is_summary(message) || is_reference(message) {
                continue;
            }
            // The order within a log counts: a message sent during an answer stands after it, even if a later log
            // has only one of the two. An answer after an operation is as new as the operation, which may have brought
            // an old question back.
            let entry = own.unwrap_or(promoted);
            let is_behind = own.is_none() || entry <= said.entry;
            said = HistoryPlace { entry: entry.max(said.entry), is_behind };
            self.add(
                message.id().unwrap_or_default(),
                FoundMessage { place: said, log, seq: line.seq },
            );
        }
    }

    fn add(&mut self, id: &str, found: FoundMessage) {
        match self.by_id.entry(id.to_owned()) {
            Entry::Vacant(known) => drop(known.insert(found)),
            // A log that begins with an answer lacks its question; an older log has it.
            Entry::Occupied(mut known) => {
                known.get_mut().place = found.place.max(known.get().place)
            }
        }
    }

    pub(super) fn has(&self, id: &str) -> bool {
        self.by_id.contains_key(id)
    }

    /// Counts the messages before a cursor that no older log can stand between: those for ledger entries after
    /// `promoted`, with which the oldest log that was read began.
    pub(super) fn count_settled(&self, before: Option<&HistoryCursor>, promoted: u64) -> usize {
        let end = before
            .map(|cursor| (cursor.place, self.by_id.get(&cursor.id).map(FoundMessage::order)));
        let is_before = |found: &FoundMessage| match end {
            None => true,
            Some((_, Some(order))) => found.order() < order,
            Some((place, None)) => found.place < place,
        };
        // Without an entry before a log, its messages and those of older logs stand in the order of the logs.
        let is_settled = |found: &&FoundMessage| promoted == 0 || found.place.entry > promoted;
        self.by_id.values().filter(is_settled).filter(|found| is_before(found)).count()
    }

    /// Returns the messages before a cursor in their order, each with its id.
    pub(super) fn in_order(self, before: Option<&HistoryCursor>) -> Vec<(String, FoundMessage)> {
        let mut all: Vec<(String, FoundMessage)> = self.by_id.into_iter().collect();
        all.sort_unstable_by_key(|(_, found)| found.order());
        if let Some(HistoryCursor { place, id, .. }) = before {
            let known = all.iter().position(|(known, _)| known == id);
            // A message that is gone since, by a purge, leaves its place.
            let end =
                known.unwrap_or_else(|| all.partition_point(|(_, found)| found.place < *place));
            all.truncate(end);
        }
        all
    }
}
