//! A tool call in a message, from the first letter of its input to its result.

use super::PartFields;
use crate::json::{Json, Object};

/// The error of an interrupted call. Logs, requests and providers get the same words.
pub const INTERRUPTED_CALL: &str = "interrupted, outcome unknown";

/// The progress of a tool call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolState {
    /// `input-streaming`: the model is writing the input.
    InputStreaming,
    /// `input-available`: the input is complete; the tool has not answered.
    InputAvailable,
    /// `approval-requested`: a person must allow the call first.
    ApprovalRequested,
    /// `approval-responded`: the person has answered; the tool has not.
    ApprovalResponded,
    /// `output-available`: the tool has answered.
    OutputAvailable,
    /// `output-error`: the tool has failed.
    OutputError,
    /// `output-denied`: the person has denied the call.
    OutputDenied,
    /// The state is missing or unknown to this program.
    Unknown,
}

names!(ToolState {
    InputStreaming = "input-streaming",
    InputAvailable = "input-available",
    ApprovalRequested = "approval-requested",
    ApprovalResponded = "approval-responded",
    OutputAvailable = "output-available",
    OutputError = "output-error",
    OutputDenied = "output-denied",
} else Unknown);

impl ToolState {
    /// Whether the call is over and its state final.
    pub fn is_terminal(self) -> bool {
        matches!(self, Self::OutputAvailable | Self::OutputError | Self::OutputDenied)
    }
}

/// A tool call with its result: `tool-<name>`, or `dynamic-tool` with a `toolName`.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolPart {
    object: Object,
    dynamic: bool,
}

impl ToolPart {
    /// Makes a call of a tool with a complete input.
    pub fn new(name: &str, call_id: impl Into<String>, input: Json) -> Self {
        Self::from_object(Object::from([
            ("type", Json::from(format!("tool-{name}"))),
            ("toolCallId", call_id.into().into()),
            ("state", "input-available".into()),
            ("input", input),
        ]))
    }

    /// Makes a part from an object with the `type` of a tool part.
    pub(crate) fn from_object(object: Object) -> Self {
        let dynamic = object.str("type") == Some("dynamic-tool");
        Self { object, dynamic }
    }

    pub(crate) fn into_object(self) -> Object {
        self.object
    }

    /// Returns the object for changes. A static part must stay static.
    pub(crate) fn object_mut(&mut self) -> &mut Object {
        &mut self.object
    }

    /// Whether the part is a `dynamic-tool`.
    pub fn is_dynamic(&self) -> bool {
        self.dynamic
    }

    /// Returns the name of the tool; `None` if a dynamic part has none.
    pub fn name(&self) -> Option<&str> {
        if self.dynamic {
            return self.object.str("toolName");
        }
        self.object.str("type").map(|kind| kind.strip_prefix("tool-").unwrap_or(kind))
    }

    /// Returns the id that connects the call with its result; empty if there is none.
    pub fn call_id(&self) -> &str {
        self.object.str("toolCallId").unwrap_or_default()
    }

    /// Returns the progress of the call.
    pub fn state(&self) -> ToolState {
        self.object.str("state").map_or(ToolState::Unknown, ToolState::named)
    }

    /// Returns the input, complete or not.
    pub fn input(&self) -> Option<&Json> {
        self.object.get("input")
    }

    /// Returns the output of the tool.
    pub fn output(&self) -> Option<&Json> {
        self.object.get("output")
    }

    /// Returns the reason why the call failed.
    pub fn error_text(&self) -> Option<&str> {
        self.object.str("errorText")
    }

    /// Records the output of the call.
    pub fn set_output(&mut self, output: Json) {
        self.object.set("state", "output-available");
        self.object.remove("errorText");
        self.object.set("output", output);
    }

    /// Records that the call failed.
    pub fn set_error(&mut self, error_text: impl Into<String>) {
        self.object.set("state", "output-error");
        self.object.remove("output");
        self.object.set("errorText", error_text.into());
    }
}

impl PartFields for ToolPart {
    fn object(&self) -> &Object {
        &self.object
    }
}
