//! Assembles calls of tools from pieces, as OpenAI and other hosts stream them.
//!
//! A piece should have the index of its call, and the first piece of a call its id and name. Hosts leave out the
//! index, leave out, blank or repeat the id, send the name late or with every piece, put several calls under one
//! index, or send the whole call in one piece. This module decides where a new call begins, from the fields of a
//! piece and from whether the input so far is a complete JSON value.

use std::collections::HashMap;

use ship_message::json::{JsString, Json, Object};

use crate::http::answer_draft::{CALLS_MAX, Call};
use crate::http::answer_fault::AnswerFault;

/// The calls of an answer so far.
#[derive(Debug, Default)]
pub(super) struct StreamedCalls {
    calls: Vec<StreamedCall>,
    /// The latest call of each index.
    by_index: HashMap<u64, usize>,
    by_id: HashMap<String, usize>,
}

#[derive(Debug, Default)]
struct StreamedCall {
    call: Call,
    brackets: BracketScan,
}

/// The fields of one piece. A blank field counts as missing.
struct CallDelta<'a> {
    index: Option<u64>,
    id: Option<&'a str>,
    name: Option<&'a str>,
    input: JsString,
    signature: Option<&'a str>,
}

impl StreamedCalls {
    /// Takes one piece of a call. Returns whether it carries anything.
    pub(super) fn add_delta(&mut self, piece: &Json) -> Result<bool, AnswerFault> {
        let Some(piece) = CallDelta::read(piece) else { return Ok(false) };
        let at = match self.continued_call(&piece).filter(|&at| !self.begins_new_call(at, &piece)) {
            Some(at) => at,
            None if self.calls.len() >= CALLS_MAX => {
                return Err(AnswerFault::Protocol(format!(
                    "more than {CALLS_MAX} calls in one answer"
                )));
            }
            None => {
                self.calls.push(StreamedCall::default());
                self.calls.len() - 1
            }
        };
        if let Some(index) = piece.index {
            self.by_index.insert(index, at);
        }
        let streamed = &mut self.calls[at];
        let mut has_news = !piece.input.is_empty();
        // Later ids are ignored, because some hosts invent one for every piece.
        if let Some(id) = piece.id.filter(|_| streamed.call.id.is_empty()) {
            id.clone_into(&mut streamed.call.id);
            self.by_id.insert(id.to_owned(), at);
            has_news = true;
        }
        if let Some(name) = piece.name.filter(|_| streamed.call.name.is_empty()) {
            name.clone_into(&mut streamed.call.name);
            has_news = true;
        }
        streamed.brackets.scan(&piece.input);
        streamed.call.input.push(&piece.input);
        if let Some(signature) = piece.signature {
            streamed.call.metadata = Some(google_metadata(signature));
        }
        Ok(has_news)
    }

    /// Returns the calls in the order in which they began.
    pub(super) fn into_calls(self) -> Vec<Call> {
        self.calls.into_iter().map(|streamed| streamed.call).collect()
    }

    /// Returns the call that a piece would continue.
    fn continued_call(&self, piece: &CallDelta<'_>) -> Option<usize> {
        let latest = self.calls.len().checked_sub(1);
        match (piece.index, piece.id) {
            (Some(index), _) => self.by_index.get(&index).copied(),
            (None, None) => latest,
            (None, Some(id)) => {
                let known = self.by_id.get(id).copied();
                // An unknown id with a name begins a call; without a name it may be an invented one.
                known.or_else(|| latest.filter(|_| piece.name.is_none()))
            }
        }
    }

    /// Whether a piece begins a new call although it could continue `at`.
    fn begins_new_call(&self, at: usize, piece: &CallDelta<'_>) -> bool {
        let StreamedCall { call, brackets } = &self.calls[at];
        let is_other = |ours: &str, theirs: Option<&str>| {
            theirs.is_some_and(|theirs| !ours.is_empty() && ours != theirs)
        };
        let other_id = is_other(&call.id, piece.id);
        let other_name = is_other(&call.name, piece.name);
        if brackets.is_complete() {
            // Only white space may follow a complete value.
            let goes_on = !piece.input.trim().is_empty();
            return other_id || other_name || (piece.name.is_some() && goes_on);
        }
        // Some hosts invent an id for every piece, so an id alone proves nothing.
        (other_id && piece.name.is_some()) || (other_name && call.input.is_empty())
    }
}

impl<'a> CallDelta<'a> {
    fn read(piece: &'a Json) -> Option<Self> {
        let object = piece.as_object()?;
        let function = object.get("function").and_then(Json::as_object);
        let field = |name: &str| function.and_then(|function| function.get(name));
        let filled = |text: &&str| !text.trim().is_empty();
        let input = match field("arguments") {
            Some(Json::String(text)) => text.clone(),
            // Some hosts send the input as JSON and not as text.
            Some(value @ (Json::Object(_) | Json::Array(_))) => value.stringify().into(),
            _ => JsString::default(),
        };
        let signature = object.get("extra_content").and_then(|extra| extra.get("google"));
        Some(Self {
            index: object.get("index").and_then(Json::as_u64),
            id: object.str("id").filter(filled),
            name: field("name").and_then(Json::as_str).filter(filled),
            input,
            signature: signature.and_then(|google| google.get("thought_signature")?.as_str()),
        })
    }
}

/// Returns Gemini's signature of a call in the form in which the AI SDK keeps it.
fn google_metadata(signature: &str) -> Json {
    Object::from([("google", Object::from([("thoughtSignature", signature)]))]).into()
}

/// Follows brackets and strings, to know when a JSON value is complete without parsing it again.
#[derive(Debug, Default)]
struct BracketScan {
    depth: usize,
    in_string: bool,
    escaped: bool,
    has_closed: bool,
}

impl BracketScan {
    fn scan(&mut self, text: &str) {
        for byte in text.bytes() {
            if self.in_string {
                match byte {
                    _ if self.escaped => self.escaped = false,
                    b'\\' => self.escaped = true,
                    b'"' => self.in_string = false,
                    _ => {}
                }
                continue;
            }
            match byte {
                b'"' => self.in_string = true,
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => {
                    // A host may send more closing brackets than opening ones.
                    self.depth = self.depth.saturating_sub(1);
                    self.has_closed = self.depth == 0;
                }
                _ => {}
            }
        }
    }

    fn is_complete(&self) -> bool {
        self.has_closed && self.depth == 0 && !self.in_string
    }
}
