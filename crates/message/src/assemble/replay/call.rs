//! Makes the chunks of a tool call.

use super::{Replay, provider_metadata};
use crate::assemble::is_output;
use crate::chunk::{Chunk, InputEncoding, ToolChunk};
use crate::json::{JsString, Json, Object};
use crate::partial::parse_partial;
use crate::ui::{PartFields, ToolPart, ToolState};
use crate::validate::is_record;

impl Replay<'_> {
    /// Adds a call: its input, the request for its approval, and its result at the end of the step.
    pub(super) fn add_tool(&mut self, part: &ToolPart) {
        let Some(call) = ReplayedCall::of(part) else { return };
        // A second part with this id could not be told from the first.
        if !self.calls.insert(call.id.clone()) {
            return;
        }
        self.chunks.extend(call.input_chunks());
        match call.result_chunk() {
            // A state that is not the result's came after it.
            result if !is_output(call.state) => {
                self.chunks.extend(result);
                self.chunks.extend(call.approval_request());
                self.results.extend(call.denial());
            }
            // Bad input stands in the place of the input.
            Some(result @ Chunk::ToolInputError { .. }) => {
                self.chunks.extend(call.approval_request());
                self.chunks.push(result);
            }
            result => {
                self.chunks.extend(call.approval_request());
                self.results.extend(result);
            }
        }
    }
}

/// A call with the fields that every chunk about it needs.
struct ReplayedCall<'a> {
    object: &'a Object,
    state: ToolState,
    /// The state without approval: how far input and result have come.
    progress: ToolState,
    id: String,
    name: String,
    is_dynamic: bool,
}

impl<'a> ReplayedCall<'a> {
    fn of(part: &'a ToolPart) -> Option<Self> {
        let object = part.object();
        Some(Self {
            object,
            state: part.state(),
            progress: progress(part),
            id: object.str("toolCallId")?.to_owned(),
            name: part.name()?.to_owned(),
            is_dynamic: part.is_dynamic(),
        })
    }

    /// Returns the chunks that make the part and its input.
    fn input_chunks(&self) -> Vec<Chunk> {
        if let Some((text, encoding)) = self.partial_input() {
            let call_id = self.id.clone();
            return vec![self.start(encoding), Chunk::ToolInputDelta { call_id, delta: text }];
        }
        if self.bad_input().is_some() {
            // The chunk about the bad input has neither title nor metadata of the call.
            let tool = self.tool_chunk();
            let needs_start = tool.title.is_some()
                || tool.provider_metadata.is_some()
                || self.approval_request().is_some();
            return if needs_start { vec![self.start(None)] } else { Vec::new() };
        }
        let has_failed = self.progress == ToolState::OutputError;
        let raw_input = self.object.get("rawInput").filter(|_| has_failed);
        match self.object.get("input").or(raw_input).cloned() {
            None if self.progress != ToolState::InputAvailable => {
                vec![self.start(self.encoding())]
            }
            input => vec![Chunk::ToolInputAvailable {
                tool: self.tool_chunk(),
                tool_name: self.name.clone(),
                input: input.unwrap_or_default(),
            }],
        }
    }

    /// Returns the text of an input that the model has not completed, and its encoding.
    fn partial_input(&self) -> Option<(JsString, Option<InputEncoding>)> {
        let input = self.object.get("input");
        let text = self.object.get("rawInput").and_then(Json::as_js_string);
        match (self.progress, text, input) {
            (ToolState::InputStreaming, Some(text), _) => Some((text.clone(), self.encoding())),
            (ToolState::InputStreaming, None, Some(input)) => {
                let is_text = self.encoding() == Some(InputEncoding::Text);
                let text = input.as_js_string().filter(|_| is_text).cloned();
                Some((text.unwrap_or_else(|| input.stringify().into()), self.encoding()))
            }
            // The call failed while the model wrote the input, which stays beside its text.
            (ToolState::OutputError, Some(text), Some(input)) if !self.is_dynamic => {
                if input.as_js_string() == Some(text) {
                    Some((text.clone(), Some(InputEncoding::Text)))
                } else {
                    let is_parsed = parse_partial(text).as_ref() == Some(input);
                    is_parsed.then(|| (text.clone(), None))
                }
            }
            _ => None,
        }
    }

