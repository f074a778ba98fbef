//! Writes messages in the formats of other programs.

use std::collections::BTreeMap;

use ship_message::json::{Json, Object};
use ship_message::{PartFields as _, Role, ToolPart, ToolState, UiMessage, UiPart};
use ship_record::Metadata;

/// The parts that a format cannot hold, by kind.
pub type LeftOut = BTreeMap<String, u64>;

/// Returns a message as messages of OpenAI's chat completions: one for each step, and one for each result. What they
/// cannot hold is counted in `left_out`.
pub fn openai_messages(message: &UiMessage, left_out: &mut LeftOut) -> Vec<Json> {
    match message.role() {
        Role::Assistant => assistant_messages(message, left_out),
        Role::System => vec![plain("system", message.text().into())],
        Role::User | Role::Unknown => vec![plain("user", user_content(message, left_out))],
    }
}

fn plain(role: &str, content: Json) -> Json {
    Object::from([("role", Json::from(role)), ("content", content)]).into()
}

/// Returns the content of a person's message: a text, or parts if it has files.
fn user_content(message: &UiMessage, left_out: &mut LeftOut) -> Json {
    let mut parts: Vec<Json> = Vec::new();
    let mut is_plain = true;
    for part in message.parts() {
        match part {
            UiPart::Text(text) => {
                parts.push(Object::from([("type", "text"), ("text", text.text())]).into());
            }
            UiPart::File(file) if file.media_type().starts_with("image/") => {
                is_plain = false;
                let url = Object::from([("url", file.url())]);
                parts.push(
                    Object::from([("type", Json::from("image_url")), ("image_url", url.into())])
                        .into(),
                );
            }
            UiPart::File(file) if file.url().starts_with("data:") => {
                is_plain = false;
                let mut object = Object::from([("file_data", file.url())]);
                object.set_or_remove("filename", file.filename().map(Json::from));
                parts.push(
                    Object::from([("type", Json::from("file")), ("file", object.into())]).into(),
                );
            }
            other => leave_out(other, left_out),
        }
    }
    match (is_plain && parts.len() <= 1, parts.pop()) {
        (true, None) => "".into(),
        (true, Some(only)) => only.get("text").cloned().unwrap_or_default(),
        (false, last) => parts.into_iter().chain(last).collect::<Vec<Json>>().into(),
    }
}

fn leave_out(part: &UiPart, left_out: &mut LeftOut) {
    let kind = part.object().and_then(|object| object.str("type")).unwrap_or("unknown part");
    if kind != "step-start" {
        *left_out.entry(kind.to_owned()).or_default() += 1;
    }
}

/// A step of the assistant: its text, its calls, and their results.
#[derive(Default)]
struct Step {
    text: String,
    calls: Vec<Json>,
    results: Vec<Json>,
}

impl Step {
    fn write_to(self, messages: &mut Vec<Json>) {
        if self.text.is_empty() && self.calls.is_empty() {
            return;
        }
        let content = if self.text.is_empty() { Json::Null } else { self.text.into() };
        let Json::Object(mut message) = plain("assistant", content) else { return };
        if !self.calls.is_empty() {
            message.set("tool_calls", self.calls);
        }
        messages.push(message.into());
        messages.extend(self.results);
    }

    fn add_call(&mut self, call: &ToolPart) {
        let input = call.input().map_or_else(
            || "{}".to_owned(),
            |input| match input.as_str() {
                Some(text) => text.to_owned(),
                None => input.to_string(),
            },
        );
        let function = Object::from([
            ("name", Json::from(call.name().unwrap_or_default())),
            ("arguments", input.into()),
        ]);
        let id = call.call_id();
        self.calls.push(
            Object::from([
                ("id", Json::from(id)),
                ("type", "function".into()),
                ("function", function.into()),
            ])
            .into(),
        );
        let output = match call.state() {
            ToolState::OutputAvailable => call.output().map(|output| match output.as_str() {
                Some(text) => text.to_owned(),
                None => output.to_string(),
            }),
            ToolState::OutputError => call.error_text().map(str::to_owned),
            _ => None,
        };
        if let Some(output) = output {
            let Json::Object(mut result) = plain("tool", output.into()) else { return };
            result.set("tool_call_id", id);
            self.results.push(result.into());
        }
    }
}

fn assistant_messages(message: &UiMessage, left_out: &mut LeftOut) -> Vec<Json> {
    let mut messages = Vec::new();
    let mut step = Step::default();
    for part in message.parts() {
        match part {
            UiPart::StepStart(_) => std::mem::take(&mut step).write_to(&mut messages),
            // Behind its calls, a text is of the next step.
            UiPart::Text(text) => {
                if !step.calls.is_empty() {
                    std::mem::take(&mut step).write_to(&mut messages);
                }
                step.text.push_str(text.text());
            }
            UiPart::Tool(call) => step.add_call(call),
            other => leave_out(other, left_out),
        }
    }
    step.write_to(&mut messages);
    messages
}

