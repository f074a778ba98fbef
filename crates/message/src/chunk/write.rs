//! Writes a chunk as JSON.

use super::{Chunk, InputEncoding, TextChunk, ToolChunk};
use crate::json::{Json, Object};

impl Chunk {
    /// Returns the chunk as JSON.
    pub fn into_json(self) -> Json {
        let object = match self {
            Self::Start { message_id, message_metadata } => chunk("start")
                .with("messageId", message_id)
                .with("messageMetadata", message_metadata),
            Self::StartStep => chunk("start-step"),
            Self::TextStart(text) => chunk("text-start").text(text),
            Self::TextDelta(text, delta) => chunk("text-delta")
                .with("id", Some(text.id))
                .with("delta", Some(delta))
                .with("providerMetadata", text.provider_metadata),
            Self::TextEnd(text) => chunk("text-end").text(text),
            Self::ReasoningStart(text) => chunk("reasoning-start").text(text),
            Self::ReasoningDelta(text, delta) => chunk("reasoning-delta")
                .with("id", Some(text.id))
                .with("delta", Some(delta))
                .with("providerMetadata", text.provider_metadata),
            Self::ReasoningEnd(text) => chunk("reasoning-end").text(text),
            Self::ToolInputStart { tool, tool_name, input_encoding } => chunk("tool-input-start")
                .with("toolCallId", Some(tool.call_id.clone()))
                .with("toolName", Some(tool_name))
                .with("inputEncoding", input_encoding.map(InputEncoding::name))
                .tool(tool),
            Self::ToolInputDelta { call_id, delta } => chunk("tool-input-delta")
                .with("toolCallId", Some(call_id))
                .with("inputTextDelta", Some(delta)),
            Self::ToolInputAvailable { tool, tool_name, input } => chunk("tool-input-available")
                .with("toolCallId", Some(tool.call_id.clone()))
                .with("toolName", Some(tool_name))
                .with("input", Some(input))
                .tool(tool),
            Self::ToolInputError { tool, tool_name, input, error_text } => {
                chunk("tool-input-error")
                    .with("toolCallId", Some(tool.call_id.clone()))
                    .with("toolName", Some(tool_name))
                    .with("input", Some(input))
                    .tool(tool)
                    .with("errorText", Some(error_text))
            }
            Self::ToolApprovalRequest {
                call_id,
                approval_id,
                descriptor,
                input_schema_input,
                signature,
            } => chunk("tool-approval-request")
                .with("approvalId", Some(approval_id))
                .with("toolCallId", Some(call_id))
                .with("approvalDescriptor", descriptor)
                .with("inputSchemaInput", input_schema_input)
                .with("signature", signature),
            Self::ToolOutputAvailable { tool, output, preliminary } => {
                chunk("tool-output-available")
                    .with("toolCallId", Some(tool.call_id.clone()))
                    .with("output", Some(output))
                    .tool(tool)
                    .with("preliminary", preliminary)
            }
            Self::ToolOutputError { tool, error_text } => chunk("tool-output-error")
                .with("toolCallId", Some(tool.call_id.clone()))
                .with("errorText", Some(error_text))
                .tool(tool),
            Self::ToolOutputDenied { call_id } => {
                chunk("tool-output-denied").with("toolCallId", Some(call_id))
            }
            Self::SourceUrl { source_id, url, title, provider_metadata } => chunk("source-url")
                .with("sourceId", Some(source_id))
                .with("url", Some(url))
                .with("title", title)
                .with("providerMetadata", provider_metadata),
            Self::SourceDocument { source_id, media_type, title, filename, provider_metadata } => {
                chunk("source-document")
                    .with("sourceId", Some(source_id))
                    .with("mediaType", Some(media_type))
                    .with("title", Some(title))
                    .with("filename", filename)
                    .with("providerMetadata", provider_metadata)
            }
            Self::File { url, media_type, provider_metadata } => chunk("file")
                .with("url", Some(url))
                .with("mediaType", Some(media_type))
                .with("providerMetadata", provider_metadata),
            Self::Data(object) => Builder(object),
            Self::MessageMetadata(metadata) => {
                chunk("message-metadata").with("messageMetadata", Some(metadata))
            }
            Self::FinishStep => chunk("finish-step"),
            Self::Finish { finish_reason, message_metadata } => chunk("finish")
                .with("finishReason", finish_reason.map(super::FinishReason::name))
                .with("messageMetadata", message_metadata),
            Self::Abort { reason } => chunk("abort").with("reason", reason),
            Self::Error { error_text } => chunk("error").with("errorText", Some(error_text)),
        };
        Json::Object(object.0)
    }
}

fn chunk(kind: &'static str) -> Builder {
    Builder(Object::from([("type", kind)]))
}

struct Builder(Object);

impl Builder {
    fn with(mut self, key: &'static str, value: Option<impl Into<Json>>) -> Self {
        if let Some(value) = value {
            self.0.set(key, value);
        }
        self
    }

    fn text(self, text: TextChunk) -> Self {
        self.with("id", Some(text.id)).with("providerMetadata", text.provider_metadata)
    }

    fn tool(self, tool: ToolChunk) -> Self {
        self.with("providerExecuted", tool.provider_executed)
            .with("providerMetadata", tool.provider_metadata)
            .with("toolMetadata", tool.tool_metadata)
            .with("dynamic", tool.dynamic)
            .with("title", tool.title)
    }
}
