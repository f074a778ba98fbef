//! `convertToModelMessages`: turns stored messages into messages for a model.
//!
//! The result equals that of the AI SDK's function of this name, even for messages that no validator would accept:
//! values pass through unchanged, and a `TypeError` there is an error with the same words here. One UI message can
//! become several model messages: every step of a run is an assistant message of its own, followed by the results
//! of its tool calls.

mod assistant;
mod coerce;

pub(crate) use coerce::{spread, to_string};

use std::collections::HashSet;

use crate::json::{JsString, Json, Object};
use crate::model::{
    FileModelPart, ModelContent, ModelMessage, ModelPart, ModelParts, ModelRole, TextModelPart,
};
use crate::ui::{DataPart, PartFields, Role, ToolState, UiMessage, UiPart};

/// Returns the model's form of a data part, if it should have one.
pub type DataConverter<'a> = &'a dyn Fn(&DataPart) -> Option<ModelPart<'static>>;

/// Returns the model's form of a tool's output: tool name, call id, input, output.
///
/// `None` means that the tool has no form of its own. The output is then taken as text or JSON.
pub type OutputConverter<'a> =
    &'a dyn Fn(&str, Option<&Json>, Option<&Json>, Option<&Json>) -> Option<Result<Json, String>>;

/// The options of [`convert_to_model_messages`].
#[derive(Clone, Copy, Default)]
pub struct ConvertOptions<'a> {
    /// The names of the existing tools. A `dynamic-tool` part marked `dynamic: false` stands for a tool that was
    /// removed; its output is left out unless the tool is among these.
    pub tools: Option<&'a HashSet<String>>,
    /// Converts a tool's output for the model.
    pub to_model_output: Option<OutputConverter<'a>>,
    /// Whether tool calls without a result are left out.
    pub ignore_incomplete_tool_calls: bool,
    /// Converts data parts for the model. Without it they are left out.
    pub convert_data_part: Option<DataConverter<'a>>,
}

/// The reason why messages could not be converted, in the words of the AI SDK.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConvertError {
    /// A message has a role other than system, user or assistant.
    #[error("Unsupported role: {role}")]
    UnsupportedRole {
        /// The role as JavaScript would print it.
        role: String,
    },
    /// A message or a part lacks the form that the conversion needs.
    #[error("{0}")]
    Malformed(String),
    /// The caller's own function failed.
    #[error("{0}")]
    ToolOutput(String),
}

impl ConvertError {
    /// Returns the name of the error in JavaScript.
    pub fn name(&self) -> &'static str {
        match self {
            Self::UnsupportedRole { .. } => "AI_MessageConversionError",
            Self::Malformed(_) => "TypeError",
            Self::ToolOutput(_) => "Error",
        }
    }
}

impl From<coerce::NoText> for ConvertError {
    fn from(_: coerce::NoText) -> Self {
        Self::Malformed("Cannot convert object to primitive value".to_owned())
    }
}

/// Converts stored messages into messages for a model.
///
/// # Errors
/// Fails if a message has an unknown role, lacks its parts, or has a part without a `type`.
///
/// ```
/// use ship_message::{ConvertOptions, Role, UiMessage, UiPart, convert_to_model_messages};
///
/// let messages = [UiMessage::new("m1", Role::User, vec![UiPart::text("hi")])];
/// let converted = convert_to_model_messages(&messages, &ConvertOptions::default())?;
/// assert_eq!(converted[0].to_string(), r#"{"role":"user","content":[{"type":"text","text":"hi"}]}"#);
/// # Ok::<(), ship_message::ConvertError>(())
/// ```
pub fn convert_to_model_messages<'a>(
    messages: &'a [UiMessage],
    options: &ConvertOptions<'_>,
) -> Result<Vec<ModelMessage<'a>>, ConvertError> {
    if options.ignore_incomplete_tool_calls {
        check_parts_can_be_filtered(messages)?;
    }
    // An answer with calls becomes two messages, of the model and of its tools.
    let mut converted = Vec::with_capacity(2 * messages.len());
    for message in messages {
        match message.role() {
            Role::System => converted.push(system_message(message)?),
            Role::User => converted.push(user_message(message, options)?),
            Role::Assistant => assistant::push_messages(message, options, &mut converted)?,
            Role::Unknown => {
                let role = coerce::to_string(message.field("role"))?;
                return Err(ConvertError::UnsupportedRole { role });
            }
        }
    }
    Ok(converted)
}

