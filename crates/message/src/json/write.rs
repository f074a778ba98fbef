//! Writes JSON with the bytes that `JSON.stringify` gives.
//!
//! There is one difference. JavaScript puts keys that look like array indexes before all others, in ascending
//! order; we keep the order of the text. Where our bytes become part of a string that is compared with
//! JavaScript's, the order must be JavaScript's too: [`KeyOrder::JavaScript`].

use super::{Json, Object, ObjectKey};

/// The order in which an object's keys are written.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum KeyOrder {
    /// The order in which keys were read or set.
    Kept,
    /// Array indexes first, in ascending order.
    JavaScript,
}

/// A container that is being written: the rest of it, and whether it has an entry yet.
struct Frame<'a> {
    rest: RemainingValues<'a>,
    first: bool,
}

enum RemainingValues<'a> {
    Array(std::slice::Iter<'a, Json>),
    Object(std::slice::Iter<'a, (ObjectKey, Json)>),
    Sorted(std::vec::IntoIter<&'a (ObjectKey, Json)>),
}

pub(super) fn write(value: &Json, order: KeyOrder, out: &mut String) {
    let mut stack = Vec::new();
    open(value, order, &mut stack, out);
    close_all(order, &mut stack, out);
}

pub(crate) fn write_object(object: &Object, out: &mut String) {
    out.push('{');
    let frame = Frame { rest: RemainingValues::Object(object.0.iter()), first: true };
    close_all(KeyOrder::Kept, &mut vec![frame], out);
}

/// Writes a value, or opens it if it is a container.
fn open<'a>(value: &'a Json, order: KeyOrder, stack: &mut Vec<Frame<'a>>, out: &mut String) {
    match value {
        Json::Null => out.push_str("null"),
        Json::Bool(true) => out.push_str("true"),
        Json::Bool(false) => out.push_str("false"),
        Json::Number(number) => write_number(*number, out),
        Json::String(string) => write_string(string, out),
        Json::Array(array) => {
            out.push('[');
            stack.push(Frame { rest: RemainingValues::Array(array.iter()), first: true });
        }
        Json::Object(object) => {
            out.push('{');
            stack.push(Frame { rest: entries(object, order), first: true });
        }
    }
}

fn entries(object: &Object, order: KeyOrder) -> RemainingValues<'_> {
    if order == KeyOrder::Kept || object.keys().all(|key| array_index(key).is_none()) {
        return RemainingValues::Object(object.0.iter());
    }
    let mut entries: Vec<&(ObjectKey, Json)> = object.0.iter().collect();
    // The sort is stable: indexes ascend, and all other keys stay behind them in their order.
    entries.sort_by_key(|(key, _)| array_index(key).map_or(u64::MAX, u64::from));
    RemainingValues::Sorted(entries.into_iter())
}

/// Returns the array index of a key that JavaScript takes for one: `"0"`, `"17"`, but not `"01"`.
fn array_index(key: &str) -> Option<u32> {
    let canonical =
        key == "0" || (key.starts_with(|c: char| c.is_ascii_digit()) && !key.starts_with('0'));
    key.parse().ok().filter(|&index| canonical && index < u32::MAX)
}

/// Writes the rest of every open container.
fn close_all<'a>(order: KeyOrder, stack: &mut Vec<Frame<'a>>, out: &mut String) {
    while let Some(frame) = stack.last_mut() {
        let (next, close) = match &mut frame.rest {
            RemainingValues::Array(values) => (values.next().map(|value| (None, value)), ']'),
            RemainingValues::Object(entries) => {
                (entries.next().map(|(key, value)| (Some(key), value)), '}')
            }
            RemainingValues::Sorted(entries) => {
                (entries.next().map(|(key, value)| (Some(key), value)), '}')
            }
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
        open(value, order, stack, out);
    }
}

/// Writes a number as JavaScript does; a number that is not finite becomes `null`.
pub(crate) fn write_number(number: f64, out: &mut String) {
    // Below this, every whole number is exact as an integer, which is written faster.
    const EXACT: f64 = 1e15;
    if !number.is_finite() {
        out.push_str("null");
    } else if number.fract() == 0.0 && number.abs() < EXACT {
        use std::fmt::Write as _;
        // Writing to a `String` cannot fail.
        let _ = write!(out, "{}", number as i64);
    } else {
        out.push_str(ryu_js::Buffer::new().format_finite(number));
    }
}

pub(crate) fn write_string(text: &str, out: &mut String) {
    let bytes = text.as_bytes();
    out.reserve(bytes.len() + 2);
    out.push('"');
    let (mut plain, mut at) = (0, 0);
    loop {
        at += plain_bytes(&bytes[at..]);
        // The next eight bytes have one that needs an escape, or they are the last ones.
        let Some(ahead) = bytes[at..].iter().position(|byte| ESCAPED[usize::from(*byte)]) else {
            break;
        };
        let byte = bytes[at + ahead];
        at += ahead + 1;
        let escape = match byte {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            b'\n' => "\\n",
            b'\r' => "\\r",
            b'\t' => "\\t",
            0x08 => "\\b",
            0x0C => "\\f",
            // Other control characters have no short form, and are written as numbers.
            _ => "",
        };
        out.push_str(&text[plain..at - 1]);
        plain = at;
        if escape.is_empty() {
            use std::fmt::Write as _;
            // Writing to a `String` cannot fail.
            let _ = write!(out, "\\u{byte:04x}");
        } else {
            out.push_str(escape);
        }
    }
    out.push_str(&text[plain..]);
    out.push('"');
}

/// Whether each byte needs an escape.
const ESCAPED: [bool; 256] = {
    let mut escaped = [false; 256];
    let mut control = 0;
    while control < 0x20 {
        escaped[control] = true;
        control += 1;
    }
    escaped[b'"' as usize] = true;
    escaped[b'\\' as usize] = true;
    escaped
};

/// Returns the number of bytes at the beginning that need no escape, in steps of eight: most of a text needs none,
/// and eight bytes are checked as fast as one.
fn plain_bytes(bytes: &[u8]) -> usize {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const TOPS: u64 = u64::from_ne_bytes([0x80; 8]);
    // The top bit of a byte in the result is set if that byte is smaller than `limit`.
    let any_below = |word: u64, limit: u64| word.wrapping_sub(ONES * limit) & !word & TOPS != 0;
    let is_plain = |chunk: &&[u8; 8]| {
        let word = u64::from_ne_bytes(**chunk);
        let quote = word ^ (ONES * u64::from(b'"'));
        let backslash = word ^ (ONES * u64::from(b'\\'));
        !any_below(word, 0x20) && !any_below(quote, 1) && !any_below(backslash, 1)
    };
    8 * bytes.as_chunks().0.iter().take_while(is_plain).count()
}
