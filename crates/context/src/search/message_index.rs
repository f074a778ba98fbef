//! The index of all messages of a chat, as they are read from its logs line by line.
//!
//! A message is its chat of origin and its id. Lines with the same version of it are copies, which rotations make; a
//! line with another content is a newer version. Copies cost a few bytes, and no text is read twice.
//!
//! What a question is told of an index follows from the lines that exist, in whatever steps they were read. An index
//! [for one question](MessageIndex::for_question) holds only the terms that this question can ask for: it is a scan.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use ship_message::{Role, UiMessage};
use ship_record::{ChatKey, ContextId, LedgerSeq, LoggedLine, Metadata, Seq, Timestamp};

use super::arrangement::{Arrangement, NO_MESSAGE};
use super::index::{MessageValues, PostingSource};
use super::merged_segments::{TermSource, merged_terms};
use super::message_row::{
    MessageRow, Names, RowCopy, RowPlace, author_of, author_text, version_digest,
};
use super::message_text::{Participant, SearchableMessage, searchable_message};
use super::postings::{DamagedPostings, Posting};
use super::question::SearchQuestion;
use super::stored_segment::StoredSegment;
use super::term_postings::TermPostings;
use super::terms::TermReader;

/// How much larger than what follows it a segment may be to be merged with it. More would write rows more often, less
/// would repeat more terms.
const LARGER: u32 = 8;

/// The messages of a chat with their terms.
#[derive(Debug)]
pub struct MessageIndex {
    chat: ChatKey,
    pub(super) names: Names,
    pub(super) rows: Vec<MessageRow>,
    pub(super) copies: Vec<RowCopy>,
    /// The newest row of each message, by its chat of origin and its id; `None` until something is added.
    known: Option<HashMap<(u32, Arc<str>), u32>>,
    /// The terms of the first rows.
    segments: Vec<StoredSegment>,
    /// The terms of the rows from `tail_begin` on.
    tail: TermPostings,
    tail_begin: u32,
    question: Option<SearchQuestion>,
    arrangement: Arrangement,
    is_arranged: bool,
}

/// The bytes of a message's id, and of its entry among the newest versions.
const ROW_NAME_BYTES: usize = 128;

/// A message that an index has, with the place where it stands first.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexedMessage {
    /// The id of the message.
    pub id: String,
    /// The chat in which it was said.
    pub origin: ChatKey,
    /// The line where it stands first; `None` if it is in the ledger alone.
    pub line: Option<Seq>,
    /// The context of that line.
    pub context: Option<ContextId>,
    /// A line with its newest version.
    pub newest_line: Option<Seq>,
    /// Its entry in the ledger, if it is in no context.
    pub entry: Option<LedgerSeq>,
    /// The role of its author.
    pub role: Role,
    /// The time of the message.
    pub ts: Option<Timestamp>,
}

impl MessageIndex {
    /// Makes the index of a chat, without messages.
    pub fn new(chat: ChatKey) -> Self {
        Self {
            chat,
            names: Names::default(),
            rows: Vec::new(),
            copies: Vec::new(),
            known: None,
            segments: Vec::new(),
            tail: TermPostings::default(),
            tail_begin: 0,
            question: None,
            arrangement: Arrangement::default(),
            is_arranged: true,
        }
    }

    /// Makes an index that answers one question like a whole one, and is made in a fraction of the time.
    pub fn for_question(chat: ChatKey, question: SearchQuestion) -> Self {
        Self { question: Some(question), ..Self::new(chat) }
    }

    /// Adds the next line of the context logs.
    pub fn add_line(&mut self, logged: &LoggedLine, reader: &mut TermReader) {
        let Some(message) = logged.line.message() else { return };
        let context = self.names.number_of(logged.context.as_str());
        let place = RowPlace::Line(logged.line.seq, context);
        self.add(message, place, logged.line.inbox, reader);
    }

