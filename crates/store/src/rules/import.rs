//! Decides how imported lines become sealed logs of a chat.
//!
//! A back end writes each line as the chain numbers it, aside and before it takes any right. Then it lets the chain see
//! the messages of its own logs that have an imported id, takes the right, and publishes everything in one step:
//!
//! ```text
//! the live log, sealed  ◄──  imported log  ◄──  imported log  ◄──  the new live log
//! ```
//!
//! Numbers and generations go on through the chain, as with any rotation.

use std::collections::{HashMap, HashSet};

use ship_message::json::Json;

use super::blob_texts::TextBlob;
use super::content::{PreparedLine, prepare_line};
use super::content_digest::ContentDigest;
use super::log_head::head_line;
use super::rotation::{LiveLog, PlannedRotation, PreparedPiece, PreparedRotation};
use super::view_building::newest_revisions;
use crate::line::{HEAD, LineKind, RawLine, UnnumberedLine};
use crate::{
    ChatKey, Gen, Head, ImportError, LedgerSeq, LogPiece, NewLine, Position, RefusedInput,
    RotateError, Rotation, SealedName, Seq, Timestamp,
};

/// The field of a head that marks an imported log.
const IMPORTED: &str = "imported";

/// The logs of an import, which follow the live log of a chat.
#[derive(Debug)]
pub struct ImportChain {
    chat: ChatKey,
    live: LiveLog,
    now: Timestamp,
    /// The name under which the live log is sealed.
    sealed: SealedName,
    logs: Vec<SealedName>,
    /// The first number of the log that is being written, and the ids in it.
    open: Option<(Seq, HashSet<String>)>,
    /// The number of the next line.
    next: Seq,
    /// The newest revision of each message, with its content.
    contents: HashMap<String, (u64, ContentDigest)>,
    /// The messages that were compared with those of the chat.
    compared: HashSet<String>,
}

impl ImportChain {
    /// Begins a chain behind the live log of a chat.
    pub fn new(chat: &ChatKey, live: LiveLog, now: Timestamp) -> Self {
        Self {
            chat: chat.clone(),
            live,
            now,
            sealed: SealedName::new(now, live.first, live.end.position.seq),
            logs: Vec::new(),
            open: None,
            next: live.end.next,
            contents: HashMap::new(),
            compared: HashSet::new(),
        }
    }

    /// Returns the live log behind which the chain begins.
    pub fn live(&self) -> &LiveLog {
        &self.live
    }

    /// Begins a log, after the one before was [ended](Self::end_log). Returns its first line and the number of that.
    pub fn begin_log(&mut self, head: Head) -> (Seq, UnnumberedLine) {
        let head = Head {
            generation: self.generation(),
            sealed: Some(self.newest()),
            inbox: self.live.inbox,
            ..head
        };
        let mut data = head.to_data(&self.chat);
        data.set(IMPORTED, true);
        self.open = Some((self.next, HashSet::new()));
        (self.take_number(), head_line(data, self.last(), self.now))
    }

    /// Adds a line of at most `bytes_max` bytes to the log that was begun last. Returns the line, its number, and the
    /// texts that must be stored before it.
    pub fn add(
        &mut self,
        new: NewLine,
        bytes_max: usize,
    ) -> Result<(Seq, UnnumberedLine, Vec<TextBlob>), ImportError> {
        let (_, ids) = self.open.as_mut().ok_or(ImportError::NoLog)?;
        let (PreparedLine { id, mut line }, texts) = prepare_line(new, bytes_max)?;
        line.inbox = None;
        if !ids.insert(id.as_str().to_owned()) {
            return Err(RefusedInput::Twice(id.as_str().to_owned()).into());
        }
        if line.kind == LineKind::Message {
            let digest = ContentDigest::of(&line);
            let known = self.contents.entry(id.as_str().to_owned()).or_insert((line.rev, digest));
            if known.1 != digest {
                return Err(ImportError::Conflict { id, seq: None });
            }
            known.0 = known.0.max(line.rev);
        }
        Ok((self.take_number(), line, texts))
    }

    /// Ends the log that was begun last, and returns its name; `None` if there is none.
    pub fn end_log(&mut self) -> Option<SealedName> {
        let (first, _) = self.open.take()?;
        let name = SealedName::new(self.now, first, self.last());
        self.logs.push(name.clone());
        Some(name)
    }

