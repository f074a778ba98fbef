//! Assembles the chunks of a streamed answer into a message.
//!
//! The stock AI SDK client does this in the browser. A server that stores the message must produce the same one. An
//! [`Assembler`] takes the chunks in order. The first chunk that does not fit ends it with an error, and the
//! message before that chunk stays.
//!
//! The client parses a tool's input again at every delta, which costs the square of its length. Here the text is
//! collected, and parsed only when the message is read.

mod metadata;
mod replay;
mod tool;

pub use replay::chunks_of;

use std::collections::HashMap;

use crate::chunk::{Chunk, ChunkError, FinishReason, TextChunk};
use crate::json::{JsString, Json, Object};
use crate::ui::{
    DataPart, PartFields, ReasoningPart, Role, StepStartPart, TextPart, ToolState, UiMessage,
    UiPart,
};
use metadata::Merger;
use tool::{CallParts, Partial};

/// The reason why a stream could not be assembled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AssembleError {
    /// A chunk is not part of the protocol.
    #[error(transparent)]
    Chunk(#[from] ChunkError),
    /// The sender reports that it failed.
    #[error("{0}")]
    Sender(String),
    /// A text grew or ended that had not begun.
    #[error("received {chunk} for a {what} that is not open, with ID {id:?}")]
    NotOpen {
        /// The type of the chunk.
        chunk: &'static str,
        /// The kind of part that it belongs to.
        what: &'static str,
        /// The id that is not open.
        id: String,
    },
    /// A tool answered a call that does not exist.
    #[error("no tool invocation found for tool call ID {0:?}")]
    NoCall(String),
    /// The metadata cannot be merged with the existing metadata.
    #[error("the message's metadata is not an object, so nothing can be merged into it")]
    Metadata,
}

/// Assembles chunks into a message.
///
/// ```
/// use ship_message::{Assembler, Chunk};
///
/// let mut assembler = Assembler::new("fallback-id", None);
/// for text in [r#"{"type":"text-start","id":"t"}"#, r#"{"type":"text-delta","id":"t","delta":"Hi there."}"#] {
///     assembler.push(Chunk::parse(text)?)?;
/// }
/// assert_eq!(assembler.message().text(), "Hi there.");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Assembler {
    message: UiMessage,
    /// The open texts by their ids, as indexes of parts.
    texts: HashMap<String, usize>,
    reasonings: HashMap<String, usize>,
    /// The tool inputs on their way, by call id, and the ids of those whose parts lack the newest text.
    partials: HashMap<String, Partial>,
    behind: Vec<String>,
    /// The indexes of tool parts by call id, and of data parts by type and id, so that a chunk finds its
    /// part without a search.
    calls: HashMap<String, CallParts>,
    data: HashMap<(String, String), usize>,
    /// The index at which the current step begins: after the last `step-start`.
    step_start: usize,
    /// Whether a step has begun and not ended.
    in_step: bool,
    finish_reason: Option<FinishReason>,
    merger: Merger,
}

impl Assembler {
    /// Begins a message. If `last`, the last message of the chat, is the assistant's, it is continued. Otherwise a
    /// new message begins, with `id` until the stream names another.
    pub fn new(id: impl Into<String>, last: Option<UiMessage>) -> Self {
        let message = last
            .filter(|message| message.role() == Role::Assistant)
            .unwrap_or_else(|| UiMessage::new(id, Role::Assistant, Vec::new()));
        let mut assembler = Self {
            message,
            texts: HashMap::new(),
            reasonings: HashMap::new(),
            partials: HashMap::new(),
            behind: Vec::new(),
            calls: HashMap::new(),
            data: HashMap::new(),
            step_start: 0,
            in_step: false,
            finish_reason: None,
            merger: Merger::default(),
        };
        assembler.index_parts(0);
        assembler.resume_partials();
        // A step without parts was interrupted before its answer, which is still to come.
        assembler.in_step = matches!(assembler.message.parts().last(), Some(UiPart::StepStart(_)));
        assembler
    }

    /// Returns the message assembled so far.
    pub fn message(&mut self) -> &UiMessage {
        self.settle_all();
        &self.message
    }

    /// Returns the message assembled so far and ends the assembly.
    pub fn into_message(mut self) -> UiMessage {
        self.settle_all();
        self.message
    }

    /// Whether a step has begun and not ended.
    pub fn is_in_step(&self) -> bool {
        self.in_step
    }

