//! The ledger: accepts each entry once, records deliveries, and reads both.
//!
//! A ledger over 128 KB is sealed as `archive-<N>.jsonl`, and the new one begins with a head that carries over the
//! open deliveries. Numbers continue, so a reader goes back through the archives as if they were one file.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use ship_message::json::{Array, Json, Object};

use super::env::{Env, read_from};
use super::key_index::KeyIndex;
use super::keys::{Keys, digest, entry_key, ledger_path};
use super::log::{Fold, LogTail, Span, Writing, first_line};
use super::prepare::{self, PrepareError};
use super::recent::{Recent, Start};
use super::seek::lines_behind;
use crate::disk::{DiskFile, OpenMode};
use crate::line::{LineKind, RawLine, UnnumberedLine, claimed_seq, decode};
use crate::scan::{LogScan, ScannedLine, scan};
use crate::{
    AcceptError, Accepted, ChatKey, Delivery, FORMAT_VERSION, KEYS_KEPT_MS, LedgerBody,
    LedgerEntry, LedgerLine, LedgerSeq, RefusedInput, StorageError, StorageProblem,
    StorageProblemKind, Timestamp,
};

/// The size at which a ledger is sealed before the next entry, because opening a chat reads the live one whole.
const LEDGER_BYTES_MAX: u64 = 128 * 1024;

/// The number of old sealed ledgers in a row that are still searched for a key. The clock that calls them old may
/// have jumped, and an entry that was just accepted must not be accepted again.
const SEALED_KEPT_MIN: usize = 64;

/// The field in the head of a ledger with the last number of the ledger sealed before it.
const ARCHIVED_TO: &str = "archivedTo";
/// The number of bytes at the end of a file that are read first.
const TAIL_BYTES: u64 = 16 * 1024;

impl From<PrepareError> for AcceptError {
    fn from(error: PrepareError) -> Self {
        match error {
            PrepareError::Refused(refused) => Self::Refused(refused),
            PrepareError::Storage(error) => Self::Storage(error),
        }
    }
}

/// The deliveries that are not done, by entry and id.
type OpenDeliveries = BTreeMap<(u64, String), OpenDelivery>;

/// A message for the platform that is not delivered yet.
#[derive(Clone)]
struct OpenDelivery {
    delivery: Delivery,
    /// The blobs of its long strings, by JSON pointer into its body.
    blobs: Vec<(String, Json)>,
}

/// The state of the live ledger in memory.
#[derive(Default)]
pub(crate) struct LedgerFold {
    /// The number of sealed ledgers before this one, and the time at which the last was sealed.
    archives: u64,
    began: Option<Timestamp>,
    /// The place of the line of each key.
    keys: KeyIndex,
    /// The deliveries that are not done.
    open: OpenDeliveries,
    /// The places of the last lines.
    recent: Recent,
    /// The keys of the sealed ledgers that are young enough; loaded at the first search.
    sealed: Option<Vec<Keys>>,
}

impl Fold for LedgerFold {
    fn apply(&mut self, line: &RawLine, span: Span) {
        self.recent.push(line.seq, span.offset);
        match (entry_key(line), line.event()) {
            (Some(key), _) => self.keys.add(digest(key), span),
            (None, Some("head")) => self.begin(line),
            (None, Some("delivery")) => self.follow(&line.body, line, ""),
            (None, _) => {}
        }
    }
}

/// Returns where the lines after `seq` begin in the live ledger, if that is known.
pub(crate) fn start_behind(known: &LogTail<LedgerFold>, seq: Option<LedgerSeq>) -> Option<Start> {
    let next = (known.next_seq(), known.len);
    let (seq, offset) = known.fold.recent.behind(seq.map_or(0, LedgerSeq::get), next)?;
    Some(Start { file: known.file, offset, seq })
}

impl LedgerFold {
    /// Returns the places of the lines that may have a key with this digest.
    pub(crate) fn spans_of(&self, digest: u64) -> Vec<Span> {
        self.keys.spans_of(digest)
    }

