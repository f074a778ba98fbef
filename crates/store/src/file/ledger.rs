//! The ledger: accepts each entry once, records deliveries, and reads both.
//!
//! A ledger over 128 KB is sealed as `archive-<N>.jsonl`, and the new one begins with a head that carries over the
//! open deliveries. Numbers continue, so a reader goes back through the archives as if they were one file.

use std::path::{Path, PathBuf};

use super::ledger_keys::{KeyAge, Keys, key_digest, ledger_path};
use super::ledger_reader::LedgerReader;
use super::log::{Fold, LogTail, Span, Writing};
use super::log_reading::{first_line, scan_log};
use super::recent_lines::{Recent, Start};
use super::store_env::Env;
use crate::line::{HEAD, LineOutline, RawLine, decode, leaves_room};
use crate::rules::{
    Accepting, LedgerAddition, LedgerHead, OpenDeliveries, entry_key, next_number, void_lines,
};
use crate::{
    AcceptError, Accepted, ChatKey, LedgerSeq, StorageError, StorageProblem, StorageProblemKind,
    Timestamp,
};

/// The size at which a ledger is sealed before the next entry, because opening a chat reads the live one whole.
const LEDGER_BYTES_MAX: u64 = 128 * 1024;

/// The state of the live ledger in memory.
#[derive(Default)]
pub(crate) struct LedgerFold {
    /// Whether the ledger was compared with the sealed ones.
    is_newest: bool,
    /// The number of sealed ledgers before this one, and the time at which the last was sealed.
    archives: u64,
    began: Option<Timestamp>,
    /// The digest and the place of each key. They need no order: a ledger is sealed before there are many.
    keys: Vec<(u64, Span)>,
    pub(super) open: OpenDeliveries,
    /// The places of the last lines.
    recent: Recent,
    /// The keys of the sealed ledgers that are young enough; loaded at the first search.
    sealed: Option<Vec<Keys>>,
}

impl Fold for LedgerFold {
    fn apply(&mut self, line: &RawLine, span: Span) {
        self.recent.push(line.seq, span.offset);
        self.open.apply(line);
        if let Some(key) = entry_key(line) {
            self.keys.push((key_digest(key), span));
        }
        if line.event() == Some(HEAD) {
            self.began = line.body.str("ts").and_then(Timestamp::parse);
            self.archives = LedgerHead::read(line).unwrap_or_default().archives;
        }
    }

    fn apply_outline(&mut self, entry: &LineOutline<'_>, span: Span) {
        self.recent.push(entry.seq, span.offset);
        if let Some(key) = entry.key {
            self.keys.push((key_digest(key), span));
        }
    }

    fn cached_bytes(&self) -> u64 {
        let live = self.keys.capacity() * size_of::<(u64, Span)>();
        let sealed = self.sealed.iter().flatten().map(Keys::cached_bytes);
        live as u64 + sealed.sum::<u64>()
    }
}

/// Returns where the lines after `seq` begin in the live ledger, if that is known.
pub(crate) fn start_after(known: &LogTail<LedgerFold>, seq: Option<LedgerSeq>) -> Option<Start> {
    let next = (known.next_seq(), known.len);
    let (seq, offset) = known.fold.recent.first_after(seq.map_or(0, LedgerSeq::get), next)?;
    Some(Start { file: known.file, offset, seq })
}

impl LedgerFold {
    /// Returns the places of the lines that may have a key with this digest.
    pub(crate) fn spans_of(&self, digest: u64) -> Vec<Span> {
        let same = self.keys.iter().filter(|(known, _)| *known == digest);
        same.map(|(_, span)| *span).collect()
    }
}

/// Writes additions to the live ledger.
pub(crate) struct LedgerWriter<'a, 'w> {
    pub(crate) env: &'a Env,
    pub(crate) chat: &'a ChatKey,
    pub(crate) folder: &'a Path,
    pub(crate) writing: Writing<'w, LedgerFold>,
    /// Returns the last entry that the context has promoted.
    pub(crate) cursor: &'a dyn Fn() -> Result<Option<LedgerSeq>, StorageError>,
}

