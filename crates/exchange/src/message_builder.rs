//! Makes a message from the values of a file.

use std::collections::HashMap;

use ship_message::json::{Json, Object};
use ship_message::{DataPart, FilePart, PartFields as _, Role, ToolPart, UiMessage, UiPart};
use ship_record::{MessageKind, NewMetadata, Timestamp};

/// The type of the parts with what a message cannot hold in another way.
pub const KEPT_DATA: &str = "data-imported";

/// The error of a call that has no result in its file.
pub const UNANSWERED_CALL: &str = "The file has no result of this call.";

/// The kind of data for a result without its call.
pub(crate) const LONE_RESULT: &str = "result without a call";

/// Returns the kind of what a part keeps, if it is data that could not be represented.
pub fn kept_kind(part: &UiPart) -> Option<&str> {
    let UiPart::Data(part) = part else { return None };
    let kind = part.data().filter(|_| is_kept(part))?.get("kind")?;
    kind.as_str()
}

fn is_kept(part: &DataPart) -> bool {
    part.field("type").and_then(Json::as_str) == Some(KEPT_DATA)
}

/// The parts of a message, in the order in which they come.
pub(crate) struct MessageBuilder {
    id: String,
    role: Role,
    parts: Vec<UiPart>,
    calls: HashMap<String, usize>,
    metadata: NewMetadata,
    has_metadata: bool,
    /// Whether the next part of the model begins a step.
    step_is_over: bool,
}

impl MessageBuilder {
    pub(crate) fn new(id: String, role: Role) -> Self {
        Self {
            id,
            role,
            parts: Vec::new(),
            calls: HashMap::new(),
            metadata: NewMetadata::default(),
            has_metadata: false,
            step_is_over: true,
        }
    }

    /// Begins a message with the id that its file gives it, or with `fallback` if that is empty or no text.
    pub(crate) fn with_id(id: Option<&Json>, fallback: String, role: Role) -> Self {
        let id = id.and_then(Json::as_str).filter(|id| !id.is_empty());
        Self::new(id.map_or(fallback, str::to_owned), role)
    }

    /// Sets the time, unless it is set.
    pub(crate) fn set_ts(&mut self, ts: Option<Timestamp>) {
        if let Some(ts) = ts.filter(|_| !self.has_metadata) {
            self.metadata.set_ts(ts);
            self.has_metadata = true;
        }
    }

    /// Marks the message as a summary of others.
    pub(crate) fn set_summary(&mut self) {
        self.metadata.set_kind(MessageKind::Summary);
    }

    /// Begins a step with the next part of the model.
    pub(crate) fn end_step(&mut self) {
        self.step_is_over = true;
    }

    fn begin_step(&mut self) {
        if self.role == Role::Assistant && std::mem::take(&mut self.step_is_over) {
            self.push(Object::from([("type", "step-start")]));
        }
    }

    fn push(&mut self, part: Object) {
        self.parts.push(UiPart::from_json(part.into()));
    }

    pub(crate) fn text(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        self.begin_step();
        let mut part = Object::from([("type", Json::from("text")), ("text", text.into())]);
        if self.role == Role::Assistant {
            part.set("state", "done");
        }
        self.push(part);
    }