    /// Adds a message of the ledger that is in no context. Entries are added in their order.
    pub fn add_entry(&mut self, entry: LedgerSeq, message: &UiMessage, reader: &mut TermReader) {
        self.add(message, RowPlace::Entry(entry.get()), None, reader);
    }

    fn add(
        &mut self,
        message: &UiMessage,
        place: RowPlace,
        promoted_from: Option<LedgerSeq>,
        reader: &mut TermReader,
    ) {
        let Some(id) = message.id().filter(|id| !id.is_empty()) else { return };
        let origin = Metadata::of(message).chat_key().unwrap_or(self.chat.as_str());
        let is_own = origin == self.chat.as_str();
        let key = (self.names.number_of(origin), Arc::<str>::from(id));
        let found = searchable_message(message);
        let digest = found.as_ref().map_or(0, version_digest);
        let newest = self.known().get(&key).copied();
        match (newest, place, &found) {
            (None, _, None) => return,
            (Some(row), RowPlace::Line(seq, context), _) if self.is_same(row, digest) => {
                self.copies.push(RowCopy { seq, context, row });
                self.is_arranged = false;
                return;
            }
            (Some(_), RowPlace::Entry(_), _) => return,
            _ => {}
        }
        let row = self.rows.len() as u32;
        let known = newest.and_then(|newest| self.rows.get(newest as usize));
        let author = found.as_ref().map(|found| author_text(&found.participant));
        self.rows.push(MessageRow {
            id: Arc::clone(&key.1),
            origin: key.0,
            place,
            promoted_from: promoted_from.filter(|_| is_own).map(LedgerSeq::get),
            ts: found.as_ref().and_then(|found| found.ts),
            author: author.map_or(0, |author| self.names.number_of(&author)),
            asks: found.as_ref().is_some_and(|found| found.asks),
            is_hit: found.is_some(),
            length: 0.0,
            digest,
            first_version: known.map_or(row, |known| known.first_version),
        });
        let length = found.map_or(0.0, |found| self.add_terms(row, &found, reader));
        if let Some(added) = self.rows.last_mut() {
            added.length = length;
        }
        self.known().insert(key, row);
        self.is_arranged = false;
    }

    fn known(&mut self) -> &mut HashMap<(u32, Arc<str>), u32> {
        if self.known.is_none() {
            self.find_newest();
        }
        self.known.get_or_insert_default()
    }

    fn is_same(&self, row: u32, digest: u32) -> bool {
        self.rows.get(row as usize).is_some_and(|known| known.digest == digest)
    }

    /// Adds the terms of a row, and returns its length.
    fn add_terms(&mut self, row: u32, found: &SearchableMessage, reader: &mut TermReader) -> f32 {
        let (tail, question, at) = (&mut self.tail, &self.question, row - self.tail_begin);
        let add = |term: &str| {
            if question.as_ref().is_none_or(|question| question.may_use(term)) {
                tail.add(term, at, 1);
            }
        };
        let mut add = add;
        found.texts.iter().map(|text| reader.read(text, &mut add)).sum()
    }

    /// Removes the lines of a purged log, with the terms of all messages that stand nowhere else.
    pub fn remove_lines(&mut self, first: Seq, last: Seq) {
        let is_purged = |seq: Seq| first <= seq && seq <= last;
        let is_concerned = self.copies.iter().any(|copy| is_purged(copy.seq))
            || self.rows.iter().any(|row| row.place.line().is_some_and(is_purged));
        if !is_concerned {
            return;
        }
        self.copies.retain(|copy| !is_purged(copy.seq));
        // A version stands where its oldest line is. The copies are in the order of their lines.
        let mut gone: Vec<bool> =
            self.rows.iter().map(|row| row.place.line().is_some_and(is_purged)).collect();
        let rows = &mut self.rows;
        self.copies.retain(|copy| {
            let Some(is_gone) = gone.get_mut(copy.row as usize).filter(|gone| **gone) else {
                return true;
            };
            *is_gone = false;
            if let Some(row) = rows.get_mut(copy.row as usize) {
                row.place = RowPlace::Line(copy.seq, copy.context);
            }
            false
        });
        self.drop_rows(&gone);
        self.is_arranged = false;
    }

