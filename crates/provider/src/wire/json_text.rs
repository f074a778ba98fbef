//! Writes JSON text, and converts texts and values as JavaScript does.

use std::borrow::Cow;

use ship_message::ModelValue;
use ship_message::json::{Json, Object};

pub(super) fn write_string(text: &str, out: &mut String) {
    ModelValue::Str(text).write_to(out);
}

/// Returns the text of a value, borrowed where possible.
pub(super) fn text_of(value: ModelValue<'_>) -> Option<Cow<'_, str>> {
    match value {
        ModelValue::Ref(json) => json.as_str().map(Cow::Borrowed),
        ModelValue::Str(text) => Some(Cow::Borrowed(text)),
        ModelValue::Owned(json) => json.as_str().map(|text| Cow::Owned(text.to_owned())),
    }
}

/// Returns the JSON of a value, borrowed where possible.
pub(super) fn json_of(value: ModelValue<'_>) -> Cow<'_, Json> {
    match value {
        ModelValue::Ref(json) => Cow::Borrowed(json),
        ModelValue::Str(text) => Cow::Owned(Json::from(text)),
        ModelValue::Owned(json) => Cow::Owned(json),
    }
}

/// Whether JavaScript takes a value for true.
pub(super) fn is_true(value: &Json) -> bool {
    match value {
        Json::Null => false,
        Json::Bool(bool) => *bool,
        Json::Number(number) => *number != 0.0,
        Json::String(text) => !text.is_empty(),
        Json::Array(_) | Json::Object(_) => true,
    }
}

/// Returns JavaScript's `String(value)`: lists are joined by commas, and objects have no text.
pub(super) fn as_string(value: &Json) -> String {
    enum TextItem<'a> {
        Value(&'a Json),
        Comma,
    }
    let mut out = String::new();
    let mut next = vec![TextItem::Value(value)];
    while let Some(item) = next.pop() {
        match item {
            TextItem::Comma => out.push(','),
            // Inside a list, null has no text; alone it does not occur here.
            TextItem::Value(Json::Null) => {}
            TextItem::Value(Json::String(text)) => out.push_str(text.as_str()),
            TextItem::Value(Json::Number(number)) if number.is_infinite() => {
                out.push_str(if *number > 0.0 { "Infinity" } else { "-Infinity" });
            }
            TextItem::Value(value @ (Json::Bool(_) | Json::Number(_))) => value.write_to(&mut out),
            TextItem::Value(Json::Object(_)) => out.push_str("[object Object]"),
            TextItem::Value(Json::Array(values)) => {
                for (i, value) in values.iter().enumerate().rev() {
                    next.push(TextItem::Value(value));
                    if i > 0 {
                        next.push(TextItem::Comma);
                    }
                }
            }
        }
    }
    out
}

/// Returns a text without the white space at its ends, as JavaScript's `trim` defines it.
pub(super) fn trim_as_js(text: &str) -> &str {
    text.trim_matches(|c: char| c == '\u{feff}' || (c.is_whitespace() && c != '\u{85}'))
}

/// Parses JSON from a string, and refuses keys that could reach JavaScript's prototypes.
pub(super) fn parse_safely(text: &str) -> Option<Json> {
    let json = Json::parse(text).ok()?;
    let mut pending = vec![&json];
    while let Some(value) = pending.pop() {
        match value {
            Json::Array(values) => pending.extend(values.iter()),
            Json::Object(object) => {
                let constructor = object.get("constructor");
                if object.has("__proto__")
                    || constructor.is_some_and(|value| value.get("prototype").is_some())
                {
                    return None;
                }
                pending.extend(object.iter().map(|(_, value)| value));
            }
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
        }
    }
    Some(json)
}

/// Returns an object without one of its fields.
pub(super) fn without(object: &Object, key: &str) -> Object {
    let mut object = object.clone();
    object.remove(key);
    object
}
