//! Converts values where JavaScript does so implicitly.

use crate::json::{JsString, Json, ObjectKey, write_number};

/// A value that JavaScript cannot turn into text, because the object hides its own `toString`.
#[derive(Debug)]
pub(crate) struct NoText;

/// Returns `String(value)`; an absent value is `undefined`.
pub(crate) fn to_string(value: Option<&Json>) -> Result<String, NoText> {
    match value {
        None => Ok("undefined".to_owned()),
        Some(Json::Null) => Ok("null".to_owned()),
        some => {
            let mut text = JsString::default();
            join(some, &mut text)?;
            Ok(text.into_string())
        }
    }
}

/// Appends an element as `Array.prototype.join` does: null and undefined are empty. Two halves of a pair
/// that meet are joined.
pub(super) fn join(value: Option<&Json>, out: &mut JsString) -> Result<(), NoText> {
    // The text of an array is its elements joined by commas, at any depth.
    enum CoerceStep<'a> {
        Value(&'a Json),
        Comma,
    }
    let mut pending: Vec<CoerceStep<'_>> = value.into_iter().map(CoerceStep::Value).collect();
    while let Some(step) = pending.pop() {
        match step {
            CoerceStep::Comma => out.push(&",".into()),
            CoerceStep::Value(Json::Null) => {}
            CoerceStep::Value(Json::Bool(bool)) => out.push(&bool.to_string().into()),
            CoerceStep::Value(Json::Number(number)) => out.push(&number_to_string(*number).into()),
            CoerceStep::Value(Json::String(text)) => out.push(text),
            CoerceStep::Value(Json::Object(object)) if object.has("toString") => {
                return Err(NoText);
            }
            CoerceStep::Value(Json::Object(_)) => out.push(&"[object Object]".into()),
            CoerceStep::Value(Json::Array(array)) => {
                for (i, element) in array.iter().enumerate().rev() {
                    pending.push(CoerceStep::Value(element));
                    if i > 0 {
                        pending.push(CoerceStep::Comma);
                    }
                }
            }
        }
    }
    Ok(())
}

fn number_to_string(number: f64) -> String {
    if number.is_infinite() {
        return if number > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    let mut text = String::new();
    write_number(number, &mut text);
    text
}

/// Returns the entries that `{...value}` takes from a value: those of an object, or the elements of a list or
/// string by index. If several values are spread into one object, [`Object::from_iter`] lets the last of a key win.
pub(crate) fn spread(value: &Json) -> Vec<(ObjectKey, Json)> {
    match value {
        Json::Object(object) => {
            object.iter().map(|(key, value)| (key.to_owned().into(), value.clone())).collect()
        }
        Json::Array(array) => {
            let entry = |(i, value): (usize, &Json)| (i.to_string().into(), value.clone());
            array.iter().enumerate().map(entry).collect()
        }
        Json::String(text) => {
            // JavaScript counts 16-bit units, so a character beyond them becomes two halves.
            let entry = |(i, unit): (usize, u16)| {
                (i.to_string().into(), Json::from(String::from_utf16_lossy(&[unit])))
            };
            text.encode_utf16().enumerate().map(entry).collect()
        }
        Json::Null | Json::Bool(_) | Json::Number(_) => Vec::new(),
    }
}
