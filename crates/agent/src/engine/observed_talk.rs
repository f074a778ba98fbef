//! Remembers where people have talked with each other behind the inbox cursor of a chat.
//!
//! Such talk is never answered, and a group may have tens of thousands of lines of it behind the last question. Each
//! look at the inbox would read them all again. So what a look has read up to the end of the ledger is remembered as the
//! few other lines and the last one, and what this process accepts after it is added. Before a later look trusts that, it
//! finds the last line in the ledger, which may have been replaced by an older copy.

use std::collections::BTreeMap;

use parking_lot::Mutex;
use ship_context::is_observed;
use ship_store::{ChatKey, Delivery, LedgerBody, LedgerLine, LedgerSeq};

use crate::memory_budget::{MemoryBudget, Weighed};
use crate::recent_map::RecentMap;

/// The chats of which this is at least remembered.
const CHATS_KEPT: usize = 4_096;
/// The most lines besides observed talk, and the longest text of one. With more, there is more to do than to look.
const OTHERS_MAX: usize = 8;
const TEXT_MAX: usize = 2_048;
/// The number of observed lines that are worth being passed over when the state of a chat is read.
const MUCH: usize = 50;
/// The most lines that were accepted before one with a lower number was.
const EARLY_MAX: usize = 256;

/// The observed talk of all chats.
#[derive(Debug)]
pub(crate) struct ObservedTalk(Mutex<RecentMap<ChatKey, KnownStretch>>);

/// A stretch of a ledger that was read to its end.
#[derive(Clone, Debug)]
pub(crate) struct KnownStretch {
    /// The line before its first one; none if it begins with the ledger.
    after: Option<LedgerSeq>,
    /// Its lines that are no observed talk, in order.
    others: Vec<LedgerLine>,
    /// The number of its observed lines.
    observed: usize,
    last: LastLine,
    /// The keys of observed lines behind it, between which others may stand that were not seen.
    early: BTreeMap<LedgerSeq, String>,
}

/// What identifies the last line of a stretch.
#[derive(Clone, Debug)]
struct LastLine {
    seq: LedgerSeq,
    body: LastBody,
}

#[derive(Clone, Debug)]
enum LastBody {
    /// An entry with this key.
    Entry(String),
    Delivery(Delivery),
}

#[cfg(test)]
impl Default for ObservedTalk {
    fn default() -> Self {
        Self::within(&MemoryBudget::new(usize::MAX))
    }
}

impl Weighed for KnownStretch {
    fn bytes(&self) -> usize {
        let texts = |line: &LedgerLine| match &line.body {
            LedgerBody::Entry(entry) => 512 + entry.entry.str("text").map_or(0, str::len),
            LedgerBody::Delivery(_) => 512,
        };
        size_of::<Self>()
            + self.others.iter().map(texts).sum::<usize>()
            + self.early.values().map(|key| 64 + key.len()).sum::<usize>()
    }
}

impl ObservedTalk {
    pub(crate) fn within(budget: &MemoryBudget) -> Self {
        Self(Mutex::new(RecentMap::within(budget, CHATS_KEPT)))
    }

    /// Returns what is known of the lines after `after`, if it is anything.
    pub(crate) fn stretch_after(
        &self,
        chat: &ChatKey,
        after: Option<LedgerSeq>,
    ) -> Option<KnownStretch> {
        let mut chats = self.0.lock();
        let known = chats.get(chat)?;
        (known.after <= after && after < Some(known.last.seq)).then(|| known.clone())
    }

    /// Whether much talk of a chat is known.
    pub(crate) fn knows_much(&self, chat: &ChatKey) -> bool {
        self.0.lock().get(chat).is_some_and(|known| known.observed >= MUCH)
    }

    /// Remembers a stretch that was read to the end of the ledger.
    pub(crate) fn remember(&self, chat: &ChatKey, read: ReadStretch) {
        match read.into_known() {
            Some(known) => drop(self.0.lock().insert(chat.clone(), known)),
            None => self.forget(chat),
        }
    }

    /// Adds an observed line that this process has accepted.
    pub(crate) fn note_accepted(&self, chat: &ChatKey, seq: LedgerSeq, key: &str) {
        self.0.lock().change(chat, |known| known.add(seq, key.to_owned()));
    }

    /// Forgets a chat whose ledger is another one than before.
    pub(crate) fn forget(&self, chat: &ChatKey) {
        self.0.lock().remove(chat);
    }
}

impl KnownStretch {
    fn add(&mut self, seq: LedgerSeq, key: String) {
        if seq > self.last.seq && self.early.len() < EARLY_MAX {
            self.early.insert(seq, key);
        }
        while let Some(next) = self.early.first_entry()
            && next.key().get() == self.last.seq.get() + 1
        {
            let (seq, key) = next.remove_entry();
            self.last = LastLine { seq, body: LastBody::Entry(key) };
            self.observed += 1;
        }
    }

    /// Returns the number of its last line.
    pub(crate) fn end(&self) -> LedgerSeq {
        self.last.seq
    }

    /// Whether a line is the last one of this stretch.
    pub(crate) fn ends_with(&self, line: &LedgerLine) -> bool {
        line.seq == self.last.seq
            && match (&line.body, &self.last.body) {
                (LedgerBody::Entry(entry), LastBody::Entry(key)) => entry.key == *key,
                (LedgerBody::Delivery(delivery), LastBody::Delivery(known)) => delivery == known,
                _ => false,
            }
    }

    /// Returns the lines after `after` that are no observed talk. The last one is not among them.
    pub(crate) fn others_after(&self, after: Option<LedgerSeq>) -> Vec<LedgerLine> {
        let is_between = |line: &&LedgerLine| Some(line.seq) > after && line.seq < self.last.seq;
        self.others.iter().filter(is_between).cloned().collect()
    }