    fn begin(&mut self, head: &RawLine) {
        self.began = head.body.str("ts").and_then(Timestamp::parse);
        let data = head.body.get("data").and_then(Json::as_object);
        self.archives = data.and_then(|data| data.get("archives")?.as_u64()).unwrap_or(0);
        let open = data.and_then(|data| data.get("open")?.as_array()).unwrap_or_default();
        for (place, body) in open.iter().enumerate() {
            if let Some(body) = body.as_object() {
                self.follow(body, head, &format!("/data/open/{place}"));
            }
        }
    }

    /// Applies a delivery that stands at `pointer` in a line.
    fn follow(&mut self, body: &Object, line: &RawLine, pointer: &str) {
        let Some(delivery) = Delivery::from_body(body) else { return };
        let name = (delivery.entry.get(), delivery.id.clone());
        if !delivery.state.is_open() {
            self.open.remove(&name);
            return;
        }
        let own = |(at, blob): (&str, &Json)| {
            let at = at.strip_prefix(pointer).filter(|at| at.starts_with('/'))?;
            Some((at.to_owned(), blob.clone()))
        };
        let blobs = line.blobs.iter().flat_map(|blobs| blobs.iter()).filter_map(own).collect();
        self.open.insert(name, OpenDelivery { delivery, blobs });
    }
}

/// An addition that waits to be written.
pub(crate) enum Addition {
    Entry { key: String, draft: UnnumberedLine },
    Deliveries { states: Vec<Delivery>, drafts: Vec<UnnumberedLine> },
}

/// Checks an entry and stores its blobs.
pub(crate) fn prepare_entry(env: &Env, entry: LedgerEntry) -> Result<Addition, AcceptError> {
    let LedgerEntry { key, entry } = entry;
    if key.is_empty() {
        return Err(RefusedInput::NotAMessage("a ledger entry needs a non-empty key").into());
    }
    if entry.has("key") {
        return Err(RefusedInput::Reserved("key".to_owned()).into());
    }
    let mut body = Object::from([("key", Json::from(key.as_str()))]);
    for (name, value) in entry.into_entries() {
        body.set(name, value);
    }
    let draft = prepare::body(env, LineKind::Message, body, &key)?;
    Ok(Addition::Entry { key, draft })
}

/// Checks deliveries and makes lines from them.
pub(crate) fn prepare_deliveries(
    env: &Env,
    states: Vec<Delivery>,
) -> Result<Addition, AcceptError> {
    if states.is_empty() {
        return Err(RefusedInput::Empty.into());
    }
    let draft =
        |state: &Delivery| Ok(prepare::body(env, LineKind::Event, state.to_body(), &state.id)?);
    let drafts = states.iter().map(draft).collect::<Result<_, AcceptError>>()?;
    Ok(Addition::Deliveries { states, drafts })
}

/// The live ledger, ready for additions.
pub(crate) struct Adding<'a, 'w> {
    pub(crate) env: &'a Env,
    pub(crate) chat: &'a ChatKey,
    pub(crate) folder: &'a Path,
    pub(crate) writing: Writing<'w, LedgerFold>,
    /// Returns the last entry that the context has promoted.
    pub(crate) cursor: &'a dyn Fn() -> Result<Option<LedgerSeq>, StorageError>,
}

impl Adding<'_, '_> {
    /// Adds all waiting additions with one sync.
    pub(crate) fn add(
        &mut self,
        waiting: Vec<Addition>,
        sync: bool,
    ) -> Vec<Result<Accepted, AcceptError>> {
        if let Err(error) = self.begin() {
            return waiting.iter().map(|_| Err(error.share().into())).collect();
        }
        // A reader may have seen the numbers of undone entries, so they are not given to other entries.
        let mut drafts: Vec<UnnumberedLine> =
            (0..self.writing.taken_back()).map(|_| void()).collect();
        let voids = drafts.len();
        let mut next = self.writing.known().map_or(1, LogTail::next_seq) + voids as u64;
        let mut pending: HashMap<String, LedgerSeq> = HashMap::new();
        let mut results = Vec::with_capacity(waiting.len());
        for addition in waiting {
            results.push(self.place(addition, &mut pending, &mut drafts, &mut next));
        }
        if drafts.len() == voids {
            return results;
        }
        match self.writing.append(&drafts, sync) {
            Ok(_) => results,
            Err(error) => {
                self.void_taken_back(sync);
                let failed = |result: Result<Accepted, AcceptError>| match result {
                    // An entry that existed before stays accepted, even if the write of the others failed.
                    Ok(known) if !known.new && !pending.values().any(|seq| *seq == known.seq) => {
                        Ok(known)
                    }
                    Ok(_) => Err(error.share().into()),
                    Err(error) => Err(error),
                };
                results.into_iter().map(failed).collect()
            }
        }
    }