    /// Returns the reason why the answer ended, if the stream has given one.
    pub fn finish_reason(&self) -> Option<FinishReason> {
        self.finish_reason
    }

    /// Takes the next chunk.
    ///
    /// # Errors
    /// Fails if the chunk does not fit the chunks before it, or reports a failure of the sender. The message
    /// before this chunk stays.
    pub fn push(&mut self, chunk: Chunk) -> Result<(), AssembleError> {
        match chunk {
            Chunk::Start { message_id, message_metadata } => {
                if let Some(id) = message_id {
                    self.message.set_id(id);
                }
                self.merge_metadata(message_metadata)?;
            }
            Chunk::MessageMetadata(metadata) => self.merge_metadata(Some(metadata))?,
            Chunk::Finish { finish_reason, message_metadata } => {
                self.finish_reason = finish_reason.or(self.finish_reason);
                self.merge_metadata(message_metadata)?;
            }
            Chunk::StartStep => {
                // A delta after a new step belongs to a new part.
                self.settle_all();
                self.in_step = true;
                self.add(UiPart::StepStart(StepStartPart::new()));
            }
            Chunk::FinishStep => {
                self.in_step = false;
                // The ids of texts are unique only within a step.
                self.texts.clear();
                self.reasonings.clear();
            }
            Chunk::TextStart(chunk) => self.start_text(chunk),
            Chunk::TextDelta(chunk, delta) => {
                let at = open(&self.texts, &chunk.id, "text-delta", "text")?;
                self.grow(at, &delta, chunk.provider_metadata);
            }
            Chunk::TextEnd(chunk) => {
                let at = open(&self.texts, &chunk.id, "text-end", "text")?;
                self.texts.remove(&chunk.id);
                self.end(at, chunk.provider_metadata);
            }
            Chunk::ReasoningStart(chunk) => self.start_reasoning(chunk),
            Chunk::ReasoningDelta(chunk, delta) => {
                let at = open(&self.reasonings, &chunk.id, "reasoning-delta", "reasoning")?;
                self.grow(at, &delta, chunk.provider_metadata);
            }
            Chunk::ReasoningEnd(chunk) => {
                let at = open(&self.reasonings, &chunk.id, "reasoning-end", "reasoning")?;
                self.reasonings.remove(&chunk.id);
                self.end(at, chunk.provider_metadata);
            }
            Chunk::Data(object) => self.add_data(object),
            chunk @ (Chunk::File { .. }
            | Chunk::SourceUrl { .. }
            | Chunk::SourceDocument { .. }) => {
                self.add_source(chunk);
            }
            // The parts of a stopped answer stay as they are.
            Chunk::Abort { .. } => {}
            Chunk::Error { error_text } => return Err(AssembleError::Sender(error_text)),
            chunk @ (Chunk::ToolInputStart { .. }
            | Chunk::ToolInputDelta { .. }
            | Chunk::ToolInputAvailable { .. }
            | Chunk::ToolInputError { .. }
            | Chunk::ToolApprovalRequest { .. }
            | Chunk::ToolOutputAvailable { .. }
            | Chunk::ToolOutputError { .. }
            | Chunk::ToolOutputDenied { .. }) => self.push_tool(chunk)?,
        }
        Ok(())
    }

    fn add(&mut self, part: UiPart) {
        self.message.parts_mut().push(part);
        self.index_parts(self.next_place() - 1);
    }

    fn next_place(&self) -> usize {
        self.message.parts().len()
    }

    /// Notes the indexes of the parts from `start` on.
    fn index_parts(&mut self, start: usize) {
        for (at, part) in self.message.parts().iter().enumerate().skip(start) {
            match part {
                UiPart::StepStart(_) => self.step_start = at + 1,
                UiPart::Tool(tool) => {
                    if let Some(call_id) = tool.object().str("toolCallId") {
                        let places = self.calls.entry(call_id.to_owned()).or_default();
                        places.add(at, tool.is_dynamic());
                    }
                }
                UiPart::Data(data) => {
                    if let Some(key) = data_key(data.object()) {
                        // As in the client, a chunk updates the first of several equal parts.
                        self.data.entry(key).or_insert(at);
                    }
                }
                UiPart::Text(_)
                | UiPart::Reasoning(_)
                | UiPart::File(_)
                | UiPart::SourceUrl(_)
                | UiPart::SourceDocument(_)
                | UiPart::Unknown(_) => {}
            }
        }
    }

