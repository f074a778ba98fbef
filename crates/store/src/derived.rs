//! What is derived from the logs of a chat, and can be made anew.

use ship_message::json::Object;

use crate::{ContextId, Position, ReadError, StorageError, StoreFuture};

/// The files that are derived from the logs of a chat.
pub trait DerivedFiles: Send + Sync {
    /// Reads derived state; `None` if there is none or it cannot be read: make it anew.
    fn read(&self, which: Derived) -> StoreFuture<'_, Option<DerivedState>, ReadError>;

    /// Writes derived state.
    fn put(&self, which: Derived, state: DerivedState) -> StoreFuture<'_, (), StorageError>;

    /// Takes derived state away, if it is there.
    fn remove(&self, which: Derived) -> StoreFuture<'_, (), StorageError>;

    /// Lists the contexts that have a snapshot, [`Derived::Context`]; none is opened.
    fn archived_contexts(&self) -> StoreFuture<'_, Vec<ContextId>, ReadError>;
}

/// Which derived state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Derived {
    /// Compaction cursor and time, sizes, token totals.
    Meta,
    /// What `chat_context_list` shows.
    ContextIndex,
    /// A snapshot of an archived context.
    Context(ContextId),
}

/// Derived state and the place in the log that it was derived from.
#[derive(Debug, Clone, PartialEq)]
pub struct DerivedState {
    /// The state.
    pub value: Object,
    /// Where the log ended.
    pub position: Position,
    /// The checksum of the line there, so that another log of the same length is told apart.
    pub crc: u32,
}