    /// Fills the numbers of undone entries with void lines, for all processes: a reader may have seen the entries,
    /// and another process would give their numbers to others.
    fn void_taken_back(&mut self, sync: bool) {
        if self.writing.is_settled() {
            let voids: Vec<UnnumberedLine> =
                (0..self.writing.taken_back()).map(|_| void()).collect();
            // The caller gets the first error; the next addition tries this again.
            let _ = self.writing.append(&voids, sync);
        }
    }

    /// Gives an addition its number, or finds the entry that already has its key.
    fn place(
        &mut self,
        addition: Addition,
        pending: &mut HashMap<String, LedgerSeq>,
        drafts: &mut Vec<UnnumberedLine>,
        next: &mut u64,
    ) -> Result<Accepted, AcceptError> {
        let seq = LedgerSeq::new(*next);
        match addition {
            Addition::Entry { key, draft } => {
                // The same key may come twice in one group.
                let known = match pending.get(&key) {
                    Some(&seq) => Some(seq),
                    None => self.find(&key)?,
                };
                if let Some(seq) = known {
                    return Ok(Accepted { seq, new: false });
                }
                pending.insert(key, seq);
                drafts.push(draft);
                *next += 1;
                Ok(Accepted { seq, new: true })
            }
            Addition::Deliveries { states, drafts: lines } => {
                // A delivery may name only entries before it; a higher number cannot exist yet.
                if let Some(state) = states.iter().find(|state| state.entry >= seq) {
                    return Err(AcceptError::NoEntry {
                        chat: self.chat.clone(),
                        entry: state.entry,
                    });
                }
                *next += lines.len() as u64;
                drafts.extend(lines);
                Ok(Accepted { seq: LedgerSeq::new(*next - 1), new: true })
            }
        }
    }

    /// Finds the entry of a key in the live ledger or in a sealed one that is young enough.
    fn find(&mut self, key: &str) -> Result<Option<LedgerSeq>, StorageError> {
        let Some(known) = self.writing.known() else { return Ok(None) };
        // Different keys may have the same digest, so the key in the line decides.
        for span in known.fold.keys.spans_of(digest(key)) {
            let line = decode(&self.writing.read(span)?);
            if let Some(line) = line.filter(|line| entry_key(line) == Some(key)) {
                return Ok(Some(LedgerSeq::new(line.seq)));
            }
        }
        self.load_sealed_keys()?;
        let fold = self.writing.known().map(|known| &known.fold);
        for keys in fold.and_then(|fold| fold.sealed.as_deref()).unwrap_or_default() {
            if let Some(seq) = keys.find(self.env, self.folder, key)? {
                return Ok(Some(seq));
            }
        }
        Ok(None)
    }

    fn load_sealed_keys(&mut self) -> Result<(), StorageError> {
        let Some(fold) = self.writing.known().map(|known| &known.fold) else { return Ok(()) };
        if fold.sealed.is_some() {
            return Ok(());
        }
        let oldest = self.env.options.now().millis() - KEYS_KEPT_MS;
        let (mut number, mut sealed_at) = (fold.archives, fold.began);
        let mut sealed = Vec::new();
        let mut old_in_a_row = 0;
        while let Some(at) = sealed_at.filter(|_| number > 0 && old_in_a_row < SEALED_KEPT_MIN) {
            old_in_a_row = if at.millis() < oldest { old_in_a_row + 1 } else { 0 };
            sealed.extend(Keys::load(self.env, self.folder, number, at)?);
            // The head of a ledger has the time at which the ledger before it was sealed.
            let head = first_line(self.env, &ledger_path(self.folder, number))?;
            sealed_at = head.and_then(|line| Timestamp::parse(line.body.str("ts")?)).or(Some(at));
            number -= 1;
        }
        if let Some(fold) = self.writing.fold_mut() {
            fold.sealed = Some(sealed);
        }
        Ok(())
    }

