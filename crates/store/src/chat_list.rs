//! The list of chats by pages, the chat with the newest activity first.

use crate::{ChatKey, StorageProblem, Timestamp};

/// A page of the list of chats.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatPage {
    /// The chats of this page.
    pub chats: Vec<ChatLook>,
    /// The place behind the page; `None` if no chat follows.
    pub next: Option<ChatCursor>,
}

/// A place in the list of chats. The text belongs to the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatCursor(String);

impl ChatCursor {
    /// Makes a cursor from the text by which a store knows the place.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the text of the cursor.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The result of one look at a chat, without opening it.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatLook {
    /// The key of the chat, or the problem with its folder.
    pub key: Result<ChatKey, StorageProblem>,
    /// The sizes of its logs.
    pub sizes: ChatSizes,
    /// The time of the last write to one of these logs; `None` if there was none, or if the store keeps no times.
    pub activity: Option<Timestamp>,
    /// Whether something may be left to do: the sizes are not those at which the chat was last seen idle.
    pub may_have_work: bool,
}

/// The sizes of the logs that decide whether something is left to do in a chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ChatSizes {
    /// The number of bytes in the log of the active context.
    pub context_bytes: u64,
    /// The number of bytes in the ledger.
    pub ledger_bytes: u64,
    /// The number of bytes in the journal of the last run.
    pub journal_bytes: u64,
}