/// Checks every part of every message first, as the AI SDK does when it leaves out incomplete calls.
fn check_parts_can_be_filtered(messages: &[UiMessage]) -> Result<(), ConvertError> {
    for message in messages {
        list_of_parts(message, "filter")?.iter().try_for_each(check_has_type)?;
    }
    Ok(())
}

/// Whether a part takes part in the conversion.
fn is_wanted(part: &UiPart, options: &ConvertOptions<'_>) -> bool {
    let UiPart::Tool(tool) = part else { return true };
    if !options.ignore_incomplete_tool_calls {
        return true;
    }
    match tool.state() {
        ToolState::ApprovalResponded | ToolState::OutputError | ToolState::OutputDenied => true,
        ToolState::OutputAvailable => {
            tool.field("preliminary").and_then(Json::as_bool) != Some(true)
        }
        ToolState::InputStreaming
        | ToolState::InputAvailable
        | ToolState::ApprovalRequested
        | ToolState::Unknown => false,
    }
}

/// Returns the parts of a message on which JavaScript would call the array method `method`.
fn list_of_parts<'a>(message: &'a UiMessage, method: &str) -> Result<&'a [UiPart], ConvertError> {
    if message.has_parts() {
        return Ok(message.parts());
    }
    let what = match message.field("parts") {
        None => format!("Cannot read properties of undefined (reading '{method}')"),
        Some(Json::Null) => format!("Cannot read properties of null (reading '{method}')"),
        Some(_) => format!("message.parts.{method} is not a function"),
    };
    Err(ConvertError::Malformed(what))
}

/// Fails where JavaScript's `part.type.startsWith` would fail.
fn check_has_type(part: &UiPart) -> Result<(), ConvertError> {
    let UiPart::Unknown(json) = part else { return Ok(()) };
    let what = match (json, json.get("type")) {
        (_, Some(Json::String(_))) => return Ok(()),
        (Json::Null, _) => "Cannot read properties of null (reading 'type')",
        (_, None) => "Cannot read properties of undefined (reading 'startsWith')",
        (_, Some(Json::Null)) => "Cannot read properties of null (reading 'startsWith')",
        (_, Some(_)) => "part.type.startsWith is not a function",
    };
    Err(ConvertError::Malformed(what.to_owned()))
}

fn system_message(message: &UiMessage) -> Result<ModelMessage<'_>, ConvertError> {
    let mut content = JsString::default();
    let mut provider_options = Vec::new();
    for part in list_of_parts(message, "filter")? {
        if let UiPart::Text(text) = part {
            coerce::join(text.field("text"), &mut content)?;
            if let Some(metadata) = text.provider_metadata() {
                provider_options.extend(coerce::spread(metadata));
            }
        } else if matches!(part, UiPart::Unknown(Json::Null)) {
            check_has_type(part)?;
        }
    }
    let content = ModelContent::Text(content.into_string().into());
    let message = ModelMessage::new(ModelRole::System, content);
    Ok(if provider_options.is_empty() {
        message
    } else {
        let options: Object = provider_options.into_iter().collect();
        message.with_provider_options(options.into())
    })
}

fn user_message<'a>(
    message: &'a UiMessage,
    options: &ConvertOptions<'_>,
) -> Result<ModelMessage<'a>, ConvertError> {
    let parts = list_of_parts(message, "map")?;
    let mut content = ModelParts::new();
    for part in parts {
        match part {
            UiPart::Text(text) => content.push(ModelPart::Text(TextModelPart::of(text))),
            UiPart::File(file) => content.push(ModelPart::File(FileModelPart::of(file))),
            UiPart::Data(data) => content.extend(options.convert_data_part.and_then(|f| f(data))),
            UiPart::Unknown(_) => check_has_type(part)?,
            UiPart::Reasoning(_)
            | UiPart::SourceUrl(_)
            | UiPart::SourceDocument(_)
            | UiPart::StepStart(_)
            | UiPart::Tool(_) => {}
        }
    }
    Ok(ModelMessage::new(ModelRole::User, ModelContent::Parts(content)))
}
