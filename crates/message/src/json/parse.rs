//! Parses JSON in one pass over the text, with a stack of open containers.

use super::object::{Array, Object, ObjectKey};
use super::{JsString, Json};

/// The reason why a text is not JSON.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not JSON: {expected} at byte {offset}")]
pub struct JsonError {
    offset: usize,
    expected: &'static str,
}

impl JsonError {
    /// Returns the byte at which the text stopped being JSON.
    pub fn offset(&self) -> usize {
        self.offset
    }

    pub(super) fn not_utf8(offset: usize) -> Self {
        Self { offset, expected: "expected UTF-8" }
    }
}

/// A container that is not closed yet: the place of its first value on the stack of values.
enum OpenContainer {
    Array(usize),
    /// The place of its first entry on the stack of entries, and the key of the next value.
    Object(usize, ObjectKey),
}

pub(super) fn parse(text: &str) -> Result<Json, JsonError> {
    let mut reader = JsonReader { text, bytes: text.as_bytes(), at: 0 };
    // A stack of our own instead of recursion, so that deep nesting cannot overflow the thread's.
    let mut stack: Vec<OpenContainer> = Vec::new();
    // A container is made when it closes, in the size that it needs: messages are kept in memory for long.
    let mut values: Vec<Json> = Vec::new();
    let mut entries: Vec<(ObjectKey, Json)> = Vec::new();
    loop {
        reader.skip_white();
        let mut value = match reader.peek() {
            Some(b'{') => {
                reader.at += 1;
                reader.skip_white();
                if reader.eat(b'}') {
                    Json::Object(Object::new())
                } else {
                    let key = reader.key()?;
                    stack.push(OpenContainer::Object(entries.len(), key));
                    continue;
                }
            }
            Some(b'[') => {
                reader.at += 1;
                reader.skip_white();
                if reader.eat(b']') {
                    Json::Array(Array::default())
                } else {
                    stack.push(OpenContainer::Array(values.len()));
                    continue;
                }
            }
            _ => reader.scalar()?,
        };
        // The value goes to its container, and every container that ends here is closed.
        loop {
            reader.skip_white();
            match stack.last_mut() {
                None => {
                    return if reader.at == text.len() {
                        Ok(value)
                    } else {
                        Err(reader.error("expected the end of the text"))
                    };
                }
                Some(OpenContainer::Array(start)) => {
                    values.push(value);
                    if reader.eat(b',') {
                        break;
                    }
                    reader.expect(b']', "expected `,` or `]`")?;
                    value = Json::Array(Array(values.drain(*start..).collect()));
                }
                Some(OpenContainer::Object(start, key)) => {
                    entries.push((std::mem::take(key), value));
                    if reader.eat(b',') {
                        reader.skip_white();
                        *key = reader.key()?;
                        break;
                    }
                    reader.expect(b'}', "expected `,` or `}`")?;
                    let mut object = Object(entries.drain(*start..).collect());
                    object.merge_equal_keys();
                    value = Json::Object(object);
                }
            }
            stack.pop();
        }
    }
}

struct JsonReader<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
}

