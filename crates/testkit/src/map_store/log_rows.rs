//! The rows of one chat. The lines of all its context logs are rows of one table, and a sealed log is a range of them.

use std::collections::{BTreeMap, HashMap};
use std::ops::RangeBounds;

use ship_message::json::{Json, Object};
use ship_store::rules::{
    Accepting, Appending, Batch, BatchState, ImportChain, LedgerAddition, LedgerHead, LiveLog,
    OpenDeliveries, PageBuilder, PagedLog, PlannedRotation, PreparedRotation, PresentLine,
    PurgeList, RawLine, SourceLog, Tombstone, UnnumberedLine, decode, ledger_line,
    newest_revisions, next_number, purge_in_lines, raised_min_reader, read_head, reader_needed,
    view_of_log,
};
use ship_store::{
    About, AcceptError, Accepted, AppendError, ChatKey, ChatSizes, Delivery, Derived, DerivedState,
    Import, ImportError, ImportPiece, Imported, LedgerLine, LedgerSeq, LinesCursor, LinesPage,
    LiveAfterImport, Position, PurgeError, Purged, ReadError, RotateError, Rotated, SealedLog,
    SealedName, Seq, StorageError, Timestamp, View,
};

use super::MESSAGE_BYTES_MAX;
use super::lane::LaneRow;
use super::tables::{Blobs, put_texts, read_blob};

/// Rows of lines by their numbers.
type Lines = BTreeMap<u64, Vec<u8>>;

/// One chat.
pub(super) struct ChatRows {
    pub(super) key: ChatKey,
    pub(super) about: About,
    pub(super) min_reader: Option<u64>,
    pub(super) activity: Option<Timestamp>,
    pub(super) idle: Option<ChatSizes>,
    pub(super) lane: Option<LaneRow>,
    pub(super) journal: Vec<Object>,
    pub(super) requests: Vec<Object>,
    pub(super) derived: BTreeMap<Derived, DerivedState>,
    lines: Lines,
    /// The sealed logs by their first numbers.
    sealed: BTreeMap<u64, SealedName>,
    /// The first number of the live log.
    live: Option<u64>,
    purges: PurgeList,
    ledger: Lines,
    /// The entry of each key.
    pub(super) keys: HashMap<String, LedgerSeq>,
}

fn decoded(rows: &Lines, range: impl RangeBounds<u64>) -> Vec<RawLine> {
    rows.range(range).map(|(_, row)| decode(row).expect("a row is a line")).collect()
}

fn insert(rows: &mut Lines, first: u64, lines: &[UnnumberedLine]) {
    for (seq, line) in (first..).zip(lines) {
        let row = rows.entry(seq).or_default();
        line.write(seq, None, row);
        row.pop();
    }
}

impl ChatRows {
    pub(super) fn new(key: &ChatKey, about: About, now: Timestamp) -> Self {
        let (head, first) = (LedgerHead::default(), LedgerSeq::FIRST);
        let head = head.to_line(key, &OpenDeliveries::default(), first, now);
        let mut ledger = Lines::new();
        insert(&mut ledger, first.get(), &[head]);
        Self {
            key: key.clone(),
            about,
            min_reader: None,
            activity: None,
            idle: None,
            lane: None,
            journal: Vec::new(),
            requests: Vec::new(),
            derived: BTreeMap::new(),
            lines: Lines::new(),
            sealed: BTreeMap::new(),
            live: None,
            purges: PurgeList::default(),
            ledger,
            keys: HashMap::new(),
        }
    }

    /// Returns all rows as text.
    pub(super) fn to_texts(&self) -> Vec<String> {
        let line = |row: &Vec<u8>| String::from_utf8_lossy(row).into_owned();
        let records = self.journal.iter().chain(&self.requests);
        let records = records.map(|record| Json::from(record.clone()).to_string());
        self.lines.values().chain(self.ledger.values()).map(line).chain(records).collect()
    }

    pub(super) fn sizes(&self) -> ChatSizes {
        let live = self.live.map(|first| self.lines.range(first..));
        let bytes = |row: &Vec<u8>| row.len() as u64 + 1;
        let journal = self.journal.iter().map(|part| Json::from(part.clone()).to_string().len());
        ChatSizes {
            context_bytes: live.into_iter().flatten().map(|(_, row)| bytes(row)).sum(),
            ledger_bytes: self.ledger.values().map(bytes).sum(),
            journal_bytes: journal.map(|len| len as u64 + 1).sum(),
        }
    }