/// Returns a message for people, with a heading.
pub fn markdown(message: &UiMessage, left_out: &mut LeftOut) -> String {
    let metadata = Metadata::of(message);
    let who = match message.role() {
        Role::User => metadata.username().unwrap_or("User"),
        Role::Assistant => "Assistant",
        Role::System => "System",
        Role::Unknown => "Unknown",
    };
    let time = metadata.ts().map_or(String::new(), |ts| format!(" · {ts}"));
    let mut text = format!("## {who}{time}\n");
    for part in message.parts() {
        match part {
            UiPart::Text(part) => text.push_str(&format!("\n{}\n", part.text().trim_end())),
            UiPart::Tool(call) => text.push_str(&call_in_markdown(call)),
            UiPart::File(file) => {
                let name = file.filename().unwrap_or("a file");
                let place = if file.url().starts_with("data:") {
                    String::new()
                } else {
                    format!(": <{}>", file.url())
                };
                text.push_str(&format!("\n*{name} ({}){place}*\n", file.media_type()));
            }
            UiPart::SourceUrl(source) => {
                let url = source.field("url").and_then(Json::as_str).unwrap_or_default();
                text.push_str(&format!("\n<{url}>\n"));
            }
            other => leave_out(other, left_out),
        }
    }
    text
}

fn call_in_markdown(call: &ToolPart) -> String {
    let input = call.input().map_or_else(String::new, Json::to_string);
    let output = match (call.output(), call.error_text()) {
        (Some(output), _) => output.as_str().map_or_else(|| output.to_string(), str::to_owned),
        (None, Some(error)) => format!("error: {error}"),
        (None, None) => "(no result)".to_owned(),
    };
    let name = call.name().unwrap_or_default();
    format!("\n**`{name}`** `{}`\n\n{}\n", input.replace('`', "'"), fenced(&output))
}

/// Returns a text between fences that are longer than any in it.
fn fenced(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat((longest + 1).max(3));
    format!("{fence}\n{}\n{fence}", text.trim_end_matches('\n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> UiMessage {
        UiMessage::parse(text).expect("a message")
    }

    #[test]
    fn a_message_with_steps_is_a_message_for_each_and_its_results() {
        let message = message(
            r#"{"id":"a","role":"assistant","parts":[{"type":"step-start"},{"type":"reasoning","text":"hm"},{"type":"text","text":"look"},{"type":"tool-see","toolCallId":"c1","state":"output-available","input":{"at":1},"output":{"cat":true}},{"type":"tool-see","toolCallId":"c2","state":"output-error","input":"{","errorText":"no"},{"type":"step-start"},{"type":"text","text":"a cat"}]}"#,
        );
        let mut left_out = LeftOut::new();
        let written: Vec<String> =
            openai_messages(&message, &mut left_out).iter().map(Json::to_string).collect();
        assert_eq!(
            written,
            [
                r#"{"role":"assistant","content":"look","tool_calls":[{"id":"c1","type":"function","function":{"name":"see","arguments":"{\"at\":1}"}},{"id":"c2","type":"function","function":{"name":"see","arguments":"{"}}]}"#,
                r#"{"role":"tool","content":"{\"cat\":true}","tool_call_id":"c1"}"#,
                r#"{"role":"tool","content":"no","tool_call_id":"c2"}"#,
                r#"{"role":"assistant","content":"a cat"}"#,
            ]
        );
        assert_eq!(left_out, LeftOut::from([("reasoning".to_owned(), 1)]));
    }

    #[test]
    fn markdown_shows_calls_and_names_files_and_its_fences_cannot_be_closed() {
        let message = message(
            r#"{"id":"u","role":"user","metadata":{"username":"Ann","ts":0},"parts":[{"type":"text","text":"see"},{"type":"file","mediaType":"image/png","filename":"cat.png","url":"data:,x"},{"type":"tool-x","toolCallId":"c","state":"output-available","input":1,"output":"a ```` b"},{"type":"data-x","data":1}]}"#,
        );
        let mut left_out = LeftOut::new();
        assert_eq!(
            markdown(&message, &mut left_out),
            "## Ann · 1970-01-01T00:00:00.000Z\n\nsee\n\n*cat.png (image/png)*\n\n**`x`** `1`\n\n`````\na ```` b\n`````\n"
        );
        assert_eq!(left_out, LeftOut::from([("data-x".to_owned(), 1)]));
    }
}
