//! Keeps chats on disk or in memory; what a call has accepted is durable.
//!
//! A [`Store`] holds chats. Each chat has a *ledger*, which records what came in and went out, and a *context log*,
//! which holds what the model works in. Only two operations change a context, [`append`](Lane::append) and
//! [`rotate`](Lane::rotate). Both are atomic, and both are on disk before they return. [`FileStore`] keeps chats in
//! the `.ship` folder of a project, in the format of `docs/format.md`, or in memory. [`conversation`] keeps one
//! context in one file of its own, in lines that other programs can read.
//!
//! ```
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! use ship_message::{UiMessage, json::Json};
//! use ship_store::{About, ContextId, FileStore, Head, Rotation, Store, StoreOptions, Timestamp};
//!
//! let store = FileStore::in_memory(StoreOptions::default());
//! let chat = store.create(&"terminal:main".parse()?, About::default()).await?;
//! let lane = chat.lane("example").await?;
//!
//! let context = ContextId::new(Timestamp::from_millis(0), 42);
//! let first = Rotation { expected: None, head: Head::new(context), pieces: vec![] };
//! let begun = lane.rotate(first).await?;
//!
//! let Json::Object(hello) = Json::parse(r#"{"id":"m1","role":"user","parts":[]}"#)? else { unreachable!() };
//! lane.append(vec![hello.clone().into()], begun.position).await?;
//!
//! let view = chat.log().view().await?.expect("a context has begun");
//! assert_eq!(view.messages().next(), Some(&UiMessage::from_object(hello)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```

mod changes;
mod chat;
mod chat_folder;
mod chat_list;
mod clock;
mod context_log;
pub mod conversation;
mod derived;
pub mod disk;
mod error;
mod file;
mod import;
mod index_files;
mod ledger;
mod line;
mod records;
mod rotation;
pub mod rules;
mod run_records;
mod scan;
mod store;
mod store_future;

pub use changes::{ChangeFeed, ChangeFuture, ChangedChats, Moment};
pub use chat::{About, Chat, ChatState, Lane, Synced};
pub use chat_folder::chat_folder;
pub use chat_list::{ChatCursor, ChatLook, ChatPage, ChatSizes};
pub use clock::SystemClock;
pub use context_log::{ContextLog, LogFeatures};
pub use derived::{Derived, DerivedFiles, DerivedState};
pub use error::{
    AcceptError, AppendError, BlobError, Busy, Holder, LaneError, LaneHolder, MemoryError,
    PurgeError, ReadError, RefusedInput, Right, RotateError, StorageError,
};
pub use file::FileStore;
pub use import::{Import, ImportError, ImportPiece, ImportSource, Imported, LiveAfterImport};
pub use index_files::IndexFiles;
pub use ledger::Ledger;
pub use records::{
    Lease, LeaseError, ProjectRecords, RecordError, RecordName, RecordNameError, RecordVersion,
    StoredRecord,
};
pub use rotation::{LogPiece, Rotated, Rotation};
pub use run_records::RunRecords;
pub use ship_record::carry;
pub use ship_record::{
    ANSWER_KEY, ANSWERS_TO, Accepted, AnsweredEntries, CHAT_KEY_BYTES_MAX, ChatKey, ChatKeyError,
    Checkpoint, Clock, ContextBody, ContextEvent, ContextId, ContextIdError, ContextLine, Delivery,
    DeliveryState, Durability, Explain, Explanation, FORMAT_VERSION, FileError, Gen, Head,
    KEYS_KEPT_MS, LedgerBody, LedgerEntry, LedgerLine, LedgerSeq, LinesCursor, LinesPage,
    LoggedLine, MessageId, MessageKind, MessagePlace, MessageSource, Metadata, NewLine, NewMessage,
    NewMetadata, NoticeKind, Position, Purged, RepairEffect, STOPPED, SealedLog, SealedName, Seq,
    SourceRange, StorageProblem, StorageProblemKind, TEXT_BYTES_MAX, Timestamp, VIA_NOTICE, View,
    has_marked_notice, has_notice_mark, notices, text_of_file, without_notices,
};
pub use store::{BlobRef, ChatContent, ChatOverview, OverviewPage, Store, StoreOptions};
pub use store_future::StoreFuture;