    fn live_lines(&self) -> Vec<RawLine> {
        self.live.map(|first| decoded(&self.lines, first..)).unwrap_or_default()
    }

    fn live_log(&self) -> Option<LiveLog> {
        LiveLog::read(&self.live_lines())
    }

    fn ledger_end(&self) -> Option<LedgerSeq> {
        self.ledger.last_key_value().map(|(seq, _)| LedgerSeq::new(*seq))
    }

    /// Notes that a reader must know the kinds of these lines.
    fn raise_min_reader(&mut self, lines: &[UnnumberedLine]) {
        let raised = reader_needed(lines).and_then(|it| raised_min_reader(self.min_reader, it));
        self.min_reader = raised.or(self.min_reader);
    }

    pub(super) fn append(&mut self, batch: Batch) -> Result<Position, AppendError> {
        let mut present = HashMap::new();
        for line in newest_revisions(self.live_lines().into_iter().skip(1)) {
            let id = line.body.str("id");
            if let Some(new) = batch.lines.iter().find(|new| id == Some(new.id.as_str())) {
                let (seq, line) = (Seq::new(line.seq), line.into_draft());
                present.insert(new.id.clone(), PresentLine { seq, line });
            }
        }
        let end = self.live_log().map(|live| live.end);
        let mut appending = Appending::new(&self.key, end);
        let state = BatchState { present, ledger_end: self.ledger_end() };
        let position = appending.add(batch, &state)?;
        let lines = appending.into_lines();
        self.raise_min_reader(&lines);
        if let Some(end) = end {
            insert(&mut self.lines, end.next.get(), &lines);
        }
        Ok(position)
    }

    pub(super) fn rotate(
        &mut self,
        prepared: PreparedRotation,
        now: Timestamp,
    ) -> Result<Rotated, RotateError> {
        let (live, end) = (self.live_log(), self.ledger_end());
        let kept = newest_revisions(self.live_lines().into_iter().skip(1));
        let planned = prepared.publish(&self.key, live.as_ref(), kept, end, now)?;
        Ok(self.publish(planned, now))
    }

    /// Puts a log in the place of the live one, which is sealed.
    fn publish(&mut self, planned: PlannedRotation, now: Timestamp) -> Rotated {
        let PlannedRotation { log, rotated } = planned;
        self.sealed.extend(self.live.zip(rotated.sealed.clone()));
        let first = log.first.get();
        let lines = log.into_lines(&self.key, now);
        self.raise_min_reader(&lines);
        insert(&mut self.lines, first, &lines);
        self.live = Some(first);
        rotated
    }

    /// Imports logs. They are rows of this chat only when everything has been checked.
    pub(super) fn import(
        &mut self,
        blobs: &mut Blobs,
        import: Import,
        now: Timestamp,
    ) -> Result<Imported, ImportError> {
        let (live, expected) = (self.live_log(), import.expected);
        let found = live.map(|live| live.end.position);
        let Some(live) = live.filter(|_| found == Some(expected)) else {
            return Err(ImportError::Moved { chat: self.key.clone(), expected, found });
        };
        let (mut chain, mut aside) = (ImportChain::new(&self.key, live, now), Lines::new());
        for piece in import.source {
            match piece.map_err(ImportError::Source)? {
                ImportPiece::Log(head) => {
                    chain.end_log();
                    let (seq, line) = chain.begin_log(head);
                    insert(&mut aside, seq.get(), &[line]);
                }
                ImportPiece::Line(new) => {
                    let (seq, line, texts) = chain.add(new, MESSAGE_BYTES_MAX)?;
                    put_texts(blobs, texts);
                    insert(&mut aside, seq.get(), &[line]);
                }
            }
        }
        chain.end_log();
        if chain.logs().is_empty() {
            return Err(ImportError::NoLog);
        }
        chain.compare(self.live_lines().into_iter())?;
        for name in self.sealed.values().rev() {
            chain.compare(self.log_lines(name).into_iter())?;
        }
        let kept = newest_revisions(self.live_lines().into_iter().skip(1));
        let rotation = match import.live {
            LiveAfterImport::Kept => {
                let head = self.live_lines().first().and_then(read_head);
                chain.keep_live(head.expect("a live log has a head"))
            }
            LiveAfterImport::New { head, lines } => {
                let (prepared, texts) = chain.replace_live(head, lines, MESSAGE_BYTES_MAX)?;
                put_texts(blobs, texts);
                prepared
            }
        };
        let logs = chain.logs().to_vec();
        let planned = chain.publish(rotation, kept, self.ledger_end())?;
        let sealed = planned.rotated.sealed.clone().expect("a live log was sealed");
        let position = self.publish(planned, now).position;
        self.lines.append(&mut aside);
        self.sealed.extend(logs.iter().map(|name| (name.range().0.get(), name.clone())));
        Ok(Imported { position, sealed, logs })
    }