    /// Creates the ledger if there is none. Seals it if it is large, or if it ends before the last entry that the
    /// context has read; the next one then begins above both.
    fn begin(&mut self) -> Result<(), StorageError> {
        let Some(known) = self.writing.known() else {
            self.check_first()?;
            return self.publish(0, &BTreeMap::new(), 1, None, None);
        };
        let cursor = self.cursor()?;
        if known.len <= LEDGER_BYTES_MAX && known.given >= cursor {
            return Ok(());
        }
        // Loaded before the ledger is sealed, because sealing replaces the state that holds them.
        self.load_sealed_keys()?;
        let now = self.env.options.now();
        let (first, end, known) = match self.writing.known() {
            Some(known) => (known.next_seq().max(cursor + 1), known.given, &known.fold),
            None => return Ok(()),
        };
        let number = self.free_number(known.archives + 1)?;
        let keys = Keys::new(number, now, known.keys.pairs());
        let open = known.open.clone();
        let mut sealed = known.sealed.clone().unwrap_or_default();
        let path = ledger_path(self.folder, number);
        self.publish(number, &open, first, Some(&path), Some(end))?;
        // The key file is derived: if it cannot be written now, it is made when it is needed.
        let _ = keys.save(self.env, self.folder);
        sealed.insert(0, keys);
        let mut old_in_a_row = 0;
        sealed.retain(|keys| {
            let is_old = keys.sealed_at.millis() < now.millis() - KEYS_KEPT_MS;
            old_in_a_row = if is_old { old_in_a_row + 1 } else { 0 };
            old_in_a_row <= SEALED_KEPT_MIN
        });
        if let Some(fold) = self.writing.fold_mut() {
            fold.sealed = Some(sealed);
        }
        Ok(())
    }

    /// Fails if the chat once had a ledger: then the ledger is lost, and its numbers are given.
    fn check_first(&self) -> Result<(), StorageError> {
        let (archives, promoted) = (newest_archive(self.env, self.folder)?, self.cursor()?);
        match archives > 0 || promoted > 0 {
            true => Err(StorageError::Damaged { path: live(self.folder), what: lost() }),
            false => Ok(()),
        }
    }

    /// Returns the first number, from `number` on, under which the ledger can be sealed.
    fn free_number(&self, mut number: u64) -> Result<u64, StorageError> {
        while self.writing.is_taken(&ledger_path(self.folder, number))? {
            number += 1;
        }
        Ok(number)
    }

    fn cursor(&self) -> Result<u64, StorageError> {
        (self.cursor)().map(|cursor| cursor.map_or(0, LedgerSeq::get))
    }

    /// Seals a ledger that has lost its head, unchanged, and begins the next. A ledger that is gone or wholly
    /// unreadable is set aside instead. The next one begins above every number that is known.
    pub(crate) fn mend(&mut self, aside: &Path) -> Result<(), StorageError> {
        let reading = LedgerReader { env: self.env, folder: self.folder };
        let open = reading.fold()?.open;
        if let Some(end) = last_given(self.env, &live(self.folder))? {
            let last = end.max(self.cursor()?);
            let number = self.free_number(newest_archive(self.env, self.folder)? + 1)?;
            let path = ledger_path(self.folder, number);
            return self.publish(number, &open, last + 1, Some(&path), Some(end));
        }
        let archives = newest_archive(self.env, self.folder)?;
        let mut last = self.cursor()?;
        for number in 1..=archives {
            let sealed = last_given(self.env, &ledger_path(self.folder, number))?;
            last = last.max(sealed.unwrap_or(0));
        }
        self.env.ensure_folder(aside)?;
        let aside = aside.join(format!("{}-ledger.jsonl", self.env.options.now().file_name()));
        self.publish(archives, &open, last + 1, Some(&aside), None)
    }

