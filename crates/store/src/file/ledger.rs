//! The ledger: accepting entries once, recording deliveries, and reading both.
//!
//! A ledger over 4 MB is sealed whole as `archive-<N>.jsonl`, and the new one begins with a head that
//! carries over what is still to be delivered. Numbers go on, so reading goes back through the archives
//! as if they were one file.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use ship_message::json::{Array, Json, Object};

use super::env::Env;
use super::keys::{Keys, digest, entry_key, ledger_path};
use super::log::{Fold, Span, Writing, first_line};
use super::prepare::{self, PrepareError};
use crate::ledger::KEYS_KEPT_MS;
use crate::line::{Draft, Kind, RawLine, decode};
use crate::scan::scan;
use crate::{
    AcceptError, Accepted, ChatKey, Delivery, FORMAT_VERSION, LedgerBody, LedgerLine, LedgerSeq,
    NewEntry, Problem, Refused, StorageError, Timestamp,
};

/// A larger ledger is sealed before the next entry.
const LEDGER_BYTES_MAX: u64 = 4 * 1024 * 1024;

impl From<PrepareError> for AcceptError {
    fn from(error: PrepareError) -> Self {
        match error {
            PrepareError::Refused(refused) => Self::Refused(refused),
            PrepareError::Storage(error) => Self::Storage(error),
        }
    }
}

/// What is kept in memory of the live ledger.
#[derive(Default)]
pub(crate) struct LedgerFold {
    /// How many sealed ledgers there are before this one, and when the last was sealed.
    archives: u64,
    began: Option<Timestamp>,
    /// Digest of a key → where its line is.
    keys: HashMap<u64, Vec<Span>>,
    /// What is still to be delivered, by entry and id.
    open: BTreeMap<(u64, String), Delivery>,
    /// The keys of sealed ledgers that are young enough, once somebody asked.
    sealed: Option<Vec<Keys>>,
}

impl Fold for LedgerFold {
    fn apply(&mut self, line: &RawLine, span: Span) {
        match (entry_key(line), line.event()) {
            (Some(key), _) => self.keys.entry(digest(key)).or_default().push(span),
            (None, Some("head")) => self.begin(&line.body),
            (None, Some("delivery")) => self.follow(Delivery::from_body(&line.body)),
            (None, _) => {}
        }
    }
}

impl LedgerFold {
    fn begin(&mut self, body: &Object) {
        self.began = body.str("ts").and_then(Timestamp::parse);
        let data = body.get("data").and_then(Json::as_object);
        self.archives = data.and_then(|data| data.get("archives")?.as_u64()).unwrap_or(0);
        let open = data.and_then(|data| data.get("open")?.as_array()).unwrap_or_default();
        for delivery in open {
            self.follow(delivery.as_object().and_then(Delivery::from_body));
        }
    }

    fn follow(&mut self, delivery: Option<Delivery>) {
        let Some(delivery) = delivery else { return };
        let name = (delivery.entry.get(), delivery.id.clone());
        match delivery.state.is_open() {
            true => self.open.insert(name, delivery),
            false => self.open.remove(&name),
        };
    }
}

/// Something that waits to be added.
pub(crate) enum Addition {
    Entry { key: String, draft: Draft },
    Deliveries { states: Vec<Delivery>, drafts: Vec<Draft> },
}

/// Checks an entry, and keeps its blobs.
pub(crate) fn prepare_entry(env: &Env, entry: NewEntry) -> Result<Addition, AcceptError> {
    let NewEntry { key, entry } = entry;
    if key.is_empty() {
        return Err(Refused::NotAMessage("a ledger entry needs a non-empty key").into());
    }
    if entry.has("key") {
        return Err(Refused::Reserved("key".to_owned()).into());
    }
    let mut body = Object::from([("key", Json::from(key.as_str()))]);
    for (name, value) in entry.into_entries() {
        body.set(name, value);
    }
    let draft = prepare::body(env, Kind::Message, body, &key)?;
    Ok(Addition::Entry { key, draft })
}

/// Checks deliveries.
pub(crate) fn prepare_deliveries(
    env: &Env,
    states: Vec<Delivery>,
) -> Result<Addition, AcceptError> {
    if states.is_empty() {
        return Err(Refused::Empty.into());
    }
    let draft = |state: &Delivery| Ok(prepare::body(env, Kind::Event, state.to_body(), &state.id)?);
    let drafts = states.iter().map(draft).collect::<Result<_, AcceptError>>()?;
    Ok(Addition::Deliveries { states, drafts })
}

/// The live ledger, ready to be added to.
pub(crate) struct Adding<'a, 'w> {
    pub(crate) env: &'a Env,
    pub(crate) chat: &'a ChatKey,
    pub(crate) folder: &'a Path,
    pub(crate) writing: Writing<'w, LedgerFold>,
}