    /// Drops rows with their terms, gives the others new numbers, and makes one segment of all.
    fn drop_rows(&mut self, gone: &[bool]) {
        let mut numbers = Vec::with_capacity(gone.len());
        let mut next = 0;
        for is_gone in gone {
            numbers.push((!is_gone).then_some(next));
            next += u32::from(!is_gone);
        }
        let number_of = |row: u32| numbers.get(row as usize).copied().flatten();
        let merged = merged_terms(&self.term_sources(), number_of);
        let mut nth = 0..;
        self.rows.retain(|_| number_of(nth.next().unwrap_or(u32::MAX)).is_some());
        self.copies.retain_mut(|copy| number_of(copy.row).inspect(|row| copy.row = *row).is_some());
        self.find_newest();
        self.tail = TermPostings::default();
        self.tail_begin = self.rows.len() as u32;
        self.segments = match merged {
            Ok(writer) => vec![writer.finish(0, &self.rows, &self.copies, &self.names)],
            // The bytes were checked when they were read. Without terms, nothing is found of them.
            Err(DamagedPostings) => Vec::new(),
        };
    }

    fn term_sources(&self) -> Vec<TermSource<'_>> {
        let stored = self.segments.iter().map(TermSource::Stored);
        stored.chain([TermSource::Tail(&self.tail, self.tail_begin)]).collect()
    }

    /// Puts the rows that are in no segment yet into one, and merges it with those before it that are not much larger.
    pub fn seal_tail(&mut self) -> Result<(), DamagedPostings> {
        let copied: usize = self.segments.iter().map(|segment| segment.copies).sum();
        if self.tail_begin as usize == self.rows.len() && copied == self.copies.len() {
            return Ok(());
        }
        let mut begin = self.tail_begin;
        let mut kept = self.segments.len();
        while let Some(last) = kept.checked_sub(1).and_then(|last| self.segments.get(last))
            && last.len / LARGER <= self.rows.len() as u32 - begin
        {
            (begin, kept) = (last.begin, kept - 1);
        }
        let merged = self.segments.get(kept..).unwrap_or_default();
        let mut sources: Vec<TermSource<'_>> = merged.iter().map(TermSource::Stored).collect();
        sources.push(TermSource::Tail(&self.tail, self.tail_begin));
        let writer = merged_terms(&sources, |row| Some(row - begin))?;
        self.segments.truncate(kept);
        let copied: usize = self.segments.iter().map(|segment| segment.copies).sum();
        let rows = self.rows.get(begin as usize..).unwrap_or_default();
        let copies = self.copies.get(copied..).unwrap_or_default();
        self.segments.push(writer.finish(begin, rows, copies, &self.names));
        self.tail = TermPostings::default();
        self.tail_begin = self.rows.len() as u32;
        Ok(())
    }

    /// Returns the segments as bytes. The rows behind them are not in one yet.
    pub fn segments(&self) -> impl Iterator<Item = &Arc<Vec<u8>>> {
        self.segments.iter().map(StoredSegment::bytes)
    }

    /// Forgets the rows that are in no segment, and with them their terms.
    pub fn forget_unsealed(&mut self) {
        if self.tail_begin as usize == self.rows.len() {
            return;
        }
        let copied: usize = self.segments.iter().map(|segment| segment.copies).sum();
        self.rows.truncate(self.tail_begin as usize);
        self.copies.truncate(copied);
        self.tail = TermPostings::default();
        (self.known, self.is_arranged) = (None, false);
    }

    /// Reads an index from its segments, in their order.
    ///
    /// # Errors
    /// Fails if the bytes are damaged or of another form.
    pub fn read(
        chat: ChatKey,
        segments: impl IntoIterator<Item = Arc<Vec<u8>>>,
    ) -> Result<Self, DamagedPostings> {
        let mut index = Self::new(chat);
        for bytes in segments {
            let Self { names, rows, copies, segments, .. } = &mut index;
            segments.push(StoredSegment::read(bytes, names, rows, copies)?);
        }
        index.tail_begin = index.rows.len() as u32;
        index.is_arranged = false;
        Ok(index)
    }

    /// Finds the newest and the first version of each message again.
    fn find_newest(&mut self) {
        let mut first_versions: HashMap<(u32, Arc<str>), u32> = HashMap::new();
        let mut newest: HashMap<(u32, Arc<str>), (Seq, u32)> = HashMap::new();
        for (nth, row) in (0..).zip(&mut self.rows) {
            let key = (row.origin, Arc::clone(&row.id));
            row.first_version = *first_versions.entry(key.clone()).or_insert(nth);
            let seq = row.place.line().unwrap_or(Seq::new(0));
            let known = newest.entry(key).or_insert((seq, nth));
            *known = (*known).max((seq, nth));
        }
        for copy in &self.copies {
            let Some(row) = self.rows.get(copy.row as usize) else { continue };
            if let Some(known) = newest.get_mut(&(row.origin, Arc::clone(&row.id))) {
                *known = (*known).max((copy.seq, copy.row));
            }
        }
        self.known = Some(newest.into_iter().map(|(key, (_, row))| (key, row)).collect());
    }

    /// Returns the number of rows: one for each version of each message.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns about how many bytes the index takes in memory. The terms of rows that are in no segment yet do not count.
    pub fn memory_bytes(&self) -> usize {
        let arranged = size_of::<MessageValues>() + size_of::<RowPlace>() + 2 * size_of::<u32>();
        let row = size_of::<MessageRow>() + arranged + ROW_NAME_BYTES;
        let segments: usize = self.segments().map(|bytes| bytes.len()).sum();
        segments + self.rows.len() * row + self.copies.len() * size_of::<RowCopy>()
    }

    /// Whether the index has no messages.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Prepares the index for questions, after lines were added.
    pub fn arrange(&mut self) {
        if !std::mem::replace(&mut self.is_arranged, true) {
            self.arrangement = Arrangement::new(&self.rows, &self.copies, &self.names);
        }
    }

    /// Returns the number of messages that a question can find.
    pub fn message_count(&self) -> usize {
        self.arrangement.messages.len()
    }

    /// Returns the number of a message in the ranker; of several with this id, that of this chat.
    pub fn find(&self, id: &str) -> Option<u32> {
        let mut found = None;
        for (row, nth) in self.rows.iter().zip(0usize..).filter(|(row, _)| &*row.id == id) {
            let number = self.arrangement.numbers.get(nth).filter(|it| **it != NO_MESSAGE);
            let is_own = self.names.text(row.origin) == self.chat.as_str();
            found = number.copied().filter(|_| is_own || found.is_none()).or(found);
        }
        found
    }

    /// Returns the message with a number of the ranker.
    pub fn message(&self, number: u32) -> Option<IndexedMessage> {
        let at = *self.arrangement.rows.get(number as usize)?;
        let row = self.rows.get(at as usize)?;
        let first = *self.arrangement.places.get(number as usize)?;
        let context = match first {
            RowPlace::Line(_, context) => self.names.text(context).parse().ok(),
            RowPlace::Entry(_) => None,
        };
        Some(IndexedMessage {
            id: row.id.to_string(),
            origin: self.names.text(row.origin).parse().ok()?,
            line: first.line(),
            context,
            newest_line: row.place.line(),
            entry: first.entry(),
            role: author_of(self.names.text(row.author)).role,
            ts: row.ts,
        })
    }

    /// Returns the role and the time of the message with a number of the ranker.
    pub fn author_and_time(&self, number: u32) -> Option<(Role, Option<Timestamp>)> {
        let participant = self.arrangement.messages.get(number as usize)?.participant;
        let author = self.arrangement.participants.get(usize::from(participant))?;
        let row = *self.arrangement.rows.get(number as usize)?;
        Some((author.role, self.rows.get(row as usize)?.ts))
    }

    /// Returns the first line of each message that stands in a context, by the numbers of the ranker.
    pub fn lines_in(&self, context: &ContextId) -> HashMap<u32, Seq> {
        let own = self.rows.iter().zip(0..).filter_map(|(row, nth)| match row.place {
            RowPlace::Line(seq, context) => Some((nth, seq, context)),
            RowPlace::Entry(_) => None,
        });
        let copies = self.copies.iter().map(|copy| (copy.row, copy.seq, copy.context));
        let numbers: HashMap<u32, u32> = self.numbers_by_first_version();
        let mut lines: HashMap<u32, Seq> = HashMap::new();
        for (row, seq, _) in
            own.chain(copies).filter(|(.., number)| self.names.text(*number) == context.as_str())
        {
            let first = self.rows.get(row as usize).map_or(row, |row| row.first_version);
            if let Some(number) = numbers.get(&first) {
                let line = lines.entry(*number).or_insert(seq);
                *line = seq.min(*line);
            }
        }
        lines
    }

    /// Returns the message of the ranker that each first version belongs to.
    fn numbers_by_first_version(&self) -> HashMap<u32, u32> {
        let first = |row: u32| self.rows.get(row as usize).map(|row| row.first_version);
        let rows = self.arrangement.rows.iter().zip(0..);
        rows.filter_map(|(row, number)| Some((first(*row)?, number))).collect()
    }
}