    /// Whether the import has a message with this id.
    pub fn has(&self, id: &str) -> bool {
        self.contents.contains_key(id)
    }

    /// Compares lines of a log of the chat with the imported messages of the same ids. The newest log comes first, because
    /// an older one may have an earlier revision.
    pub fn compare(&mut self, lines: impl Iterator<Item = RawLine>) -> Result<(), ImportError> {
        let is_message = |line: &RawLine| line.kind == LineKind::Message;
        for line in newest_revisions(lines.filter(is_message)) {
            let Some(id) = line.body.str("id").and_then(crate::MessageId::new) else { continue };
            let Some((rev, digest)) = self.contents.get(id.as_str()).copied() else { continue };
            if !self.compared.insert(id.as_str().to_owned()) {
                continue;
            }
            let (seq, replaces) = (Seq::new(line.seq), rev > line.rev);
            if !replaces && digest != ContentDigest::of(&line.into_draft()) {
                return Err(ImportError::Conflict { id, seq: Some(seq) });
            }
        }
        Ok(())
    }

    /// Returns the rotation that publishes the same context again, for a live log with this head.
    pub fn keep_live(&self, mut head: Head) -> PreparedRotation {
        // An undo takes back the last operation, and not the import.
        let left = head.sealed.clone();
        head.note_left_log(left.as_ref());
        head.carry.set_continues(Some(&self.sealed));
        let pieces = vec![PreparedPiece::Keep(self.live.first, None)];
        PreparedRotation { expected: Some(self.live.end.position.generation), head, pieces }
    }

    /// Returns the rotation that publishes a new context in the place of the live one, and the texts to be stored first.
    pub fn replace_live(
        &self,
        head: Head,
        lines: Vec<NewLine>,
        bytes_max: usize,
    ) -> Result<(PreparedRotation, Vec<TextBlob>), RefusedInput> {
        let expected = Some(self.live.end.position.generation);
        let pieces = lines.into_iter().map(LogPiece::New).collect();
        let rotation = Rotation { expected, head, pieces };
        PreparedRotation::prepare(rotation, &self.chat, &HashMap::new(), bytes_max)
    }

    /// Returns the live log above the imported ones. The other arguments are those of [`PreparedRotation::publish`].
    pub fn publish(
        self,
        rotation: PreparedRotation,
        kept: Vec<RawLine>,
        ledger_end: Option<LedgerSeq>,
    ) -> Result<PlannedRotation, RotateError> {
        let planned = rotation.publish(&self.chat, Some(&self.live), kept, ledger_end, self.now)?;
        let PlannedRotation { mut log, rotated } = planned;
        // The log before the new one is an imported one, so the log that the lines come from has to be named.
        for copy in &mut log.copies {
            copy.log.get_or_insert_with(|| self.sealed.clone());
        }
        log.first = self.next;
        log.head.generation = self.generation();
        log.head.carry.set_last_import(self.generation());
        log.head.sealed = Some(self.newest());
        let position = Position { generation: log.head.generation, seq: log.last() };
        Ok(PlannedRotation { log, rotated: crate::Rotated { position, ..rotated } })
    }

    /// Returns the imported logs, the oldest first.
    pub fn logs(&self) -> &[SealedName] {
        &self.logs
    }

    fn newest(&self) -> SealedName {
        self.logs.last().unwrap_or(&self.sealed).clone()
    }

    /// Returns the generation of the next log.
    fn generation(&self) -> Gen {
        Gen::new(self.live.end.position.generation.get() + 1 + self.logs.len() as u64)
    }

    fn take_number(&mut self) -> Seq {
        let number = self.next;
        self.next = number.next();
        number
    }

    fn last(&self) -> Seq {
        Seq::new(self.next.get() - 1)
    }
}

