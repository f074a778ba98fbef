//! The ids and numbers of chats, messages, contexts and lines, each with a type of its own.
//!
//! None of them converts into another, and none travels as a bare `String` or `u64`. A value is checked once, at
//! the edge, and is valid everywhere else.

use std::fmt;
use std::str::FromStr;

use crate::{Explain, Explanation, Timestamp};

/// The maximum length of a chat key, in bytes.
pub const CHAT_KEY_BYTES_MAX: usize = 1000;

/// The name that the outside world gives a chat, such as `telegram-chat--100123-topic-7`.
///
/// The key is opaque: it is checked when it is made, and never taken apart afterwards.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ChatKey(String);

/// The reason why a text is no chat key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.explain())]
#[non_exhaustive]
pub enum ChatKeyError {
    /// The text is empty.
    Empty,
    /// The text has only white space and invisible characters, which look like nothing in lists and logs.
    Blank(String),
    /// The text is `.` or `..`, which many programs take for a folder.
    Dots(String),
    /// The text has a control character, which would spoil lists and logs.
    Control(String),
    /// The text has more bytes than [`CHAT_KEY_BYTES_MAX`].
    TooLong {
        /// The beginning of the text.
        start: String,
        /// The length of the text in bytes.
        bytes: usize,
    },
}

impl Explain for ChatKeyError {
    fn explain(&self) -> Explanation {
        match self {
            Self::Empty => Explanation::new("a chat key must not be empty")
                .with_remedy("use something like `terminal:main`"),
            Self::Blank(it) => Explanation::new(format!("the chat key {it:?} is blank"))
                .with_remedy("use something like `terminal:main`"),
            Self::Dots(it) => {
                Explanation::new(format!("`{it}` cannot be a chat key, because it names a folder"))
                    .with_remedy(format!("use something like `chat:{it}`"))
            }
            Self::Control(it) => {
                Explanation::new(format!("the chat key {it:?} contains a control character"))
                    .with_remedy("leave it out")
            }
            Self::TooLong { start, bytes } => Explanation::new(format!(
                "a chat key has at most {CHAT_KEY_BYTES_MAX} bytes, but `{start}…` has {bytes}"
            ))
            .with_remedy("shorten it"),
        }
    }
}

impl ChatKey {
    /// Returns the key as it was given.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ChatKey {
    type Err = ChatKeyError;

    fn from_str(text: &str) -> Result<Self, ChatKeyError> {
        match text {
            "" => Err(ChatKeyError::Empty),
            "." | ".." => Err(ChatKeyError::Dots(text.to_owned())),
            _ if text.len() > CHAT_KEY_BYTES_MAX => Err(ChatKeyError::TooLong {
                start: text.chars().take(40).collect(),
                bytes: text.len(),
            }),
            _ if text.chars().all(is_blank) => Err(ChatKeyError::Blank(text.to_owned())),
            _ if text.chars().any(char::is_control) => Err(ChatKeyError::Control(text.to_owned())),
            _ => Ok(Self(text.to_owned())),
        }
    }
}

