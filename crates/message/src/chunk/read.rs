//! Reads a chunk: all required fields must exist, and every field must have its type.

use super::{Chunk, FinishReason, InputEncoding, TextChunk, ToolChunk};
use crate::json::{JsString, Json, JsonError, Object};
use crate::validate::{is_provider_metadata, is_record};

/// The reason why a text is not a chunk.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChunkError {
    /// The text is not JSON.
    #[error("a chunk of the stream is {0}")]
    Json(#[from] JsonError),
    /// An object has a key that JavaScript would take for its prototype.
    #[error("a chunk of the stream has a `__proto__` or `constructor.prototype` key")]
    Prototype,
    /// The protocol has no chunk of this type.
    #[error("a chunk of the stream has the unknown type `{0}`")]
    UnknownType(String),
    /// A field is missing or has the wrong type.
    #[error("a `{kind}` chunk of the stream has a bad or missing `{field}`")]
    Field {
        /// The type of the chunk.
        kind: String,
        /// The key of the field.
        field: &'static str,
    },
}

impl Chunk {
    /// Reads the data of one event of the stream.
    ///
    /// # Errors
    /// Fails if the text is not JSON, or not a chunk.
    pub fn parse(text: &str) -> Result<Self, ChunkError> {
        Self::from_json(Json::parse(text)?)
    }

    /// Reads a chunk from a JSON value.
    ///
    /// # Errors
    /// Fails if the value is not a chunk.
    pub fn from_json(json: Json) -> Result<Self, ChunkError> {
        if has_prototype_key(&json) {
            return Err(ChunkError::Prototype);
        }
        let Json::Object(object) = json else {
            return Err(ChunkError::Field { kind: String::new(), field: "type" });
        };
        let kind = match object.str("type") {
            Some(kind) => kind.to_owned(),
            None => return Err(ChunkError::Field { kind: String::new(), field: "type" }),
        };
        let mut fields = Fields { object };
        read(&kind, &mut fields).map_err(|problem| match problem {
            ChunkProblem::Type => ChunkError::UnknownType(kind),
            ChunkProblem::Field(field) => ChunkError::Field { kind, field },
        })
    }
}

enum ChunkProblem {
    Type,
    Field(&'static str),
}

fn read(kind: &str, fields: &mut Fields) -> Result<Chunk, ChunkProblem> {
    Ok(match kind {
        "start" => Chunk::Start {
            message_id: fields.optional_string("messageId")?,
            message_metadata: fields.any("messageMetadata"),
        },
        "start-step" => Chunk::StartStep,
        "text-start" => Chunk::TextStart(fields.text()?),
        "text-delta" => Chunk::TextDelta(fields.text()?, fields.js_string("delta")?),
        "text-end" => Chunk::TextEnd(fields.text()?),
        "reasoning-start" => Chunk::ReasoningStart(fields.text()?),
        "reasoning-delta" => Chunk::ReasoningDelta(fields.text()?, fields.js_string("delta")?),
        "reasoning-end" => Chunk::ReasoningEnd(fields.text()?),
        "source-url" => Chunk::SourceUrl {
            source_id: fields.string("sourceId")?,
            url: fields.string("url")?,
            title: fields.optional_string("title")?,
            provider_metadata: fields.provider_metadata()?,
        },
        "source-document" => Chunk::SourceDocument {
            source_id: fields.string("sourceId")?,
            media_type: fields.string("mediaType")?,
            title: fields.string("title")?,
            filename: fields.optional_string("filename")?,
            provider_metadata: fields.provider_metadata()?,
        },
        "file" => Chunk::File {
            url: fields.string("url")?,
            media_type: fields.string("mediaType")?,
            provider_metadata: fields.provider_metadata()?,
        },
        "message-metadata" => Chunk::MessageMetadata(fields.required("messageMetadata")?),
        "finish-step" => Chunk::FinishStep,
        "finish" => Chunk::Finish {
            finish_reason: fields.named("finishReason", FinishReason::named)?,
            message_metadata: fields.any("messageMetadata"),
        },
        "abort" => Chunk::Abort { reason: fields.optional_string("reason")? },
        "error" => Chunk::Error { error_text: fields.string("errorText")? },
        _ if kind.starts_with("tool-") => read_tool(kind, fields)?,
        _ if kind.starts_with("data-") => fields.data()?,
        _ => return Err(ChunkProblem::Type),
    })
}

fn read_tool(kind: &str, fields: &mut Fields) -> Result<Chunk, ChunkProblem> {
    Ok(match kind {
        "tool-input-start" => Chunk::ToolInputStart {
            tool: fields.tool()?,
            tool_name: fields.string("toolName")?,
            input_encoding: fields.named("inputEncoding", InputEncoding::named)?,
        },
        "tool-input-delta" => Chunk::ToolInputDelta {
            call_id: fields.string("toolCallId")?,
            delta: fields.js_string("inputTextDelta")?,
        },
        "tool-input-available" => Chunk::ToolInputAvailable {
            tool: fields.tool()?,
            tool_name: fields.string("toolName")?,
            input: fields.required("input")?,
        },
        "tool-input-error" => Chunk::ToolInputError {
            tool: fields.tool()?,
            tool_name: fields.string("toolName")?,
            input: fields.required("input")?,
            error_text: fields.string("errorText")?,
        },
        "tool-approval-request" => Chunk::ToolApprovalRequest {
            call_id: fields.string("toolCallId")?,
            approval_id: fields.string("approvalId")?,
            descriptor: fields.any("approvalDescriptor"),
            input_schema_input: fields.any("inputSchemaInput"),
            signature: fields.optional_string("signature")?,
        },
        "tool-output-available" => Chunk::ToolOutputAvailable {
            // An output has no title; a value under that key is ignored.
            tool: fields.tool_without_title()?,
            output: fields.required("output")?,
            preliminary: fields.optional_bool("preliminary")?,
        },
        "tool-output-error" => Chunk::ToolOutputError {
            tool: fields.tool_without_title()?,
            error_text: fields.string("errorText")?,
        },
        "tool-output-denied" => Chunk::ToolOutputDenied { call_id: fields.string("toolCallId")? },
        _ => return Err(ChunkProblem::Type),
    })
}

/// The fields of a chunk, which are taken out one by one.
struct Fields {
    object: Object,
}

impl Fields {
    fn any(&mut self, key: &'static str) -> Option<Json> {
        self.object.remove(key)
    }