    fn log_lines(&self, name: &SealedName) -> Vec<RawLine> {
        let (first, last) = name.range();
        decoded(&self.lines, first.get()..=last.get())
    }

    /// Returns the lines of a sealed log that was not purged.
    pub(super) fn readable_log(&self, name: &SealedName) -> Result<Vec<RawLine>, ReadError> {
        let (chat, text) = (self.key.clone(), name.as_str().to_owned());
        match self.sealed_log(name).map(|log| log.purged) {
            None => Err(ReadError::NoSealedLog { chat, name: text }),
            Some(Some(purged)) => Err(ReadError::Purged { chat, name: text, purged }),
            Some(None) => Ok(self.log_lines(name)),
        }
    }

    /// Returns a sealed log, or the live one, as one that lines are copied from.
    pub(super) fn source(&self, name: Option<&SealedName>) -> Result<SourceLog, ReadError> {
        let lines = name.map_or_else(|| Ok(self.live_lines()), |name| self.readable_log(name))?;
        let range = lines.first().zip(lines.last());
        let range = range.map(|(first, last)| (Seq::new(first.seq), Seq::new(last.seq)));
        Ok(SourceLog::new(lines.into_iter().skip(1), range))
    }

    /// Describes a sealed log; `None` if there is none with this name.
    fn sealed_log(&self, name: &SealedName) -> Option<SealedLog> {
        let (first, last) = name.range();
        self.sealed.get(&first.get()).filter(|known| *known == name)?;
        let lines = self.log_lines(name);
        let (head, purged) = (read_head(lines.first()?)?, purge_in_lines(lines.iter()));
        let (name, sealed_at) = (name.clone(), name.sealed_at());
        Some(SealedLog { name, first, last, sealed_at, head, purged })
    }

    /// Describes all sealed logs, the newest first.
    pub(super) fn sealed(&self) -> Vec<SealedLog> {
        self.sealed.values().rev().filter_map(|name| self.sealed_log(name)).collect()
    }

    pub(super) fn purge(
        &mut self,
        name: &SealedName,
        by: &str,
        now: Timestamp,
    ) -> Result<Purged, PurgeError> {
        let Some(known) = self.sealed_log(name) else {
            let (chat, name) = (self.key.clone(), name.as_str().to_owned());
            return Err(PurgeError::NotSealed { chat, name });
        };
        if let Some(purged) = known.purged {
            return Ok(purged);
        }
        let lines = self.log_lines(name);
        let head = lines[0].clone().into_draft();
        let Tombstone { purged, lines } = Tombstone::new(name, head, lines.iter(), by, now);
        if self.purges == PurgeList::default() {
            self.purges = PurgeList::begin(now);
        }
        self.purges.add(name.clone(), now);
        let (first, last) = name.range();
        self.lines.retain(|seq, _| !(first.get()..=last.get()).contains(seq));
        for (seq, line) in lines {
            insert(&mut self.lines, seq.get(), &[line]);
        }
        Ok(purged)
    }

    pub(super) fn view(&self, blobs: &Blobs) -> Result<Option<View>, StorageError> {
        view_of_log(self.live_lines(), self.key.as_str(), |sha256| read_blob(blobs, sha256))
    }

    pub(super) fn sealed_view(&self, blobs: &Blobs, name: &SealedName) -> Result<View, ReadError> {
        let lines = self.readable_log(name)?;
        let view = view_of_log(lines, name.as_str(), |sha256| read_blob(blobs, sha256))?;
        Ok(view.expect("a log begins with a head"))
    }