    /// Adds reasoning with what its provider wants back with it.
    pub(crate) fn reasoning(&mut self, text: &str, provider: Option<(&'static str, Object)>) {
        self.begin_step();
        let mut part = Object::from([("type", "reasoning"), ("text", text), ("state", "done")]);
        if let Some((name, fields)) = provider {
            part.set("providerMetadata", Object::from([(name, fields)]));
        }
        self.push(part);
    }

    pub(crate) fn file(&mut self, media_type: &str, url: &str, name: Option<&str>) {
        let part = UiPart::File(FilePart::new(media_type, url)).into_json();
        let Json::Object(mut part) = part else { return };
        part.set_or_remove("filename", name.map(Json::from));
        self.push(part);
    }

    pub(crate) fn call(&mut self, name: &str, id: &str, input: Json) {
        self.begin_step();
        self.calls.insert(id.to_owned(), self.parts.len());
        let name = if name.is_empty() { "unknown" } else { name };
        self.parts.push(UiPart::Tool(ToolPart::new(name, id, input)));
    }

    /// Returns the id of the last call that has no result, and the name that `is_it` wants.
    pub(crate) fn open_call(&self, is_it: impl Fn(&str) -> bool) -> Option<String> {
        let calls = self.parts.iter().rev().filter_map(|part| match part {
            UiPart::Tool(call) => Some(call),
            _ => None,
        });
        let mut open = calls.filter(|call| !call.state().is_terminal());
        open.find(|call| call.name().is_some_and(&is_it)).map(|call| call.call_id().to_owned())
    }

    /// Adds the result of a call. Without its call, or a second one, it is kept as data.
    pub(crate) fn result(&mut self, call_id: &str, output: Json, is_error: bool) {
        let at = self.calls.get(call_id).copied();
        let call = at.and_then(|at| match self.parts.get_mut(at) {
            Some(UiPart::Tool(call)) if !call.state().is_terminal() => Some(call),
            _ => None,
        });
        self.step_is_over = true;
        match call {
            Some(call) if is_error => call.set_error(text_of_output(&output)),
            Some(call) => call.set_output(output),
            None => {
                let value = Object::from([("callId", Json::from(call_id)), ("output", output)]);
                self.keep(LONE_RESULT, value.into());
            }
        }
    }

    /// Keeps a value that no other part can hold.
    pub(crate) fn keep(&mut self, kind: &str, value: Json) {
        let data = Object::from([("kind", Json::from(kind)), ("value", value)]);
        self.push(Object::from([("type", Json::from(KEPT_DATA)), ("data", data.into())]));
    }

    /// Returns the message. Its open calls have failed.
    pub(crate) fn finish(mut self) -> UiMessage {
        for part in &mut self.parts {
            if let UiPart::Tool(call) = part
                && !call.state().is_terminal()
            {
                call.set_error(UNANSWERED_CALL);
            }
        }
        // A message of a person or a system needs a part.
        if self.parts.is_empty() && self.role != Role::Assistant {
            self.parts.push(UiPart::text(""));
        }
        let mut message = UiMessage::new(self.id, self.role, self.parts);
        self.metadata.write_to(&mut message);
        message
    }
}

/// Returns the text of an error that a tool gave.
fn text_of_output(output: &Json) -> String {
    output.as_str().map_or_else(|| output.to_string(), str::to_owned)
}

/// Reads the text of a result: JSON as JSON, if exactly this text is written for it again.
pub(crate) fn output_of_text(text: &str) -> Json {
    let may_be_json = text.starts_with(['{', '[']);
    let json = may_be_json.then(|| Json::parse(text).ok()).flatten();
    json.filter(|json| json.to_string() == text).unwrap_or_else(|| text.into())
}

/// Reads the arguments of a call. Text that is no JSON stays text.
pub(crate) fn input_of_arguments(arguments: Option<&Json>) -> Json {
    match arguments.map(|arguments| (arguments, arguments.as_str())) {
        None => Object::new().into(),
        Some((_, Some(""))) => Object::new().into(),
        Some((_, Some(text))) => Json::parse(text).unwrap_or_else(|_| text.into()),
        Some((json, None)) => json.clone(),
    }
}

/// Reads a time in ISO 8601, with or without fractions of a second.
pub(crate) fn parse_time(json: Option<&Json>) -> Option<Timestamp> {
    let text = json?.as_str()?;
    let day_and_time = text.get(..19)?;
    let rest = text.get(19..)?;
    let (fraction, zone) = match rest.strip_prefix('.') {
        Some(rest) => rest.split_at(rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len())),
        None => ("", rest),
    };
    if !matches!(zone, "Z" | "" | "+00:00") {
        return None;
    }
    let millis: String = fraction.chars().chain("000".chars()).take(3).collect();
    Timestamp::parse(&format!("{day_and_time}.{millis}Z"))
}

/// Reads a time in seconds since 1970.
pub(crate) fn seconds(json: Option<&Json>) -> Option<Timestamp> {
    let seconds = json?.as_number().filter(|seconds| seconds.is_finite())?;
    Some(Timestamp::from_millis((seconds * 1000.0) as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_with_and_without_fractions() {
        let read = |text: &str| parse_time(Some(&text.into())).map(|ts| ts.to_string());
        let with = |millis: &str| Some(format!("2026-01-05T10:00:03.{millis}Z"));
        assert_eq!(read("2026-01-05T10:00:03.120Z"), with("120"));
        assert_eq!(read("2026-01-05T10:00:03.1204567Z"), with("120"));
        assert_eq!(read("2026-01-05T10:00:03Z"), with("000"));
        assert_eq!(read("2026-01-05T10:00:03.5+00:00"), with("500"));
        assert_eq!(read("2026-01-05T10:00:03+08:00"), None);
        assert_eq!(read("yesterday"), None);
    }

    #[test]
    fn only_json_that_is_written_alike_is_taken_apart() {
        assert_eq!(
            output_of_text(r#"{"a":[1]}"#).get("a").map(Json::to_string),
            Some("[1]".into())
        );
        for text in ["{ \"a\":1}", "[", "7", "true", ""] {
            assert_eq!(output_of_text(text).as_str(), Some(text));
        }
    }

    #[test]
    fn a_message_has_no_open_call_and_loses_no_result() {
        let mut builder = MessageBuilder::new("m".to_owned(), Role::Assistant);
        builder.text("look");
        builder.call("bash", "c1", Json::Null);
        builder.call("bash", "c2", Json::Null);
        builder.result("c2", "done".into(), false);
        builder.result("c2", "again".into(), false);
        builder.result("c9", "whose?".into(), true);
        builder.text("so");
        let message = builder.finish();
        let kinds: Vec<&str> = message.parts().iter().filter_map(kept_kind).collect();
        assert_eq!(kinds, [LONE_RESULT, LONE_RESULT]);
        let text = message.to_string();
        assert_eq!(text.matches("step-start").count(), 2, "{text}");
        assert!(text.contains(UNANSWERED_CALL) && text.contains("whose?"), "{text}");
    }
}