/// Whether the first line of a log is the head of an imported one.
pub fn is_imported(first: &RawLine) -> bool {
    let data = first.body.get("data").filter(|_| first.event() == Some(HEAD));
    data.and_then(|data| data.get(IMPORTED)).and_then(Json::as_bool) == Some(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::log_head::{CopiedRange, copied_ranges, read_head};
    use crate::rules::test_lines::{chat, log, numbered, prepared, promoted, revised};
    use crate::{ContextId, NewMessage};

    const NOW: Timestamp = Timestamp::from_millis(1_770_286_500_000);

    fn head(number: u64) -> Head {
        Head::new(ContextId::new(NOW, number))
    }

    fn message(id: &str, text: &str) -> NewLine {
        let line = numbered(&prepared(id, text).line, 1);
        NewMessage { message: line.body, rev: 0, inbox: Some(LedgerSeq::new(9)) }.into()
    }

    /// The lines of a chat that has promoted entry 7: the head 1 and two messages.
    fn live() -> Vec<RawLine> {
        log(&[promoted("m2", 7), revised("m3", "better", 1)])
    }

    fn chain() -> ImportChain {
        let mut chain = ImportChain::new(&chat(), LiveLog::read(&live()).expect("a log"), NOW);
        for (number, id) in [(5, "i1"), (6, "i2")] {
            chain.begin_log(head(number));
            chain.add(message(id, "said"), 1000).expect("a message");
            chain.end_log();
        }
        chain
    }

    #[test]
    fn each_log_continues_the_numbers_and_names_the_one_before() {
        let mut chain = ImportChain::new(&chat(), LiveLog::read(&live()).expect("a log"), NOW);
        let (seq, line) = chain.begin_log(head(5));
        let first = numbered(&line, seq.get());
        let begun = read_head(&first).expect("a head");
        let sealed = SealedName::new(NOW, Seq::FIRST, Seq::new(3));
        assert_eq!(
            (seq, begun.generation, &begun.sealed),
            (Seq::new(4), Gen::new(1), &Some(sealed))
        );
        assert_eq!((begun.inbox, is_imported(&first)), (Some(LedgerSeq::new(7)), true));
        assert!(!is_imported(&live()[0]));
        let (seq, line, _) = chain.add(message("i1", "said"), 1000).expect("a message");
        assert_eq!((seq, line.inbox), (Seq::new(5), None), "the entry is of another ledger");
        let name = chain.end_log().expect("a log");
        let (seq, line) = chain.begin_log(head(6));
        let second = read_head(&numbered(&line, seq.get())).expect("a head");
        assert_eq!((seq, second.generation, second.sealed), (Seq::new(6), Gen::new(2), Some(name)));
    }

    #[test]
    fn the_live_log_stands_above_the_imported_ones_and_names_the_log_of_its_lines() {
        let chain = chain();
        let newest = chain.logs()[1].clone();
        let rotation = chain.keep_live(head(1));
        let kept = newest_revisions(live().into_iter().skip(1));
        let PlannedRotation { log, rotated } = chain.publish(rotation, kept, None).expect("a log");
        let sealed = rotated.sealed.expect("the live log is sealed");
        assert_eq!((log.first, log.lines.len()), (Seq::new(8), 2));
        assert_eq!((log.head.sealed.as_ref(), log.head.generation), (Some(&newest), Gen::new(3)));
        assert_eq!(log.head.carry.continues(), Some(sealed.clone()));
        assert_eq!(log.head.carry.last_import(), Some(log.head.generation));
        let end = Position { generation: Gen::new(3), seq: Seq::new(10) };
        assert_eq!(rotated.position, end);
        let first = numbered(&log.into_lines(&chat(), NOW)[0], 8);
        let copies = CopiedRange { log: Some(sealed), first: Seq::FIRST, last: Seq::new(3) };
        assert_eq!(copied_ranges(&first), [copies]);
    }

    #[test]
    fn a_message_is_compared_with_the_newest_one_of_its_id() {
        let old = || [numbered(&prepared("i1", "before").line, 2)].into_iter();
        let now = || [numbered(&revised("i1", "said", 1).line, 9)].into_iter();
        let mut equal = chain();
        equal.compare(now()).expect("the same content");
        equal.compare(old()).expect("an earlier revision");
        let mut newer = chain();
        newer.begin_log(head(7));
        let NewLine::Message(grown) = message("i3", "said more") else { unreachable!() };
        newer.add(NewMessage { rev: 1, ..grown }.into(), 1000).expect("a message");
        let there = numbered(&prepared("i3", "said").line, 2);
        newer.compare([there].into_iter()).expect("a later revision replaces it");
        let refused = chain().compare(old());
        assert!(
            matches!(&refused, Err(ImportError::Conflict { id, .. }) if id.as_str() == "i1"),
            "{refused:?}"
        );
    }
}
