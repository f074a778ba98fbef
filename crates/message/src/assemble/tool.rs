//! Assembles the tool calls of a stream.

use super::{AssembleError, Assembler, is_output};
use crate::chunk::{Chunk, InputEncoding, ToolChunk};
use crate::convert::to_string;
use crate::json::{JsString, Json, Object};
use crate::partial::parse_partial;
use crate::ui::{PartFields, ToolPart, ToolState, UiPart};

/// The indexes of the parts with one call id, static and dynamic ones apart, each in order.
#[derive(Debug, Default)]
pub(super) struct CallParts([Vec<usize>; 2]);

impl CallParts {
    pub(super) fn add(&mut self, at: usize, dynamic: bool) {
        self.0[usize::from(dynamic)].push(at);
    }

    /// Returns the first part of a kind from `start` on.
    fn first_from(&self, start: usize, dynamic: bool) -> Option<usize> {
        let places = &self.0[usize::from(dynamic)];
        places.get(places.partition_point(|&at| at < start)).copied()
    }

    /// Returns the last part of either kind.
    fn last(&self) -> Option<usize> {
        self.0.iter().filter_map(|places| places.last().copied()).max()
    }
}

/// The input of a call while the model writes it.
#[derive(Debug)]
pub(super) struct Partial {
    text: JsString,
    /// `json`, `text`, or the value in a message that is continued.
    input_encoding: Option<Json>,
    tool_name: Option<Json>,
    dynamic: bool,
    title: Option<String>,
    tool_metadata: Option<Json>,
    /// The index of the part whose `input` lacks the newest text, if there is one.
    behind: Option<usize>,
    /// Whether the part shows the text. A dynamic part that a delta created does so only from the next delta on.
    shows_text: bool,
}

/// The changes that a chunk makes to a tool part.
struct Update {
    state: ToolState,
    tool_name: Option<Json>,
    input: InputUpdate,
    output: Option<Json>,
    error_text: Option<String>,
    raw_input: Option<Json>,
    input_encoding: Option<Json>,
    preliminary: Option<bool>,
    chunk: ToolChunk,
}

/// The change to a part's input.
enum InputUpdate {
    None,
    Is(Json),
    /// The input stays, without being copied.
    Stays,
}

impl Update {
    fn new(state: ToolState, tool_name: Option<Json>, chunk: ToolChunk) -> Self {
        Self {
            state,
            tool_name,
            chunk,
            input: InputUpdate::None,
            output: None,
            error_text: None,
            raw_input: None,
            input_encoding: None,
            preliminary: None,
        }
    }
}

impl Assembler {
    /// Resumes the calls of a continued message whose input has not arrived completely.
    pub(super) fn resume_partials(&mut self) {
        for part in &self.message.parts()[self.step_start..] {
            let UiPart::Tool(tool) = part else { continue };
            if tool.state() != ToolState::InputStreaming {
                continue;
            }
            let object = tool.object();
            let raw = object.get("rawInput").filter(|raw| !raw.is_null());
            let partial = Partial {
                text: match raw {
                    Some(Json::String(text)) => text.clone(),
                    Some(other) => to_string(Some(other)).unwrap_or_default().into(),
                    None => JsString::default(),
                },
                input_encoding: object.get("inputEncoding").cloned(),
                tool_name: name_of(tool),
                dynamic: tool.is_dynamic(),
                title: object.str("title").map(str::to_owned),
                tool_metadata: object.get("toolMetadata").cloned(),
                behind: None,
                shows_text: true,
            };
            let call_id = to_string(object.get("toolCallId")).unwrap_or_default();
            self.partials.insert(call_id, partial);
        }
    }

