//! Finds an entry of the ledger by its key, for readers: without the write right, and changing nothing.
//!
//! The last known state of the live ledger gives the place of the key at once, and only newer lines are read. In
//! sealed ledgers the key files give it, regardless of their age: the caller limits how far back an entry can be.

use std::path::Path;

use super::ledger::{LedgerFold, live_path, sealed_before};
use super::ledger_keys::{Keys, key_digest, ledger_path};
use super::ledger_reader::LedgerReader;
use super::log::{LogTail, Span, is_same_log};
use super::log_reading::first_line;
use super::store_env::read_from;
use crate::disk::{DiskFile, OpenMode};
use crate::line::{RawLine, decode};
use crate::rules::entry_key;
use crate::scan::scan;
use crate::{LedgerSeq, StorageError, Timestamp};

/// The places where a key may be in the live ledger, as far as they are known.
pub(crate) struct KnownKey {
    file: (u64, u64),
    /// The length of the known part, and its last bytes.
    len: u64,
    ending: Vec<u8>,
    spans: Vec<Span>,
}

impl KnownKey {
    pub(crate) fn find(known: &LogTail<LedgerFold>, key: &str) -> Self {
        let (spans, ending) = (known.fold.spans_of(key_digest(key)), known.ending().to_vec());
        Self { file: known.file, len: known.len, ending, spans }
    }
}

impl LedgerReader<'_> {
    /// Finds the entry of a key in the live ledger, or in a sealed one that ends after `after`.
    pub(crate) fn entry_of(
        &self,
        key: &str,
        after: Option<LedgerSeq>,
        known: Option<KnownKey>,
    ) -> Result<Option<LedgerSeq>, StorageError> {
        if let Some(seq) = self.live_entry_of(key, known)? {
            return Ok(Some(seq));
        }
        let next = after.map_or(0, LedgerSeq::get).saturating_add(1);
        // A ledger that began before the next number holds everything after `after`.
        let is_enough = |path: &Path| -> Result<bool, StorageError> {
            Ok(first_line(self.env, path)?.is_some_and(|head| head.seq <= next))
        };
        if is_enough(&live_path(self.folder))? {
            return Ok(None);
        }
        for number in sealed_before(self.env, self.folder)? {
            // The time of sealing matters only where old keys are forgotten.
            let keys = Keys::load(self.env, self.folder, number, Timestamp::from_millis(0))?;
            if let Some(keys) = keys
                && let Some(seq) = keys.find(self.env, self.folder, key)?
            {
                return Ok(Some(seq));
            }
            if is_enough(&ledger_path(self.folder, number))? {
                break;
            }
        }
        Ok(None)
    }

    fn live_entry_of(
        &self,
        key: &str,
        known: Option<KnownKey>,
    ) -> Result<Option<LedgerSeq>, StorageError> {
        let path = live_path(self.folder);
        let failed = |error| StorageError::io("read", &path, error);
        let Some(file) = self.env.open(&path, OpenMode::Read)? else { return Ok(None) };
        let look = file.stat_when_opened().map_err(failed)?;
        let is_it = |line: &RawLine| entry_key(line) == Some(key);
        let is_same = |known: &KnownKey| {
            is_same_log(&*file, look, (known.file, known.len), &known.ending).map_err(failed)
        };
        let mut from = 0;
        if let Some(known) = known
            && is_same(&known)?
        {
            for span in known.spans {
                let line = read_line(&*file, span).map_err(failed)?;
                if let Some(line) = line.filter(is_it) {
                    return Ok(Some(LedgerSeq::new(line.seq)));
                }
            }
            // Another process may have added lines since.
            from = known.len;
        }
        let bytes = read_from(&*file, from, look.len).map_err(failed)?;
        let mut lines = scan(&bytes, None).lines.into_iter().map(|found| found.line);
        Ok(lines.find(is_it).map(|line| LedgerSeq::new(line.seq)))
    }
}

fn read_line(file: &dyn DiskFile, span: Span) -> std::io::Result<Option<RawLine>> {
    Ok(decode(&read_from(file, span.offset, span.offset + span.len)?))
}
