//! The few places where JavaScript turns a value into something else without being asked.

use crate::json::{JsString, Json, Object, write_number};

/// `String(value)`, where no value is `undefined`.
pub(super) fn to_string(value: Option<&Json>) -> String {
    match value {
        None => "undefined".to_owned(),
        Some(Json::Null) => "null".to_owned(),
        some => {
            let mut text = JsString::default();
            join(some, &mut text);
            text.into_string()
        }
    }
}

/// Appends an element as `Array.prototype.join` does: null and undefined are empty. Halves of a pair that
/// meet are joined.
pub(super) fn join(value: Option<&Json>, out: &mut JsString) {
    // An array's own text is its elements joined by commas, however deep they are nested.
    enum Step<'a> {
        Value(&'a Json),
        Comma,
    }
    let mut pending: Vec<Step<'_>> = value.into_iter().map(Step::Value).collect();
    while let Some(step) = pending.pop() {
        match step {
            Step::Comma => out.push(&",".into()),
            Step::Value(Json::Null) => {}
            Step::Value(Json::Bool(bool)) => out.push(&bool.to_string().into()),
            Step::Value(Json::Number(number)) => out.push(&number_to_string(*number).into()),
            Step::Value(Json::String(text)) => out.push(text),
            Step::Value(Json::Object(_)) => out.push(&"[object Object]".into()),
            Step::Value(Json::Array(array)) => {
                for (i, element) in array.iter().enumerate().rev() {
                    pending.push(Step::Value(element));
                    if i > 0 {
                        pending.push(Step::Comma);
                    }
                }
            }
        }
    }
}

fn number_to_string(number: f64) -> String {
    if number.is_infinite() {
        return if number > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    let mut text = String::new();
    write_number(number, &mut text);
    text
}

/// `{...target, ...value}`: objects give their entries, lists and strings their elements by index.
pub(crate) fn spread(value: &Json, target: &mut Object) {
    match value {
        Json::Object(object) => {
            for (key, value) in object.iter() {
                target.set(key.to_owned(), value.clone());
            }
        }
        Json::Array(array) => {
            for (i, value) in array.iter().enumerate() {
                target.set(i.to_string(), value.clone());
            }
        }
        Json::String(text) => {
            // JavaScript counts 16-bit units, so a character beyond them falls into two halves.
            for (i, unit) in text.encode_utf16().enumerate() {
                let text = String::from_utf16_lossy(&[unit]);
                target.set(i.to_string(), text);
            }
        }
        Json::Null | Json::Bool(_) | Json::Number(_) => {}
    }
}
