//! Tool calls in a stream.

use super::{AssembleError, Assembler, is_output};
use crate::chunk::{Chunk, InputEncoding, ToolChunk};
use crate::json::{JsString, Json, Object};
use crate::partial::parse_partial;
use crate::ui::{PartFields, ToolPart, ToolState, UiPart};

/// The input of a call while the model writes it.
#[derive(Debug)]
pub(super) struct Partial {
    text: JsString,
    input_encoding: Option<InputEncoding>,
    tool_name: String,
    dynamic: bool,
    title: Option<String>,
    tool_metadata: Option<Json>,
    /// The place of the part whose `input` is behind the text, if it is.
    behind: Option<usize>,
    /// Whether the part shows the text. A dynamic part that a delta made does so only from the next on.
    shows_text: bool,
}

/// What a chunk makes of a tool part.
struct Update {
    state: ToolState,
    tool_name: String,
    input: Option<Json>,
    output: Option<Json>,
    error_text: Option<String>,
    raw_input: Option<Json>,
    input_encoding: Option<InputEncoding>,
    preliminary: Option<bool>,
    chunk: ToolChunk,
}

impl Update {
    fn new(state: ToolState, tool_name: String, chunk: ToolChunk) -> Self {
        Self {
            state,
            tool_name,
            chunk,
            input: None,
            output: None,
            error_text: None,
            raw_input: None,
            input_encoding: None,
            preliminary: None,
        }
    }
}

impl Assembler {
    /// A message that is continued may have calls whose input has not arrived whole.
    pub(super) fn resume_partials(&mut self) {
        for part in &self.message.parts()[self.step_start..] {
            let UiPart::Tool(tool) = part else { continue };
            if tool.state() != ToolState::InputStreaming {
                continue;
            }
            let object = tool.object();
            let encoding = match object.str("inputEncoding") {
                Some("text") => Some(InputEncoding::Text),
                Some("json") => Some(InputEncoding::Json),
                _ => None,
            };
            let partial = Partial {
                text: object
                    .get("rawInput")
                    .and_then(Json::as_js_string)
                    .cloned()
                    .unwrap_or_default(),
                input_encoding: encoding,
                tool_name: tool.name().unwrap_or_default().to_owned(),
                dynamic: tool.is_dynamic(),
                title: object.str("title").map(str::to_owned),
                tool_metadata: object.get("toolMetadata").cloned(),
                behind: None,
                shows_text: true,
            };
            self.partials.insert(tool.call_id().to_owned(), partial);
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
                let mut update = Update::new(ToolState::InputAvailable, tool_name, tool);
                update.input = Some(input);
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
                    // Only a static part keeps the text that was not understood.
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
            _ => {}
        }
        Ok(())
    }