    /// Replaces this ledger, which is sealed, by one that begins with `first`. `end` is the last number of the
    /// ledger that becomes the newest archive.
    fn publish(
        &mut self,
        archives: u64,
        open: &OpenDeliveries,
        first: u64,
        seal: Option<&Path>,
        end: Option<u64>,
    ) -> Result<(), StorageError> {
        let mut data = Object::new();
        data.set("v", FORMAT_VERSION);
        data.set("chatKey", self.chat.as_str());
        data.set("archives", archives);
        data.set_or_remove(ARCHIVED_TO, end.map(Json::from));
        let mut blobs = Object::new();
        for (place, open) in open.values().enumerate() {
            for (at, blob) in &open.blobs {
                blobs.set(format!("/data/open/{place}{at}"), blob.clone());
            }
        }
        let open: Array = open.values().map(|open| open.delivery.to_body().into()).collect();
        data.set("open", open);
        let mut body = Object::new();
        body.set("id", format!("l{first}"));
        body.set("ts", self.env.options.now().to_string());
        body.set("event", "head");
        body.set("data", data);
        let blobs = (!blobs.is_empty()).then(|| Json::from(blobs).to_string());
        let head = UnnumberedLine { blobs, ..UnnumberedLine::new(LineKind::Event, body) };
        self.writing.publish(&[head], first, seal)
    }
}

/// Makes an empty line for the place of one that was written and undone.
fn void() -> UnnumberedLine {
    UnnumberedLine::new(LineKind::Event, Object::from([("event", Json::from("void"))]))
}

/// Reads the ledger and its archives. It keeps nothing in memory and changes nothing.
pub(crate) struct LedgerReader<'a> {
    pub(crate) env: &'a Env,
    pub(crate) folder: &'a Path,
}

