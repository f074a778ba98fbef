//! Decides what accepted entries and deliveries add to a ledger.

use std::collections::HashMap;

use ship_message::json::{Json, Object};

use super::blob_texts::TextBlob;
use super::content::prepare_body;
use crate::line::{LineKind, RawLine, UnnumberedLine};
use crate::{AcceptError, Accepted, ChatKey, Delivery, LedgerEntry, LedgerSeq, RefusedInput};

/// Checked lines for the ledger.
#[derive(Debug, Clone)]
pub enum LedgerAddition {
    /// An entry under its idempotency key.
    Entry {
        /// The key of the entry.
        key: String,
        /// The line of the entry.
        line: UnnumberedLine,
    },
    /// New states of platform messages.
    Deliveries {
        /// The states, each for one platform message.
        states: Vec<Delivery>,
        /// A line for each.
        lines: Vec<UnnumberedLine>,
    },
}

/// Checks an entry of at most `bytes_max` bytes. Returns the texts that must be stored before its line.
pub fn prepare_entry(
    LedgerEntry { key, entry }: LedgerEntry,
    bytes_max: usize,
) -> Result<(LedgerAddition, Vec<TextBlob>), RefusedInput> {
    if key.is_empty() {
        return Err(RefusedInput::NotAMessage("a ledger entry needs a non-empty key"));
    }
    if entry.has("key") {
        return Err(RefusedInput::Reserved("key".to_owned()));
    }
    let mut body = Object::from([("key", Json::from(key.as_str()))]);
    for (name, value) in entry.into_entries() {
        body.set(name, value);
    }
    let (line, texts) = prepare_body(LineKind::Message, body, &key, bytes_max)?;
    Ok((LedgerAddition::Entry { key, line }, texts))
}

/// Checks new states of platform messages. Returns the texts that must be stored before their lines.
pub fn prepare_deliveries(
    states: Vec<Delivery>,
    bytes_max: usize,
) -> Result<(LedgerAddition, Vec<TextBlob>), RefusedInput> {
    if states.is_empty() {
        return Err(RefusedInput::Empty);
    }
    let (mut lines, mut texts) = (Vec::new(), Vec::new());
    for state in &states {
        let prepared = prepare_body(LineKind::Event, state.to_body(), &state.id, bytes_max)?;
        lines.push(prepared.0);
        texts.extend(prepared.1);
    }
    Ok((LedgerAddition::Deliveries { states, lines }, texts))
}

/// Additions to a ledger that are written as one.
#[derive(Debug)]
pub struct Accepting {
    chat: ChatKey,
    next: LedgerSeq,
    /// The keys of the new entries.
    new: HashMap<String, LedgerSeq>,
    /// The number of void lines before the additions.
    voids: usize,
    lines: Vec<UnnumberedLine>,
}

impl Accepting {
    /// Begins with the next number of the ledger. The first `undone` numbers were given to lines that were undone. A
    /// reader may have seen those, so void lines take their numbers.
    pub fn new(chat: &ChatKey, next: LedgerSeq, undone: u64) -> Self {
        let lines = void_lines(undone);
        let next = LedgerSeq::new(next.get() + undone);
        Self { chat: chat.clone(), next, new: HashMap::new(), voids: lines.len(), lines }
    }

    /// Returns the key that the ledger must be searched for before this addition.
    pub fn unknown_key<'a>(&self, addition: &'a LedgerAddition) -> Option<&'a str> {
        match addition {
            LedgerAddition::Entry { key, .. } if !self.new.contains_key(key) => Some(key),
            LedgerAddition::Entry { .. } | LedgerAddition::Deliveries { .. } => None,
        }
    }

    /// Gives an addition its number. `known` is the entry that the ledger has under the key, which stays the only one.
    pub fn add(
        &mut self,
        addition: LedgerAddition,
        known: Option<LedgerSeq>,
    ) -> Result<Accepted, AcceptError> {
        match addition {
            LedgerAddition::Entry { key, line } => {
                // The same key may come twice in one write.
                if let Some(seq) = self.new.get(&key).copied().or(known) {
                    return Ok(Accepted { seq, new: false });
                }
                let seq = self.push(line);
                self.new.insert(key, seq);
                Ok(Accepted { seq, new: true })
            }
            LedgerAddition::Deliveries { states, lines } => {
                // A delivery may name only entries before it; a higher number cannot exist yet.
                if let Some(state) = states.iter().find(|state| state.entry >= self.next) {
                    return Err(AcceptError::NoEntry {
                        chat: self.chat.clone(),
                        entry: state.entry,
                    });
                }
                let last = lines.into_iter().map(|line| self.push(line)).last();
                Ok(Accepted { seq: last.ok_or(RefusedInput::Empty)?, new: true })
            }
        }
    }

    fn push(&mut self, line: UnnumberedLine) -> LedgerSeq {
        let seq = self.next;
        self.lines.push(line);
        self.next = seq.next();
        seq
    }

    /// Returns the lines to write. Voids alone are not worth a write; they go with the next addition.
    pub fn lines(&self) -> &[UnnumberedLine] {
        if self.lines.len() == self.voids { &[] } else { &self.lines }
    }

    /// Whether an entry was accepted before, so that it stays accepted if the write fails.
    pub fn had_before(&self, accepted: Accepted) -> bool {
        !accepted.new && !self.new.values().any(|seq| *seq == accepted.seq)
    }
}

