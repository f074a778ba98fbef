//! Publishes context logs, and finds those that were cut since.
//!
//! The head has a record of the lines that its log was published with. The head itself is the one line that the others
//! cannot replace, so a copy of it is kept in `head.json`, beside the log.

use std::path::Path;

use super::log::{Fold, Writing};
use super::store_env::Env;
use crate::line::{RawLine, decode};
use crate::rules::{NewLog, published_end, read_head};
use crate::scan::LogScan;
use crate::{ChatKey, Head, StorageError};

/// The copy of the head of the live log.
pub(crate) const HEAD_COPY: &str = "head.json";

/// Publishes a log. The old one is sealed under this name.
pub(crate) fn publish<F: Fold>(
    log: NewLog,
    env: &Env,
    writing: &mut Writing<'_, F>,
    chat: &ChatKey,
    seal: Option<&Path>,
) -> Result<(), StorageError> {
    let first = log.first.get();
    let lines = log.into_lines(chat, env.options.now());
    // First of all: if the log cannot be sealed, `head.json` still has the head of the live one.
    if let Some(sealed) = seal {
        writing.seal(sealed)?;
    }
    let mut copy = Vec::new();
    lines[0].write(first, None, &mut copy);
    let path = writing.folder().join(HEAD_COPY);
    let aside = env.write_aside(&path, &copy)?.path;
    let renamed = env.disk.rename(&aside, &path);
    renamed.map_err(|error| StorageError::io("rename to", &path, error))?;
    // The publication syncs the folder.
    writing.publish(&lines, first, None)
}

/// Returns the head of the live log from its copy. The log has no line before `first` that can be read, and the log
/// before it ends with line `before`.
pub(crate) fn copied_head(
    env: &Env,
    folder: &Path,
    before: u64,
    first: u64,
) -> Result<Option<Head>, StorageError> {
    let Some((_, bytes)) = env.read(&folder.join(HEAD_COPY))? else { return Ok(None) };
    // A rotation that did not happen has left the head of no log.
    let copy = read_copy(&bytes).filter(|line| before < line.seq && line.seq < first);
    Ok(copy.as_ref().and_then(read_head))
}

/// Reads the copy of a head; `None` if a byte of it is wrong.
pub(crate) fn read_copy(bytes: &[u8]) -> Option<RawLine> {
    decode(bytes.strip_suffix(b"\n").unwrap_or(bytes))
}

/// Returns the number of the last published line, if the log ends before it.
pub(crate) fn missing_end(scan: &LogScan) -> Option<u64> {
    let end = published_end(&scan.lines.first()?.line)?;
    (scan.given < end).then_some(end)
}

/// Says that a log ends before its last published line.
pub(crate) fn missing_end_text(given: u64, published: u64) -> String {
    format!(
        "it was published with the lines up to {published}, but those after {given} are missing"
    )
}
