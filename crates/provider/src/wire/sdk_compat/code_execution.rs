//! Writes the results of Anthropic's code execution.
//!
//! A result has one of seven forms. Each is checked, and loses the fields that are not part of its form.

use ship_message::json::{Json, Object};

use super::super::error::WireError;
use super::super::json_text::parse_safely;
use super::super::prompt_message::{Output, PromptToolResult};

/// The rule for a field.
#[derive(Clone, Copy)]
enum FieldRule {
    Text,
    Number,
    Bool,
    NumberOrNull,
    TextsOrNull,
    /// Files that the code left: this type, and an id. The field may be absent.
    Outputs,
    /// The same for a shell, where the field is required.
    BashOutputs,
}

type BlockForm = &'static [(&'static str, FieldRule)];

const RESULT: BlockForm = &[
    ("stdout", FieldRule::Text),
    ("stderr", FieldRule::Text),
    ("return_code", FieldRule::Number),
    ("content", FieldRule::Outputs),
];
const ENCRYPTED: BlockForm = &[
    ("encrypted_stdout", FieldRule::Text),
    ("stderr", FieldRule::Text),
    ("return_code", FieldRule::Number),
    ("content", FieldRule::Outputs),
];
const BASH: BlockForm = &[
    ("stdout", FieldRule::Text),
    ("stderr", FieldRule::Text),
    ("return_code", FieldRule::Number),
    ("content", FieldRule::BashOutputs),
];
const ERROR: BlockForm = &[("error_code", FieldRule::Text)];
const VIEW: BlockForm = &[
    ("content", FieldRule::Text),
    ("file_type", FieldRule::Text),
    ("num_lines", FieldRule::NumberOrNull),
    ("start_line", FieldRule::NumberOrNull),
    ("total_lines", FieldRule::NumberOrNull),
];
const CREATE: BlockForm = &[("is_file_update", FieldRule::Bool)];
const REPLACE: BlockForm = &[
    ("lines", FieldRule::TextsOrNull),
    ("new_lines", FieldRule::NumberOrNull),
    ("new_start", FieldRule::NumberOrNull),
    ("old_lines", FieldRule::NumberOrNull),
    ("old_start", FieldRule::NumberOrNull),
];

/// Returns the block for a result, and the form of the result.
fn block_form(kind: &str) -> Option<(&'static str, BlockForm)> {
    Some(match kind {
        "code_execution_result" => ("code_execution_tool_result", RESULT),
        "encrypted_code_execution_result" => ("code_execution_tool_result", ENCRYPTED),
        "bash_code_execution_result" => ("bash_code_execution_tool_result", BASH),
        "bash_code_execution_tool_result_error" => ("bash_code_execution_tool_result", ERROR),
        "text_editor_code_execution_tool_result_error" => {
            ("text_editor_code_execution_tool_result", ERROR)
        }
        "text_editor_code_execution_view_result" => {
            ("text_editor_code_execution_tool_result", VIEW)
        }
        "text_editor_code_execution_create_result" => {
            ("text_editor_code_execution_tool_result", CREATE)
        }
        "text_editor_code_execution_str_replace_result" => {
            ("text_editor_code_execution_tool_result", REPLACE)
        }
        _ => return None,
    })
}

pub(super) fn result_block(result: &PromptToolResult<'_>) -> Result<Option<Object>, WireError> {
    let value = match &result.output {
        Output::ErrorText(text) => {
            let parsed = parse_safely(text);
            return failure_block(result, parsed.as_ref()).map(Some);
        }
        Output::ErrorJson(value) => {
            let parsed = value.as_str().and_then(parse_safely);
            // A null that is not text counts as absent.
            let value = parsed.as_ref().or(Some(value.as_ref()).filter(|value| !value.is_null()));
            return failure_block(result, value).map(Some);
        }
        Output::Json(value) => value,
        Output::Text(_) | Output::Denied(_) | Output::Content(_) => return Ok(None),
    };
    let Some(kind) = value.get("type").and_then(Json::as_str) else { return Ok(None) };
    let wrong = || WireError::InvalidResult("code_execution_tool_result".to_owned());
    let (block, form) = block_form(kind).ok_or_else(wrong)?;
    let mut content = Object::from([("type", kind)]);
    for (key, field) in form {
        content.set(*key, read(value.get(key), *field).ok_or_else(wrong)?);
    }
    Ok(Some(block_of(block, result, content)))
}

fn read(value: Option<&Json>, field: FieldRule) -> Option<Json> {
    let fits = match (field, value) {
        (FieldRule::Outputs, None) => return Some(Vec::new().into()),
        (_, None) => false,
        (FieldRule::Text, Some(value)) => value.as_str().is_some(),
        (FieldRule::Number, Some(value)) => value.as_number().is_some(),
        (FieldRule::Bool, Some(value)) => value.as_bool().is_some(),
        (FieldRule::NumberOrNull, Some(value)) => value.is_null() || value.as_number().is_some(),
        (FieldRule::TextsOrNull, Some(value)) => {
            let texts = value.as_array();
            value.is_null() || texts.is_some_and(|texts| texts.iter().all(|t| t.as_str().is_some()))
        }
        (FieldRule::Outputs, Some(value)) => return outputs(value, "code_execution_output"),
        (FieldRule::BashOutputs, Some(value)) => {
            return outputs(value, "bash_code_execution_output");
        }
    };
    value.filter(|_| fits).cloned()
}

fn outputs(value: &Json, kind: &str) -> Option<Json> {
    let output = |output: &Json| {
        let id = output.get("file_id")?.as_str()?;
        let is_output = output.get("type")?.as_str()? == kind;
        is_output.then(|| Json::Object(Object::from([("type", kind), ("file_id", id)])))
    };
    let outputs: Option<Vec<Json>> = value.as_array()?.iter().map(output).collect();
    Some(outputs?.into())
}

/// Writes a failure, in the words of the tool that failed.
fn failure_block(result: &PromptToolResult<'_>, value: Option<&Json>) -> Result<Object, WireError> {
    // The SDK fails here too: in JavaScript, null has no fields to read.
    if value.is_some_and(Json::is_null) {
        return Err(WireError::NullFailure);
    }
    const ERROR: &str = "code_execution_tool_result_error";
    let field = |key: &str| value.and_then(|value| value.get(key));
    let (block, kind) = if field("type").and_then(Json::as_str) == Some(ERROR) {
        ("code_execution_tool_result", ERROR)
    } else {
        ("bash_code_execution_tool_result", "bash_code_execution_tool_result_error")
    };
    let code = field("errorCode").filter(|code| !code.is_null()).cloned();
    let content =
        Object::from([("type", kind.into()), ("error_code", code.unwrap_or("unknown".into()))]);
    Ok(block_of(block, result, content))
}

fn block_of(block: &str, result: &PromptToolResult<'_>, content: Object) -> Object {
    let mut fields = Object::from([("type", block), ("tool_use_id", &result.id)]);
    fields.set("content", content);
    fields
}
