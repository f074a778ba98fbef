//! Writes tools that Anthropic itself runs: search, code, other servers.
//!
//! A call and its result stand in the model's message, in a form that each such tool has for itself. Content
//! that the provider would not take back is left out. A result without a known form is an error, because the
//! provider would refuse it.

use std::borrow::Cow;

use ship_message::json::{Json, Object};

use super::super::error::WireError;
use super::super::json_text::{parse_safely, without};
use super::super::prompt_message::{Output, PromptToolResult, ToolCall};
use super::super::provider_options::ANTHROPIC;
use super::code_execution;

const SEARCHES: [&str; 2] = ["tool_search_tool_regex", "tool_search_tool_bm25"];

/// Whether a block of this kind names its caller.
pub(in crate::wire) fn has_caller(fields: &Object) -> bool {
    let kind = fields.str("type");
    matches!(kind, Some("server_tool_use" | "web_fetch_tool_result" | "web_search_tool_result"))
}

/// Writes a call of a tool that the provider runs, if the tool is known. Calls of other servers are noted.
pub(in crate::wire) fn call<'p>(
    call: &'p ToolCall<'_>,
    mcp_calls: &mut Vec<&'p str>,
) -> Option<Object> {
    let input = call.input.as_deref();
    if call.options.get(ANTHROPIC, "type").and_then(Json::as_str) == Some("mcp-tool-use") {
        mcp_calls.push(&call.id);
        let server = call.options.get(ANTHROPIC, "serverName")?.as_str()?;
        let mut fields = use_block("mcp_tool_use", call, &call.name, input.map(Cow::Borrowed));
        fields.set("server_name", server);
        return Some(fields);
    }
    let name: &str = &call.name;
    let (name, input) = match (name, input.and_then(Json::as_object)) {
        ("code_execution", Some(object)) => match object.str("type") {
            // The input names a tool within the tool.
            Some(inner @ ("bash_code_execution" | "text_editor_code_execution")) => {
                (inner, Some(Cow::Owned(without(object, "type").into())))
            }
            Some("programmatic-tool-call") => {
                (name, Some(Cow::Owned(without(object, "type").into())))
            }
            _ => (name, input.map(Cow::Borrowed)),
        },
        ("code_execution" | "web_fetch" | "web_search", _) => (name, input.map(Cow::Borrowed)),
        ("advisor", _) => (name, Some(Cow::Owned(Object::new().into()))),
        (name, _) if SEARCHES.contains(&name) => (name, input.map(Cow::Borrowed)),
        _ => return None,
    };
    Some(use_block("server_tool_use", call, name, input))
}

fn use_block(kind: &str, call: &ToolCall<'_>, name: &str, input: Option<Cow<'_, Json>>) -> Object {
    let mut fields = Object::from([("type", kind), ("id", &call.id), ("name", name)]);
    fields.set_or_remove("input", input.map(Cow::into_owned));
    fields
}

/// Writes the result of such a tool.
pub(in crate::wire) fn result(
    result: &PromptToolResult<'_>,
    mcp_calls: &[&str],
) -> Result<Option<Object>, WireError> {
    if mcp_calls.contains(&result.id.as_ref()) {
        return Ok(mcp_result(result));
    }
    match result.name.as_ref() {
        "code_execution" => code_execution::result_block(result),
        name @ ("web_fetch" | "web_search") => web_result(name, result),
        name if SEARCHES.contains(&name) => search_result(result),
        "advisor" => advisor_result(result),
        _ => Ok(None),
    }
}

fn mcp_result(result: &PromptToolResult<'_>) -> Option<Object> {
    let (value, is_error) = match &result.output {
        Output::Json(value) => (value, false),
        Output::ErrorJson(value) => (value, true),
        _ => return None,
    };
    let mut fields = result_block("mcp_tool_result", result, value.as_ref().clone());
    fields.set("is_error", is_error);
    Some(fields)
}

fn web_result(name: &str, result: &PromptToolResult<'_>) -> Result<Option<Object>, WireError> {
    let kind = format!("{name}_tool_result");
    let value = match &result.output {
        Output::ErrorJson(value) => {
            let failure = failure(&format!("{kind}_error"), value);
            return Ok(Some(result_block(&kind, result, failure)));
        }
        Output::Json(value) => value,
        _ => return Ok(None),
    };
    let content = if name == "web_search" { search_hits(value) } else { page(value) };
    let content = content.ok_or_else(|| WireError::InvalidResult(kind.clone()))?;
    Ok(Some(result_block(&kind, result, content)))
}

