//! Makes the chunks of a message: a stream from which the message is assembled again.
//!
//! A client that connects while an answer is being written first gets the answer so far, in the form in which the
//! rest will come. The chunks have the order of the AI SDK's own streams: within a step, the calls come first and
//! their results before `finish-step`. Each text is one delta.

mod call;

use std::collections::{HashMap, HashSet};

use super::Assembler;
use crate::chunk::{Chunk, TextChunk};
use crate::json::{JsString, Json, Object};
use crate::ui::{PartFields, UiMessage, UiPart};
use crate::validate::is_provider_metadata;

/// Returns chunks from which an [`Assembler`](crate::Assembler) makes `message` again, parts that are not complete
/// included. The chunk `finish` is not among them.
///
/// ```
/// use ship_message::{Assembler, UiMessage, chunks_of};
///
/// let text = r#"{"id":"m1","role":"assistant","parts":[{"type":"text","text":"One mom","state":"streaming"}]}"#;
/// let message = UiMessage::parse(text)?;
/// let mut again = Assembler::new("", None);
/// chunks_of(&message).into_iter().try_for_each(|chunk| again.push(chunk))?;
/// assert_eq!(again.into_message(), message);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A stream that is still going on cannot continue behind these chunks, because a message does not have the ids of
/// its open texts. [`Assembler::chunks`](crate::Assembler::chunks) knows them.
///
/// # What a stream cannot express
/// - Fields of the message other than `id`, `metadata` and `parts`; a role other than the assistant's; metadata with
///   the value null.
/// - The answer to an approval. An approved call appears as one that needed no approval. A denied call appears as
///   `output-denied`, and its `approval` lacks `approved` and `reason`.
/// - The `filename` of a file.
/// - A text without a state, which becomes `done`, and reasoning without an `id`, which gets one.
/// - `rawInput` of a call with a complete input, or with a result. Where a failed call has only `rawInput`, it is
///   kept, in a dynamic part as `input`. Unfinished `input` without `rawInput` gets one.
/// - Unknown parts, parts that lack a required field, unknown fields of all parts except data parts, and optional
///   fields of the wrong type. They are left out.
/// - The second of two calls with the same id in a step, which is left out. Of two data parts with the same type and
///   id, the first gets the data of the second.
///
/// # Old clients
/// Clients before version 6.0.231 refuse a chunk with an unknown key. The first version 6 knows all keys that occur
/// here, except those for values that it does not have: `toolMetadata`, `inputEncoding`, `approvalDescriptor`,
/// `inputSchemaInput`, `signature`, the metadata of a provider about a result or an unfinished input, and unknown
/// fields of data parts. Each occurs only if the message has the value.
pub fn chunks_of(message: &UiMessage) -> Vec<Chunk> {
    replay(message, StreamState::default())
}

impl Assembler {
    /// Returns chunks that lead another assembler to the state of this one, so that the rest of the stream fits
    /// behind them. Unlike those of [`chunks_of`](crate::chunks_of), they have the ids of the open texts, and leave a
    /// step open that has not ended. The same things cannot be expressed.
    ///
    /// ```
    /// use ship_message::{Assembler, Chunk};
    ///
    /// let (mut first, mut late) = (Assembler::new("", None), Assembler::new("", None));
    /// for chunk in [r#"{"type":"text-start","id":"t"}"#, r#"{"type":"text-delta","id":"t","delta":"Aye, "}"#] {
    ///     first.push(Chunk::parse(chunk)?)?;
    /// }
    /// first.chunks().into_iter().try_for_each(|chunk| late.push(chunk))?;
    ///
    /// let rest = Chunk::parse(r#"{"type":"text-delta","id":"t","delta":"aye."}"#)?;
    /// for assembler in [&mut first, &mut late] {
    ///     assembler.push(rest.clone())?;
    /// }
    /// assert_eq!(late.message(), first.message());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn chunks(&mut self) -> Vec<Chunk> {
        self.settle_all();
        let open = self.texts.iter().chain(&self.reasonings);
        let open = open.map(|(id, at)| (*at, id.as_str())).collect();
        replay(&self.message, StreamState { open, in_step: self.in_step })
    }
}

/// The state of a stream that its message does not show.
#[derive(Default)]
struct StreamState<'a> {
    /// The ids of the open texts and reasonings, by the indexes of their parts.
    open: HashMap<usize, &'a str>,
    /// Whether the last step has not ended.
    in_step: bool,
}