impl LedgerWriter<'_, '_> {
    /// Adds all waiting additions with one sync.
    pub(crate) fn add(
        &mut self,
        waiting: Vec<LedgerAddition>,
        sync: bool,
    ) -> Vec<Result<Accepted, AcceptError>> {
        if let Err(error) = self.create_or_seal() {
            return waiting.iter().map(|_| Err(error.share().into())).collect();
        }
        let next = self.writing.tail().map_or(1, LogTail::next_seq);
        let undone = self.writing.undone_numbers();
        let mut accepting = Accepting::new(self.chat, LedgerSeq::new(next), undone);
        let mut results = Vec::with_capacity(waiting.len());
        for addition in waiting {
            let known = match accepting.unknown_key(&addition) {
                Some(key) => self.find_key(key),
                None => Ok(None),
            };
            let known = known.map_err(AcceptError::from);
            results.push(known.and_then(|known| accepting.add(addition, known)));
        }
        let is_known = |result: &Result<Accepted, AcceptError>| {
            result.as_ref().is_ok_and(|accepted| accepting.had_before(*accepted))
        };
        // An entry that another process has written is known once it is on disk.
        if results.iter().any(is_known)
            && let Err(error) = self.writing.sync_adopted()
        {
            let failed = |result: Result<_, _>| result.and_then(|_| Err(error.share().into()));
            return results.into_iter().map(failed).collect();
        }
        if accepting.lines().is_empty() {
            return results;
        }
        match self.writing.append(accepting.lines(), sync) {
            Ok(_) => results,
            Err(error) => {
                self.void_undone_numbers(sync);
                let failed = |result: Result<Accepted, AcceptError>| match result {
                    Ok(known) if accepting.had_before(known) => Ok(known),
                    Ok(_) => Err(error.share().into()),
                    Err(error) => Err(error),
                };
                results.into_iter().map(failed).collect()
            }
        }
    }

    /// Fills the numbers of undone entries with void lines, for all processes: a reader may have seen the entries,
    /// and another process would give their numbers to others.
    fn void_undone_numbers(&mut self, sync: bool) {
        if self.writing.is_settled() {
            // The caller gets the first error; the next addition tries this again.
            let _ = self.writing.append(&void_lines(self.writing.undone_numbers()), sync);
        }
    }

    /// Finds the entry of a key in the live ledger or in a sealed one that is young enough.
    fn find_key(&mut self, key: &str) -> Result<Option<LedgerSeq>, StorageError> {
        let Some(known) = self.writing.tail() else { return Ok(None) };
        // Different keys may have the same digest, so the key in the line decides.
        for span in known.fold.spans_of(key_digest(key)) {
            let line = decode(&self.writing.read(span)?);
            if let Some(line) = line.filter(|line| entry_key(line) == Some(key)) {
                return Ok(Some(LedgerSeq::new(line.seq)));
            }
        }
        self.load_sealed_keys()?;
        let fold = self.writing.tail().map(|known| &known.fold);
        for keys in fold.and_then(|fold| fold.sealed.as_deref()).unwrap_or_default() {
            if let Some(seq) = keys.find(self.env, self.folder, key)? {
                return Ok(Some(seq));
            }
        }
        Ok(None)
    }

    fn load_sealed_keys(&mut self) -> Result<(), StorageError> {
        let Some(fold) = self.writing.tail().map(|known| &known.fold) else { return Ok(()) };
        if fold.sealed.is_some() {
            return Ok(());
        }
        let now = self.env.options.now();
        let mut age = KeyAge::new(now);
        let mut sealed_at = fold.began.unwrap_or(now);
        let mut numbers = archive_numbers(self.env, self.folder)?;
        numbers.retain(|number| *number <= fold.archives);
        let mut sealed = Vec::new();
        while let Some(number) = numbers.pop_if(|_| age.is_searched(sealed_at)) {
            sealed.extend(Keys::load(self.env, self.folder, number, sealed_at)?);
            // The head of a ledger has the time at which the ledger before it was sealed.
            let head = first_line(self.env, &ledger_path(self.folder, number))?;
            // Behind an unreadable head, the time of the newer ledger is kept, so that the search goes on.
            let before = head.and_then(|line| Timestamp::parse(line.body.str("ts")?));
            sealed_at = before.unwrap_or(sealed_at);
        }
        if let Some(fold) = self.writing.fold_mut() {
            fold.sealed = Some(sealed);
        }
        Ok(())
    }