fn search_hits(value: &Json) -> Option<Json> {
    let hit = |hit: &Json| {
        require_text(hit, "type", "web_search_result")?;
        Some(Json::Object(Object::from([
            ("url", text(hit, "url")?),
            ("title", text_or_null(hit, "title")?),
            ("page_age", text_or_null(hit, "pageAge")?),
            ("encrypted_content", text(hit, "encryptedContent")?),
            ("type", text(hit, "type")?),
        ])))
    };
    let hits: Option<Vec<Json>> = value.as_array()?.iter().map(hit).collect();
    Some(hits?.into())
}

fn page(value: &Json) -> Option<Json> {
    require_text(value, "type", "web_fetch_result")?;
    let content = value.get("content")?;
    require_text(content, "type", "document")?;
    let source = content.get("source")?;
    match source.get("type")?.as_str()? {
        "base64" => require_text(source, "mediaType", "application/pdf")?,
        "text" => require_text(source, "mediaType", "text/plain")?,
        _ => return None,
    }
    let source = Object::from([
        ("type", text(source, "type")?),
        ("media_type", text(source, "mediaType")?),
        ("data", text(source, "data")?),
    ]);
    let title = text_or_null(content, "title")?;
    let mut document = Object::from([("type", Json::from("document")), ("title", title)]);
    if let Some(citations) = content.get("citations") {
        let enabled = citations.get("enabled")?.as_bool()?;
        document.set("citations", Object::from([("enabled", enabled)]));
    }
    document.set("source", source);
    Some(Json::Object(Object::from([
        ("type", text(value, "type")?),
        ("url", text(value, "url")?),
        ("retrieved_at", text_or_null(value, "retrievedAt")?),
        ("content", document.into()),
    ])))
}

fn search_result(result: &PromptToolResult<'_>) -> Result<Option<Object>, WireError> {
    const KIND: &str = "tool_search_tool_result";
    const ERROR: &str = "tool_search_tool_result_error";
    let value = match &result.output {
        Output::ErrorJson(value) => {
            return Ok(Some(result_block(KIND, result, failure(ERROR, value))));
        }
        Output::Json(value) if require_text(value, "type", ERROR).is_some() => {
            return Ok(Some(result_block(KIND, result, failure(ERROR, value))));
        }
        Output::Json(value) => value,
        _ => return Ok(None),
    };
    let reference = |found: &Json| {
        require_text(found, "type", "tool_reference")?;
        let name = text(found, "toolName")?;
        Some(Json::Object(Object::from([("type", "tool_reference".into()), ("tool_name", name)])))
    };
    let found = value.as_array().and_then(|found| found.iter().map(reference).collect());
    let found: Vec<Json> = found.ok_or_else(|| WireError::InvalidResult(KIND.to_owned()))?;
    let content = Object::from([
        ("type", Json::from("tool_search_tool_search_result")),
        ("tool_references", found.into()),
    ]);
    Ok(Some(result_block(KIND, result, content.into())))
}

fn advisor_result(result: &PromptToolResult<'_>) -> Result<Option<Object>, WireError> {
    let (Output::Json(value) | Output::ErrorJson(value)) = &result.output else { return Ok(None) };
    let content = || {
        let kind = value.get("type")?.as_str()?;
        let (theirs, ours) = match kind {
            "advisor_result" => ("text", "text"),
            "advisor_redacted_result" => ("encrypted_content", "encryptedContent"),
            "advisor_tool_result_error" => ("error_code", "errorCode"),
            _ => return None,
        };
        Some(Object::from([("type", kind.into()), (theirs, text(value, ours)?)]))
    };
    let content =
        content().ok_or_else(|| WireError::InvalidResult("advisor_tool_result".to_owned()))?;
    Ok(Some(result_block("advisor_tool_result", result, content.into())))
}

fn result_block(kind: &str, result: &PromptToolResult<'_>, content: Json) -> Object {
    let mut fields = Object::from([("type", kind), ("tool_use_id", &result.id)]);
    fields.set("content", content);
    fields
}

/// Writes a failure, with the code in its value or in the JSON of its text.
fn failure(kind: &str, value: &Json) -> Json {
    let parsed = value.as_str().and_then(parse_safely);
    let code = parsed.as_ref().unwrap_or(value).get("errorCode").filter(|code| !code.is_null());
    let code = code.cloned().unwrap_or("unavailable".into());
    Json::Object(Object::from([("type", kind.into()), ("error_code", code)]))
}

/// Whether a field has a certain text.
fn require_text(value: &Json, key: &str, text: &str) -> Option<()> {
    (value.get(key)?.as_str()? == text).then_some(())
}

fn text(value: &Json, key: &str) -> Option<Json> {
    value.get(key).filter(|value| value.as_str().is_some()).cloned()
}

fn text_or_null(value: &Json, key: &str) -> Option<Json> {
    value.get(key).filter(|value| value.is_null() || value.as_str().is_some()).cloned()
}
