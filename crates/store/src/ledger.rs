//! The ledger of a chat, which needs no lane.

use crate::{
    AcceptError, Accepted, Delivery, LedgerEntry, LedgerLine, LedgerSeq, ReadError, StoreFuture,
};

/// What crossed the boundary to the platform: audit, inbox and outbox.
pub trait Ledger: Send + Sync {
    /// Adds an entry. The same key again is the same entry. Needs no lane.
    fn accept(&self, entry: LedgerEntry) -> StoreFuture<'_, Accepted, AcceptError>;

    /// Reads backwards: the last `limit` lines before `before` (or the end), in order.
    fn before(
        &self,
        before: Option<LedgerSeq>,
        limit: usize,
    ) -> StoreFuture<'_, Vec<LedgerLine>, ReadError>;

    /// Reads forwards: the first `limit` lines after `after` (or the start), in order.
    fn after(
        &self,
        after: Option<LedgerSeq>,
        limit: usize,
    ) -> StoreFuture<'_, Vec<LedgerLine>, ReadError>;

    /// Finds the entry of a key, however long ago it was accepted, if it is behind `after`. One that is before
    /// `after` may be found as well. What is behind `after` costs, not the age of the chat.
    fn entry_of(
        &self,
        key: &str,
        after: Option<LedgerSeq>,
    ) -> StoreFuture<'_, Option<LedgerSeq>, ReadError>;

    /// Returns the newest state of every platform message that is not done, in order.
    fn open_deliveries(&self) -> StoreFuture<'_, Vec<Delivery>, ReadError>;
}