/// Returns the key of an entry; `None` if the line is not an entry.
pub fn entry_key(line: &RawLine) -> Option<&str> {
    if line.kind == LineKind::Message { line.body.get("key").and_then(Json::as_str) } else { None }
}

/// Returns the next number of a ledger that has given the numbers up to `given`, for a context that has promoted the
/// entries up to `cursor`. It is above both: either may come from an older copy, and a run never reads an entry
/// below the cursor.
pub fn next_number(given: u64, cursor: Option<LedgerSeq>) -> LedgerSeq {
    LedgerSeq::new(given).max(cursor.unwrap_or(LedgerSeq::new(0))).next()
}

/// Makes empty lines for the places of lines that were written and undone.
pub(crate) fn void_lines(count: u64) -> Vec<UnnumberedLine> {
    let void = || Object::from([("event", Json::from("void"))]);
    (0..count).map(|_| UnnumberedLine::new(LineKind::Event, void())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::test_lines::chat;
    use crate::{DeliveryState, Timestamp};

    fn entry(key: &str) -> LedgerAddition {
        let entry = LedgerEntry { key: key.to_owned(), entry: Object::from([("text", "hi")]) };
        prepare_entry(entry, 1000).expect("an entry").0
    }

    fn delivery(entry: u64) -> LedgerAddition {
        let (entry, id, ts) = (LedgerSeq::new(entry), "p1".to_owned(), Timestamp::from_millis(0));
        let state = DeliveryState::Planned;
        let state = Delivery { entry, id, ts, state, data: Object::new() };
        prepare_deliveries(vec![state], 1000).expect("a delivery").0
    }

    fn accepted(seq: u64, new: bool) -> Accepted {
        Accepted { seq: LedgerSeq::new(seq), new }
    }

    #[test]
    fn a_key_is_one_entry_in_the_ledger_and_in_one_write() {
        let mut accepting = Accepting::new(&chat(), LedgerSeq::new(5), 0);
        assert_eq!(accepting.unknown_key(&entry("k1")), Some("k1"));
        assert_eq!(accepting.add(entry("k1"), None).expect("accepted"), accepted(5, true));
        assert_eq!(accepting.unknown_key(&entry("k1")), None);
        let again = accepting.add(entry("k1"), None).expect("accepted");
        let old = accepting.add(entry("k0"), Some(LedgerSeq::new(2))).expect("accepted");
        assert_eq!((again, old), (accepted(5, false), accepted(2, false)));
        // If the write fails, only the entry from before is still there.
        assert!(accepting.had_before(old) && !accepting.had_before(again));
        assert_eq!(accepting.lines().len(), 1);
    }

    #[test]
    fn a_delivery_names_an_entry_before_it() {
        let mut accepting = Accepting::new(&chat(), LedgerSeq::new(5), 0);
        let refused = accepting.add(delivery(5), None);
        assert!(matches!(refused, Err(AcceptError::NoEntry { .. })), "{refused:?}");
        accepting.add(entry("k1"), None).expect("accepted");
        assert_eq!(accepting.add(delivery(5), None).expect("accepted"), accepted(6, true));
        assert_eq!(accepting.lines().len(), 2);
    }

    #[test]
    fn numbers_of_undone_lines_are_not_given_again() {
        let mut accepting = Accepting::new(&chat(), LedgerSeq::new(5), 2);
        accepting.add(entry("k0"), Some(LedgerSeq::new(2))).expect("accepted");
        assert!(accepting.lines().is_empty(), "nothing is new");
        assert_eq!(accepting.add(entry("k1"), None).expect("accepted"), accepted(7, true));
        assert_eq!(accepting.lines().len(), 3);
    }

    #[test]
    fn the_next_number_is_above_the_ledger_and_the_cursor() {
        assert_eq!(next_number(0, None), LedgerSeq::FIRST);
        assert_eq!(next_number(7, Some(LedgerSeq::new(5))), LedgerSeq::new(8));
        assert_eq!(next_number(5, Some(LedgerSeq::new(7))), LedgerSeq::new(8));
    }

    #[test]
    fn entries_need_a_key_of_their_own() {
        let refused = |key: &str, entry: Object| {
            prepare_entry(LedgerEntry { key: key.to_owned(), entry }, 1000).map(|_| ())
        };
        assert!(refused("", Object::new()).is_err());
        assert_eq!(
            refused("k1", Object::from([("key", "k2")])),
            Err(RefusedInput::Reserved("key".to_owned()))
        );
        assert!(prepare_deliveries(Vec::new(), 1000).is_err());
    }
}
