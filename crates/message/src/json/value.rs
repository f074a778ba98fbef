//! The JSON value and its operations.

use std::fmt;

use super::write::{KeyOrder, write};
use super::{Array, JsString, JsonError, Object, ObjectKey};

/// A JSON value.
///
/// ```
/// let value = ship_message::json::Json::parse(r#"{"b":1.0,"a":[true,null]}"#)?;
/// let number = value.get("b").and_then(|b| b.as_number());
/// assert_eq!((number, value.to_string().as_str()), (Some(1.0), r#"{"b":1,"a":[true,null]}"#));
/// # Ok::<(), ship_message::json::JsonError>(())
/// ```
#[derive(Default)]
pub enum Json {
    /// The value `null`.
    #[default]
    Null,
    /// The value `true` or `false`.
    Bool(bool),
    /// A double, as JavaScript reads every number. It may be infinite (`1e400`), and is then written as `null`.
    Number(f64),
    /// A text, possibly cut inside a character.
    String(JsString),
    /// A list of values.
    Array(Array),
    /// Keys with their values, in order.
    Object(Object),
}

impl Json {
    /// Reads one JSON value with only white space around it.
    ///
    /// # Errors
    /// Fails if the text is not JSON. The error has the byte at which that became clear.
    pub fn parse(text: &str) -> Result<Self, JsonError> {
        super::parse::parse(text)
    }

    /// Reads one JSON value from bytes that should be UTF-8.
    ///
    /// # Errors
    /// Fails like [`Json::parse`], and also if the bytes are not UTF-8.
    pub fn parse_bytes(bytes: &[u8]) -> Result<Self, JsonError> {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::parse(text),
            Err(error) => Err(JsonError::not_utf8(error.valid_up_to())),
        }
    }

    /// Appends the text that `JSON.stringify` gives, but with keys in the order in which they were read.
    pub fn write_to(&self, out: &mut String) {
        write(self, KeyOrder::Kept, out);
    }

    /// Returns the text that `JSON.stringify` gives, with its order of keys: array indexes come first. It is meant
    /// for JSON inside a string that must equal JavaScript's.
    pub fn stringify(&self) -> String {
        let mut text = String::new();
        write(self, KeyOrder::JavaScript, &mut text);
        text
    }

    /// Returns the string, if the value is one.
    pub fn as_str(&self) -> Option<&str> {
        self.as_js_string().map(JsString::as_str)
    }

    /// Returns the string with the halves at its ends, if the value is one.
    pub fn as_js_string(&self) -> Option<&JsString> {
        if let Self::String(string) = self { Some(string) } else { None }
    }

    /// Returns the number, if the value is one.
    pub fn as_number(&self) -> Option<f64> {
        if let Self::Number(number) = self { Some(*number) } else { None }
    }

    /// Returns the number if it is whole and from 0 to 2^53, where doubles are exact.
    pub fn as_u64(&self) -> Option<u64> {
        const EXACT_MAX: f64 = 9_007_199_254_740_992.0;
        let number = self.as_number()?;
        let whole = (0.0..=EXACT_MAX).contains(&number) && number.fract() == 0.0;
        whole.then_some(number as u64)
    }

    /// Returns the boolean, if the value is one.
    pub fn as_bool(&self) -> Option<bool> {
        if let Self::Bool(bool) = self { Some(*bool) } else { None }
    }

    /// Returns the values, if the value is an array.
    pub fn as_array(&self) -> Option<&[Self]> {
        if let Self::Array(array) = self { Some(array) } else { None }
    }

    /// Returns the object, if the value is one.
    pub fn as_object(&self) -> Option<&Object> {
        if let Self::Object(object) = self { Some(object) } else { None }
    }

    /// Returns the object for changes, if the value is one.
    pub fn as_object_mut(&mut self) -> Option<&mut Object> {
        if let Self::Object(object) = self { Some(object) } else { None }
    }

    /// Returns the value of `key`, if this is an object with that key.
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.as_object()?.get(key)
    }

    /// Whether the value is `null`.
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    pub(super) fn is_container(&self) -> bool {
        matches!(self, Self::Array(_) | Self::Object(_))
    }

    /// Calls `visit` once for the value and each value in it, without recursion.
    pub fn for_each(&self, mut visit: impl FnMut(&Self)) {
        let mut pending = vec![self];
        while let Some(value) = pending.pop() {
            visit(value);
            match value {
                // Backwards, because the stack gives its last value first.
                Self::Array(array) => pending.extend(array.iter().rev()),
                Self::Object(object) => pending.extend(object.0.iter().rev().map(|(_, v)| v)),
                Self::Null | Self::Bool(_) | Self::Number(_) | Self::String(_) => {}
            }
        }
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        self.write_to(&mut text);
        f.write_str(&text)
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        super::write::write_object(self, &mut text);
        f.write_str(&text)
    }
}

