//! The record of a publication: the lines that a context log began with, and the logs that they were copied from.
//!
//! A log gets its name when it is whole, so no crash leaves one that ends before its last published line. Such a log
//! was cut. Its copied lines are still in the logs that they came from, and a repair copies them again.
//!
//! The record is a field of the head. The head itself is the one line that the others cannot replace, so a copy of
//! it is kept in `head.json`, beside the log.

use std::path::Path;

use ship_message::json::{Array, Json, Object};

use super::context::head_line;
use super::log::{Fold, Writing};
use super::store_env::Env;
use crate::line::{RawLine, UnnumberedLine, decode};
use crate::scan::LogScan;
use crate::{ChatKey, Head, SealedName, Seq, StorageError};

/// The field of a head for the record.
const PUBLISHED: &str = "published";

/// The copy of the head of the live log.
pub(crate) const HEAD_COPY: &str = "head.json";

/// Lines that were copied from a sealed log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CopiedRange {
    /// The log; `None` for the one that the new log has replaced.
    pub(crate) log: Option<SealedName>,
    pub(crate) first: Seq,
    pub(crate) last: Seq,
}

/// A log that is about to be published.
pub(crate) struct LogToPublish<'a> {
    pub(crate) head: &'a Head,
    pub(crate) lines: Vec<UnnumberedLine>,
    pub(crate) copies: Vec<CopiedRange>,
    /// The number of its head.
    pub(crate) first: u64,
}

impl LogToPublish<'_> {
    /// Publishes the log. The old one is sealed under this name.
    pub(crate) fn publish<F: Fold>(
        self,
        env: &Env,
        writing: &mut Writing<'_, F>,
        chat: &ChatKey,
        seal: Option<&Path>,
    ) -> Result<(), StorageError> {
        let last = self.first + self.lines.len() as u64;
        let copies: Array = self.copies.iter().map(CopiedRange::to_json).collect();
        let record = Object::from([("last", Json::from(last)), ("copies", copies.into())]);
        let mut data = self.head.to_data(chat);
        data.set(PUBLISHED, record);
        let mut drafts = vec![head_line(data, self.first, env.options.now())];
        drafts.extend(self.lines);
        // First of all: if the log cannot be sealed, `head.json` still has the head of the live one.
        if let Some(sealed) = seal {
            writing.seal(sealed)?;
        }
        let mut copy = Vec::new();
        drafts[0].write(self.first, None, &mut copy);
        let path = writing.folder().join(HEAD_COPY);
        let (aside, _) = env.write_aside(&path, &copy)?;
        let renamed = env.disk.rename(&aside, &path);
        renamed.map_err(|error| StorageError::io("rename to", &path, error))?;
        // The publication syncs the folder.
        writing.publish(&drafts, self.first, None)
    }
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
    Ok(copy.and_then(|line| Head::from_data(line.body.get("data")?.as_object()?)))
}

/// Reads the copy of a head; `None` if a byte of it is wrong.
pub(crate) fn read_copy(bytes: &[u8]) -> Option<RawLine> {
    decode(bytes.strip_suffix(b"\n").unwrap_or(bytes))
}

/// Returns the last line that a log was published with. Older programs did not note it.
pub(crate) fn published_end(head: &RawLine) -> Option<u64> {
    record(head)?.get("last")?.as_u64()
}

/// Returns the number of the last published line, if the log ends before it.
pub(crate) fn missing_end(scan: &LogScan) -> Option<u64> {
    let end = published_end(&scan.lines.first()?.line)?;
    (scan.given < end).then_some(end)
}

/// Says that a log ends before its last published line.
pub(crate) fn missing_end_text(given: u64, published: u64) -> String {
    format!(
        "it was published with the lines up to {published}, and those after {given} are missing"
    )
}

/// Returns the ranges of lines that a log was published with.
pub(crate) fn copied_ranges(head: &RawLine) -> Vec<CopiedRange> {
    let copies = record(head).and_then(|record| record.get("copies")?.as_array());
    copies.unwrap_or_default().iter().filter_map(CopiedRange::from_json).collect()
}

fn record(head: &RawLine) -> Option<&Json> {
    head.body.get("data")?.get(PUBLISHED)
}

impl CopiedRange {
    /// Adds a range to others. One that continues the last of them extends it.
    pub(crate) fn add_to(self, ranges: &mut Vec<Self>) {
        match ranges.last_mut() {
            Some(last) if last.log == self.log && last.last.get() + 1 == self.first.get() => {
                last.last = self.last;
            }
            _ => ranges.push(self),
        }
    }

    fn to_json(&self) -> Json {
        let mut range = Object::new();
        range.set_or_remove("log", self.log.as_ref().map(|name| name.as_str().into()));
        range.set("first", self.first.get());
        range.set("last", self.last.get());
        range.into()
    }

    fn from_json(json: &Json) -> Option<Self> {
        let number = |key: &str| json.get(key)?.as_u64().map(Seq::new);
        let log = match json.get("log") {
            Some(name) => Some(SealedName::parse(name.as_str()?)?),
            None => None,
        };
        Some(Self { log, first: number("first")?, last: number("last")? })
    }
}
