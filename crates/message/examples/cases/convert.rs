//! The answer to one case of the example `convert`.

use super::options;
use std::collections::HashSet;

use ship_message::json::{Json, Object};
use ship_message::{ConvertError, ConvertOptions, UiMessage, convert_to_model_messages};

pub(crate) fn answer(case: &mut Object) -> Object {
    let given = case.get("options").cloned();
    if needs_function(given.as_ref()) {
        return options::skip();
    }
    let ui = case.remove("ui");
    match convert(ui, given.as_ref()) {
        Ok(model) => Object::from([("model", model)]),
        Err(error) => {
            let error = Object::from([("name", error.name()), ("message", &error.to_string())]);
            Object::from([("error", error)])
        }
    }
}

/// Whether a caller's function is asked for: a converter of data parts, or of a tool's output.
fn needs_function(options: Option<&Json>) -> bool {
    let tools = options.and_then(|options| options.get("tools")).and_then(Json::as_object);
    options::is_given(options, "convertDataPart")
        || tools.is_some_and(|tools| {
            tools.iter().any(|(_, tool)| options::is_given(Some(tool), "toModelOutput"))
        })
}

fn convert(ui: Option<Json>, options: Option<&Json>) -> Result<Json, ConvertError> {
    let ignore = options::is_given(options, "ignoreIncompleteToolCalls");
    let list = match ui {
        Some(Json::Array(list)) => list.into_vec(),
        other => return not_a_list(other.as_ref(), ignore),
    };
    // A message that is null fails when its turn comes; any other value has no role and no parts.
    let end = list.iter().position(Json::is_null);
    let read = |json| UiMessage::from_json(json).unwrap_or_else(|_| no_message());
    let messages: Vec<UiMessage> =
        list.into_iter().take(end.unwrap_or(usize::MAX)).map(read).collect();
    let tools = options.and_then(|options| options.get("tools")).and_then(Json::as_object);
    // A tool that is null is no tool.
    let tools: Option<HashSet<String>> = tools.map(|tools| {
        tools.iter().filter(|(_, tool)| !tool.is_null()).map(|(name, _)| name.to_owned()).collect()
    });
    let options = ConvertOptions {
        tools: tools.as_ref(),
        ignore_incomplete_tool_calls: ignore,
        ..ConvertOptions::default()
    };
    let converted = convert_to_model_messages(&messages, &options);
    let converted = match (converted, end, ignore) {
        (Err(error), None, _) | (Err(error), Some(_), false) => return Err(error),
        // Leaving out calls looks at every message first, so the null fails before anything is converted.
        (Err(error @ ConvertError::Malformed(_)), Some(_), true) => return Err(error),
        (_, Some(_), true) => return malformed("Cannot read properties of null (reading 'parts')"),
        (Ok(_), Some(_), false) => {
            return malformed("Cannot read properties of null (reading 'role')");
        }
        (Ok(converted), None, _) => converted,
    };
    Ok(converted.iter().map(to_json).collect::<Vec<_>>().into())
}

fn malformed(what: impl Into<String>) -> Result<Json, ConvertError> {
    Err(ConvertError::Malformed(what.into()))
}

fn no_message() -> UiMessage {
    UiMessage::from_json(Json::Object(Object::new())).expect("an object")
}

/// What becomes of messages that are not a list: JavaScript walks through the characters of a string.
fn not_a_list(ui: Option<&Json>, ignore: bool) -> Result<Json, ConvertError> {
    match (ui, ignore) {
        (None, true) => malformed("Cannot read properties of undefined (reading 'map')"),
        (Some(Json::Null), true) => malformed("Cannot read properties of null (reading 'map')"),
        (_, true) => malformed("messages.map is not a function"),
        (Some(Json::String(text)), false) if text.is_empty() => Ok(Vec::new().into()),
        (Some(Json::String(_)), false) => {
            Err(ConvertError::UnsupportedRole { role: "undefined".to_owned() })
        }
        (_, false) => malformed("messages is not iterable"),
    }
}

fn to_json(message: &ship_message::ModelMessage<'_>) -> Json {
    Json::parse(&message.to_string()).expect("a model message is written as JSON")
}
