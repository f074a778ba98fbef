//! Keeps the keys of sealed ledgers, so that an entry is found without reading the ledgers.
//!
//! Beside each `archive-<N>.jsonl` stands `archive-<N>.keys`. It has, for each entry, the first eight bytes of its
//! key's SHA-256 and the offset of its line, sorted. The file is derived: if it is missing or invalid, it is made
//! from the ledger. A match is always confirmed by the line itself.

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use ship_message::json::Json;

use super::log_reading::line_at;
use super::store_env::Env;
use crate::line::{LineKind, RawLine};
use crate::scan::scan;
use crate::{LedgerSeq, StorageError, Timestamp};

const MAGIC: &[u8; 8] = b"SHIPKEY1";
const PAIR: usize = 16;

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
    /// The digest and the offset of each key, sorted.
    pairs: Vec<(u64, u64)>,
}

impl Keys {
    pub(crate) fn new(number: u64, sealed_at: Timestamp, mut pairs: Vec<(u64, u64)>) -> Self {
        pairs.sort_unstable();
        Self { number, sealed_at, pairs }
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
        let from = self.pairs.partition_point(|&(digest, _)| digest < wanted);
        let same = self.pairs[from..].iter().take_while(move |(digest, _)| *digest == wanted);
        same.map(|&(_, offset)| offset)
    }

    /// Writes the keys beside their ledger.
    pub(crate) fn save(&self, env: &Env, folder: &Path) -> Result<(), StorageError> {
        let mut bytes = Vec::with_capacity(MAGIC.len() + 8 + self.pairs.len() * PAIR + 4);
        bytes.extend(MAGIC);
        bytes.extend(self.sealed_at.millis().to_le_bytes());
        for (digest, offset) in &self.pairs {
            bytes.extend(digest.to_le_bytes());
            bytes.extend(offset.to_le_bytes());
        }
        bytes.extend(crc32c::crc32c(&bytes).to_le_bytes());
        env.replace(&keys_path(folder, self.number), &bytes)
    }

    /// Reads the keys of a ledger, if necessary from the ledger itself. Returns `None` if there is no ledger.
    pub(crate) fn load(
        env: &Env,
        folder: &Path,
        number: u64,
        sealed_at: Timestamp,
    ) -> Result<Option<Self>, StorageError> {
        if let Some((_, bytes)) = env.read(&keys_path(folder, number))?
            && let Some(keys) = Self::parse(number, &bytes)
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
        Self::parse(0, bytes).is_some()
    }

    fn parse(number: u64, bytes: &[u8]) -> Option<Self> {
        let (content, crc) = bytes.split_last_chunk::<4>()?;
        let rest = content.strip_prefix(MAGIC)?;
        let (sealed_at, pairs) = rest.split_first_chunk::<8>()?;
        let whole =
            u32::from_le_bytes(*crc) == crc32c::crc32c(content) && pairs.len().is_multiple_of(PAIR);
        let number_at = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap_or_default());
        let pairs = pairs.chunks_exact(PAIR);
        let pairs = pairs.map(|pair| (number_at(&pair[..8]), number_at(&pair[8..])));
        let sealed_at = Timestamp::from_millis(i64::from_le_bytes(*sealed_at));
        whole.then(|| Self { number, sealed_at, pairs: pairs.collect() })
    }
}

/// Returns the key of an entry; `None` if the line is not an entry.
pub(crate) fn entry_key(line: &RawLine) -> Option<&str> {
    if line.kind == LineKind::Message { line.body.get("key").and_then(Json::as_str) } else { None }
}

/// Returns the path of a sealed ledger.
pub(crate) fn ledger_path(folder: &Path, number: u64) -> PathBuf {
    folder.join(format!("archive-{number}.jsonl"))
}

fn keys_path(folder: &Path, number: u64) -> PathBuf {
    folder.join(format!("archive-{number}.keys"))
}
