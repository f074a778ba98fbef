//! The data types of a chat.
//!
//! A chat has a *ledger*, which records everything that crossed the boundary to the platform, and a *context log*
//! with the messages that the model works with. This crate has the ids, timestamps and lines of both, the [`Head`] of
//! a context log, and the [`View`] that a log is read into. The store writes these types, and the context crate
//! decides by them, so this crate stands below both. It opens no file and reads no clock.
//!
//! ```
//! use ship_record::{ChatKey, ContextId, Head, Timestamp};
//!
//! let chat: ChatKey = "terminal:main".parse()?;
//! let now = Timestamp::from_millis(1_770_286_500_123);
//! let head = Head { title: Some("Ports".to_owned()), ..Head::new(ContextId::new(now, 42)) };
//!
//! let data = head.to_data(&chat);
//! let (id, read) = (data.str("contextId"), Head::from_data(&data));
//! assert_eq!((id, read), (Some("c_20260205_00000000002a"), Some(head)));
//! # Ok::<(), ship_record::ChatKeyError>(())
//! ```

pub mod carry;
mod clock;
mod context_line;
mod durability;
mod explanation;
mod head;
mod ids;
mod ledger;
mod logged_line;
mod metadata;
mod notice;
mod sealed_log;
mod sealed_name;
#[cfg(feature = "serde")]
mod serde;
mod storage_problem;
mod text_file;
mod timestamp;
mod view;

pub use clock::Clock;
pub use context_line::{ContextBody, ContextEvent, ContextLine, NewLine, NewMessage};
pub use durability::Durability;
pub use explanation::{Explain, Explanation};
pub use head::{Checkpoint, FORMAT_VERSION, Head};
pub use ids::{
    CHAT_KEY_BYTES_MAX, ChatKey, ChatKeyError, ContextId, ContextIdError, Gen, LedgerSeq,
    MessageId, Position, Seq,
};
pub use ledger::{
    ANSWER_KEY, ANSWERS_TO, Accepted, AnsweredEntries, Delivery, DeliveryState, KEYS_KEPT_MS,
    LedgerBody, LedgerEntry, LedgerLine, VIA_NOTICE,
};
pub use logged_line::{LinesCursor, LinesPage, LoggedLine};
pub use metadata::{MessageKind, MessageSource, Metadata, NewMetadata, SourceRange};
pub use notice::{
    NoticeKind, STOPPED, has_marked_notice, has_notice_mark, notices, without_notices,
};
pub use sealed_log::{MessagePlace, Purged, SealedLog};
pub use sealed_name::SealedName;
pub use storage_problem::{RepairEffect, StorageProblem, StorageProblemKind};
pub use text_file::{FileError, TEXT_BYTES_MAX, text_of_file};
pub use timestamp::Timestamp;
pub use view::View;
