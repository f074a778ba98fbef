//! The chunks of a streamed answer: the AI SDK's UI message stream, version 1.

mod read;
mod write;

pub use read::ChunkError;
pub(crate) use read::has_prototype_key;

use crate::json::{JsString, Json, Object};

/// Why an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FinishReason {
    /// `stop`: it was complete.
    Stop,
    /// `length`: the model ran out of room.
    Length,
    /// `content-filter`: the provider cut it off.
    ContentFilter,
    /// `tool-calls`: tools must answer first.
    ToolCalls,
    /// `error`: it failed.
    Error,
    /// `other`
    Other,
}

impl FinishReason {
    /// Reads the reason's name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "stop" => Some(Self::Stop),
            "length" => Some(Self::Length),
            "content-filter" => Some(Self::ContentFilter),
            "tool-calls" => Some(Self::ToolCalls),
            "error" => Some(Self::Error),
            "other" => Some(Self::Other),
            _ => None,
        }
    }

    /// The reason's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::Length => "length",
            Self::ContentFilter => "content-filter",
            Self::ToolCalls => "tool-calls",
            Self::Error => "error",
            Self::Other => "other",
        }
    }
}

/// How the text of a tool's input is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputEncoding {
    /// `json`, also when nothing is said.
    Json,
    /// `text`: the text is the input.
    Text,
}

/// What the chunks about a tool call have in common.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolChunk {
    /// Pairs everything about one call.
    pub call_id: String,
    /// Whether the provider runs the tool itself.
    pub provider_executed: Option<bool>,
    /// Metadata of the provider.
    pub provider_metadata: Option<Json>,
    /// Metadata of the tool.
    pub tool_metadata: Option<Json>,
    /// Whether the part is a `dynamic-tool`.
    pub dynamic: Option<bool>,
    /// What to call the tool before people.
    pub title: Option<String>,
}

/// Where text or reasoning begins, grows or ends.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TextChunk {
    /// Tells the texts of one step apart.
    pub id: String,
    /// Metadata of the provider; replaces what was there before.
    pub provider_metadata: Option<Json>,
}

/// One chunk of a streamed answer. Fields we do not know are left behind, except in [`Chunk::Data`].
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the fields are the JSON keys of the same names")]
pub enum Chunk {
    /// `start`
    Start { message_id: Option<String>, message_metadata: Option<Json> },
    /// `start-step`
    StartStep,
    /// `text-start`
    TextStart(TextChunk),
    /// `text-delta`; may end inside a character.
    TextDelta(TextChunk, JsString),
    /// `text-end`
    TextEnd(TextChunk),
    /// `reasoning-start`
    ReasoningStart(TextChunk),
    /// `reasoning-delta`; may end inside a character.
    ReasoningDelta(TextChunk, JsString),
    /// `reasoning-end`
    ReasoningEnd(TextChunk),
    /// `tool-input-start`
    ToolInputStart { tool: ToolChunk, tool_name: String, input_encoding: Option<InputEncoding> },
    /// `tool-input-delta`; may end inside a character.
    ToolInputDelta { call_id: String, delta: JsString },
    /// `tool-input-available`
    ToolInputAvailable { tool: ToolChunk, tool_name: String, input: Json },
    /// `tool-input-error`
    ToolInputError { tool: ToolChunk, tool_name: String, input: Json, error_text: String },
    /// `tool-approval-request`
    ToolApprovalRequest {
        call_id: String,
        approval_id: String,
        descriptor: Option<Json>,
        input_schema_input: Option<Json>,
        signature: Option<String>,
    },
    /// `tool-output-available`
    ToolOutputAvailable { tool: ToolChunk, output: Json, preliminary: Option<bool> },
    /// `tool-output-error`
    ToolOutputError { tool: ToolChunk, error_text: String },
    /// `tool-output-denied`
    ToolOutputDenied { call_id: String },
    /// `source-url`
    SourceUrl {
        source_id: String,
        url: String,
        title: Option<String>,
        provider_metadata: Option<Json>,
    },
    /// `source-document`
    SourceDocument {
        source_id: String,
        media_type: String,
        title: String,
        filename: Option<String>,
        provider_metadata: Option<Json>,
    },
    /// `file`
    File { url: String, media_type: String, provider_metadata: Option<Json> },
    /// `data-<name>`: the whole chunk, which becomes the part.
    Data(Object),
    /// `message-metadata`
    MessageMetadata(Json),
    /// `finish-step`
    FinishStep,
    /// `finish`
    Finish { finish_reason: Option<FinishReason>, message_metadata: Option<Json> },
    /// `abort`
    Abort { reason: Option<String> },
    /// `error`
    Error { error_text: String },
}