    fn required(&mut self, key: &'static str) -> Result<Json, ChunkProblem> {
        self.any(key).ok_or(ChunkProblem::Field(key))
    }

    fn js_string(&mut self, key: &'static str) -> Result<JsString, ChunkProblem> {
        match self.any(key) {
            Some(Json::String(string)) => Ok(string),
            _ => Err(ChunkProblem::Field(key)),
        }
    }

    fn string(&mut self, key: &'static str) -> Result<String, ChunkProblem> {
        self.js_string(key).map(JsString::into_string)
    }

    fn optional_string(&mut self, key: &'static str) -> Result<Option<String>, ChunkProblem> {
        if self.object.has(key) { self.string(key).map(Some) } else { Ok(None) }
    }

    fn optional_bool(&mut self, key: &'static str) -> Result<Option<bool>, ChunkProblem> {
        match self.any(key) {
            None => Ok(None),
            Some(Json::Bool(bool)) => Ok(Some(bool)),
            Some(_) => Err(ChunkProblem::Field(key)),
        }
    }

    fn named<T>(
        &mut self,
        key: &'static str,
        named: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, ChunkProblem> {
        match self.any(key) {
            None => Ok(None),
            Some(value) => value.as_str().and_then(named).map(Some).ok_or(ChunkProblem::Field(key)),
        }
    }

    fn checked(
        &mut self,
        key: &'static str,
        fits: impl Fn(&Json) -> bool,
    ) -> Result<Option<Json>, ChunkProblem> {
        let value = self.any(key);
        if value.as_ref().is_none_or(fits) { Ok(value) } else { Err(ChunkProblem::Field(key)) }
    }

    fn provider_metadata(&mut self) -> Result<Option<Json>, ChunkProblem> {
        self.checked("providerMetadata", is_provider_metadata)
    }

    fn text(&mut self) -> Result<TextChunk, ChunkProblem> {
        Ok(TextChunk { id: self.string("id")?, provider_metadata: self.provider_metadata()? })
    }

    fn tool_without_title(&mut self) -> Result<ToolChunk, ChunkProblem> {
        Ok(ToolChunk {
            call_id: self.string("toolCallId")?,
            provider_executed: self.optional_bool("providerExecuted")?,
            provider_metadata: self.provider_metadata()?,
            tool_metadata: self.checked("toolMetadata", is_record)?,
            dynamic: self.optional_bool("dynamic")?,
            title: None,
        })
    }

    fn tool(&mut self) -> Result<ToolChunk, ChunkProblem> {
        let title = self.optional_string("title")?;
        Ok(ToolChunk { title, ..self.tool_without_title()? })
    }

    fn data(&mut self) -> Result<Chunk, ChunkProblem> {
        let object = &self.object;
        for (key, fits) in [
            ("id", object.get("id").is_none_or(|id| id.as_str().is_some())),
            ("data", object.has("data")),
            ("transient", object.get("transient").is_none_or(|bool| bool.as_bool().is_some())),
        ] {
            if !fits {
                return Err(ChunkProblem::Field(key));
            }
        }
        Ok(Chunk::Data(std::mem::take(&mut self.object)))
    }
}

/// Whether any object has a key that is known from attacks on JavaScript programs. The AI SDK refuses such text, so
/// a stream with it is broken for every client.
pub(crate) fn has_prototype_key(json: &Json) -> bool {
    let mut found = false;
    json.for_each(|value| {
        if let Json::Object(object) = value {
            let constructor = object.get("constructor").and_then(Json::as_object);
            found |= object.has("__proto__") || constructor.is_some_and(|c| c.has("prototype"));
        }
    });
    found
}
