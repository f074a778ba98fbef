//! The order of the messages of a chat, as the ranker sees it.
//!
//! It follows from the rows that exist and from nothing else. So an index that grew over months, one that was made at
//! once, and a scan give the same order, and with it the same hits.
//!
//! A message stands where its first line stands. What was said in the ledger alone stands before the first message
//! that was promoted later.

use std::collections::HashMap;

use ship_record::{LedgerSeq, Seq, Timestamp};

use super::dates::day_of;
use super::index::{MessageValues, SESSION_GAP_MILLIS};
use super::message_row::{MessageRow, Names, RowCopy, RowPlace, author_of};
use super::message_text::Participant;

/// No message: the row is an old version, or has nothing that counts.
pub(super) const NO_MESSAGE: u32 = u32::MAX;

/// The messages in their order.
#[derive(Clone, Debug, Default)]
pub(super) struct Arrangement {
    pub(super) messages: Vec<MessageValues>,
    pub(super) session_lengths: Vec<f64>,
    pub(super) participants: Vec<Participant>,
    /// The row of each message.
    pub(super) rows: Vec<u32>,
    /// The place where each message stands first.
    pub(super) places: Vec<RowPlace>,
    /// The message of each row.
    pub(super) numbers: Vec<u32>,
}

/// A message before it has its number: its first place, and its newest version.
#[derive(Clone, Copy)]
struct FoundRow {
    first: RowPlace,
    newest: Seq,
    row: u32,
}

impl Arrangement {
    /// Arranges the messages of some rows. The copies are in the order of their lines.
    pub(super) fn new(rows: &[MessageRow], copies: &[RowCopy], names: &Names) -> Self {
        let mut found = newest_versions(rows, copies);
        let is_hit = |found: &FoundRow| rows.get(found.row as usize).is_some_and(|row| row.is_hit);
        found.retain(is_hit);
        let order = in_order(found, rows);
        let mut arranged = Self { numbers: vec![NO_MESSAGE; rows.len()], ..Self::default() };
        let mut authors = HashMap::new();
        let mut before: (Option<u32>, Option<Timestamp>) = (None, None);
        for FoundRow { first, row, .. } in order {
            let Some(known) = rows.get(row as usize) else { continue };
            let context = match first {
                RowPlace::Line(_, context) => Some(context),
                RowPlace::Entry(_) => before.0,
            };
            let gap = known.ts.zip(before.1).map(|(now, last)| now.millis() - last.millis());
            let is_long = gap.is_some_and(|gap| gap.abs() > SESSION_GAP_MILLIS);
            let is_other = before.0.is_some() && context != before.0;
            if arranged.messages.is_empty() || is_other || is_long {
                arranged.session_lengths.push(0.0);
            }
            before = (context, known.ts.or(before.1));
            let participant = *authors.entry(known.author).or_insert_with(|| {
                arranged.participants.push(author_of(names.text(known.author)));
                // More authors than numbers: the others share the last one.
                u16::try_from(arranged.participants.len() - 1).unwrap_or(u16::MAX)
            });
            arranged.push(known, row, first, participant);
        }
        arranged
    }

    fn push(&mut self, known: &MessageRow, row: u32, first: RowPlace, participant: u16) {
        if let Some(number) = self.numbers.get_mut(row as usize) {
            *number = self.messages.len() as u32;
        }
        if let Some(sum) = self.session_lengths.last_mut() {
            *sum += f64::from(known.length);
        }
        self.messages.push(MessageValues {
            length: known.length,
            session: (self.session_lengths.len() - 1) as u32,
            participant,
            asks: known.asks,
            day: known.ts.and_then(|ts| i32::try_from(day_of(ts)).ok()),
        });
        self.rows.push(row);
        self.places.push(first);
    }
}

/// Finds the first place and the newest version of each message. A message is where its first version has its number.
fn newest_versions(rows: &[MessageRow], copies: &[RowCopy]) -> Vec<FoundRow> {
    let mut found: Vec<Option<FoundRow>> = vec![None; rows.len()];
    let mut see = |place: RowPlace, row: u32| {
        let Some(first_version) = rows.get(row as usize).map(|row| row.first_version) else {
            return;
        };
        let seq = match place {
            RowPlace::Line(seq, _) => seq,
            RowPlace::Entry(_) => Seq::new(0),
        };
        let Some(known) = found.get_mut(first_version as usize) else { return };
        let known = known.get_or_insert(FoundRow { first: place, newest: seq, row });
        if seq >= known.newest {
            (known.newest, known.row) = (seq, row);
        }
        if let RowPlace::Line(first, _) = known.first
            && seq < first
        {
            known.first = place;
        }
    };
    for (nth, row) in (0..).zip(rows) {
        see(row.place, nth);
    }
    for copy in copies {
        see(RowPlace::Line(copy.seq, copy.context), copy.row);
    }
    found.into_iter().flatten().collect()
}

/// Puts the messages of the logs and those of the ledger into one order.
fn in_order(found: Vec<FoundRow>, rows: &[MessageRow]) -> Vec<FoundRow> {
    let mut lines: Vec<(Seq, FoundRow)> = Vec::new();
    let mut entries: Vec<(u64, FoundRow)> = Vec::new();
    for found in found {
        match found.first {
            RowPlace::Line(seq, _) => lines.push((seq, found)),
            RowPlace::Entry(entry) => entries.push((entry, found)),
        }
    }
    lines.sort_by_key(|(seq, _)| *seq);
    entries.sort_by_key(|(entry, _)| *entry);
    let mut order = Vec::with_capacity(lines.len() + entries.len());
    let mut entries = entries.into_iter().peekable();
    for (_, line) in lines {
        let promoted = rows.get(line.row as usize).and_then(|row| row.promoted_from).unwrap_or(0);
        while let Some((_, entry)) = entries.next_if(|(entry, _)| *entry < promoted) {
            order.push(entry);
        }
        order.push(line);
    }
    order.extend(entries.map(|(_, entry)| entry));
    order
}

impl RowPlace {
    /// Returns the number of the line; `None` for an entry of the ledger.
    pub(super) fn line(self) -> Option<Seq> {
        match self {
            Self::Line(seq, _) => Some(seq),
            Self::Entry(_) => None,
        }
    }

    /// Returns the number of the entry; `None` for a line.
    pub(super) fn entry(self) -> Option<LedgerSeq> {
        match self {
            Self::Line(..) => None,
            Self::Entry(entry) => Some(LedgerSeq::new(entry)),
        }
    }
}
