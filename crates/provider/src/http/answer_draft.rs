//! Assembles an answer; both readers use it.
//!
//! Text and reasoning are passed on at once, and each part begins with its first piece. Calls of tools are held
//! back until the answer has ended properly, because a call in half an answer may be half a call.
//! [`AnswerDraft::finish`] is their only way out.

use ship_message::json::{JsString, Json, Object};
use ship_message::{Chunk, FinishReason, TextChunk, ToolChunk};

use crate::{AnswerEnd, Usage};

/// The number of calls of one answer that can run. A model that asks for more is in a loop.
pub(crate) const RUNNABLE_CALLS_MAX: usize = 64;

/// The number of calls of one answer that are kept, so that a stream of empty ones cannot fill the memory.
pub(crate) const CALLS_MAX: usize = 1024;

/// The length above which an id is replaced. The longest id of a known provider has 64 characters.
const CALL_ID_CHARS_MAX: usize = 64;

/// The length to which a tool's name is cut. Providers take 64 or 128.
const TOOL_NAME_CHARS_MAX: usize = 128;

/// The origin of an answer.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    /// The name of the provider.
    pub(crate) provider: &'static str,
    /// The name of the model.
    pub(crate) model: String,
    /// A number that no other answer has, for ids that the provider left out.
    pub(crate) serial: u64,
}

/// The kind of a part that is being written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProseKind {
    Text,
    Reasoning,
}

/// A part that is being written. It is not announced before it has content.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) kind: ProseKind,
    id: String,
    is_begun: bool,
}

/// A call of a tool, as far as it has arrived.
#[derive(Debug, Default)]
pub(crate) struct Call {
    /// The id of the provider, if it gave one.
    pub(crate) id: String,
    /// The name of the tool.
    pub(crate) name: String,
    /// The text of the input.
    pub(crate) input: JsString,
    /// The metadata that the provider wants back with the call.
    pub(crate) metadata: Option<Json>,
}

/// An answer that is being assembled.
#[derive(Debug)]
pub(crate) struct AnswerDraft {
    origin: Origin,
    next_id: u64,
    pub(crate) usage: Option<Usage>,
    /// The field in which reasoning came, if it may be sent back in a field of that name.
    pub(crate) reasoning_field: Option<&'static str>,
}

impl AnswerDraft {
    pub(crate) fn new(origin: Origin) -> Self {
        Self { origin, next_id: 0, usage: None, reasoning_field: None }
    }

    /// Begins a part with an id that is unique within the answer.
    pub(crate) fn new_part(&mut self, kind: ProseKind) -> Part {
        let id = self.next_id.to_string();
        self.next_id += 1;
        Part { kind, id, is_begun: false }
    }

    /// Adds text to a part.
    pub(crate) fn extend_part(&self, part: &mut Part, delta: &JsString, out: &mut Vec<Chunk>) {
        if delta.is_empty() {
            return;
        }
        self.begin_part(part, out);
        let chunk = TextChunk { id: part.id.clone(), provider_metadata: None };
        let delta = without_nul(delta);
        out.push(match part.kind {
            ProseKind::Text => Chunk::TextDelta(chunk, delta),
            ProseKind::Reasoning => Chunk::ReasoningDelta(chunk, delta),
        });
    }