    /// Returns the stretch without its last line, to be read on from there.
    pub(crate) fn read_on(mut self) -> ReadStretch {
        self.others.retain(|line| line.seq < self.last.seq);
        let Self { after, others, observed, .. } = self;
        ReadStretch { after, others, observed, last: None, is_busy: false }
    }
}

/// A stretch of a ledger while it is read.
pub(crate) struct ReadStretch {
    after: Option<LedgerSeq>,
    others: Vec<LedgerLine>,
    observed: usize,
    last: Option<LastLine>,
    /// Whether it has more than is worth being remembered.
    is_busy: bool,
}

impl ReadStretch {
    pub(crate) fn new(after: Option<LedgerSeq>) -> Self {
        Self { after, others: Vec::new(), observed: 0, last: None, is_busy: false }
    }

    /// Takes the next line. Returns it unless it is observed talk.
    pub(crate) fn take(&mut self, line: LedgerLine) -> Option<LedgerLine> {
        let body = match &line.body {
            LedgerBody::Entry(entry) => LastBody::Entry(entry.key.clone()),
            LedgerBody::Delivery(delivery) => LastBody::Delivery(delivery.clone()),
        };
        self.last = Some(LastLine { seq: line.seq, body });
        if is_observed(&line) {
            self.observed += 1;
            return None;
        }
        self.is_busy |= self.others.len() == OTHERS_MAX || !is_short(&line);
        if !self.is_busy {
            self.others.push(line.clone());
        }
        Some(line)
    }

    fn into_known(self) -> Option<KnownStretch> {
        let Self { after, others, observed, last, is_busy } = self;
        let last = last.filter(|_| !is_busy)?;
        Some(KnownStretch { after, others, observed, last, early: BTreeMap::new() })
    }
}

fn is_short(line: &LedgerLine) -> bool {
    let LedgerBody::Entry(entry) = &line.body else { return true };
    let is_text = entry.entry.get("attachments").is_none();
    is_text && entry.entry.str("text").is_none_or(|text| text.len() <= TEXT_MAX)
}

#[cfg(test)]
mod tests {
    use ship_message::json::{Json, Object};
    use ship_store::LedgerEntry;

    use super::*;

    fn line(seq: u64, observed: bool) -> LedgerLine {
        let mut entry = Object::from([("role", Json::from("user"))]);
        if observed {
            entry.set("meta", Object::from([("observed", true)]));
        }
        let body = LedgerBody::Entry(LedgerEntry { key: format!("k{seq}"), entry });
        LedgerLine { seq: LedgerSeq::new(seq), body }
    }

    /// The end of what is known behind a line, and its lines that are no talk.
    fn known(talk: &ObservedTalk, after: u64) -> Option<(u64, Vec<u64>)> {
        let (chat, after) = ("a".parse().unwrap(), Some(LedgerSeq::new(after)));
        let known = talk.stretch_after(&chat, after)?;
        let others = known.others_after(after);
        Some((known.end().get(), others.iter().map(|line| line.seq.get()).collect()))
    }

    #[test]
    fn a_stretch_has_all_lines_behind_a_cursor_and_grows_with_what_is_accepted() {
        let (talk, chat) = (ObservedTalk::default(), "a".parse().unwrap());
        let mut read = ReadStretch::new(Some(LedgerSeq::new(4)));
        for (seq, observed) in [(5, false), (6, true), (7, false), (8, true)] {
            assert_eq!(read.take(line(seq, observed)).is_none(), observed);
        }
        talk.remember(&chat, read);
        assert_eq!(known(&talk, 4), Some((8, vec![5, 7])));
        assert_eq!(known(&talk, 6), Some((8, vec![7])));
        assert_eq!(known(&talk, 3), None, "line 4 is not known");
        assert_eq!(known(&talk, 8), None, "nothing is behind it");
        for seq in [12, 10, 11] {
            talk.note_accepted(&chat, LedgerSeq::new(seq), &format!("k{seq}"));
            assert_eq!(known(&talk, 6), Some((8, vec![7])), "line 9 was not seen");
        }
        talk.note_accepted(&chat, LedgerSeq::new(9), "k9");
        let stretch = talk.stretch_after(&chat, Some(LedgerSeq::new(4))).unwrap();
        assert_eq!((stretch.end().get(), stretch.observed), (12, 6));
        assert!(stretch.ends_with(&line(12, true)) && !stretch.ends_with(&line(11, true)));
    }

    #[test]
    fn what_is_read_on_is_known_from_where_it_began() {
        let (talk, chat) = (ObservedTalk::default(), "a".parse().unwrap());
        let mut read = ReadStretch::new(None);
        (1..=60).for_each(|seq| drop(read.take(line(seq, seq != 2))));
        talk.remember(&chat, read);
        assert!(talk.knows_much(&chat));
        let mut read = talk.stretch_after(&chat, Some(LedgerSeq::new(30))).unwrap().read_on();
        (60..=70).for_each(|seq| drop(read.take(line(seq, seq != 65))));
        talk.remember(&chat, read);
        assert_eq!(known(&talk, 0), Some((70, vec![2, 65])));
    }

    #[test]
    fn where_much_is_to_do_nothing_is_remembered() {
        let (talk, chat) = (ObservedTalk::default(), "a".parse().unwrap());
        let mut read = ReadStretch::new(None);
        (1..=100).for_each(|seq| drop(read.take(line(seq, seq == 100))));
        talk.remember(&chat, read);
        assert_eq!(known(&talk, 0), None);
    }
}
