//! Keeps the keys of sealed ledgers, so that an entry is found without reading the ledgers.
//!
//! Beside each `archive-<N>.jsonl` stands `archive-<N>.keys`. It has, for each entry, the first eight bytes of its
//! key's SHA-256 and the offset of its line, sorted. The file is derived: if it is missing or invalid, it is made
//! from the ledger. A match is always confirmed by the line itself.

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::log_reading::line_at;
use super::store_env::Env;
use crate::rules::entry_key;
use crate::scan::scan;
use crate::{KEYS_KEPT_MS, LedgerSeq, StorageError, Timestamp};

const MAGIC: &[u8; 8] = b"SHIPKEY1";

/// The number of old sealed ledgers in a row that are still searched for a key. The clock that calls them old may
/// have jumped, and an entry that was just accepted must not be accepted again.
const SEALED_KEPT_MIN: usize = 64;

/// The length of a digest and an offset, of the checksum at the end, and of what stands before the first digest.
const PAIR: usize = 16;
const CRC: usize = 4;
const PAIRS_FROM: usize = MAGIC.len() + 8;

/// Returns the first eight bytes of a key's digest.
pub(crate) fn key_digest(key: &str) -> u64 {
    let digest = Sha256::digest(key);
    u64::from_be_bytes(digest[..8].try_into().expect("a digest has more than eight bytes"))
}

/// The keys of one sealed ledger.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Keys {
    pub(crate) number: u64,
    pub(crate) sealed_at: Timestamp,
    /// The bytes of the key file. They are searched as they are, since a foreign ledger may have a million keys.
    file: Vec<u8>,
}

impl Keys {
    /// Makes the keys of a ledger from the digest and the offset of each.
    pub(crate) fn new(number: u64, sealed_at: Timestamp, mut pairs: Vec<(u64, u64)>) -> Self {
        pairs.sort_unstable();
        let mut file = Vec::with_capacity(PAIRS_FROM + pairs.len() * PAIR + CRC);
        file.extend(MAGIC);
        file.extend(sealed_at.millis().to_le_bytes());
        for (digest, offset) in pairs {
            file.extend(digest.to_le_bytes());
            file.extend(offset.to_le_bytes());
        }
        file.extend(crc32c::crc32c(&file).to_le_bytes());
        Self { number, sealed_at, file }
    }

    /// Finds the entry of a key.
    pub(crate) fn find(
        &self,
        env: &Env,
        folder: &Path,
        key: &str,
    ) -> Result<Option<LedgerSeq>, StorageError> {
        let path = ledger_path(folder, self.number);
        let mut misplaced = false;
        // The digests are cut to eight bytes, so other keys may have the same one.
        for offset in self.offsets(key) {
            match line_at(env, &path, offset)? {
                Some(line) if entry_key(&line) == Some(key) => {
                    return Ok(Some(LedgerSeq::new(line.seq)));
                }
                line => misplaced |= line.is_none(),
            }
        }
        if !misplaced {
            return Ok(None);
        }
        // The ledger has changed since it was sealed: the line is damaged, or other line ends have moved it.
        let Some((_, bytes)) = env.read(&path)? else { return Ok(None) };
        let lines = scan(&bytes, None).lines;
        let entry = lines.into_iter().find(|found| entry_key(&found.line) == Some(key));
        Ok(entry.map(|found| LedgerSeq::new(found.line.seq)))
    }

    /// Returns the offsets of the lines that may have a key.
    fn offsets(&self, key: &str) -> impl Iterator<Item = u64> {
        let wanted = key_digest(key);
        let (pairs, _) = self.file[PAIRS_FROM..self.file.len() - CRC].as_chunks::<PAIR>();
        let from = pairs.partition_point(|pair| read_pair(pair).0 < wanted);
        let same = pairs[from..].iter().map(read_pair).take_while(move |pair| pair.0 == wanted);
        same.map(|(_, offset)| offset)
    }

    /// Returns the memory of the keys.
    pub(crate) fn cached_bytes(&self) -> u64 {
        (size_of::<Self>() + self.file.capacity()) as u64
    }

    /// Writes the keys beside their ledger.
    pub(crate) fn save(&self, env: &Env, folder: &Path) -> Result<(), StorageError> {
        env.replace_unsynced(&keys_path(folder, self.number), &self.file)
    }

    /// Reads the keys of a ledger, if necessary from the ledger itself. Returns `None` if there is no ledger.
    pub(crate) fn load(
        env: &Env,
        folder: &Path,
        number: u64,
        sealed_at: Timestamp,
    ) -> Result<Option<Self>, StorageError> {
        if let Some((_, bytes)) = env.read(&keys_path(folder, number))?
            && let Some(keys) = Self::parse(number, bytes)
        {
            return Ok(Some(keys));
        }
        let Some((_, bytes)) = env.read(&ledger_path(folder, number))? else { return Ok(None) };
        let pairs = scan(&bytes, None)
            .lines
            .into_iter()
            .filter_map(|found| Some((key_digest(entry_key(&found.line)?), found.offset as u64)));
        Ok(Some(Self::new(number, sealed_at, pairs.collect())))
    }

    /// Whether these are the bytes of a valid key file.
    pub(crate) fn is_whole(bytes: &[u8]) -> bool {
        sealed_at(bytes).is_some()
    }

    fn parse(number: u64, file: Vec<u8>) -> Option<Self> {
        Some(Self { number, sealed_at: sealed_at(&file)?, file })
    }
}

/// Returns the time in a key file if the file is valid.
fn sealed_at(file: &[u8]) -> Option<Timestamp> {
    let (content, crc) = file.split_last_chunk::<CRC>()?;
    let (at, pairs) = content.strip_prefix(MAGIC)?.split_first_chunk()?;
    let is_whole = u32::from_le_bytes(*crc) == crc32c::crc32c(content);
    (is_whole && pairs.len().is_multiple_of(PAIR))
        .then(|| Timestamp::from_millis(i64::from_le_bytes(*at)))
}

/// Reads the digest of a key and the offset of its line.
fn read_pair(pair: &[u8; PAIR]) -> (u64, u64) {
    let number = |from: usize| u64::from_le_bytes(std::array::from_fn(|at| pair[from + at]));
    (number(0), number(8))
}

/// Tells which sealed ledgers are searched for a key, from the newest on.
pub(crate) struct KeyAge {
    oldest_ms: i64,
    old_in_a_row: usize,
}

impl KeyAge {
    pub(crate) fn new(now: Timestamp) -> Self {
        Self { oldest_ms: now.millis() - KEYS_KEPT_MS, old_in_a_row: 0 }
    }

    /// Whether the next older ledger, which was sealed at this time, is searched.
    pub(crate) fn is_searched(&mut self, sealed_at: Timestamp) -> bool {
        let is_old = sealed_at.millis() < self.oldest_ms;
        self.old_in_a_row = if is_old { self.old_in_a_row + 1 } else { 0 };
        self.old_in_a_row <= SEALED_KEPT_MIN
    }
}

/// Returns the path of a sealed ledger.
pub(crate) fn ledger_path(folder: &Path, number: u64) -> PathBuf {
    folder.join(format!("archive-{number}.jsonl"))
}

fn keys_path(folder: &Path, number: u64) -> PathBuf {
    folder.join(format!("archive-{number}.keys"))
}