    /// Ends a part. An empty part leaves no trace, unless the provider wants something back.
    pub(crate) fn end_part(
        &self,
        mut part: Part,
        metadata: Option<(&'static str, Object)>,
        out: &mut Vec<Chunk>,
    ) {
        if metadata.is_some() {
            self.begin_part(&mut part, out);
        }
        if !part.is_begun {
            return;
        }
        // Metadata replaces that of the start, so it is given completely.
        let metadata = metadata.map(|own| self.reasoning_metadata(Some(own)));
        let chunk = TextChunk { id: part.id, provider_metadata: metadata };
        out.push(match part.kind {
            ProseKind::Text => Chunk::TextEnd(chunk),
            ProseKind::Reasoning => Chunk::ReasoningEnd(chunk),
        });
    }

    fn begin_part(&self, part: &mut Part, out: &mut Vec<Chunk>) {
        if std::mem::replace(&mut part.is_begun, true) {
            return;
        }
        let id = part.id.clone();
        out.push(match part.kind {
            ProseKind::Text => Chunk::TextStart(TextChunk { id, provider_metadata: None }),
            ProseKind::Reasoning => {
                let provider_metadata = Some(self.reasoning_metadata(None));
                Chunk::ReasoningStart(TextChunk { id, provider_metadata })
            }
        });
    }

    /// Returns metadata with the author of the reasoning: only the model that wrote it may get it back.
    fn reasoning_metadata(&self, own: Option<(&'static str, Object)>) -> Json {
        let mut whose =
            Object::from([("provider", self.origin.provider), ("model", &self.origin.model)]);
        if let Some(field) = self.reasoning_field {
            whose.set("field", field);
        }
        let mut metadata = Object::new();
        if let Some((provider, own)) = own {
            metadata.set(provider, own);
        }
        metadata.set("ship", whose);
        metadata.into()
    }

    /// Ends an answer that has ended properly: passes on the calls, those that can run as runnable.
    pub(crate) fn finish(
        &self,
        reason: FinishReason,
        calls: Vec<Call>,
        out: &mut Vec<Chunk>,
    ) -> AnswerEnd {
        let cut = match reason {
            FinishReason::Length => Some(CUT_BY_LENGTH),
            FinishReason::ContentFilter => Some(CUT_BY_FILTER),
            FinishReason::Stop
            | FinishReason::ToolCalls
            | FinishReason::Error
            | FinishReason::Other => None,
        };
        // Some providers say `stop` although there are calls, and some `tool_calls` although there are none.
        let finish_reason = match (cut, calls.is_empty(), reason) {
            (Some(_), _, _) => reason,
            (None, false, _) => FinishReason::ToolCalls,
            (None, true, FinishReason::ToolCalls) => FinishReason::Stop,
            (None, true, _) => reason,
        };
        let mut ids = std::collections::HashSet::new();
        for (at, mut call) in calls.into_iter().enumerate() {
            // The results of two calls with one id could not be told apart.
            if !is_good_id(&call.id) || ids.contains(&call.id) {
                call.id = format!("call_{:016x}_{at}", self.origin.serial);
            }
            ids.insert(call.id.clone());
            out.push(call.into_chunk(at, cut));
        }
        AnswerEnd { finish_reason, usage: self.usage }
    }
}

const CUT_BY_LENGTH: &str = "The answer was cut off by the limit on its length, so its calls may be incomplete and none of them was run. Make the call again, with less text before it or a shorter input.";
const CUT_BY_FILTER: &str =
    "The provider cut the answer off, so its calls may be incomplete and none of them was run.";

impl Call {
    /// Returns the chunk of the call, or of the error why it cannot run.
    fn into_chunk(self, at: usize, cut: Option<&str>) -> Chunk {
        let read = read_input(&self.input);
        let problem = match &read {
            _ if cut.is_some() => cut.map(str::to_owned),
            _ if at >= RUNNABLE_CALLS_MAX => Some(format!(
                "Only the first {RUNNABLE_CALLS_MAX} calls of an answer are run; this was call {}. Make it again, with fewer at once.",
                at + 1
            )),
            _ if self.name.trim().is_empty() => {
                Some("The call names no tool. Make it again with the tool's name.".to_owned())
            }
            Err(problem) => Some(problem.clone()),
            Ok(_) => None,
        };
        let tool = ToolChunk {
            call_id: self.id,
            provider_metadata: self.metadata,
            ..ToolChunk::default()
        };
        let tool_name = readable_name(&self.name);
        // An input that could not be parsed is kept as it came.
        let input = read.unwrap_or_else(|_| without_nul(&self.input).into());
        match problem {
            None => Chunk::ToolInputAvailable { tool, tool_name, input },
            Some(error_text) => Chunk::ToolInputError { tool, tool_name, input, error_text },
        }
    }
}

/// Parses the text of an input. An empty text or `null` means that there is none.
fn read_input(text: &str) -> Result<Json, String> {
    if text.trim().is_empty() {
        return Ok(Object::new().into());
    }
    match Json::parse(text.trim()) {
        Ok(Json::Null) => Ok(Object::new().into()),
        Ok(object @ Json::Object(_)) => Ok(object),
        Ok(_) => Err(
            "The input of the call is JSON, but not an object. Make the call again with a JSON object."
                .to_owned(),
        ),
        Err(error) => Err(format!(
            "The input of the call is {error}. Make the call again with a complete JSON object."
        )),
    }
}

/// Whether an id can be stored, shown and sent back. Any other is replaced: an id only pairs a call with its
/// result, and we send both.
fn is_good_id(id: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_graphic() && !"<>&\"'`\\".contains(c);
    !id.is_empty() && id.len() <= CALL_ID_CHARS_MAX && id.chars().all(is_plain)
}

/// Returns a name that can be stored and shown; the agent decides whether such a tool exists.
fn readable_name(name: &str) -> String {
    let name = name.trim();
    if name.is_empty() {
        return "unnamed".to_owned();
    }
    let readable = |c: char| if c.is_control() { '\u{FFFD}' } else { c };
    name.chars().take(TOOL_NAME_CHARS_MAX).map(readable).collect()
}

/// Replaces U+0000, which databases refuse and no answer means.
fn without_nul(text: &JsString) -> JsString {
    if text.contains('\0') { text.replace('\0', "\u{FFFD}").into() } else { text.clone() }
}