    /// Reads up to `limit` lines of all logs after a cursor.
    pub(super) fn lines_after(
        &self,
        blobs: &Blobs,
        cursor: Option<LinesCursor>,
        limit: usize,
    ) -> Result<LinesPage, StorageError> {
        let mut page = PageBuilder::new(cursor.unwrap_or(LinesCursor::START), limit);
        let Some(is_last) = self.fill_page(blobs, &mut page)? else {
            return Ok(LinesPage { begins_anew: true, ..self.lines_after(blobs, None, limit)? });
        };
        let new = cursor.and_then(|cursor| self.purges.after(cursor.purge));
        let purged = match new {
            Some(new) => new.iter().filter_map(|(_, name)| self.sealed_log(name)).collect(),
            None => self.sealed().into_iter().filter(|log| log.purged.is_some()).collect(),
        };
        Ok(page.finish(purged, self.purges.last(), is_last))
    }

    /// Fills a page and returns whether it is the last; `None` if its cursor is that of other lines.
    fn fill_page(
        &self,
        blobs: &Blobs,
        page: &mut PageBuilder,
    ) -> Result<Option<bool>, StorageError> {
        let from = page.from().get();
        let logs = self.sealed.values().map(|name| (Some(name), name.range()));
        let live = self.live.map(|first| (None, (Seq::new(first), Seq::MAX)));
        for (name, (first, last)) in logs.chain(live).filter(|(_, range)| range.1.get() >= from) {
            let head = decoded(&self.lines, first.get()..=first.get()).pop();
            let place = name.map_or(self.key.as_str(), SealedName::as_str).to_owned();
            let log = head.and_then(|head| PagedLog::new(name.cloned(), place, &head));
            let log = log.expect("a log begins with a head");
            for line in decoded(&self.lines, first.get().max(from)..=last.get()) {
                let seq = Seq::new(line.seq);
                // A tombstone has the number of the last line that it stands for.
                if !line.is_tombstone() && page.contradicts(seq, Some(line.crc)) {
                    return Ok(None);
                }
                if seq > page.known() && page.is_full() {
                    return Ok(Some(false));
                }
                let bytes = self.lines[&line.seq].len() as u64;
                page.add(&log, line, bytes, |sha256| read_blob(blobs, sha256))?;
            }
            if name.is_some() {
                page.end_log(last);
            }
        }
        let end = self.lines.last_key_value().map_or(0, |(seq, _)| *seq);
        Ok((!page.contradicts(Seq::new(end), None)).then_some(true))
    }

    pub(super) fn add_to_ledger(
        &mut self,
        addition: LedgerAddition,
    ) -> Result<Accepted, AcceptError> {
        let cursor = self.live_log().and_then(|live| live.inbox);
        let next = next_number(self.ledger_end().map_or(0, LedgerSeq::get), cursor);
        let key = match &addition {
            LedgerAddition::Entry { key, .. } => Some(key.clone()),
            LedgerAddition::Deliveries { .. } => None,
        };
        let mut accepting = Accepting::new(&self.key, next, 0);
        let known = accepting.unknown_key(&addition).and_then(|key| self.keys.get(key).copied());
        let accepted = accepting.add(addition, known)?;
        self.keys.extend(key.map(|key| (key, accepted.seq)));
        self.raise_min_reader(accepting.lines());
        insert(&mut self.ledger, next.get(), accepting.lines());
        Ok(accepted)
    }

    /// Reads the lines of the ledger in a range of numbers.
    pub(super) fn ledger_lines(
        &self,
        blobs: &Blobs,
        range: impl RangeBounds<u64>,
    ) -> Result<Vec<LedgerLine>, StorageError> {
        let read = |line| ledger_line(line, |sha256| read_blob(blobs, sha256)).transpose();
        decoded(&self.ledger, range).into_iter().filter_map(read).collect()
    }

    pub(super) fn open_deliveries(&self, blobs: &Blobs) -> Result<Vec<Delivery>, StorageError> {
        let mut open = OpenDeliveries::default();
        decoded(&self.ledger, ..).iter().for_each(|line| open.apply(line));
        open.restore(|sha256| read_blob(blobs, sha256))
    }
}