    pub(super) fn push_tool(&mut self, chunk: Chunk) -> Result<(), AssembleError> {
        match chunk {
            Chunk::ToolInputStart { tool, tool_name, input_encoding } => {
                self.start_input(tool, tool_name, input_encoding);
            }
            Chunk::ToolInputDelta { call_id, delta } => self.grow_input(call_id, &delta)?,
            Chunk::ToolInputAvailable { tool, tool_name, input } => {
                let dynamic = tool.dynamic == Some(true);
                let mut update =
                    Update::new(ToolState::InputAvailable, Some(tool_name.into()), tool);
                update.input = InputUpdate::Is(input);
                self.update_in_step(dynamic, update);
            }
            Chunk::ToolInputError { tool, tool_name, input, error_text } => {
                self.fail_input(tool, tool_name, input, error_text);
            }
            Chunk::ToolOutputAvailable { tool, output, preliminary } => {
                self.answer(tool, |update, _| {
                    update.state = ToolState::OutputAvailable;
                    update.output = Some(output);
                    update.preliminary = preliminary;
                })?;
            }
            Chunk::ToolOutputError { tool, error_text } => {
                self.answer(tool, |update, part| {
                    update.state = ToolState::OutputError;
                    update.error_text = Some(error_text);
                    // Only a static part keeps the text that could not be parsed.
                    update.raw_input =
                        part.field("rawInput").filter(|_| !part.is_dynamic()).cloned();
                })?;
            }
            Chunk::ToolOutputDenied { call_id } => {
                self.call_object(&call_id)?.set("state", "output-denied");
            }
            Chunk::ToolApprovalRequest {
                call_id,
                approval_id,
                descriptor,
                input_schema_input,
                signature,
            } => {
                let mut approval = Object::from([("id", approval_id)]);
                approval.set_or_remove("descriptor", descriptor.filter(|d| !d.is_null()));
                approval.set_or_remove("inputSchemaInput", input_schema_input);
                approval.set_or_remove("signature", signature.map(Json::from));
                let object = self.call_object(&call_id)?;
                object.set("state", "approval-requested");
                object.set("approval", approval);
            }
            Chunk::Start { .. }
            | Chunk::StartStep
            | Chunk::TextStart(_)
            | Chunk::TextDelta(..)
            | Chunk::TextEnd(_)
            | Chunk::ReasoningStart(_)
            | Chunk::ReasoningDelta(..)
            | Chunk::ReasoningEnd(_)
            | Chunk::SourceUrl { .. }
            | Chunk::SourceDocument { .. }
            | Chunk::File { .. }
            | Chunk::Data(_)
            | Chunk::MessageMetadata(_)
            | Chunk::FinishStep
            | Chunk::Finish { .. }
            | Chunk::Abort { .. }
            | Chunk::Error { .. } => {}
        }
        Ok(())
    }

    fn start_input(
        &mut self,
        tool: ToolChunk,
        tool_name: String,
        input_encoding: Option<InputEncoding>,
    ) {
        // If the call has begun before, its part must first show the text received until now.
        self.settle(&tool.call_id);
        let dynamic = tool.dynamic == Some(true);
        let input_encoding = input_encoding.map(|encoding| Json::from(encoding.name()));
        let tool_name = Some(Json::from(tool_name));
        let partial = Partial {
            text: JsString::default(),
            input_encoding: input_encoding.clone(),
            tool_name: tool_name.clone(),
            dynamic,
            title: tool.title.clone(),
            tool_metadata: tool.tool_metadata.clone(),
            behind: None,
            shows_text: true,
        };
        self.partials.insert(tool.call_id.clone(), partial);
        let mut update = Update::new(ToolState::InputStreaming, tool_name, tool);
        update.input_encoding = input_encoding;
        self.update_in_step(dynamic, update);
    }

