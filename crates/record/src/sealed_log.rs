//! What a sealed log tells of itself, and what is left when one was purged.

use crate::{Head, SealedName, Seq, Timestamp};

/// A sealed log, as its name and its first lines tell it.
#[derive(Debug, Clone, PartialEq)]
pub struct SealedLog {
    /// Its name.
    pub name: SealedName,
    /// What it begins with.
    pub head: Head,
    /// Set when its lines were purged: the head is all that is left.
    pub purged: Option<Purged>,
}

/// What is left to tell of lines that were purged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Purged {
    /// When.
    pub ts: Timestamp,
    /// How many lines there were behind the head.
    pub lines: u64,
    /// What asked for it.
    pub by: String,
}

impl std::fmt::Display for Purged {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} line(s) purged at {} by {}", self.lines, self.ts, self.by)
    }
}

/// Where a message is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessagePlace {
    /// The sealed log; `None` if it is the live one.
    pub log: Option<SealedName>,
    /// The line that it was first said on in that log.
    pub seq: Seq,
}
