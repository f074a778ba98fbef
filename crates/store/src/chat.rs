//! A chat and its lane: the operations that are open to all callers, and those of the lane's holder.

use std::sync::Arc;

use ship_message::json::{Json, Object};

use crate::{
    AcceptError, Accepted, AppendError, ChangeFuture, ChatKey, ChatSizes, ContextLog, Delivery,
    DerivedFiles, Import, ImportError, Imported, LaneError, LaneHolder, Ledger, LedgerEntry,
    LedgerLine, LedgerSeq, Moment, NewLine, Position, PurgeError, Purged, ReadError, RotateError,
    Rotated, Rotation, RunRecords, SealedName, StorageError, StorageProblem, StoreFuture, View,
};

/// One chat: its logs, and the lane that one run at a time may hold.
pub trait Chat: Send + Sync {
    /// Returns the key of the chat.
    fn key(&self) -> &ChatKey;

    /// Returns its context log.
    fn log(&self) -> &dyn ContextLog;

    /// Returns its ledger.
    fn ledger(&self) -> &dyn Ledger;

    /// Returns the journal and the records of model calls.
    fn runs(&self) -> &dyn RunRecords;

    /// Returns the files that are derived from its logs.
    fn derived(&self) -> &dyn DerivedFiles;

    /// Returns the description of the chat.
    fn about(&self) -> StoreFuture<'_, About, ReadError>;

    /// Replaces the description of the chat.
    fn set_about(&self, about: About) -> StoreFuture<'_, (), StorageError>;

    /// Takes the lane for a run, and waits up to `lock.waitMs` for it. A caller that is refused meanwhile
    /// reads the `purpose` in its error. That it has the lane ends the waits for a change of the chat, so that the holder
    /// before learns that another caller goes on.
    fn lane(&self, purpose: &str) -> StoreFuture<'_, Arc<dyn Lane>, LaneError>;

    /// Takes the lane if it is free, and fails at once otherwise.
    fn lane_now(&self, purpose: &str) -> StoreFuture<'_, Arc<dyn Lane>, LaneError>;

    /// Returns the last process that noted that it holds the lane; `None` if there is no note, or if the store
    /// does not know processes.
    fn lane_holder(&self) -> StoreFuture<'_, Option<LaneHolder>, ReadError> {
        Box::pin(async { Ok(None) })
    }

    /// Returns the present moment, for a caller that reads the chat and then waits for a change.
    fn moment(&self) -> Moment;

    /// Waits until something has arrived in the chat after a moment, from any process: an entry of the ledger, or its
    /// lane was given back or taken by a caller that [waited](Self::lane). Now and then it returns without a change. What the holder of the lane writes to the context
    /// log ends no wait.
    fn changed(&self, after: Moment) -> ChangeFuture<'_, Moment>;

    /// Reads everything that decides the next action in the chat, with the first `limit` lines of the ledger behind
    /// the context's inbox cursor. A store can implement this with a single read.
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

    /// Returns the sizes of the chat's logs, for [`Chat::note_idle`]. A store that remembers no idle chats has none.
    fn sizes(&self) -> StoreFuture<'_, ChatSizes, ReadError> {
        Box::pin(async { Ok(ChatSizes::default()) })
    }

    /// Remembers that nothing is left to do in the chat at these sizes. The caller has taken them before the look by
    /// which it knows that, and either held the lane or has found the same sizes after the look.
    fn note_idle(&self, _sizes: ChatSizes) -> StoreFuture<'_, (), StorageError> {
        Box::pin(async { Ok(()) })
    }

    /// Lists the problems of the stored chat, without changing it. A database that finds damage by itself has none.
    fn verify(&self) -> StoreFuture<'_, Vec<StorageProblem>, ReadError> {
        Box::pin(async { Ok(Vec::new()) })
    }

    /// Sets aside torn and leftover data, and returns the repairs. It deletes no acknowledged data. A store without
    /// such data has nothing to do.
    fn repair(&self) -> StoreFuture<'_, Vec<StorageProblem>, StorageError> {
        Box::pin(async { Ok(Vec::new()) })
    }

    /// Records that a person has seen these problems, which cannot be healed. From then on, a verification
    /// shows them as known. A store that finds no problems has nothing to record.
    fn acknowledge(&self, _problems: Vec<StorageProblem>) -> StoreFuture<'_, (), StorageError> {
        Box::pin(async { Ok(()) })
    }
}