    fn grow_input(&mut self, call_id: String, delta: &JsString) -> Result<(), AssembleError> {
        let Some(partial) = self.partials.get_mut(&call_id) else {
            return Err(AssembleError::NotOpen {
                chunk: "tool-input-delta",
                what: "tool call",
                id: call_id,
            });
        };
        partial.text.push(delta);
        if partial.behind.is_some() {
            partial.shows_text = true;
            return Ok(());
        }
        // The first delta after a read brings the part to its state; the input follows at the next read.
        let mut update = Update::new(
            ToolState::InputStreaming,
            partial.tool_name.clone(),
            ToolChunk {
                call_id: call_id.clone(),
                title: partial.title.clone(),
                tool_metadata: partial.tool_metadata.clone(),
                ..ToolChunk::default()
            },
        );
        update.input_encoding = partial.input_encoding.clone();
        let dynamic = partial.dynamic;
        let parts = self.next_place();
        let at = self.update_in_step(dynamic, update);
        if let Some(partial) = self.partials.get_mut(&call_id) {
            let is_new = at == parts;
            partial.shows_text = !(is_new && dynamic);
            partial.behind = Some(at);
            self.behind.push(call_id);
        }
        Ok(())
    }

    /// Brings every input up to the text received so far.
    pub(super) fn settle_all(&mut self) {
        for call_id in std::mem::take(&mut self.behind) {
            self.settle(&call_id);
        }
    }

    /// Brings the input of one call up to the text received so far.
    fn settle(&mut self, call_id: &str) {
        let Some(partial) = self.partials.get_mut(call_id) else { return };
        let Some(at) = partial.behind.take() else { return };
        let Some(UiPart::Tool(tool)) = self.message.parts_mut().get_mut(at) else { return };
        let is_text = partial.input_encoding.as_ref().and_then(Json::as_str) == Some("text");
        let input =
            if is_text { Some(partial.text.clone().into()) } else { parse_partial(&partial.text) };
        tool.object_mut().set_or_remove("input", input);
        if partial.shows_text {
            tool.object_mut().set("rawInput", partial.text.clone());
        }
    }

    fn fail_input(&mut self, tool: ToolChunk, tool_name: String, input: Json, error_text: String) {
        // An existing part keeps its kind, even if the chunk says otherwise.
        let here = [false, true].map(|dynamic| self.call_in_step(&tool.call_id, dynamic));
        let dynamic = match here {
            // Of both kinds, the first in the step counts.
            [Some(one), Some(other)] => other < one,
            [Some(_), None] => false,
            [None, Some(_)] => true,
            [None, None] => tool.dynamic == Some(true),
        };
        // The AI SDK ignores the title of such a chunk.
        let tool = ToolChunk { title: None, ..tool };
        let mut update = Update::new(ToolState::OutputError, Some(tool_name.into()), tool);
        update.error_text = Some(error_text);
        if dynamic {
            update.input = InputUpdate::Is(input);
        } else {
            update.raw_input = Some(input);
        }
        self.update_in_step(dynamic, update);
    }

    /// Returns the first part of a call and kind in the current step.
    fn call_in_step(&self, call_id: &str, dynamic: bool) -> Option<usize> {
        self.calls.get(call_id)?.first_from(self.step_start, dynamic)
    }

    /// Returns the index of a call: in the current step, or else the latest before it.
    fn find_call(&mut self, call_id: &str) -> Result<usize, AssembleError> {
        self.settle(call_id);
        let here = [false, true].into_iter().filter_map(|kind| self.call_in_step(call_id, kind));
        here.min()
            .or_else(|| self.calls.get(call_id)?.last())
            .ok_or_else(|| AssembleError::NoCall(call_id.to_owned()))
    }

    fn call_object(&mut self, call_id: &str) -> Result<&mut Object, AssembleError> {
        let at = self.find_call(call_id)?;
        if let UiPart::Tool(tool) = &mut self.message.parts_mut()[at] {
            Ok(tool.object_mut())
        } else {
            Err(AssembleError::NoCall(call_id.to_owned()))
        }
    }

    /// Gives a call its result, in any step of the message.
    fn answer(
        &mut self,
        chunk: ToolChunk,
        fill: impl FnOnce(&mut Update, &ToolPart),
    ) -> Result<(), AssembleError> {
        let at = self.find_call(&chunk.call_id)?;
        let UiPart::Tool(part) = &mut self.message.parts_mut()[at] else { return Ok(()) };
        let mut update = Update::new(ToolState::OutputAvailable, name_of(part), chunk);
        update.input = InputUpdate::Stays;
        fill(&mut update, part);
        apply(part, update);
        Ok(())
    }