    /// Creates the ledger if there is none. Seals it if it is large, or if it ends before the last entry that the
    /// context has read; the next one then begins above both.
    fn create_or_seal(&mut self) -> Result<(), StorageError> {
        let Some(known) = self.writing.tail() else {
            self.check_first()?;
            let none = OpenDeliveries::default();
            return self.publish(LedgerHead::default(), &none, LedgerSeq::FIRST, None);
        };
        if !known.fold.is_newest && self.is_older_copy()? {
            return self.set_older_copy_aside();
        }
        if let Some(fold) = self.writing.fold_mut() {
            fold.is_newest = true;
        }
        let Some(known) = self.writing.tail() else { return Ok(()) };
        let cursor = (self.cursor)()?;
        if known.len <= LEDGER_BYTES_MAX && Some(LedgerSeq::new(known.given)) >= cursor {
            return Ok(());
        }
        // Loaded before the ledger is sealed, because sealing replaces the state that holds them.
        self.load_sealed_keys()?;
        let now = self.env.options.now();
        let (first, end, known) = match self.writing.tail() {
            Some(known) => (next_number(known.given, cursor), known.given, &known.fold),
            None => return Ok(()),
        };
        let number = self.free_number(known.archives + 1)?;
        let pairs = known.keys.iter().map(|(digest, span)| (*digest, span.offset)).collect();
        let keys = Keys::new(number, now, pairs);
        let open = known.open.clone();
        let mut sealed = known.sealed.clone().unwrap_or_default();
        let path = ledger_path(self.folder, number);
        let head = LedgerHead { archives: number, archived_to: Some(end) };
        self.publish(head, &open, first, Some(&path))?;
        // The key file is derived: if it cannot be written now, it is made when it is needed.
        let _ = keys.save(self.env, self.folder);
        sealed.insert(0, keys);
        let mut age = KeyAge::new(now);
        sealed.retain(|keys| age.is_searched(keys.sealed_at));
        if let Some(fold) = self.writing.fold_mut() {
            fold.sealed = Some(sealed);
        }
        Ok(())
    }

    /// Whether the ledger was replaced by an older copy of one that is sealed by now. An interrupted sealing leaves a
    /// sealed ledger that is not longer than the live one.
    fn is_older_copy(&self) -> Result<bool, StorageError> {
        let Some(known) = self.writing.tail() else { return Ok(false) };
        let sealed = ledger_path(self.folder, known.fold.archives + 1);
        if self.env.stat(&sealed)?.is_none_or(|look| look.len <= known.len) {
            return Ok(false);
        }
        let live = self.writing.read_all()?;
        Ok(self.env.read(&sealed)?.is_some_and(|(_, bytes)| bytes.starts_with(&live)))
    }

    /// Begins a ledger above all sealed ones in the place of an older copy, which goes to the quarantine.
    fn set_older_copy_aside(&mut self) -> Result<(), StorageError> {
        let open = self.writing.tail().map(|known| known.fold.open.clone()).unwrap_or_default();
        let (archives, end) = self.end_of_archives()?;
        let aside = self.folder.with_file_name("quarantine");
        self.env.ensure_folder(&aside)?;
        let aside = aside.join(format!("{}-ledger.jsonl", self.env.options.now().file_name()));
        let first = next_number(end, (self.cursor)()?);
        let head = LedgerHead { archives, archived_to: Some(end) };
        self.publish(head, &open, first, Some(&aside))
    }

    /// Returns the number of the newest sealed ledger, and the last number that the sealed ones have given.
    fn end_of_archives(&self) -> Result<(u64, u64), StorageError> {
        let (archives, mut end) = (newest_archive(self.env, self.folder)?, 0);
        for number in archive_numbers(self.env, self.folder)? {
            let last = last_given_number(self.env, &ledger_path(self.folder, number))?;
            end = end.max(last.unwrap_or(0));
        }
        Ok((archives, end))
    }

