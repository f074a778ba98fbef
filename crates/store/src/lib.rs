//! What keeps chats: accepted means durable.
//!
//! A [`Store`] holds chats. Each chat has a *ledger* of what crossed the boundary to the platform, and a
//! *context log* of what the model works in. All that ever happens to a context is one of two
//! operations: [`append`](Lane::append) and [`rotate`](Lane::rotate), both atomic, both on disk before
//! they return. [`FileStore`] keeps chats in the `.ship` folder of a project, in the format that
//! `docs/format.md` describes byte by byte, or in memory. [`conversation`] keeps one context in one file of
//! its own, in lines that other programs read.
//!
//! ```
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! use ship_message::json::{Json, Object};
//! use ship_store::{About, ContextId, FileStore, Head, Options, Rotation, Store, Timestamp};
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
//! let view = chat.view().await?.expect("a context has begun");
//! assert_eq!(view.messages().collect::<Vec<&Object>>(), [&hello]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```

mod clock;
pub mod conversation;
pub mod disk;
mod entry;
mod error;
mod file;
mod ids;
mod ledger;
mod line;
mod name;
mod scan;
mod sealed;
mod store;

pub use clock::{Clock, SystemClock, Timestamp};
pub use entry::{
    Checkpoint, ContextBody, ContextEvent, ContextLine, FORMAT_VERSION, Head, LogPiece, NewLine,
    NewMessage, RepairEffect, Rotated, Rotation, StorageProblem, StorageProblemKind, View,
};
pub use error::{
    AcceptError, AppendError, BlobError, Busy, Holder, LaneError, LaneHolder, ListError, OpenError,
    PurgeError, ReadError, RefusedInput, Right, RotateError, StorageError,
};
pub use file::FileStore;
pub use ids::{
    CHAT_KEY_BYTES_MAX, ChatKey, ChatKeyError, ContextId, ContextIdError, Gen, LedgerSeq,
    MessageId, Position, Seq,
};
pub use ledger::{
    ANSWER_KEY, ANSWERS_TO, Accepted, AnsweredEntries, Delivery, DeliveryState, KEYS_KEPT_MS,
    LedgerBody, LedgerEntry, LedgerLine,
};
pub use name::chat_folder;
pub use sealed::{MessagePlace, Purged, SealedLog, SealedName};
pub use store::{
    About, BlobRef, Chat, ChatContent, ChatLook, ChatOverview, ChatState, Derived, DerivedState,
    Durability, Lane, Store, StoreFuture, StoreOptions, Synced,
};