impl LedgerReader<'_> {
    /// Returns the last lines of one file without its head: as many as are `enough`, or all. A turn looks at the
    /// end of the ledger several times, and its cost must not grow with the ledger.
    fn last_lines(
        &self,
        path: &Path,
        enough: impl Fn(&[RawLine]) -> bool,
    ) -> Result<Vec<RawLine>, StorageError> {
        let failed = |error| StorageError::io("read", path, error);
        let Some(file) = self.env.open(path, OpenMode::Read)? else { return Ok(Vec::new()) };
        let len = file.look().map_err(failed)?.len;
        let mut block = TAIL_BYTES;
        loop {
            let from = len.saturating_sub(block);
            let found = scan_from(&*file, from, len).map_err(failed)?;
            let certain = from == 0 || tells_end(&found);
            // The meaning of a damaged line depends on the lines before it, wherever they are.
            let damaged = !found.damage.is_empty();
            let lines: Vec<RawLine> = contents(found).collect();
            if from == 0 || (certain && !damaged && !lines.is_empty() && enough(&lines)) {
                return Ok(lines);
            }
            block = if damaged { len } else { block.saturating_mul(4) };
        }
    }

    /// Returns all files of the ledger, the newest first.
    fn files(&self) -> Result<Vec<PathBuf>, StorageError> {
        let sealed = sealed_before(self.env, self.folder)?;
        let sealed = sealed.into_iter().map(|number| ledger_path(self.folder, number));
        Ok(std::iter::once(live(self.folder)).chain(sealed).collect())
    }

    /// Folds the live ledger or, if its head is lost, the ledgers back to one with a head.
    fn fold(&self) -> Result<LedgerFold, StorageError> {
        let mut files = Vec::new();
        for path in self.files()? {
            let head = first_line(self.env, &path)?;
            files.push(path);
            if head.is_some_and(|line| line.event() == Some("head")) {
                break;
            }
        }
        let mut fold = LedgerFold::default();
        for path in files.iter().rev() {
            let Some((_, bytes)) = self.env.read(path)? else { continue };
            let lines = scan(&bytes, None).lines;
            // The places are not used: callers need only the open deliveries of this fold.
            lines.iter().for_each(|found| fold.apply(&found.line, Span { offset: 0, len: 0 }));
        }
        Ok(fold)
    }

    pub(crate) fn before(
        &self,
        before: Option<LedgerSeq>,
        limit: usize,
    ) -> Result<Vec<LedgerLine>, StorageError> {
        let mut newest_first = Vec::new();
        for path in self.files()? {
            if newest_first.len() >= limit {
                break;
            }
            let is_wanted = |line: &RawLine| before.is_none_or(|seq| line.seq < seq.get());
            let left = limit - newest_first.len();
            let enough =
                |lines: &[RawLine]| lines.iter().filter(|line| is_wanted(line)).count() >= left;
            let lines = self.last_lines(&path, enough)?.into_iter().rev();
            newest_first.extend(lines.filter(is_wanted).take(left));
        }
        newest_first.reverse();
        self.resolve(newest_first)
    }

    /// Reads the lines after one with a known place. Returns `None` if anything there is unexpected; then the
    /// caller reads more of the file.
    pub(crate) fn after_known(
        &self,
        start: Start,
        after: Option<LedgerSeq>,
        limit: usize,
    ) -> Result<Option<Vec<LedgerLine>>, StorageError> {
        let path = live(self.folder);
        let failed = |error| StorageError::io("read", &path, error);
        let Some(file) = self.env.open(&path, OpenMode::Read)? else { return Ok(None) };
        let look = file.look().map_err(failed)?;
        if look.file != start.file || look.len < start.offset {
            return Ok(None);
        }
        let bytes = read_from(&*file, start.offset, look.len).map_err(failed)?;
        let found = scan(&bytes, Some(start.seq));
        if !found.is_whole(&bytes) {
            return Ok(None);
        }
        let lines = found.lines.into_iter().map(|found| found.line);
        // Another process may have written lines that were neither known nor asked for.
        let is_behind = |line: &RawLine| after.is_none_or(|after| line.seq > after.get());
        let lines = lines.filter(|line| is_behind(line) && is_content(line));
        self.resolve(lines.take(limit).collect()).map(Some)
    }

    pub(crate) fn after(
        &self,
        after: Option<LedgerSeq>,
        limit: usize,
    ) -> Result<Vec<LedgerLine>, StorageError> {
        let after = after.map_or(0, LedgerSeq::get);
        // New lines are nearly always at the end of the live ledger.
        if let Some(found) = self.end_behind(&live(self.folder), after, limit)? {
            return self.resolve(found);
        }
        let mut files = Vec::new();
        for path in self.files()? {
            // A ledger without a head may begin at any number.
            let first = first_line(self.env, &path)?.map_or(u64::MAX, |line| line.seq);
            files.push(path);
            if first <= after.saturating_add(1) {
                break;
            }
        }
        let mut found: Vec<RawLine> = Vec::new();
        for path in files.into_iter().rev() {
            found.extend(self.lines_behind(&path, after, limit - found.len())?);
            if found.len() >= limit {
                break;
            }
        }
        self.resolve(found)
    }

    /// Reads the first lines of one file after `after`. Lines near its end are read at once.
    fn lines_behind(
        &self,
        path: &Path,
        after: u64,
        limit: usize,
    ) -> Result<Vec<RawLine>, StorageError> {
        if let Some(found) = self.end_behind(path, after, limit)? {
            return Ok(found);
        }
        let failed = |error| StorageError::io("read", path, error);
        let Some(file) = self.env.open(path, OpenMode::Read)? else { return Ok(Vec::new()) };
        let len = file.look().map_err(failed)?.len;
        lines_behind(&*file, len, after, limit, is_content).map_err(failed)
    }

    /// Reads the first lines of one file after `after` if they are all in its last block; otherwise returns `None`.
    fn end_behind(
        &self,
        path: &Path,
        after: u64,
        limit: usize,
    ) -> Result<Option<Vec<RawLine>>, StorageError> {
        let failed = |error| StorageError::io("read", path, error);
        let Some(file) = self.env.open(path, OpenMode::Read)? else { return Ok(None) };
        let len = file.look_when_opened().map_err(failed)?.len;
        let from = len.saturating_sub(TAIL_BYTES);
        let bytes = read_from(&*file, from, len).map_err(failed)?;
        let tail = scan(&bytes[begin_behind(&bytes, from > 0, after)..], None);
        let reaches = |found: &ScannedLine| found.line.seq <= after.saturating_add(1);
        if !tells_end(&tail) || !tail.damage.is_empty() || !tail.lines.first().is_some_and(reaches)
        {
            return Ok(None);
        }
        Ok(Some(contents(tail).filter(|line| line.seq > after).take(limit).collect()))
    }

    pub(crate) fn open_deliveries(&self) -> Result<Vec<Delivery>, StorageError> {
        let whole = |open: OpenDelivery| {
            if open.blobs.is_empty() {
                return Ok(Some(open.delivery));
            }
            let (kind, body) = (LineKind::Event, open.delivery.to_body());
            let blobs = Some(open.blobs.into_iter().collect());
            // `resolve` needs a line around the body; its numbers are not used.
            let (seq, rev, crc, inbox, batch) = (0, 0, 0, None, None);
            let mut line = RawLine { seq, kind, rev, inbox, batch, blobs, crc, body };
            prepare::resolve(self.env, &mut line, "", &mut Vec::new())?;
            Ok(Delivery::from_body(&line.body))
        };
        let open = self.fold()?.open.into_values();
        open.filter_map(|open| whole(open).transpose()).collect()
    }

    fn resolve(&self, lines: Vec<RawLine>) -> Result<Vec<LedgerLine>, StorageError> {
        let mut resolved = Vec::with_capacity(lines.len());
        for mut line in lines {
            // A text without its blob stays a preview; verification reports it.
            prepare::resolve(self.env, &mut line, "", &mut Vec::new())?;
            resolved.extend(to_line(line));
        }
        Ok(resolved)
    }
}