/// The right to run the agent on a chat.
///
/// Its holder gives it back with [`Lane::release`]. Dropping all copies of it does the same later: that is for callers
/// that fail or are cancelled. A lane can be lost: a person removes its file, or its lease runs out. Then every write
/// fails with [`StorageError::LaneLost`], because another process may run the chat.
pub trait Lane: Send + Sync {
    /// Gives the lane back, once the writes that were begun are done. When this returns, another caller can have it, and
    /// writes through this one fail. A store that cannot be reached lets the lane run out.
    fn release(&self) -> ChangeFuture<'_, ()>;

    /// Waits until the lane is known to be lost. It never returns for a lane that is kept or was given back.
    fn lost(&self) -> ChangeFuture<'_, ()>;

    /// Appends to the context log, all or nothing, if it still ends at `expected`.
    ///
    /// A message that is already there with the same content is not added again.
    fn append(
        &self,
        batch: Vec<NewLine>,
        expected: Position,
    ) -> StoreFuture<'_, Position, AppendError>;

    /// Seals the context log and puts a new one in its place.
    fn rotate(&self, rotation: Rotation) -> StoreFuture<'_, Rotated, RotateError>;

    /// Seals the context log, puts imported logs behind it in the chain, and a new log in its place, all or nothing.
    ///
    /// The lines are written aside first, so a reader or an append is not kept waiting meanwhile. If the log has moved
    /// on in the end, nothing is imported. A message with a known id must have the same content.
    fn import(&self, _import: Import) -> StoreFuture<'_, Imported, ImportError> {
        Box::pin(async { Err(ImportError::Unsupported) })
    }

    /// Checks that the context log can be sealed, for callers that pay for what a rotation is made of. Changes nothing.
    fn check_seal(&self) -> StoreFuture<'_, (), RotateError> {
        Box::pin(async { Ok(()) })
    }

    /// Removes the lines of a sealed log for good, on behalf of `by`. Its name, its head and a record of the purge
    /// stay, and so do blobs. A log that was purged before is not changed.
    fn purge(&self, log: &SealedName, by: &str) -> StoreFuture<'_, Purged, PurgeError>;

    /// Records new states of platform messages in the ledger.
    fn deliver(&self, states: Vec<Delivery>) -> StoreFuture<'_, LedgerSeq, AcceptError>;

    /// Adds an entry to the ledger like [`Ledger::accept`], for what the holder of the lane has said or done: once the
    /// lane is lost, the next holder says it.
    fn record(&self, entry: LedgerEntry) -> StoreFuture<'_, Accepted, AcceptError>;

    /// Begins the journal of a run, which replaces the journal before it. If it is synced later, a power cut can bring
    /// the journal before it back, or leave none.
    fn begin_journal(&self, about: Object, when: Synced) -> StoreFuture<'_, (), StorageError>;

    /// Adds parts to the journal of the run. With [`Synced::Now`], everything before them is on disk, too, even if there
    /// are no new parts.
    fn journal(&self, parts: Vec<Object>, when: Synced) -> StoreFuture<'_, (), StorageError>;

    /// Records a model call. The record is not synced, because it only explains and no decision depends on it.
    fn record_request(&self, request: Object) -> StoreFuture<'_, (), StorageError>;

    /// Shows other processes that the holder is alive, although it has nothing to write. Nothing is synced.
    fn touch(&self) -> StoreFuture<'_, (), StorageError> {
        Box::pin(async { Ok(()) })
    }
}

/// The time at which a journal, or lines of it, are on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Synced {
    /// The lines are on disk before the operation returns: for effects that must not happen twice.
    Now,
    /// The lines are on disk with the next sync: they survive the kill of the process, but not a power cut.
    Later,
}

/// The description of a chat: its channel, its address there, and the model that a person chose for it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct About {
    /// The channel: `terminal`, `http` or `telegram`.
    pub channel: Option<String>,
    /// The delivery target, in the form of the channel.
    pub target: Option<Json>,
    /// The model that answers in this chat, instead of the one in the settings.
    pub model: Option<String>,
}

/// Everything that decides the next action in a chat.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatState {
    /// The description of the chat.
    pub about: About,
    /// The active context; `None` before the first.
    pub view: Option<View>,
    /// The lines of the ledger behind the context's inbox cursor.
    pub new_lines: Vec<LedgerLine>,
    /// The journal of the last run that was begun.
    pub journal: Vec<Object>,
}