    fn start_text(&mut self, chunk: TextChunk) {
        let mut object = Object::from([("type", "text"), ("text", "")]);
        object.set_or_remove("providerMetadata", chunk.provider_metadata);
        object.set("state", "streaming");
        self.texts.insert(chunk.id, self.next_place());
        self.add(UiPart::Text(TextPart(object)));
    }

    fn start_reasoning(&mut self, chunk: TextChunk) {
        let mut object = Object::from([("type", "reasoning"), ("id", &chunk.id), ("text", "")]);
        object.set_or_remove("providerMetadata", chunk.provider_metadata);
        object.set("state", "streaming");
        self.reasonings.insert(chunk.id, self.next_place());
        self.add(UiPart::Reasoning(ReasoningPart(object)));
    }

    /// Returns the object of an open text or reasoning part.
    fn text_object(&mut self, at: usize) -> Option<&mut Object> {
        match self.message.parts_mut().get_mut(at) {
            Some(UiPart::Text(text)) => Some(text.object_mut()),
            Some(UiPart::Reasoning(reasoning)) => Some(reasoning.object_mut()),
            _ => None,
        }
    }

    fn grow(&mut self, at: usize, delta: &JsString, metadata: Option<Json>) {
        let Some(object) = self.text_object(at) else { return };
        if let Some(Json::String(text)) = object.get_mut("text") {
            text.push(delta);
        }
        replace_metadata(object, metadata);
    }

    fn end(&mut self, at: usize, metadata: Option<Json>) {
        let Some(object) = self.text_object(at) else { return };
        object.set("state", "done");
        replace_metadata(object, metadata);
    }

    fn add_data(&mut self, object: Object) {
        // Listeners have seen a transient part; it is not stored.
        if object.get("transient").and_then(Json::as_bool) == Some(true) {
            return;
        }
        let existing = data_key(&object).and_then(|key| self.data.get(&key).copied());
        let part = existing.and_then(|at| self.message.parts_mut().get_mut(at));
        if let Some(UiPart::Data(data)) = part {
            let value = object.get("data").cloned().unwrap_or_default();
            data.object_mut().set("data", value);
        } else {
            self.add(UiPart::Data(DataPart(object)));
        }
    }

    /// Adds a file or a source as a part. An optional field that the chunk lacks stays absent.
    fn add_source(&mut self, chunk: Chunk) {
        let mut json = chunk.into_json();
        if let Some(object) = json.as_object_mut()
            && object.str("type") == Some("file")
        {
            // A part has the media type before the URL.
            let url = object.remove("url").unwrap_or_default();
            let metadata = object.remove("providerMetadata");
            object.set("url", url);
            object.set_or_remove("providerMetadata", metadata);
        }
        self.add(UiPart::from_json(json));
    }

    fn merge_metadata(&mut self, metadata: Option<Json>) -> Result<(), AssembleError> {
        let Some(metadata) = metadata.filter(|metadata| !metadata.is_null()) else { return Ok(()) };
        let merged = match self.message.metadata_mut() {
            Some(base) => self.merger.merge(base, metadata),
            None => {
                self.message.set_metadata(metadata);
                true
            }
        };
        if merged { Ok(()) } else { Err(AssembleError::Metadata) }
    }
}

/// Replaces the metadata by that of a later chunk, if it has any.
fn replace_metadata(object: &mut Object, metadata: Option<Json>) {
    if let Some(metadata) = metadata {
        object.set("providerMetadata", metadata);
    }
}

fn open(
    parts: &HashMap<String, usize>,
    id: &str,
    chunk: &'static str,
    what: &'static str,
) -> Result<usize, AssembleError> {
    let missing = || AssembleError::NotOpen { chunk, what, id: id.to_owned() };
    parts.get(id).copied().ok_or_else(missing)
}

/// Returns the key of a data part. Parts of one type and id are one part; a part without an id stands alone.
fn data_key(object: &Object) -> Option<(String, String)> {
    Some((object.str("type")?.to_owned(), object.str("id")?.to_owned()))
}

/// Whether provider metadata in this state belongs to the result.
fn is_output(state: ToolState) -> bool {
    matches!(state, ToolState::OutputAvailable | ToolState::OutputError)
}
