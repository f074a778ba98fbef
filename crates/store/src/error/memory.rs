//! The reason why the memory of a chat is not read or written.

use crate::{ChatKey, Explain, Explanation, FileError, StorageError, TEXT_BYTES_MAX};

/// The reason why the memory of a chat is not read or written.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.explain())]
#[non_exhaustive]
pub enum MemoryError {
    /// A person's file cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// The text is longer than a reader takes in.
    TooLong {
        /// The chat of the text.
        chat: ChatKey,
        /// The length of the text in bytes.
        len: u64,
    },
    /// The store could not read or write it.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl Explain for MemoryError {
    fn explain(&self) -> Explanation {
        match self {
            Self::File(error) => Explanation::new(error.text_for_user()),
            Self::TooLong { chat, len } => Explanation::new(format!(
                "the memory of chat `{chat}` would have {len} bytes, but at most {TEXT_BYTES_MAX} are read"
            ))
            .with_remedy("shorten it"),
            Self::Storage(error) => error.explain(),
        }
    }
}
