//! A chat and its lane: what anyone may do, and what only the holder of the lane may do.

use std::sync::Arc;

use ship_message::json::{Json, Object};

use crate::{
    AcceptError, AppendError, ChatKey, ContextLog, Delivery, DerivedFiles, LaneError, LaneHolder,
    Ledger, LedgerLine, LedgerSeq, NewLine, OpenError, Position, PurgeError, Purged, ReadError,
    RotateError, Rotated, Rotation, RunRecords, SealedName, StorageError, StorageProblem,
    StoreFuture, View,
};

/// One chat: its logs, and the lane that one run at a time may hold.
pub trait Chat: Send + Sync {
    /// Returns its key.
    fn key(&self) -> &ChatKey;

    /// Returns its context log.
    fn log(&self) -> &dyn ContextLog;

    /// Returns its ledger.
    fn ledger(&self) -> &dyn Ledger;

    /// Returns what runs have written beside the context.
    fn runs(&self) -> &dyn RunRecords;

    /// Returns what was derived from its logs.
    fn derived(&self) -> &dyn DerivedFiles;

    /// Returns what it is about.
    fn about(&self) -> StoreFuture<'_, About, ReadError>;

    /// Says anew what it is about.
    fn set_about(&self, about: About) -> StoreFuture<'_, (), OpenError>;

    /// Takes the lane, for a run, waiting up to `lock.waitMs`. `purpose` is told to who is refused.
    fn lane(&self, purpose: &str) -> StoreFuture<'_, Arc<dyn Lane>, LaneError>;

    /// Takes the lane if it is free, and waits for nobody.
    fn lane_now(&self, purpose: &str) -> StoreFuture<'_, Arc<dyn Lane>, LaneError>;

    /// Looks at the process that noted last that it holds the lane; `None` if there is no note, or if the store has
    /// no processes to tell of.
    fn lane_holder(&self) -> StoreFuture<'_, Option<LaneHolder>, ReadError> {
        Box::pin(async { Ok(None) })
    }

    /// Reads what decides what is to be done about the chat, with the first `limit` lines that the context
    /// has not read of the ledger. A store that has them in one place gives them in one go.
    fn state(&self, limit: usize) -> StoreFuture<'_, ChatState, ReadError> {
        Box::pin(async move {
            let view = self.log().view().await?;
            let inbox = view.as_ref().and_then(|view| view.inbox);
            Ok(ChatState {
                about: self.about().await?,
                view,
                new_lines: self.ledger().after(inbox, limit).await?,
                journal: self.runs().journal().await?,
            })
        })
    }

    /// Lists what is not as it should be. Changes nothing.
    fn verify(&self) -> StoreFuture<'_, Vec<StorageProblem>, ReadError>;

    /// Sets aside what is torn or left over and says what it did. Deletes nothing that was acknowledged.
    fn repair(&self) -> StoreFuture<'_, Vec<StorageProblem>, StorageError>;

    /// Writes down that a person has seen these problems, which cannot be healed: from then on a verification
    /// shows them as known.
    fn acknowledge(&self, problems: Vec<StorageProblem>) -> StoreFuture<'_, (), StorageError>;
}

/// The right to run the agent on a chat. It ends when this is dropped.
pub trait Lane: Send + Sync {
    /// Appends to the context log, all or nothing, if it still ends at `expected`.
    ///
    /// A message that is there already with the same content adds nothing.
    fn append(
        &self,
        batch: Vec<NewLine>,
        expected: Position,
    ) -> StoreFuture<'_, Position, AppendError>;

    /// Seals the context log and puts a new one in its place.
    fn rotate(&self, rotation: Rotation) -> StoreFuture<'_, Rotated, RotateError>;

    /// Takes the lines of a sealed log away for good, on behalf of `by`. Its name and its head stay, and what was
    /// there to tell: when, how many lines, by what. One that was purged before stays as it is. Blobs stay.
    fn purge(&self, log: &SealedName, by: &str) -> StoreFuture<'_, Purged, PurgeError>;

    /// Records what became of platform messages.
    fn deliver(&self, states: Vec<Delivery>) -> StoreFuture<'_, LedgerSeq, AcceptError>;

    /// Begins the journal of a run, which replaces that of the run before.
    fn begin_journal(&self, about: Object) -> StoreFuture<'_, (), StorageError>;

    /// Adds to the journal of the run.
    fn journal(&self, parts: Vec<Object>, when: Synced) -> StoreFuture<'_, (), StorageError>;

    /// Records a model call. Not synced: it explains, and nothing depends on it.
    fn record_request(&self, request: Object) -> StoreFuture<'_, (), StorageError>;
}

/// When what is written to a journal is on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Synced {
    /// Before the operation returns: for what must not happen twice.
    Now,
    /// With the next sync: it survives a killed process, not a power cut.
    Later,
}

/// What a chat is about: where it lives and how to reach it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct About {
    /// `terminal`, `http` or `telegram`.
    pub channel: Option<String>,
    /// The delivery target, as the channel knows it.
    pub target: Option<Json>,
}

/// What decides what is to be done about a chat.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatState {
    /// What it is about.
    pub about: About,
    /// The active context; `None` before the first.
    pub view: Option<View>,
    /// The lines of the ledger behind the context's inbox cursor.
    pub new_lines: Vec<LedgerLine>,
    /// The journal of the last run that was begun.
    pub journal: Vec<Object>,
}
