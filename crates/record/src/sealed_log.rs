//! The description of a sealed log, and what is left of a purged one.

use crate::{Head, SealedName, Seq, Timestamp};

/// The description of a sealed log.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(::serde::Serialize, ::serde::Deserialize))]
pub struct SealedLog {
    /// The name of the log. Only the store that made it reads anything from it.
    pub name: SealedName,
    /// The first line of the log, which is its head.
    pub first: Seq,
    /// The last line of the log.
    pub last: Seq,
    /// The time at which it was sealed.
    #[cfg_attr(feature = "serde", serde(rename = "sealedAt"))]
    pub sealed_at: Timestamp,
    /// The head of the log.
    pub head: Head,
    /// Set if the lines were purged: only the head is left.
    pub purged: Option<Purged>,
}

/// The record of a purge.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(::serde::Serialize, ::serde::Deserialize))]
pub struct Purged {
    /// The time of the purge.
    pub ts: Timestamp,
    /// The number of purged lines behind the head.
    pub lines: u64,
    /// The operation that asked for the purge.
    pub by: String,
}

impl std::fmt::Display for Purged {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} line(s) purged at {} by {}", self.lines, self.ts, self.by)
    }
}

/// The place of a message in the logs of a chat.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(::serde::Serialize, ::serde::Deserialize))]
pub struct MessagePlace {
    /// The sealed log that holds the message; `None` for the live log.
    pub log: Option<SealedName>,
    /// The first line of the message in that log.
    pub seq: Seq,
}