/// Whether a block at the end of a log reads the same without the bytes before it. The start of the last batch must
/// be in it, because the batch may be torn, and a line before the last one, because the last may repeat a number.
fn tells_end(block: &LogScan) -> bool {
    let Some((first, last)) = block.lines.first().zip(block.lines.last()) else { return false };
    let begins = |batch: (u64, u64)| first.line.seq == batch.0 || first.line.batch != Some(batch);
    first.line.seq < last.line.seq && last.line.batch.is_none_or(begins)
}

/// Returns where the lines needed for everything after `after` begin in a block: one line before the last line that
/// is not after it. The scan decides whether they can be read.
fn begin_behind(block: &[u8], is_cut: bool, after: u64) -> usize {
    let first = match is_cut {
        true => block.iter().position(|&byte| byte == b'\n').map_or(block.len(), |at| at + 1),
        false => 0,
    };
    let mut end = match block.ends_with(b"\n") {
        true => block.len() - 1,
        false => return first,
    };
    let mut is_reached = false;
    while end > first {
        let newline = block[first..end].iter().rposition(|&byte| byte == b'\n');
        let begin = newline.map_or(first, |at| first + at + 1);
        if is_reached || newline.is_none() {
            return begin;
        }
        // The scan checks whether the line really has this number.
        let Some(seq) = claimed_seq(&block[begin..end]) else { return first };
        is_reached = seq <= after;
        end = begin - 1;
    }
    first
}

/// Scans a file from an offset that may be inside a line.
fn scan_from(file: &dyn DiskFile, from: u64, len: u64) -> std::io::Result<LogScan> {
    let mut bytes = read_from(file, from, len)?;
    if from > 0 {
        let newline = bytes.iter().position(|&byte| byte == b'\n');
        bytes.drain(..newline.map_or(bytes.len(), |at| at + 1));
    }
    Ok(scan(&bytes, None))
}

/// Returns the lines other than heads and voids.
fn contents(found: LogScan) -> impl Iterator<Item = RawLine> {
    found.lines.into_iter().map(|found| found.line).filter(is_content)
}

/// Whether a line is neither a head nor a void.
fn is_content(line: &RawLine) -> bool {
    !matches!(line.event(), Some("head" | "void"))
}

/// Returns the path of the live ledger.
pub(crate) fn live(folder: &Path) -> PathBuf {
    folder.join("history.jsonl")
}

/// Describes the loss of a ledger that once existed.
pub(crate) fn lost() -> String {
    "it is missing, though the chat has sealed ledgers or has promoted entries of it".to_owned()
}

