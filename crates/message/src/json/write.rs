//! Writing: the bytes that `JSON.stringify` gives.

use super::{Json, Object};

/// A container being written: what is left of it, and whether anything was written yet.
struct Frame<'a> {
    rest: Rest<'a>,
    first: bool,
}

enum Rest<'a> {
    Array(std::slice::Iter<'a, Json>),
    Object(std::slice::Iter<'a, (super::Key, Json)>),
}

pub(super) fn write(value: &Json, out: &mut String) {
    let mut stack = Vec::new();
    open(value, &mut stack, out);
    close_all(&mut stack, out);
}

pub(super) fn write_object(object: &Object, out: &mut String) {
    out.push('{');
    close_all(&mut vec![Frame { rest: Rest::Object(object.0.iter()), first: true }], out);
}

/// Writes a value, or opens it when it is a container.
fn open<'a>(value: &'a Json, stack: &mut Vec<Frame<'a>>, out: &mut String) {
    match value {
        Json::Null => out.push_str("null"),
        Json::Bool(true) => out.push_str("true"),
        Json::Bool(false) => out.push_str("false"),
        Json::Number(number) => write_number(*number, out),
        Json::String(string) => write_string(string, out),
        Json::Array(array) => {
            out.push('[');
            stack.push(Frame { rest: Rest::Array(array.iter()), first: true });
        }
        Json::Object(object) => {
            out.push('{');
            stack.push(Frame { rest: Rest::Object(object.0.iter()), first: true });
        }
    }
}

/// Writes what is left of every open container.
fn close_all<'a>(stack: &mut Vec<Frame<'a>>, out: &mut String) {
    while let Some(frame) = stack.last_mut() {
        let (next, close) = match &mut frame.rest {
            Rest::Array(values) => (values.next().map(|value| (None, value)), ']'),
            Rest::Object(entries) => (entries.next().map(|(key, value)| (Some(key), value)), '}'),
        };
        let Some((key, value)) = next else {
            out.push(close);
            stack.pop();
            continue;
        };
        if !std::mem::take(&mut frame.first) {
            out.push(',');
        }
        if let Some(key) = key {
            write_string(key, out);
            out.push(':');
        }
        open(value, stack, out);
    }
}

/// Writes a number as JavaScript does; what is not finite is `null`.
pub(crate) fn write_number(number: f64, out: &mut String) {
    const EXACT: f64 = 1e15;
    if !number.is_finite() {
        out.push_str("null");
    } else if number.fract() == 0.0 && number.abs() < EXACT {
        use std::fmt::Write as _;
        // Cannot fail: writing to a `String`.
        let _ = write!(out, "{}", number as i64);
    } else {
        out.push_str(ryu_js::Buffer::new().format_finite(number));
    }
}

fn write_string(text: &str, out: &mut String) {
    out.push('"');
    let mut plain = 0;
    for (at, byte) in text.bytes().enumerate() {
        let escape = match byte {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            b'\n' => "\\n",
            b'\r' => "\\r",
            b'\t' => "\\t",
            0x08 => "\\b",
            0x0C => "\\f",
            0x00..0x20 => "",
            _ => continue,
        };
        out.push_str(&text[plain..at]);
        plain = at + 1;
        if escape.is_empty() {
            use std::fmt::Write as _;
            let _ = write!(out, "\\u{byte:04x}");
        } else {
            out.push_str(escape);
        }
    }
    out.push_str(&text[plain..]);
    out.push('"');
}
