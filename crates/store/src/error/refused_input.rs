//! The reason why content is refused.

use crate::{Explain, Explanation, Seq};

/// The reason why a line or an entry is refused. Nothing was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.explain())]
#[non_exhaustive]
pub enum RefusedInput {
    /// The content has a field that only the store may write.
    Reserved(String),
    /// The content is not a message.
    NotAMessage(&'static str),
    /// The content is larger than `limits.messageBytes`.
    TooLarge {
        /// The id of the message or the key of the entry.
        id: String,
        /// Its size in bytes.
        bytes: usize,
        /// The limit in bytes.
        max: usize,
    },
    /// The id or key is too long.
    LongName {
        /// The first characters of the id or key.
        start: String,
        /// Its length in bytes.
        bytes: usize,
        /// The limit in bytes.
        max: usize,
    },
    /// The revision replaces a message that is not in the log.
    NothingToReplace(String),
    /// Two lines of one log would have the same id.
    Twice(String),
    /// A rotation keeps lines that the log does not have.
    NoLines {
        /// The first line that was to be kept.
        first: Seq,
        /// The last line that was to be kept.
        last: Seq,
    },
    /// The batch has no line.
    Empty,
}

impl Explain for RefusedInput {
    fn explain(&self) -> Explanation {
        match self {
            Self::Reserved(it) => {
                Explanation::new(format!("the field `{it}` is reserved for the store"))
                    .with_remedy("leave it out")
            }
            Self::NotAMessage(it) => Explanation::new(format!("this is not a message: {it}"))
                .with_remedy("a message has a non-empty `id`, a `role` and `parts`"),
            Self::TooLarge { id, bytes, max } => Explanation::new(format!(
                "`{id}` has {bytes} bytes, but `limits.messageBytes` allows {max}"
            ))
            .with_remedy("shorten it or raise the limit"),
            Self::LongName { start, bytes, max } => Explanation::new(format!(
                "an id or key has at most {max} bytes, but `{start}…` has {bytes}"
            ))
            .with_remedy("shorten it"),
            Self::NothingToReplace(it) => {
                Explanation::new(format!("there is no message `{it}` to replace"))
                    .with_remedy("use `rev` 0 for a new message")
            }
            Self::Twice(it) => Explanation::new(format!("`{it}` occurs twice"))
                .with_remedy("pass each message once"),
            Self::NoLines { first, last } => {
                Explanation::new(format!("the log has no lines {first} to {last}"))
                    .with_remedy("read it again and keep what is there")
            }
            Self::Empty => {
                Explanation::new("there is nothing to write").with_remedy("pass at least one line")
            }
        }
    }
}
