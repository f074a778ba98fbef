//! Reads the records that runs write beside the context.

use ship_message::json::Object;

use crate::{ReadError, StoreFuture};

/// The journal of the last run, and the records of model calls.
pub trait RunRecords: Send + Sync {
    /// Reads the journal of the last run that was begun.
    fn journal(&self) -> StoreFuture<'_, Vec<Object>, ReadError>;

    /// Reads the last `limit` records of model calls.
    fn requests(&self, limit: usize) -> StoreFuture<'_, Vec<Object>, ReadError>;
}