/// Returns chunks that lead an assembler to this message and state.
fn replay(message: &UiMessage, state: StreamState<'_>) -> Vec<Chunk> {
    let start = Chunk::Start {
        message_id: message.id().map(str::to_owned),
        message_metadata: message.metadata().cloned(),
    };
    let mut replay = Replay {
        first_open: state.open.keys().min().copied(),
        open_ids: state.open.values().copied().collect(),
        state,
        chunks: vec![start],
        results: Vec::new(),
        in_step: false,
        calls: HashSet::new(),
        texts: 0,
    };
    for (at, part) in message.parts().iter().enumerate() {
        replay.add(at, part);
    }
    replay.end()
}

struct Replay<'a> {
    state: StreamState<'a>,
    /// The index of the first open text.
    first_open: Option<usize>,
    open_ids: HashSet<&'a str>,
    chunks: Vec<Chunk>,
    /// The results of the calls of the current step, which follow at its end.
    results: Vec<Chunk>,
    in_step: bool,
    /// The ids of the calls of the current step.
    calls: HashSet<String>,
    /// The number of ids given to texts.
    texts: usize,
}

impl Replay<'_> {
    fn add(&mut self, at: usize, part: &UiPart) {
        match part {
            UiPart::StepStart(_) => self.start_step(at),
            UiPart::Text(text) => {
                let id = self.state.open.get(&at).map(|id| (*id).to_owned());
                let id = id.unwrap_or_else(|| self.free_id());
                let kind = (Chunk::TextStart as _, Chunk::TextDelta as _, Chunk::TextEnd as _);
                self.add_text(text.object(), id, kind);
            }
            UiPart::Reasoning(reasoning) => {
                let id = reasoning.object().str("id").map(str::to_owned);
                let id = id.unwrap_or_else(|| self.free_id());
                let kind = (
                    Chunk::ReasoningStart as _,
                    Chunk::ReasoningDelta as _,
                    Chunk::ReasoningEnd as _,
                );
                self.add_text(reasoning.object(), id, kind);
            }
            UiPart::Tool(tool) => self.add_tool(tool),
            UiPart::File(file) => self.add_object(file.object()),
            UiPart::SourceUrl(source) => self.add_object(source.object()),
            UiPart::SourceDocument(source) => self.add_object(source.object()),
            UiPart::Data(data) => self.add_object(data.object()),
            UiPart::Unknown(_) => {}
        }
    }

    fn start_step(&mut self, at: usize) {
        // The end of a step would close a text that is still open.
        self.end_step(self.first_open.is_none_or(|open| open > at));
        self.chunks.push(Chunk::StartStep);
        self.in_step = true;
        self.calls.clear();
    }

    fn end_step(&mut self, is_finished: bool) {
        self.chunks.append(&mut self.results);
        if self.in_step && is_finished {
            self.chunks.push(Chunk::FinishStep);
        }
    }

    fn end(mut self) -> Vec<Chunk> {
        self.end_step(!self.state.in_step && self.state.open.is_empty());
        self.chunks
    }

    /// Returns an id that no open text has.
    fn free_id(&mut self) -> String {
        loop {
            let id = self.texts.to_string();
            self.texts += 1;
            if !self.open_ids.contains(id.as_str()) {
                return id;
            }
        }
    }

    fn add_text(&mut self, object: &Object, id: String, (start, grow, end): TextChunks) {
        let chunk = || TextChunk { id: id.clone(), provider_metadata: None };
        let provider_metadata = provider_metadata(object, "providerMetadata");
        self.chunks.push(start(TextChunk { provider_metadata, ..chunk() }));
        if let Some(text) = object.get("text").and_then(Json::as_js_string)
            && !text.is_empty()
        {
            self.chunks.push(grow(chunk(), text.clone()));
        }
        if object.str("state") != Some("streaming") {
            self.chunks.push(end(chunk()));
        }
    }

    /// Adds a part that has the same fields as its chunk.
    fn add_object(&mut self, object: &Object) {
        let mut object = object.clone();
        // A transient chunk would not become a part.
        object.retain(|key, value| key != "transient" || value.as_bool() == Some(false));
        self.chunks.extend(Chunk::from_json(Json::Object(object)));
    }
}

/// The chunks for the beginning, growth and end of a text.
type TextChunks =
    (fn(TextChunk) -> Chunk, fn(TextChunk, JsString) -> Chunk, fn(TextChunk) -> Chunk);

/// Returns the metadata of a provider, unless no client would accept it.
fn provider_metadata(object: &Object, key: &str) -> Option<Json> {
    object.get(key).filter(|metadata| is_provider_metadata(metadata)).cloned()
}
