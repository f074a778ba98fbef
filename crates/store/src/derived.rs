//! Files that are derived from the logs of a chat, and can be made again from them.

use ship_message::json::Object;

use crate::{ContextId, Position, ReadError, StorageError, StoreFuture};

/// The files that are derived from the logs of a chat.
pub trait DerivedFiles: Send + Sync {
    /// Reads derived state; `None` if it is missing or cannot be read, so that the caller makes it again.
    fn read(&self, which: Derived) -> StoreFuture<'_, Option<DerivedState>, ReadError>;

    /// Writes derived state.
    fn put(&self, which: Derived, state: DerivedState) -> StoreFuture<'_, (), StorageError>;

    /// Removes derived state, if it is there.
    fn remove(&self, which: Derived) -> StoreFuture<'_, (), StorageError>;

    /// Moves derived state out of the way, if it is there, because the logs lack something that it tells. Where damaged
    /// data is kept, it is kept too.
    fn set_aside(&self, which: Derived) -> StoreFuture<'_, (), StorageError> {
        self.remove(which)
    }

    /// Lists the contexts that have a snapshot, [`Derived::Context`], without opening one.
    fn archived_contexts(&self) -> StoreFuture<'_, Vec<ContextId>, ReadError>;
}

/// The kind of derived state.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Derived {
    /// The cursor and the time of the last compaction, with sizes and token totals.
    Meta,
    /// The list of archived contexts that `chat_context_list` shows.
    ContextIndex,
    /// The snapshot of an archived context.
    Context(ContextId),
    /// The tokens of messages, by their content. It belongs to no place in the log, and need not survive a power cut.
    TokenCounts,
}

/// Derived state and the place in the log that it was derived from.
#[derive(Debug, Clone, PartialEq)]
pub struct DerivedState {
    /// The derived state itself.
    pub value: Object,
    /// The end of the log from which it was derived.
    pub position: Position,
    /// The checksum of the last line, which distinguishes another log of the same length.
    pub crc: u32,
}