/// Whether a character is invisible: white space, or a character that Unicode lets programs ignore or draw empty.
fn is_blank(character: char) -> bool {
    character.is_whitespace()
        || character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
            | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

impl fmt::Display for ChatKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ChatKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The `id` of a UIMessage. Copies of a message keep it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MessageId(String);

impl MessageId {
    /// Makes an id; `None` if the text is empty.
    pub fn new(text: impl Into<String>) -> Option<Self> {
        let text = text.into();
        (!text.is_empty()).then_some(Self(text))
    }

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The id of a context: `c_20260205_` followed by letters and digits.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ContextId(String);

/// The text does not have the form `c_YYYYMMDD_…`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a context id such as `c_20260205_a1b2c3d4`; `ship context list` shows them")]
pub struct ContextIdError(String);

impl ContextId {
    /// Makes the id of a context that begins `now`; `random` distinguishes the contexts of one day.
    pub fn new(now: Timestamp, random: u64) -> Self {
        Self(format!("c_{}_{:012x}", now.date_digits(), random & 0xFFFF_FFFF_FFFF))
    }

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ContextId {
    type Err = ContextIdError;

    fn from_str(text: &str) -> Result<Self, ContextIdError> {
        let well_formed = text
            .strip_prefix("c_")
            .and_then(|rest| rest.split_once('_'))
            .is_some_and(|(date, rest)| {
                // A snapshot has the id in its file name, so neither a separator nor a dot may be in it.
                // 64 characters keep that name far below the 255 bytes of file systems.
                let digits = date.len() == 8 && date.bytes().all(|b| b.is_ascii_digit());
                let named = (1..=64).contains(&rest.len())
                    && rest.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
                digits && named
            });
        if well_formed { Ok(Self(text.to_owned())) } else { Err(ContextIdError(text.to_owned())) }
    }
}

impl fmt::Display for ContextId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

macro_rules! number {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[cfg_attr(feature = "serde", derive(::serde::Serialize, ::serde::Deserialize))]
        pub struct $name(u64);

        impl $name {
            /// Makes a value from the number on disk.
            pub const fn new(number: u64) -> Self {
                Self(number)
            }

            /// Returns the number.
            pub const fn get(self) -> u64 {
                self.0
            }

            /// Returns the next number.
            #[must_use]
            pub const fn next(self) -> Self {
                Self(self.0 + 1)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

number! {
    /// The number of a line in a chat's context logs: 1, 2, 3… with no gaps and no reuse.
    Seq
}

number! {
    /// The number of rotations of a chat's context log: 0 for the first log.
    Gen
}

number! {
    /// The number of a line in a chat's ledger: 1, 2, 3… with no gaps and no reuse.
    LedgerSeq
}

impl Seq {
    /// The first line of a chat's first context log.
    pub const FIRST: Self = Self(1);

    /// The highest number of a line. Many more after it are still exact in every reader of JSON.
    pub const MAX: Self = Self(1 << 52);
}

impl LedgerSeq {
    /// The first line of a chat's ledger.
    pub const FIRST: Self = Self(1);
}

/// The end of a context log. An append expects one and returns the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(::serde::Serialize, ::serde::Deserialize))]
pub struct Position {
    /// The number of rotations so far.
    #[cfg_attr(feature = "serde", serde(rename = "gen"))]
    pub generation: Gen,
    /// The last line of the log.
    pub seq: Seq,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} of generation {}", self.seq, self.generation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chat_key_of_which_nothing_can_be_seen_is_blank() {
        for text in
            [" ", "\u{200b}", "\u{feff}", "\u{2060} \u{ad}", "\u{1}", "\u{3164}", "\u{e0020}"]
        {
            let parsed = text.parse::<ChatKey>();
            assert_eq!(parsed, Err(ChatKeyError::Blank(text.to_owned())), "{text:?}");
        }
        assert!("👩\u{200d}🚀".parse::<ChatKey>().is_ok(), "joined characters can be seen");
    }

    #[test]
    fn a_chat_key_is_anything_that_cannot_mislead() {
        for (text, accepted) in [
            ("telegram-chat--100123-topic-7", true),
            ("api:chat:7", true),
            ("../x", true),
            ("A", true),
            ("🦜🦜", true),
            (&"k".repeat(1000), true),
            (&"k".repeat(1001), false),
            ("", false),
            (" ", false),
            ("\u{3000}\u{a0}", false),
            (" a ", true),
            (".", false),
            ("..", false),
            ("a\nb", false),
            ("a\0", false),
            ("a\u{85}b", false),
        ] {
            assert_eq!(text.parse::<ChatKey>().is_ok(), accepted, "{text:?}");
        }
    }

    #[test]
    fn a_context_id_tells_its_day() {
        let id = ContextId::new(Timestamp::from_millis(1_770_249_600_000), 0xabcd);
        assert_eq!(id.as_str(), "c_20260205_00000000abcd");
        assert_eq!(id.as_str().parse(), Ok(id));
        for text in ["", "c_2026_x", "c_20260205_", "c_20260205_../x", "x_20260205_a"] {
            assert!(text.parse::<ContextId>().is_err(), "{text:?}");
        }
    }
}