    /// Returns the input that could not be used, if the part has no other.
    fn bad_input(&self) -> Option<&Json> {
        let has_failed = self.progress == ToolState::OutputError;
        let has_input = self.is_dynamic || self.object.has("input");
        self.object.get("rawInput").filter(|_| has_failed && !has_input)
    }

    /// Returns the request for approval, unless the person has approved the call.
    fn approval_request(&self) -> Option<Chunk> {
        if matches!(self.state, ToolState::InputStreaming | ToolState::InputAvailable) {
            return None;
        }
        let approval = self.object.get("approval")?.as_object()?;
        if approval.get("approved").and_then(Json::as_bool) == Some(true) {
            return None;
        }
        Some(Chunk::ToolApprovalRequest {
            call_id: self.id.clone(),
            approval_id: approval.str("id")?.to_owned(),
            descriptor: approval.get("descriptor").filter(|value| !value.is_null()).cloned(),
            input_schema_input: approval.get("inputSchemaInput").cloned(),
            signature: approval.str("signature").map(str::to_owned),
        })
    }

    /// Returns the chunk that makes the call a denied one. The stream has none for the answer of the person, so
    /// this one stands for a denial, too.
    fn denial(&self) -> Option<Chunk> {
        let is_denied = self.state == ToolState::OutputDenied
            || self.state == ToolState::ApprovalResponded && self.approval_request().is_some();
        is_denied.then(|| Chunk::ToolOutputDenied { call_id: self.id.clone() })
    }

    fn result_chunk(&self) -> Option<Chunk> {
        let tool = ToolChunk {
            call_id: self.id.clone(),
            provider_metadata: provider_metadata(self.object, "resultProviderMetadata"),
            ..ToolChunk::default()
        };
        if self.progress == ToolState::OutputAvailable {
            return Some(Chunk::ToolOutputAvailable {
                tool,
                output: self.object.get("output").cloned().unwrap_or_default(),
                preliminary: self.object.get("preliminary").and_then(Json::as_bool),
            });
        }
        if self.progress != ToolState::OutputError {
            return None;
        }
        let error_text = self.object.str("errorText").unwrap_or_default().to_owned();
        Some(match self.bad_input().cloned() {
            None => Chunk::ToolOutputError { tool, error_text },
            Some(input) => {
                let provider_metadata = tool.provider_metadata;
                let tool = ToolChunk { provider_metadata, title: None, ..self.tool_chunk() };
                Chunk::ToolInputError { tool, tool_name: self.name.clone(), input, error_text }
            }
        })
    }

    fn start(&self, input_encoding: Option<InputEncoding>) -> Chunk {
        let tool_name = self.name.clone();
        Chunk::ToolInputStart { tool: self.tool_chunk(), tool_name, input_encoding }
    }

    /// Returns the fields of the call that a chunk about its input carries.
    fn tool_chunk(&self) -> ToolChunk {
        ToolChunk {
            call_id: self.id.clone(),
            provider_executed: self.object.get("providerExecuted").and_then(Json::as_bool),
            provider_metadata: provider_metadata(self.object, "callProviderMetadata"),
            tool_metadata: self.object.get("toolMetadata").filter(|data| is_record(data)).cloned(),
            dynamic: self.is_dynamic.then_some(true),
            title: self.object.str("title").map(str::to_owned),
        }
    }

    fn encoding(&self) -> Option<InputEncoding> {
        self.object.str("inputEncoding").and_then(InputEncoding::named)
    }
}

/// Returns how far input and result have come. A request for approval and a denial replace that state, and
/// leave the fields.
fn progress(part: &ToolPart) -> ToolState {
    let has = |key| part.field(key).is_some();
    match part.state() {
        state @ (ToolState::InputStreaming
        | ToolState::InputAvailable
        | ToolState::OutputAvailable
        | ToolState::OutputError) => state,
        ToolState::ApprovalRequested
        | ToolState::ApprovalResponded
        | ToolState::OutputDenied
        | ToolState::Unknown => {
            if has("errorText") {
                ToolState::OutputError
            } else if has("output") {
                ToolState::OutputAvailable
            } else if has("rawInput") || !has("input") {
                ToolState::InputStreaming
            } else {
                ToolState::InputAvailable
            }
        }
    }
}
