//! The order in which a request is judged: key and version, size, JSON, options, messages, tools, and the window.

use serde_json::Value;
use serde_json::error::Error as JsonError;

use super::super::{Accepted, Auth, Refusal, Rules, Version, prompt};
use super::{caching, errors, messages, missing, options, pairing, refuse, thinking, tools};

/// The largest body that is read.
const BODY_MAX: usize = 32 << 20;

/// Judges the body of a request as `POST /v1/messages` does.
///
/// # Errors
///
/// Gives what the service answers when it refuses.
pub fn judge_anthropic(body: impl AsRef<[u8]>, rules: &Rules) -> Result<Accepted, Refusal> {
    let bytes = body.as_ref();
    if bytes.len() > BODY_MAX {
        return Err(errors::too_large());
    }
    let body: Value = serde_json::from_slice(bytes).map_err(|error| not_json(bytes, &error))?;
    options::judge(&body, rules)?;
    let list = judge_list(&body)?;
    messages::judge(list, rules)?;
    pairing::judge(list)?;
    tools::judge(&body)?;
    caching::judge(&body)?;
    thinking::judge(&body, list, rules)?;
    messages::judge_end(list, rules)?;
    let input_tokens = judge_window(&body, rules)?;
    Ok(Accepted { body, input_tokens })
}

/// Judges the key and reads the version.
pub(in super::super) fn judge_headers(
    key: Option<&str>,
    authorization: Option<&str>,
    version: Option<&str>,
    rules: &Rules,
) -> Result<Version, Refusal> {
    // The key's own header wins when both are there.
    let bearer = authorization.and_then(|value| value.strip_prefix("Bearer ")).map(str::trim);
    match (&rules.auth, key.or(bearer)) {
        (Auth::None, _) => {}
        (_, None | Some("")) => return Err(errors::missing_key()),
        (Auth::Key(right), Some(key)) if key != right => return Err(errors::invalid_key()),
        (Auth::Key(_) | Auth::Any, Some(_)) => {}
    }
    match version {
        Some("2023-06-01") => Ok(Version::V2023),
        Some("2026-10-21") => Ok(Version::V2026),
        None => Err(refuse("version_missing", "anthropic-version: header is required")),
        Some(other) => {
            Err(refuse("version", format!("anthropic-version: \"{other}\" is not a valid version")))
        }
    }
}

/// Says where the JSON breaks off, in lines, columns and characters.
fn not_json(bytes: &[u8], error: &JsonError) -> Refusal {
    let (line, column) = (error.line(), error.column());
    let before: usize = bytes
        .split(|byte| *byte == b'\n')
        .take(line.saturating_sub(1))
        .map(|line| line.len() + 1)
        .sum();
    let at = (before + column.saturating_sub(1)).min(bytes.len());
    let character = String::from_utf8_lossy(&bytes[..at]).chars().count();
    let sentence = error.to_string();
    let what = match sentence.split(" at line ").next().unwrap_or_default() {
        surrogate if surrogate.contains("surrogate") || surrogate.contains("hex escape") => {
            "no low surrogate in string"
        }
        what => what,
    };
    let message = format!(
        "The request body is not valid JSON: {what}: line {line} column {column} (char {character})"
    );
    refuse("json", message)
}

fn judge_list(body: &Value) -> Result<&[Value], Refusal> {
    match &body["messages"] {
        Value::Null => Err(missing("messages_missing", "messages")),
        Value::Array(list) if list.is_empty() => {
            Err(refuse("messages_empty", "messages: at least one message is required"))
        }
        Value::Array(list) => Ok(list),
        _ => Err(refuse("messages_type", "messages: Input should be a valid list")),
    }
}

fn judge_window(body: &Value, rules: &Rules) -> Result<Option<u64>, Refusal> {
    let Some(window) = rules.window else { return Ok(None) };
    let asked = body["max_tokens"].as_u64().unwrap_or(0);
    let enough = window.saturating_sub(asked);
    let segments = prompt::anthropic(body);
    match prompt::total_unless_below(&segments, rules.token_factor, enough) {
        Some(input) if input > window => {
            Err(refuse("window", format!("prompt is too long: {input} tokens > {window} maximum")))
        }
        Some(input) if input > enough => Err(refuse(
            "window_with_output",
            format!(
                "input length and `max_tokens` exceed context limit: {input} + {asked} > {window}, decrease input length or `max_tokens` and try again"
            ),
        )),
        input => Ok(input),
    }
}