impl PostingSource for MessageIndex {
    type Error = DamagedPostings;

    fn messages(&self) -> &[MessageValues] {
        &self.arrangement.messages
    }

    fn session_lengths(&self) -> &[f64] {
        &self.arrangement.session_lengths
    }

    fn participants(&self) -> &[Participant] {
        &self.arrangement.participants
    }

    fn postings(&self, term: &str, call: &mut dyn FnMut(Posting)) -> Result<(), DamagedPostings> {
        let mut found = Vec::new();
        let numbers = &self.arrangement.numbers;
        let mut add = |begin: u32, posting: Posting| {
            let number = numbers.get((begin + posting.message) as usize);
            if let Some(number) = number.filter(|it| **it != NO_MESSAGE) {
                found.push(Posting { message: *number, ..posting });
            }
        };
        for segment in &self.segments {
            segment.postings(term, &mut |posting| add(segment.begin, posting))?;
        }
        self.tail.postings(term, |posting| add(self.tail_begin, posting));
        if !found.is_sorted_by_key(|posting| posting.message) {
            found.sort_unstable_by_key(|posting| posting.message);
        }
        found.into_iter().for_each(call);
        Ok(())
    }

    fn terms_with_prefix(
        &self,
        prefix: &str,
        call: &mut dyn FnMut(&str, u32),
    ) -> Result<(), DamagedPostings> {
        let mut found: BTreeMap<String, u32> = BTreeMap::new();
        let mut add = |term: &str, messages: u32| match found.get_mut(term) {
            Some(known) => *known += messages,
            None => drop(found.insert(term.to_owned(), messages)),
        };
        for segment in &self.segments {
            segment.with_prefix(prefix, &mut add)?;
        }
        self.tail.with_prefix(prefix, &mut add);
        if self.arrangement.messages.len() < self.rows.len() {
            for (term, messages) in &mut found {
                *messages = 0;
                self.postings(term, &mut |_| *messages += 1)?;
            }
            found.retain(|_, messages| *messages > 0);
        }
        found.iter().for_each(|(term, messages)| call(term, *messages));
        Ok(())
    }
}
