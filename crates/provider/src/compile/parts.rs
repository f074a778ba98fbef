//! Parts: which are sent, and in what form.
//!
//! What a client may have written for one provider (cache marks, citations, signatures) is never passed on:
//! we set our own marks, and a signature is worth something only to the model that wrote it.

use ship_message::json::{Json, Object};
use ship_message::{ModelPart, ModelValue, ReasoningModelPart, TextModelPart};

use super::CompileTarget;
use crate::wire::Format;

/// A text of our own.
pub(super) fn text<'a>(text: impl Into<String>) -> ModelPart<'a> {
    let text: String = text.into();
    ModelPart::from_json(Json::Object(Object::from([
        ("type", Json::from("text")),
        ("text", text.into()),
    ])))
}

/// Whether a text says nothing. Python counts more as white space than Rust, and JavaScript the byte order
/// mark.
pub(super) fn is_blank(text: &str) -> bool {
    text.chars().all(|c| c.is_whitespace() || matches!(c, '\u{1c}'..='\u{1f}' | '\u{feff}'))
}

/// The text part as it is sent, if it says anything.
pub(super) fn said(part: TextModelPart<'_>) -> Option<ModelPart<'_>> {
    let words = part.text();
    let words = words.as_ref().and_then(ModelValue::as_str).filter(|words| !is_blank(words))?;
    if part.provider_options().is_none() {
        return Some(ModelPart::Text(part));
    }
    Some(text(words))
}

/// Reasoning goes back to the model that wrote it, whole and with its signature, and to no other.
pub(super) fn reasoned<'a>(
    part: ReasoningModelPart<'a>,
    target: &CompileTarget<'_>,
) -> Option<ModelPart<'a>> {
    let options = part.provider_options().map(ModelValue::into_json)?;
    if !is_own(&options, target) {
        return None;
    }
    let words = part.text();
    let words = words.as_ref().and_then(ModelValue::as_str)?;
    let kept = match target.format {
        Format::OpenAi if is_blank(words) || !is_read_back(&options) => return None,
        Format::OpenAi => None,
        Format::Anthropic => Some(signed(options.get("anthropic")?)?),
    };
    let mut object = Object::from([("type", "reasoning"), ("text", words)]);
    if let Some(kept) = kept {
        object.set("providerOptions", Object::from([("anthropic", kept)]));
    }
    Some(ModelPart::from_json(object.into()))
}

/// Whether a part's metadata says that the model that is asked has made it.
pub(super) fn is_own(options: &Json, target: &CompileTarget<'_>) -> bool {
    let made_by = |key| options.get("ship").and_then(|by| by.get(key)).and_then(Json::as_str);
    made_by("provider") == Some(target.provider)
        && made_by("model") == Some(target.parameters.model)
}

/// Whether the host is known to take reasoning back: it wrote it in the field in which we send it. Others
/// refuse a field that they do not know.
fn is_read_back(options: &Json) -> bool {
    let field = options.get("ship").and_then(|by| by.get("field"));
    field.and_then(Json::as_str) == Some("reasoning_content")
}

/// A block of thinking is sent with its signature or, when it was hidden, as its data; else not at all.
fn signed(options: &Json) -> Option<Json> {
    ["signature", "redactedData"].into_iter().find_map(|key| {
        let value = options.get(key)?.as_str().filter(|value| !value.is_empty())?;
        Some(Json::Object(Object::from([(key, value)])))
    })
}
