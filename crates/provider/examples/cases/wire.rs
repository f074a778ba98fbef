//! The answer to one case of the example `wire`: what `generateText` would send, and no more.

use ship_message::ModelMessage;
use ship_message::json::{Json, Object};
use ship_provider::ToolSpec;
use ship_provider::wire::{Files, Format, Parameters, WireError, addresses, anthropic, openai};

const NOT_MESSAGES: WireError =
    WireError::InvalidPrompt("The messages do not match the ModelMessage[] schema.");
const NOT_SYSTEM: WireError = WireError::InvalidPrompt(
    "system must be a string, SystemModelMessage, or array of SystemModelMessage",
);

/// The tool of which recorded cases give only the name.
const WEATHER: &str = r#"{
    "name": "weather",
    "description": "Get weather",
    "inputSchema": {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
        "additionalProperties": false
    }
}"#;

/// Tools that Anthropic itself runs.
const OWN: [&str; 5] =
    ["web_fetch", "web_search", "tool_search_tool_regex", "tool_search_tool_bm25", "advisor"];

/// What every JavaScript object has by birth.
const BY_BIRTH: [&str; 12] = [
    "__defineGetter__",
    "__defineSetter__",
    "__lookupGetter__",
    "__lookupSetter__",
    "__proto__",
    "constructor",
    "hasOwnProperty",
    "isPrototypeOf",
    "propertyIsEnumerable",
    "toLocaleString",
    "toString",
    "valueOf",
];

pub(crate) fn answer(case: &mut Object) -> Object {
    if case.str("provider") == Some("anthropic") && calls_what_sdk_mistakes(case) {
        return Object::from([("skip", true)]);
    }
    match body(case) {
        Ok(body) => Object::from([("body", Json::parse(&body).expect("a body is JSON"))]),
        Err(error) => {
            let error = Object::from([("name", error.name()), ("message", &error.to_string())]);
            Object::from([("error", error)])
        }
    }
}

/// Whether a tool's name is one that the SDK takes for something else, and Anthropic then refuses what it
/// sends. `docs/wire.md` tells both kinds.
fn calls_what_sdk_mistakes(case: &Object) -> bool {
    let parts = case.get("messages").and_then(Json::as_array).unwrap_or_default().iter();
    let parts = parts.filter_map(|message| message.get("content")?.as_array()).flatten();
    let mistaken = |part: &Json| {
        let name = part.get("toolName").and_then(Json::as_str).unwrap_or_default();
        let options = part.get("providerOptions").and_then(|options| options.get("anthropic"));
        let kind = options.and_then(|options| options.get("type")).and_then(Json::as_str);
        BY_BIRTH.contains(&name) || (kind == Some("mcp-tool-use") && OWN.contains(&name))
    };
    parts.into_iter().any(mistaken)
}

fn body(case: &mut Object) -> Result<String, WireError> {
    let messages = messages(case)?;
    let tools: Vec<ToolSpec> = match case.get("tools") {
        Some(Json::Array(tools)) => tools.iter().filter_map(tool).collect(),
        _ => Vec::new(),
    };
    if case.str("provider") == Some("anthropic") {
        let files = files(&messages, Format::Anthropic)?;
        let parameters = Parameters { max_tokens: Some(128_000), ..Parameters::new("claude-test") };
        Ok(anthropic(&messages, &tools, &parameters, &files)?.body)
    } else {
        let files = files(&messages, Format::OpenAi)?;
        openai(&messages, &tools, &Parameters::new("test-model"), &files)
    }
}

/// The messages, behind those of the option `system`.
fn messages(case: &mut Object) -> Result<Vec<ModelMessage<'static>>, WireError> {
    let mut messages = system(case.remove("system"))?;
    let Some(Json::Array(given)) = case.remove("messages") else { return Err(NOT_MESSAGES) };
    if given.is_empty() {
        return Err(WireError::InvalidPrompt("messages must not be empty"));
    }
    for message in given.into_vec() {
        messages.push(ModelMessage::from_json(message).map_err(|_| NOT_MESSAGES)?);
    }
    Ok(messages)
}

fn system(option: Option<Json>) -> Result<Vec<ModelMessage<'static>>, WireError> {
    let list = match option {
        None | Some(Json::Null) => Vec::new(),
        Some(text @ Json::String(_)) => {
            vec![Object::from([("role", "system".into()), ("content", text)]).into()]
        }
        Some(Json::Array(list)) => list.into_vec(),
        Some(message) => vec![message],
    };
    let read = |message: Json| match message.get("role").and_then(Json::as_str) {
        Some("system") => ModelMessage::from_json(message).map_err(|_| NOT_MESSAGES),
        _ => Err(NOT_SYSTEM),
    };
    list.into_iter().map(read).collect()
}

fn tool(tool: &Json) -> Option<ToolSpec> {
    let known = match tool.as_str() {
        Some("weather") => Json::parse(WEATHER).ok(),
        _ => None,
    };
    let tool = known.as_ref().unwrap_or(tool).as_object()?;
    Some(ToolSpec {
        name: tool.str("name")?.to_owned(),
        description: tool.str("description").unwrap_or_default().to_owned(),
        input_schema: tool.get("inputSchema").cloned().unwrap_or_default(),
    })
}

/// The cases were recorded with two letters at every address.
fn files(messages: &[ModelMessage<'_>], format: Format) -> Result<Files, WireError> {
    let mut files = Files::default();
    for address in addresses(messages, format)? {
        files.add(address, b"hi".to_vec(), Some("text/plain".to_owned()));
    }
    Ok(files)
}