    /// Seals a ledger that ends before the last entry that the context has read. Returns whether the ledger was an
    /// older copy, which is set aside.
    pub(crate) fn seal_if_behind(&mut self) -> Result<bool, StorageError> {
        if self.is_older_copy()? {
            self.set_older_copy_aside()?;
            return Ok(true);
        }
        let cursor = (self.cursor)()?;
        if self.writing.tail().is_some_and(|known| Some(LedgerSeq::new(known.given)) < cursor) {
            self.create_or_seal()?;
        }
        Ok(false)
    }

    /// Fails if the chat once had a ledger: then the ledger is lost, and its numbers are given.
    fn check_first(&self) -> Result<(), StorageError> {
        let (archives, cursor) = (newest_archive(self.env, self.folder)?, (self.cursor)()?);
        match archives > 0 || cursor.is_some_and(|cursor| cursor.get() > 0) {
            true => Err(StorageError::damaged(&live_path(self.folder), lost_text())),
            false => Ok(()),
        }
    }

    /// Returns the first number, from `number` on, under which the ledger can be sealed.
    fn free_number(&self, first: u64) -> Result<u64, StorageError> {
        // Above a forged number there may be no room, and then the lowest free one is taken.
        let mut number = if leaves_room(first) { first } else { 1 };
        while self.writing.is_taken(&ledger_path(self.folder, number))? {
            number += 1;
        }
        Ok(number)
    }

    /// Seals a ledger that has lost its head, unchanged, and begins the next. A ledger that is gone or wholly
    /// unreadable is set aside instead. The next one begins above every number that is known.
    pub(crate) fn seal_without_head(&mut self, aside: &Path) -> Result<(), StorageError> {
        let reading = LedgerReader { env: self.env, folder: self.folder };
        let open = reading.fold()?.open;
        if let Some(end) = last_given_number(self.env, &live_path(self.folder))? {
            let first = next_number(end, (self.cursor)()?);
            let number = self.free_number(newest_archive(self.env, self.folder)? + 1)?;
            let head = LedgerHead { archives: number, archived_to: Some(end) };
            return self.publish(head, &open, first, Some(&ledger_path(self.folder, number)));
        }
        let (archives, end) = self.end_of_archives()?;
        let first = next_number(end, (self.cursor)()?);
        self.env.ensure_folder(aside)?;
        let aside = aside.join(format!("{}-ledger.jsonl", self.env.options.now().file_name()));
        self.publish(LedgerHead { archives, archived_to: None }, &open, first, Some(&aside))
    }

    /// Replaces this ledger, which is sealed, by one that begins with the number `first`.
    fn publish(
        &mut self,
        head: LedgerHead,
        open: &OpenDeliveries,
        first: LedgerSeq,
        seal: Option<&Path>,
    ) -> Result<(), StorageError> {
        let head = head.to_line(self.chat, open, first, self.env.options.now());
        self.writing.publish(&[head], first.get(), seal)
    }
}

/// Returns the path of the live ledger.
pub(crate) fn live_path(folder: &Path) -> PathBuf {
    folder.join("history.jsonl")
}

/// Describes the loss of a ledger that once existed.
pub(crate) fn lost_text() -> String {
    "it is missing, though the chat has sealed ledgers or has promoted entries of it".to_owned()
}

/// Returns the numbers of the sealed ledgers in the folder, the oldest first. What a head says of them is never counted
/// through: a forged one may name any number.
fn archive_numbers(env: &Env, folder: &Path) -> Result<Vec<u64>, StorageError> {
    let number = |name: &String| {
        let number = name.strip_prefix("archive-")?.strip_suffix(".jsonl")?.parse().ok()?;
        let is_name = ledger_path(Path::new(""), number).as_os_str() == name.as_str();
        (is_name && leaves_room(number)).then_some(number)
    };
    let mut numbers: Vec<u64> = env.list(folder)?.iter().filter_map(number).collect();
    numbers.sort_unstable();
    Ok(numbers)
}

