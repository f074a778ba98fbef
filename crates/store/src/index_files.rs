//! Keeps the search indexes of chats as pieces of bytes under names.
//!
//! An index is derived from the logs of its chat. So a store only keeps what it is given, need not bring it through a
//! power cut, and decides nothing about it: a reader checks what it reads.

use crate::{ChatKey, ReadError, RecordName, StorageError, StoreFuture};

/// The search indexes of all chats of a store.
pub trait IndexFiles: Send + Sync {
    /// Reads the piece with this name of each chat, in the order of the chats; `None` where there is none.
    fn read_all(
        &self,
        chats: Vec<ChatKey>,
        piece: &RecordName,
    ) -> StoreFuture<'_, Vec<Option<Vec<u8>>>, ReadError>;

    /// Writes a piece as a whole: a reader finds the one before, or this one.
    fn put(
        &self,
        chat: &ChatKey,
        piece: &RecordName,
        bytes: Vec<u8>,
    ) -> StoreFuture<'_, (), StorageError>;

    /// Removes all pieces of a chat but these.
    fn keep_only(
        &self,
        chat: &ChatKey,
        pieces: Vec<RecordName>,
    ) -> StoreFuture<'_, (), StorageError>;

    /// Removes the indexes of chats that are gone.
    fn drop_strays(&self) -> StoreFuture<'_, (), StorageError>;
}