impl Adding<'_, '_> {
    /// Adds what waits, all with one sync.
    pub(crate) fn add(
        &mut self,
        waiting: Vec<Addition>,
        sync: bool,
    ) -> Vec<Result<Accepted, AcceptError>> {
        if let Err(error) = self.begin() {
            return waiting.iter().map(|_| Err(error.share().into())).collect();
        }
        // A number that somebody may have read is not given to another entry.
        let mut drafts: Vec<Draft> = (0..self.writing.taken_back()).map(|_| void()).collect();
        let voids = drafts.len();
        let mut next = self.writing.known().map_or(1, |known| known.last_seq + 1) + voids as u64;
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
                let failed = |result: Result<Accepted, AcceptError>| match result {
                    // What was there before stays accepted, whatever became of the rest.
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

    /// Gives an addition its place, or finds that it has one.
    fn place(
        &mut self,
        addition: Addition,
        pending: &mut HashMap<String, LedgerSeq>,
        drafts: &mut Vec<Draft>,
        next: &mut u64,
    ) -> Result<Accepted, AcceptError> {
        let seq = LedgerSeq::new(*next);
        match addition {
            Addition::Entry { key, draft } => {
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

    /// Finds the entry of a key, here or in what was sealed in the last seven days.
    fn find(&mut self, key: &str) -> Result<Option<LedgerSeq>, StorageError> {
        let Some(known) = self.writing.known() else { return Ok(None) };
        for &span in known.fold.keys.get(&digest(key)).into_iter().flatten() {
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
        while let Some(at) = sealed_at.filter(|at| number > 0 && at.millis() >= oldest) {
            sealed.extend(Keys::load(self.env, self.folder, number, at)?);
            // A ledger begins when the one before it is sealed.
            let head = first_line(self.env, &ledger_path(self.folder, number))?;
            sealed_at = head.and_then(|line| Timestamp::parse(line.body.str("ts")?)).or(Some(at));
            number -= 1;
        }
        if let Some(fold) = self.writing.fold_mut() {
            fold.sealed = Some(sealed);
        }
        Ok(())
    }

    /// Makes the ledger if there is none, and seals it if it is large.
    fn begin(&mut self) -> Result<(), StorageError> {
        let Some(known) = self.writing.known() else {
            return self.publish(0, &BTreeMap::new(), 1, None);
        };
        if known.len <= LEDGER_BYTES_MAX {
            return Ok(());
        }
        self.load_sealed_keys()?;
        let now = self.env.options.now();
        let (first, known) = match self.writing.known() {
            Some(known) => (known.last_seq + 1, &known.fold),
            None => return Ok(()),
        };
        let number = known.archives + 1;
        let pairs = known
            .keys
            .iter()
            .flat_map(|(digest, spans)| spans.iter().map(|span| (*digest, span.offset)));
        let keys = Keys::new(number, now, pairs.collect());
        let open = known.open.clone();
        let mut sealed = known.sealed.clone().unwrap_or_default();
        let path = ledger_path(self.folder, number);
        self.publish(number, &open, first, Some(&path))?;
        // Derived: when it cannot be written now, it is made anew when it is needed.
        let _ = keys.save(self.env, self.folder);
        sealed.retain(|keys| keys.sealed_at.millis() >= now.millis() - KEYS_KEPT_MS);
        sealed.insert(0, keys);
        if let Some(fold) = self.writing.fold_mut() {
            fold.sealed = Some(sealed);
        }
        Ok(())
    }

    /// Seals a ledger that has lost its head as it is, and begins the next.
    pub(crate) fn mend(&mut self) -> Result<(), StorageError> {
        let live = self.folder.join("history.jsonl");
        let Some((_, bytes)) = self.env.read(&live)? else { return Ok(()) };
        let mut fold = LedgerFold::default();
        let lines = scan(&bytes, None).lines;
        lines.iter().for_each(|found| fold.apply(&found.line, Span { offset: 0, len: 0 }));
        let Some(last) = lines.last() else {
            let what = "no line of it can be read".to_owned();
            return Err(StorageError::Damaged { path: live, what });
        };
        let number = newest_archive(self.env, self.folder)? + 1;
        let path = ledger_path(self.folder, number);
        self.publish(number, &fold.open, last.line.seq + 1, Some(&path))
    }

    fn publish(
        &mut self,
        archives: u64,
        open: &BTreeMap<(u64, String), Delivery>,
        first: u64,
        seal: Option<&Path>,
    ) -> Result<(), StorageError> {
        let mut data = Object::new();
        data.set("v", FORMAT_VERSION);
        data.set("chatKey", self.chat.as_str());
        data.set("archives", archives);
        let open: Array = open.values().map(|delivery| delivery.to_body().into()).collect();
        data.set("open", open);
        let mut body = Object::new();
        body.set("id", format!("l{first}"));
        body.set("ts", self.env.options.now().to_string());
        body.set("event", "head");
        body.set("data", data);
        self.writing.publish(&[Draft::new(Kind::Event, body)], first, seal)
    }
}

/// A line that says nothing, in the place of one that was written and taken back.
fn void() -> Draft {
    Draft::new(Kind::Event, Object::from([("event", Json::from("void"))]))
}

/// Reading the ledger and its archives. Nothing is kept in memory, and nothing is changed.
pub(crate) struct Reading<'a> {
    pub(crate) env: &'a Env,
    pub(crate) folder: &'a Path,
}

impl Reading<'_> {
    fn live(&self) -> PathBuf {
        self.folder.join("history.jsonl")
    }

    /// The lines of one file, its head left out.
    fn lines(&self, path: &Path) -> Result<Vec<RawLine>, StorageError> {
        let Some((_, bytes)) = self.env.read(path)? else { return Ok(Vec::new()) };
        let lines = scan(&bytes, None).lines.into_iter().map(|found| found.line);
        Ok(lines.filter(|line| !matches!(line.event(), Some("head" | "void"))).collect())
    }

    /// All files of the ledger, the newest first.
    fn files(&self) -> Result<Vec<PathBuf>, StorageError> {
        let head = first_line(self.env, &self.live())?;
        let archives = head.and_then(|line| line.body.get("data")?.get("archives")?.as_u64());
        let archives = match archives {
            Some(archives) => archives,
            None => newest_archive(self.env, self.folder)?,
        };
        let sealed = (1..=archives).rev().map(|n| ledger_path(self.folder, n));
        Ok(std::iter::once(self.live()).chain(sealed).collect())
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
            let lines = self.lines(&path)?.into_iter().rev();
            let wanted = lines.filter(|line| before.is_none_or(|seq| line.seq < seq.get()));
            newest_first.extend(wanted.take(limit - newest_first.len()));
        }
        newest_first.reverse();
        self.resolve(newest_first)
    }

    pub(crate) fn after(
        &self,
        after: Option<LedgerSeq>,
        limit: usize,
    ) -> Result<Vec<LedgerLine>, StorageError> {
        let after = after.map_or(0, LedgerSeq::get);
        let mut files = Vec::new();
        for path in self.files()? {
            let first = first_line(self.env, &path)?.map_or(0, |line| line.seq);
            files.push(path);
            if first <= after + 1 {
                break;
            }
        }
        let mut found: Vec<RawLine> = Vec::new();
        for path in files.into_iter().rev() {
            let wanted = self.lines(&path)?.into_iter().filter(|line| line.seq > after);
            found.extend(wanted.take(limit - found.len()));
            if found.len() >= limit {
                break;
            }
        }
        self.resolve(found)
    }

    pub(crate) fn open_deliveries(&self) -> Result<Vec<Delivery>, StorageError> {
        let Some((_, bytes)) = self.env.read(&self.live())? else { return Ok(Vec::new()) };
        let mut fold = LedgerFold::default();
        for found in scan(&bytes, None).lines {
            fold.apply(&found.line, Span { offset: 0, len: 0 });
        }
        Ok(fold.open.into_values().collect())
    }

    fn resolve(&self, lines: Vec<RawLine>) -> Result<Vec<LedgerLine>, StorageError> {
        let mut problems: Vec<Problem> = Vec::new();
        let file = self.live().display().to_string();
        let mut resolved = Vec::with_capacity(lines.len());
        for mut line in lines {
            prepare::resolve(self.env, &mut line, &file, &mut problems)?;
            resolved.extend(to_line(line));
        }
        Ok(resolved)
    }
}

/// The number of the newest sealed ledger, as the folder tells it.
fn newest_archive(env: &Env, folder: &Path) -> Result<u64, StorageError> {
    let names = env.list(folder)?;
    let number =
        |name: &String| name.strip_prefix("archive-")?.strip_suffix(".jsonl")?.parse::<u64>().ok();
    Ok(names.iter().filter_map(number).max().unwrap_or(0))
}

fn to_line(mut line: RawLine) -> Option<LedgerLine> {
    let body = match line.kind {
        Kind::Message => {
            let key = line.body.remove("key")?.as_str()?.to_owned();
            LedgerBody::Entry(NewEntry { key, entry: line.body })
        }
        Kind::Event => LedgerBody::Delivery(Delivery::from_body(&line.body)?),
    };
    Some(LedgerLine { seq: LedgerSeq::new(line.seq), body })
}