    fn start_input(
        &mut self,
        tool: ToolChunk,
        tool_name: String,
        input_encoding: Option<InputEncoding>,
    ) {
        // Should the call have begun before, its part must show what came in until now.
        self.settle_inputs();
        let dynamic = tool.dynamic == Some(true);
        let partial = Partial {
            text: JsString::default(),
            input_encoding,
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
        // The first delta since somebody looked brings the part to its state; the input follows when
        // somebody looks again.
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
        update.input_encoding = partial.input_encoding;
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

    /// Brings every input up to the text that has arrived.
    pub(super) fn settle_inputs(&mut self) {
        for call_id in std::mem::take(&mut self.behind) {
            let Some(partial) = self.partials.get_mut(&call_id) else { continue };
            let Some(at) = partial.behind.take() else { continue };
            let Some(UiPart::Tool(tool)) = self.message.parts_mut().get_mut(at) else { continue };
            let input = match partial.input_encoding {
                Some(InputEncoding::Text) => Some(Json::from(partial.text.clone())),
                Some(InputEncoding::Json) | None => parse_partial(&partial.text),
            };
            tool.object_mut().set_or_remove("input", input);
            if partial.shows_text {
                tool.object_mut().set("rawInput", partial.text.clone());
            }
        }
    }

    fn fail_input(&mut self, tool: ToolChunk, tool_name: String, input: Json, error_text: String) {
        // A part that is there already keeps its kind, whatever the chunk says.
        let dynamic = match self.call_in_step(&tool.call_id, |_| true) {
            Some(at) => {
                matches!(&self.message.parts()[at], UiPart::Tool(part) if part.is_dynamic())
            }
            None => tool.dynamic == Some(true),
        };
        // The title of such a chunk is not taken over.
        let tool = ToolChunk { title: None, ..tool };
        let mut update = Update::new(ToolState::OutputError, tool_name, tool);
        update.error_text = Some(error_text);
        if dynamic {
            update.input = Some(input);
        } else {
            update.raw_input = Some(input);
        }
        self.update_in_step(dynamic, update);
    }

    /// The first part of a call in the current step that is as wanted.
    fn call_in_step(&self, call_id: &str, wanted: impl Fn(&ToolPart) -> bool) -> Option<usize> {
        let places = self.calls.get(call_id)?;
        let here = &places[places.partition_point(|&at| at < self.step_start)..];
        let fits =
            |at: &usize| matches!(&self.message.parts()[*at], UiPart::Tool(tool) if wanted(tool));
        here.iter().copied().find(fits)
    }

    /// The place of a call: in the current step, else the latest before it.
    fn find_call(&mut self, call_id: &str) -> Result<usize, AssembleError> {
        self.settle_inputs();
        self.call_in_step(call_id, |_| true)
            .or_else(|| self.calls.get(call_id)?.last().copied())
            .ok_or_else(|| AssembleError::NoCall(call_id.to_owned()))
    }

    fn call_object(&mut self, call_id: &str) -> Result<&mut Object, AssembleError> {
        let at = self.find_call(call_id)?;
        match &mut self.message.parts_mut()[at] {
            UiPart::Tool(tool) => Ok(tool.object_mut()),
            _ => Err(AssembleError::NoCall(call_id.to_owned())),
        }
    }

    /// Gives a call its result, wherever in the message the call is.
    fn answer(
        &mut self,
        chunk: ToolChunk,
        fill: impl FnOnce(&mut Update, &ToolPart),
    ) -> Result<(), AssembleError> {
        let at = self.find_call(&chunk.call_id)?;
        let UiPart::Tool(part) = &mut self.message.parts_mut()[at] else { return Ok(()) };
        let name = part.name().unwrap_or_default().to_owned();
        let mut update = Update::new(ToolState::OutputAvailable, name, chunk);
        update.input = part.input().cloned();
        fill(&mut update, part);
        apply(part, update);
        Ok(())
    }

    /// Updates the call of that kind in the current step, or adds it. Returns its place.
    fn update_in_step(&mut self, dynamic: bool, update: Update) -> usize {
        self.settle_inputs();
        match self.call_in_step(&update.chunk.call_id, |tool| tool.is_dynamic() == dynamic) {
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
        object.set("toolName", tool_name);
    } else {
        object.set("type", format!("tool-{tool_name}"));
    }
    object.set("toolCallId", chunk.call_id);
    object.set("state", state.name().unwrap_or_default());
    object.set_or_remove("title", chunk.title.map(Json::from));
    object.set_or_remove("toolMetadata", chunk.tool_metadata);
    object.set_or_remove("input", update.input);
    object.set_or_remove("inputEncoding", update.input_encoding.map(encoding_name));
    object.set_or_remove("output", update.output);
    // A dynamic part is not told the text that was not understood; its input is that text.
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
        object.set("toolName", tool_name);
    } else {
        object.set("type", format!("tool-{tool_name}"));
    }
    object.set_or_remove("input", update.input);
    object.set_or_remove("output", update.output);
    object.set_or_remove("errorText", update.error_text.map(Json::from));
    object.set_or_remove("rawInput", update.raw_input);
    object.set_or_remove("inputEncoding", update.input_encoding.map(encoding_name));
    object.set_or_remove("preliminary", update.preliminary.map(Json::from));
    // These three stay once they are set.
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

fn metadata_key(state: ToolState) -> &'static str {
    if is_output(state) { "resultProviderMetadata" } else { "callProviderMetadata" }
}

fn encoding_name(encoding: InputEncoding) -> Json {
    Json::from(match encoding {
        InputEncoding::Json => "json",
        InputEncoding::Text => "text",
    })
}