/// Returns the number of the newest sealed ledger in the folder.
pub(crate) fn newest_archive(env: &Env, folder: &Path) -> Result<u64, StorageError> {
    let names = env.list(folder)?;
    let number =
        |name: &String| name.strip_prefix("archive-")?.strip_suffix(".jsonl")?.parse::<u64>().ok();
    Ok(names.iter().filter_map(number).max().unwrap_or(0))
}

/// Returns the numbers of the sealed ledgers before the live one, the newest first: from its head or, if that is
/// lost, from the folder. An interrupted sealing may have left one there that is the live ledger itself.
pub(crate) fn sealed_before(env: &Env, folder: &Path) -> Result<Vec<u64>, StorageError> {
    let live = live(folder);
    let head = first_line(env, &live)?.filter(|line| line.event() == Some("head"));
    let told = head.and_then(|line| line.body.get("data")?.get("archives")?.as_u64());
    if let Some(archives) = told {
        return Ok((1..=archives).rev().collect());
    }
    let first = match env.read(&live)? {
        Some((_, bytes)) => scan(&bytes, None).lines.first().map(|found| found.line.seq),
        None => None,
    };
    let mut sealed = Vec::new();
    for number in (1..=newest_archive(env, folder)?).rev() {
        let Some((_, bytes)) = env.read(&ledger_path(folder, number))? else {
            sealed.push(number);
            continue;
        };
        let begins = scan(&bytes, None).lines.first().map(|found| found.line.seq);
        if first.zip(begins).is_none_or(|(first, begins)| begins < first) {
            sealed.push(number);
        }
    }
    Ok(sealed)
}

/// Reports the entries that are missing before the ledger at `next`: entries that the ledger sealed before it has
/// lost, and entries of a ledger that was lost or replaced by an older one.
pub(crate) fn missing_before(
    env: &Env,
    folder: &Path,
    next: &Path,
) -> Result<Vec<StorageProblem>, StorageError> {
    let Some(head) = first_line(env, next)?.filter(|line| line.event() == Some("head")) else {
        return Ok(Vec::new());
    };
    let number = |key: &str| head.body.get("data")?.get(key)?.as_u64();
    let mut problems = Vec::new();
    let mut before = 0;
    if let Some(archive) = number("archives").filter(|archive| *archive > 0) {
        let path = ledger_path(folder, archive);
        // A missing sealed ledger is reported where the sealed ones are listed.
        let Some((_, bytes)) = env.read(&path)? else { return Ok(problems) };
        let found = scan(&bytes, None).given;
        before = number(ARCHIVED_TO).unwrap_or(found).max(found);
        if found < before {
            let message =
                format!("it should end with entry {before}, and {found} is the last that it has");
            let remedy = "compare with a copy; the entries before are read";
            let file = path.display().to_string();
            let problem = StorageProblem::new(file, StorageProblemKind::Damage, message, remedy);
            problems.push(problem.at(bytes.len() as u64));
        }
    }
    if before + 1 < head.seq {
        let (first, last) = (before + 1, head.seq - 1);
        let message = format!("the entries {first} to {last} before it are missing");
        let remedy =
            "restore the ledger from a copy if there is one; the chat goes on without them";
        let file = next.display().to_string();
        problems.push(StorageProblem::new(file, StorageProblemKind::Missing, message, remedy));
    }
    Ok(problems)
}

/// Returns the highest number that a ledger may have given; `None` if nothing of it can be read.
pub(crate) fn last_given(env: &Env, path: &Path) -> Result<Option<u64>, StorageError> {
    let Some((_, bytes)) = env.read(path)? else { return Ok(None) };
    let scan = scan(&bytes, None);
    Ok((!scan.lines.is_empty()).then_some(scan.given))
}

fn to_line(mut line: RawLine) -> Option<LedgerLine> {
    let body = match line.kind {
        LineKind::Message => {
            let key = line.body.remove("key")?.as_str()?.to_owned();
            LedgerBody::Entry(LedgerEntry { key, entry: line.body })
        }
        LineKind::Event => LedgerBody::Delivery(Delivery::from_body(&line.body)?),
    };
    Some(LedgerLine { seq: LedgerSeq::new(line.seq), body })
}