impl fmt::Debug for Array {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

// Equality and copying do not recurse either, for the reason given at `Drop`.

impl PartialEq for Json {
    /// Compares values; the order of keys does not matter.
    fn eq(&self, other: &Self) -> bool {
        let mut pending = vec![(self, other)];
        while let Some((a, b)) = pending.pop() {
            let equal = match (a, b) {
                (Self::Null, Self::Null) => true,
                (Self::Bool(a), Self::Bool(b)) => a == b,
                (Self::Number(a), Self::Number(b)) => a == b,
                (Self::String(a), Self::String(b)) => a == b,
                (Self::Array(a), Self::Array(b)) => {
                    pending.extend(a.iter().zip(b.iter()));
                    a.len() == b.len()
                }
                (Self::Object(a), Self::Object(b)) => pair_up(a, b, &mut pending),
                _ => false,
            };
            if !equal {
                return false;
            }
        }
        true
    }
}

/// Pairs the values of equal keys for comparison. Returns false if the keys differ.
fn pair_up<'a>(a: &'a Object, b: &'a Object, pairs: &mut Vec<(&'a Json, &'a Json)>) -> bool {
    if a.len() != b.len() {
        return false;
    }
    // The same keys in the same order are the usual case, and this path keeps large objects linear.
    if a.keys().eq(b.keys()) {
        pairs.extend(a.0.iter().map(|(_, v)| v).zip(b.0.iter().map(|(_, v)| v)));
        return true;
    }
    let places: std::collections::HashMap<&str, &Json> = b.iter().collect();
    a.iter().all(|(key, value)| {
        let found = places.get(key);
        pairs.extend(found.map(|other| (value, *other)));
        found.is_some()
    })
}

impl PartialEq for Object {
    fn eq(&self, other: &Self) -> bool {
        let mut pairs = Vec::new();
        pair_up(self, other, &mut pairs) && pairs.iter().all(|(a, b)| a == b)
    }
}

impl PartialEq for Array {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().zip(other.iter()).all(|(a, b)| a == b)
    }
}

impl Clone for Json {
    fn clone(&self) -> Self {
        match self {
            Self::Null => Self::Null,
            Self::Bool(bool) => Self::Bool(*bool),
            Self::Number(number) => Self::Number(*number),
            Self::String(string) => Self::String(string.clone()),
            Self::Array(_) | Self::Object(_) => copy_container(self),
        }
    }
}

/// A container that is being copied: the rest of it, and the finished part.
enum Copying<'a> {
    Array(std::slice::Iter<'a, Json>, Vec<Json>),
    Object(std::slice::Iter<'a, (ObjectKey, Json)>, Vec<(ObjectKey, Json)>),
}

fn copy_container(value: &Json) -> Json {
    let mut stack: Vec<Copying<'_>> = Vec::new();
    let mut current = value;
    loop {
        let mut done = match current {
            Json::Array(array) => {
                stack.push(Copying::Array(array.0.iter(), Vec::with_capacity(array.len())));
                None
            }
            Json::Object(object) => {
                stack.push(Copying::Object(object.0.iter(), Vec::with_capacity(object.len())));
                None
            }
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => Some(current.clone()),
        };
        // A finished container goes to its parent, until a parent has another child to copy.
        current = loop {
            let next = match stack.last_mut() {
                None => return done.unwrap_or_default(),
                Some(Copying::Array(rest, copied)) => {
                    copied.extend(done.take());
                    rest.next()
                }
                Some(Copying::Object(rest, copied)) => {
                    if let (Some(value), Some(entry)) = (done.take(), copied.last_mut()) {
                        entry.1 = value;
                    }
                    rest.next().map(|(key, value)| {
                        copied.push((key.clone(), Json::Null));
                        value
                    })
                }
            };
            match next {
                Some(value) => break value,
                None => {
                    done = stack.pop().map(|frame| match frame {
                        Copying::Array(_, copied) => Json::Array(Array(copied)),
                        Copying::Object(_, copied) => Json::Object(Object(copied)),
                    });
                }
            }
        };
    }
}

impl Clone for Object {
    fn clone(&self) -> Self {
        Self(self.0.iter().map(|(key, value)| (key.clone(), value.clone())).collect())
    }
}

impl Clone for Array {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl From<bool> for Json {
    fn from(bool: bool) -> Self {
        Self::Bool(bool)
    }
}

impl From<f64> for Json {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl From<u64> for Json {
    /// The number is exact up to 2^53, because every number is a double.
    fn from(number: u64) -> Self {
        Self::Number(number as f64)
    }
}

impl From<&str> for Json {
    fn from(text: &str) -> Self {
        Self::String(text.into())
    }
}

impl From<String> for Json {
    fn from(text: String) -> Self {
        Self::String(text.into())
    }
}

impl From<JsString> for Json {
    fn from(string: JsString) -> Self {
        Self::String(string)
    }
}

impl From<Object> for Json {
    fn from(object: Object) -> Self {
        Self::Object(object)
    }
}

impl From<Array> for Json {
    fn from(array: Array) -> Self {
        Self::Array(array)
    }
}

impl From<Vec<Self>> for Json {
    fn from(values: Vec<Self>) -> Self {
        Self::Array(values.into())
    }
}
