//! Conversations in the files of other programs.
//!
//! ```
//! use ship_exchange::{ConversationFile, FileFormat, Wishes};
//!
//! let file = std::io::Cursor::new(r#"[{"role":"user","content":"Ahoy!"},{"role":"assistant","content":"Aye."}]"#);
//! let wishes = Wishes { format: FileFormat::OpenAi, entries: |_| Ok(Vec::new()), progress: &mut |_| {} };
//! let mut file = ConversationFile::survey(Box::new(file), wishes)?;
//! let contexts = file.contexts();
//! let messages = file.messages(&contexts[0], 0, &contexts[0].logs[0].messages[0])?;
//! assert_eq!(messages[0].text(), "Ahoy!");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A [`ConversationFile`] is read in two passes, so that a file of any size needs little memory. The first pass looks at
//! each value once, notes its place and finds the conversations: contexts with logs of messages. Later passes read the
//! values of one message and make it. Only places, ids and parents are kept in memory, some hundred bytes for each message.
//!
//! What a message of ours cannot hold is never dropped: it is a part `data-imported` of a message near it, which no
//! model is sent.
//!
//! This crate knows no store and opens no file: it is given something to read.

mod conversation_file;
mod file_format;
mod formats;
mod items;
mod message_builder;
mod plan;
mod written;

pub use conversation_file::{ConversationFile, Input, SurveyError, Wishes};
pub use file_format::FileFormat;
pub use formats::EntryReader;
pub use items::BadItem;
pub use message_builder::{KEPT_DATA, UNANSWERED_CALL, kept_kind};
pub use plan::{PlannedContext, PlannedLog, PlannedMessage};
pub use written::{LeftOut, markdown, openai_messages};
