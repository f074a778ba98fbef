//! The chunks of a streamed answer: the AI SDK's UI message stream, version 1.

mod read;
mod write;

pub use read::ChunkError;
pub(crate) use read::has_prototype_key;

use crate::json::{JsString, Json, Object};

/// The reason why an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FinishReason {
    /// `stop`: the answer is complete.
    Stop,
    /// `length`: the answer reached the limit of tokens.
    Length,
    /// `content-filter`: the provider cut the answer off.
    ContentFilter,
    /// `tool-calls`: tools must answer first.
    ToolCalls,
    /// `error`: the answer failed.
    Error,
    /// `other`: the provider gives another reason.
    Other,
}

names!(FinishReason {
    Stop = "stop",
    Length = "length",
    ContentFilter = "content-filter",
    ToolCalls = "tool-calls",
    Error = "error",
    Other = "other",
});

/// The encoding of a tool's input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputEncoding {
    /// `json`, which is also the default.
    Json,
    /// `text`: the text itself is the input.
    Text,
}

names!(InputEncoding { Json = "json", Text = "text" });

/// The fields that all chunks about a tool call share.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolChunk {
    /// The id that connects everything about one call.
    pub call_id: String,
    /// Whether the provider runs the tool itself.
    pub provider_executed: Option<bool>,
    /// The metadata of the provider.
    pub provider_metadata: Option<Json>,
    /// The metadata of the tool.
    pub tool_metadata: Option<Json>,
    /// Whether the part is a `dynamic-tool`.
    pub dynamic: Option<bool>,
    /// The title of the tool for people.
    pub title: Option<String>,
}

/// The beginning, growth or end of a text or reasoning.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TextChunk {
    /// The id that tells the texts of one step apart.
    pub id: String,
    /// The metadata of the provider, which replaces earlier metadata.
    pub provider_metadata: Option<Json>,
}

/// One chunk of a streamed answer. Unknown fields are dropped, except in [`Chunk::Data`].
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the fields are the JSON keys of the same names")]
pub enum Chunk {
    /// `start`: the answer begins.
    Start { message_id: Option<String>, message_metadata: Option<Json> },
    /// `start-step`: a step begins.
    StartStep,
    /// `text-start`: a text begins.
    TextStart(TextChunk),
    /// `text-delta`: a text grows. The delta may end inside a character.
    TextDelta(TextChunk, JsString),
    /// `text-end`: a text is complete.
    TextEnd(TextChunk),
    /// `reasoning-start`: reasoning begins.
    ReasoningStart(TextChunk),
    /// `reasoning-delta`: reasoning grows. The delta may end inside a character.
    ReasoningDelta(TextChunk, JsString),
    /// `reasoning-end`: reasoning is complete.
    ReasoningEnd(TextChunk),
    /// `tool-input-start`: the input of a call begins.
    ToolInputStart { tool: ToolChunk, tool_name: String, input_encoding: Option<InputEncoding> },
    /// `tool-input-delta`: the input grows. The delta may end inside a character.
    ToolInputDelta { call_id: String, delta: JsString },
    /// `tool-input-available`: the input is complete.
    ToolInputAvailable { tool: ToolChunk, tool_name: String, input: Json },
    /// `tool-input-error`: the input cannot be used.
    ToolInputError { tool: ToolChunk, tool_name: String, input: Json, error_text: String },
    /// `tool-approval-request`: a person must allow the call.
    ToolApprovalRequest {
        call_id: String,
        approval_id: String,
        descriptor: Option<Json>,
        input_schema_input: Option<Json>,
        signature: Option<String>,
    },
    /// `tool-output-available`: the tool has answered.
    ToolOutputAvailable { tool: ToolChunk, output: Json, preliminary: Option<bool> },
    /// `tool-output-error`: the tool has failed.
    ToolOutputError { tool: ToolChunk, error_text: String },
    /// `tool-output-denied`: the person has denied the call.
    ToolOutputDenied { call_id: String },
    /// `source-url`: a page that the answer rests on.
    SourceUrl {
        source_id: String,
        url: String,
        title: Option<String>,
        provider_metadata: Option<Json>,
    },
    /// `source-document`: a document that the answer rests on.
    SourceDocument {
        source_id: String,
        media_type: String,
        title: String,
        filename: Option<String>,
        provider_metadata: Option<Json>,
    },
    /// `file`: a file that the model made.
    File { url: String, media_type: String, provider_metadata: Option<Json> },
    /// `data-<name>`: the whole chunk, which becomes the part.
    Data(Object),
    /// `message-metadata`: metadata that is merged into the message's.
    MessageMetadata(Json),
    /// `finish-step`: a step is complete.
    FinishStep,
    /// `finish`: the answer is complete.
    Finish { finish_reason: Option<FinishReason>, message_metadata: Option<Json> },
    /// `abort`: the answer was stopped.
    Abort { reason: Option<String> },
    /// `error`: the sender has failed.
    Error { error_text: String },
}