    /// Updates the call of this kind in the current step, or adds it. Returns its index.
    fn update_in_step(&mut self, dynamic: bool, update: Update) -> usize {
        self.settle(&update.chunk.call_id);
        match self.call_in_step(&update.chunk.call_id, dynamic) {
            Some(at) => {
                if let UiPart::Tool(part) = &mut self.message.parts_mut()[at] {
                    apply(part, update);
                }
                at
            }
            None => {
                self.add(UiPart::Tool(new_part(dynamic, update)));
                self.next_place() - 1
            }
        }
    }
}

fn new_part(dynamic: bool, update: Update) -> ToolPart {
    let Update { state, tool_name, chunk, .. } = update;
    let mut object = Object::new();
    if dynamic {
        object.set("type", "dynamic-tool");
        object.set_or_remove("toolName", tool_name);
    } else {
        object.set("type", static_type(tool_name));
    }
    object.set("toolCallId", chunk.call_id);
    object.set("state", state.name().unwrap_or_default());
    object.set_or_remove("title", chunk.title.map(Json::from));
    object.set_or_remove("toolMetadata", chunk.tool_metadata);
    if let InputUpdate::Is(input) = update.input {
        object.set("input", input);
    }
    object.set_or_remove("inputEncoding", update.input_encoding);
    object.set_or_remove("output", update.output);
    // A dynamic part has no `rawInput`, because its input is already that text.
    object.set_or_remove("rawInput", update.raw_input.filter(|_| !dynamic));
    object.set_or_remove("errorText", update.error_text.map(Json::from));
    object.set_or_remove("providerExecuted", chunk.provider_executed.map(Json::from));
    object.set_or_remove("preliminary", update.preliminary.map(Json::from));
    object.set_or_remove(metadata_key(state), chunk.provider_metadata);
    ToolPart::from_object(object)
}

fn apply(part: &mut ToolPart, update: Update) {
    let dynamic = part.is_dynamic();
    let Update { state, tool_name, chunk, .. } = update;
    let object = part.object_mut();
    object.set("state", state.name().unwrap_or_default());
    if dynamic {
        object.set_or_remove("toolName", tool_name);
    } else {
        object.set("type", static_type(tool_name));
    }
    // The client assigns all of these fields at each chunk, and JSON leaves out those that are undefined.
    match update.input {
        InputUpdate::None => drop(object.remove("input")),
        InputUpdate::Is(input) => object.set("input", input),
        InputUpdate::Stays => {}
    }
    object.set_or_remove("output", update.output);
    object.set_or_remove("errorText", update.error_text.map(Json::from));
    object.set_or_remove("rawInput", update.raw_input);
    object.set_or_remove("inputEncoding", update.input_encoding.filter(|e| !e.is_null()));
    object.set_or_remove("preliminary", update.preliminary.map(Json::from));
    // These three fields stay once they are set.
    for (key, value) in [
        ("title", chunk.title.map(Json::from)),
        ("toolMetadata", chunk.tool_metadata),
        ("providerExecuted", chunk.provider_executed.map(Json::from)),
    ] {
        if let Some(value) = value {
            object.set(key, value);
        }
    }
    if let Some(metadata) = chunk.provider_metadata {
        object.set(metadata_key(state), metadata);
    }
}

/// Returns the name of a part's tool in the form that the part has.
fn name_of(tool: &ToolPart) -> Option<Json> {
    if tool.is_dynamic() { tool.field("toolName").cloned() } else { tool.name().map(Json::from) }
}

fn static_type(tool_name: Option<Json>) -> String {
    format!("tool-{}", tool_name.as_ref().and_then(Json::as_str).unwrap_or_default())
}

fn metadata_key(state: ToolState) -> &'static str {
    if is_output(state) { "resultProviderMetadata" } else { "callProviderMetadata" }
}