/// Returns the number of the newest sealed ledger in the folder.
pub(crate) fn newest_archive(env: &Env, folder: &Path) -> Result<u64, StorageError> {
    Ok(archive_numbers(env, folder)?.pop().unwrap_or(0))
}

/// Returns how many ledgers were sealed before the live one, by its head; `None` if that is lost.
fn archives_in_head(env: &Env, folder: &Path) -> Result<Option<u64>, StorageError> {
    let head = first_line(env, &live_path(folder))?.as_ref().and_then(LedgerHead::read);
    Ok(head.map(|head| head.archives))
}

/// Returns the numbers of the sealed ledgers before the live one, the newest first: those in the folder up to the one
/// that its head names. An interrupted sealing may have left one there that is the live ledger itself, so without a
/// head the numbers of the lines decide.
pub(crate) fn sealed_before(env: &Env, folder: &Path) -> Result<Vec<u64>, StorageError> {
    let archives = archives_in_head(env, folder)?;
    let mut numbers = archive_numbers(env, folder)?;
    numbers.reverse();
    if let Some(archives) = archives {
        numbers.retain(|number| *number <= archives);
        return Ok(numbers);
    }
    let first = first_number(env, &live_path(folder))?;
    let mut sealed = Vec::new();
    for number in numbers {
        let begins = first_number(env, &ledger_path(folder, number))?;
        if first.zip(begins).is_none_or(|(first, begins)| begins < first) {
            sealed.push(number);
        }
    }
    Ok(sealed)
}

/// Returns the number of the first line of a ledger that can be read.
fn first_number(env: &Env, path: &Path) -> Result<Option<u64>, StorageError> {
    let Some((_, bytes)) = env.read(path)? else { return Ok(None) };
    Ok(scan_log(path, &bytes).lines.first().map(|found| found.line.seq))
}

/// Returns the numbers of missing sealed ledgers, the newest first. Of a gap in the numbers, which a forged head can
/// make as wide as it likes, the newest are returned.
pub(crate) fn missing_archives(env: &Env, folder: &Path) -> Result<Vec<u64>, StorageError> {
    const OF_ONE_GAP: usize = 100;
    let mut numbers = archive_numbers(env, folder)?;
    let archives = archives_in_head(env, folder)?.or(numbers.last().copied()).unwrap_or(0);
    numbers.retain(|number| *number <= archives);
    let mut missing = Vec::new();
    let mut next = archives + 1;
    for number in numbers.into_iter().rev().chain([0]) {
        missing.extend((number + 1..next).rev().take(OF_ONE_GAP));
        next = number;
    }
    Ok(missing)
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
    let LedgerHead { archives, archived_to } = LedgerHead::read(&head).unwrap_or_default();
    let mut problems = Vec::new();
    let mut before = 0;
    if archives > 0 {
        let path = ledger_path(folder, archives);
        // A missing sealed ledger is reported where the sealed ones are listed.
        let Some((_, bytes)) = env.read(&path)? else { return Ok(problems) };
        let found = scan_log(&path, &bytes).given;
        before = archived_to.unwrap_or(found).max(found);
        if found < before {
            let message =
                format!("it should end with entry {before}, but its last entry is {found}");
            let remedy = "compare it with a backup; the entries before are still read";
            let file = path.display().to_string();
            let problem = StorageProblem::new(file, StorageProblemKind::Damage, message, remedy);
            problems.push(problem.at(bytes.len() as u64));
        }
    }
    if before + 1 < head.seq {
        let (first, last) = (before + 1, head.seq - 1);
        let message = format!("the entries {first} to {last} before it are missing");
        let remedy =
            "restore the ledger from a backup if there is one; the chat continues without them";
        let file = next.display().to_string();
        problems.push(StorageProblem::new(file, StorageProblemKind::Missing, message, remedy));
    }
    Ok(problems)
}

/// Returns the highest number that a ledger may have given; `None` if nothing of it can be read.
pub(crate) fn last_given_number(env: &Env, path: &Path) -> Result<Option<u64>, StorageError> {
    let Some((_, bytes)) = env.read(path)? else { return Ok(None) };
    let scan = scan_log(path, &bytes);
    Ok((!scan.lines.is_empty()).then_some(scan.given))
}
