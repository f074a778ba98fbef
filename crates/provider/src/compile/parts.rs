//! Decides which parts are sent, and in which form.
//!
//! Data that a client wrote for one provider (cache marks, citations, signatures) is never passed on: we set our
//! own marks, and a signature is only useful to the model that wrote it.

use ship_message::json::{Json, Object};
use ship_message::{
    ModelContent, ModelMessage, ModelPart, ModelRole, ModelValue, ReasoningModelPart, TextModelPart,
};

use super::CompileTarget;
use crate::wire::Format;

/// Makes a text part of our own.
pub(super) fn text<'a>(text: impl Into<String>) -> ModelPart<'a> {
    let text: String = text.into();
    ModelPart::from_json(Json::Object(Object::from([
        ("type", Json::from("text")),
        ("text", text.into()),
    ])))
}

/// Makes one text of the parts of a person's message that has nothing but texts.
pub(super) fn join_texts(message: &mut ModelMessage<'_>) {
    let ModelContent::Parts(parts) = &mut message.content else { return };
    let is_text = |part: &ModelPart<'_>| matches!(part, ModelPart::Text(_));
    if message.role != ModelRole::User || parts.len() < 2 || !parts.iter().all(is_text) {
        return;
    }
    let texts: Vec<String> = parts.iter().filter_map(text_of).collect();
    *parts = std::iter::once(text(texts.join("\n\n"))).collect();
}

fn text_of(part: &ModelPart<'_>) -> Option<String> {
    let ModelPart::Text(part) = part else { return None };
    Some(part.text()?.as_str()?.to_owned())
}

/// Whether a text is blank. Python counts more characters as white space than Rust, and JavaScript
/// the byte order mark.
pub(super) fn is_blank(text: &str) -> bool {
    text.chars().all(|c| c.is_whitespace() || matches!(c, '\u{1c}'..='\u{1f}' | '\u{feff}'))
}

/// Returns the text part in the form that is sent, unless it is blank.
pub(super) fn text_part(part: TextModelPart<'_>) -> Option<ModelPart<'_>> {
    let words = part.text();
    let words = words.as_ref().and_then(ModelValue::as_str).filter(|words| !is_blank(words))?;
    // Mostly there are no options to leave out, and then nothing is copied.
    if part.provider_options().is_none() {
        return Some(ModelPart::Text(part));
    }
    Some(text(words))
}

/// Returns reasoning for the model that wrote it, whole and with its signature; no other model gets it.
pub(super) fn reasoning_part<'a>(
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
        Format::Anthropic => Some(signature_metadata(options.get("anthropic")?)?),
    };
    let mut object = Object::from([("type", "reasoning"), ("text", words)]);
    if let Some(kept) = kept {
        object.set("providerOptions", Object::from([("anthropic", kept)]));
    }
    Some(ModelPart::from_json(object.into()))
}

/// Whether a part's metadata says that the target model made it.
pub(super) fn is_own(options: &Json, target: &CompileTarget<'_>) -> bool {
    let made_by = |key| options.get("ship").and_then(|by| by.get(key)).and_then(Json::as_str);
    made_by("provider") == Some(target.provider)
        && made_by("model") == Some(target.parameters.model)
}

/// Whether the host is known to take reasoning back, because it used the field in which we send it. Other hosts
/// refuse a field that they do not know.
fn is_read_back(options: &Json) -> bool {
    let field = options.get("ship").and_then(|by| by.get("field"));
    field.and_then(Json::as_str) == Some("reasoning_content")
}

/// Returns the metadata with which a block of thinking is sent: its signature, or its data if it was hidden;
/// otherwise it is not sent.
fn signature_metadata(options: &Json) -> Option<Json> {
    ["signature", "redactedData"].into_iter().find_map(|key| {
        let value = options.get(key)?.as_str().filter(|value| !value.is_empty())?;
        Some(Json::Object(Object::from([(key, value)])))
    })
}
