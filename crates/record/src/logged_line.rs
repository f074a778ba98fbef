//! The lines of all context logs of a chat, in pages, for data that is derived from them.

use crate::{ContextId, ContextLine, SealedLog, SealedName, Seq, StorageProblem};

/// A line of a context log, with the log in which it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct LoggedLine {
    /// The line. Its number is its own, also if it replaces an earlier line of the same id.
    pub line: ContextLine,
    /// The sealed log that holds the line; `None` for the live log. A line that is live now is sealed
    /// later, under the same number.
    pub log: Option<SealedName>,
    /// The context of that log.
    pub context: ContextId,
    /// Whether a rotation has published the log with this line: it is a copy of an earlier line, or new in that
    /// rotation, such as a summary.
    pub is_published: bool,
}

/// Some lines of a chat in the order of their numbers, and what has changed behind the reader.
#[derive(Debug, Clone, PartialEq)]
pub struct LinesPage {
    /// Whether the cursor was that of other lines, so that the page begins with the first line of the chat. The reader
    /// must forget everything that it has read.
    pub begins_anew: bool,
    /// The lines after the cursor, without the heads of logs.
    pub lines: Vec<LoggedLine>,
    /// The logs that were purged since the reader last looked, wherever they stand.
    pub purged: Vec<SealedLog>,
    /// The places between these lines that cannot be read.
    pub problems: Vec<StorageProblem>,
    /// The cursor for the next page.
    pub cursor: LinesCursor,
    /// Whether there was nothing more to read.
    pub is_last: bool,
}

/// How far a reader has read the lines of a chat, and how many of its purges it knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(::serde::Serialize, ::serde::Deserialize))]
pub struct LinesCursor {
    /// The last number that was read.
    pub seq: Seq,
    /// The checksum of that line; `None` if it cannot be read.
    pub crc: Option<u32>,
    /// The number of the last purge that the reader was told of.
    pub purge: u64,
}

impl LinesCursor {
    /// The cursor before the first line.
    pub const START: Self = Self { seq: Seq::new(0), crc: None, purge: 0 };
}
