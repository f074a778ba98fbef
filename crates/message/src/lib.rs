//! Messages as the AI SDK has them.
//!
//! Everything that Shipmate stores and sends is a message of the [AI SDK](https://ai-sdk.dev), version 6.
//! This crate knows those messages and nothing else. It has data and pure functions, without files,
//! network, clock or tasks.
//!
//! ```
//! use ship_message::{Assembler, Chunk, ConvertOptions, convert_to_model_messages};
//!
//! // The chunks of a streamed answer become a message.
//! let mut answer = Assembler::new("m1", None);
//! for chunk in [r#"{"type":"text-start","id":"1"}"#, r#"{"type":"text-delta","id":"1","delta":"Aye, aye."}"#] {
//!     answer.push(Chunk::parse(chunk)?)?;
//! }
//! let messages = [answer.into_message()];
//! assert_eq!(messages[0].text(), "Aye, aye.");
//!
//! // The next request has it in the form for models.
//! let sent = convert_to_model_messages(&messages, &ConvertOptions::default())?;
//! assert_eq!(sent[0].to_string(), r#"{"role":"assistant","content":[{"type":"text","text":"Aye, aye."}]}"#);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! - [`UiMessage`] is a message as it is stored and shown. [`validate_ui_messages`] tells whether JSON is one.
//! - [`ModelMessage`] is a message as a model is given it. [`convert_to_model_messages`] makes them, and
//!   [`prune_messages`] makes them fewer.
//! - [`Chunk`] is one event of a streamed answer. [`Assembler`] puts chunks together to a message, and [`chunks_of`]
//!   takes a message apart again.
//! - [`json::Json`] is the JSON under all of it, as JavaScript reads and writes it.
//!
//! With the feature `serde`, which is on unless it is turned off, all of them implement `Serialize` and
//! `Deserialize`, and [`json::to_json`] and [`json::from_json`] convert types that derive these.
//!
//! Each function gives the same result as the function of that name in the npm package, case by case; a test runs
//! both side by side.

// A new kind of part or chunk must stop the build wherever it matters.
#![warn(clippy::wildcard_enum_match_arm)]

pub mod json;

#[macro_use]
mod names;

mod assemble;
mod attached_text;
mod chunk;
mod convert;
mod data_url;
mod model;
mod partial;
mod prune;
#[cfg(feature = "serde")]
mod serde;
mod ui;
mod validate;

pub use assemble::{AssembleError, Assembler, chunks_of};
pub use attached_text::{attached_text_name, write_attached_text};
pub use chunk::{Chunk, ChunkError, FinishReason, InputEncoding, TextChunk, ToolChunk};
pub use convert::{
    ConvertError, ConvertOptions, DataConverter, OutputConverter, convert_to_model_messages,
};
pub use data_url::{DataUrl, is_text_media_type};
pub use model::{
    FileModelPart, ImageModelPart, ModelContent, ModelMessage, ModelPart, ModelParts, ModelRole,
    ModelValue, NotAModelMessage, ReasoningModelPart, TextModelPart, ToolApprovalRequestModelPart,
    ToolApprovalResponseModelPart, ToolCallModelPart, ToolOutput, ToolOutputKind,
    ToolResultModelPart,
};
pub use prune::{
    EmptyMessages, PruneOptions, PruneReasoning, PruneScope, PruneToolCalls, prune_messages,
};
pub use ui::{
    DataPart, FilePart, INTERRUPTED_CALL, NotAMessage, PartFields, ReasoningPart, Role,
    SourceDocumentPart, SourceUrlPart, StepStartPart, TextPart, TextState, ToolPart, ToolState,
    UiMessage, UiMessageError, UiPart,
};
pub use validate::{
    DataCheck, MetadataCheck, ToolCheck, ToolChecks, ValidateError, ValidateOptions,
    validate_messages, validate_ui_messages,
};