impl JsonReader<'_> {
    fn error(&self, expected: &'static str) -> JsonError {
        JsonError { offset: self.at, expected }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, byte: u8, expected: &'static str) -> Result<(), JsonError> {
        if self.eat(byte) { Ok(()) } else { Err(self.error(expected)) }
    }

    fn skip_white(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }

    /// Reads a key and the colon after it.
    fn key(&mut self) -> Result<ObjectKey, JsonError> {
        if self.peek() != Some(b'"') {
            return Err(self.error("expected a key in quotes"));
        }
        let key = match self.plain_string() {
            Some(plain) => known_key(plain)
                .map_or_else(|| ObjectKey::Owned(plain.to_owned()), ObjectKey::Borrowed),
            None => ObjectKey::Owned(self.string()?.into_string()),
        };
        self.skip_white();
        self.expect(b':', "expected `:`")?;
        Ok(key)
    }

    fn scalar(&mut self) -> Result<Json, JsonError> {
        match self.peek() {
            Some(b'"') => self.string().map(Json::String),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.literal("true", Json::Bool(true)),
            Some(b'f') => self.literal("false", Json::Bool(false)),
            Some(b'n') => self.literal("null", Json::Null),
            _ => Err(self.error("expected a value")),
        }
    }

    fn literal(&mut self, word: &str, value: Json) -> Result<Json, JsonError> {
        if self.text[self.at..].starts_with(word) {
            self.at += word.len();
            Ok(value)
        } else {
            Err(self.error("expected a value"))
        }
    }

    fn digits(&mut self) -> Result<(), JsonError> {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if self.at == start { Err(self.error("expected a digit")) } else { Ok(()) }
    }

    fn number(&mut self) -> Result<Json, JsonError> {
        /// The number of digits up to which a whole number is exact in a double.
        const EXACT_DIGITS: usize = 15;
        let start = self.at;
        self.eat(b'-');
        if !self.eat(b'0') {
            self.digits()?;
        }
        let whole = !matches!(self.peek(), Some(b'.' | b'e' | b'E'));
        if self.eat(b'.') {
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        let text = &self.text[start..self.at];
        // Most numbers are short and whole, and integers are cheaper to parse.
        if whole && text.len() <= EXACT_DIGITS {
            let number: i64 = text.parse().map_err(|_| self.error("expected a number"))?;
            return Ok(Json::Number(number as f64));
        }
        text.parse().map(Json::Number).map_err(|_| self.error("expected a number"))
    }

    /// Reads a string without escapes, the usual case. Returns `None`, without moving on, if it has any.
    fn plain_string(&mut self) -> Option<&str> {
        let start = self.at + 1;
        let run = plain_run(&self.bytes[start..]);
        if self.bytes.get(start + run) != Some(&b'"') {
            return None;
        }
        self.at = start + run + 1;
        Some(&self.text[start..start + run])
    }

    fn string(&mut self) -> Result<JsString, JsonError> {
        if let Some(plain) = self.plain_string() {
            return Ok(plain.into());
        }
        self.at += 1;
        let mut string = JsString::default();
        loop {
            let run = plain_run(&self.bytes[self.at..]);
            string.push_text(&self.text[self.at..self.at + run]);
            self.at += run;
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(string);
                }
                Some(b'\\') => self.escape(&mut string)?,
                Some(_) => return Err(self.error("expected no control character in a string")),
                None => return Err(self.error("expected the end of a string")),
            }
        }
    }

    fn escape(&mut self, string: &mut JsString) -> Result<(), JsonError> {
        self.at += 1;
        let text = match self.peek() {
            Some(b'"') => "\"",
            Some(b'\\') => "\\",
            Some(b'/') => "/",
            Some(b'b') => "\u{8}",
            Some(b'f') => "\u{C}",
            Some(b'n') => "\n",
            Some(b'r') => "\r",
            Some(b't') => "\t",
            Some(b'u') => {
                let digits = self.bytes.get(self.at + 1..self.at + 5);
                let unit = digits
                    .and_then(hex)
                    .ok_or_else(|| self.error("expected `\\u` and four hex digits"))?;
                string.push_unit(unit);
                self.at += 5;
                return Ok(());
            }
            _ => return Err(self.error("expected an escape")),
        };
        string.push_text(text);
        self.at += 1;
        Ok(())
    }
}

/// Returns the number of bytes before the next quote, backslash or control character.
fn plain_run(bytes: &[u8]) -> usize {
    let run = memchr::memchr2(b'"', b'\\', bytes).unwrap_or(bytes.len());
    // Control characters are rare. A loop without an exit looks at many bytes at once.
    let has_control = bytes[..run].iter().fold(false, |found, &byte| found | (byte < 0x20));
    match has_control {
        true => bytes.iter().position(|&byte| byte < 0x20).unwrap_or(run),
        false => run,
    }
}

fn hex(digits: &[u8]) -> Option<u16> {
    digits.iter().try_fold(0, |unit, &digit| {
        let digit = char::from(digit).to_digit(16)?;
        Some(unit << 4 | digit as u16)
    })
}

/// Returns the names that messages, chunks and log lines use, so that reading them allocates nothing.
fn known_key(key: &str) -> Option<&'static str> {
    macro_rules! known {
        ($($name:literal)*) => { match key { $($name => Some($name),)* _ => None } };
    }
    known!(
        "id" "role" "parts" "metadata" "type" "text" "state" "providerMetadata" "mediaType" "url"
        "filename" "sourceId" "title" "data" "toolCallId" "toolName" "input" "output" "errorText"
        "rawInput" "inputEncoding" "approval" "approved" "reason" "descriptor" "signature"
        "inputSchemaInput" "preliminary" "providerExecuted" "callProviderMetadata"
        "resultProviderMetadata" "toolMetadata" "dynamic" "delta" "inputTextDelta" "messageId"
        "messageMetadata" "finishReason" "approvalId" "transient" "content" "providerOptions" "value"
        "seq" "rev" "in" "batch" "blobs" "crc" "ts" "event" "ref_msg_id" "v" "chatKey" "channel"
        "chatId" "userId" "username" "messageThreadId" "chatType" "requestId" "runId" "kind" "source"
        "sourceRange" "fromId" "toId" "count" "meta" "name" "tool_call_id" "tool_name" "tool_calls"
        "is_error" "is_meta" "compacted"
    )
}
