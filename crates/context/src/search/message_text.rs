//! What a search reads of a message.
//!
//! These count: texts, the names of tools, their inputs and outputs, the names of files, and titles. These do not, and
//! this is the one place that says so:
//!
//! - reasoning, which no person has seen;
//! - summaries and references, which repeat what is found where it was said;
//! - the outputs of tools that show the past, for the same reason;
//! - notices of the agent itself;
//! - the content of files and the data of programs: `data-` parts, base64, and parts of an unknown kind.

use std::borrow::Cow;

use ship_message::json::Json;
use ship_message::{PartFields, Role, ToolPart, UiMessage, UiPart};
use ship_record::{MessageKind, Metadata, Timestamp, without_notices};

use crate::shown_references::shows_the_past;

/// The number of bytes of one string of a tool's input or output that are read.
const STRING_BYTES_MAX: usize = 256 * 1024;

/// The characters at the end of a text in which a question mark makes it a question.
const QUESTION_END: usize = 80;

/// The author of messages: a name if they have one, else a role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Participant {
    /// The name, as the channel tells it.
    pub name: Option<String>,
    /// The role of the messages.
    pub role: Role,
}

/// What a search reads of a message.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchableMessage {
    /// The texts that count, in their order.
    pub texts: Vec<String>,
    /// The author of the message.
    pub participant: Participant,
    /// The time of the message.
    pub ts: Option<Timestamp>,
    /// Whether the message ends with a question.
    pub asks: bool,
}

/// Returns what a search reads of a message; `None` if the message is no hit for any question.
pub fn searchable_message(message: &UiMessage) -> Option<SearchableMessage> {
    let metadata = Metadata::of(message);
    let repeats = matches!(metadata.kind(), Some(MessageKind::Summary | MessageKind::Reference));
    if repeats || message.role() == Role::System {
        return None;
    }
    let message = without_notices(message);
    let mut texts = Vec::new();
    for part in message.parts() {
        add_part(part, &mut texts);
    }
    texts.retain(|text| !text.trim().is_empty());
    if texts.is_empty() {
        return None;
    }
    Some(SearchableMessage {
        texts: texts.into_iter().map(Cow::into_owned).collect(),
        participant: Participant { name: name_of(&message), role: message.role() },
        ts: Metadata::of(&message).ts(),
        asks: asks(&message),
    })
}

fn name_of(message: &UiMessage) -> Option<String> {
    let name = Metadata::of(message).username()?.trim();
    (!name.is_empty()).then(|| name.to_owned())
}

fn add_part<'m>(part: &'m UiPart, texts: &mut Vec<Cow<'m, str>>) {
    match part {
        UiPart::Text(text) => texts.push(text.text().into()),
        UiPart::File(file) => texts.extend(file.filename().map(Cow::from)),
        UiPart::SourceUrl(source) => {
            add_fields(source, &["title", "url"], texts);
        }
        UiPart::SourceDocument(source) => {
            add_fields(source, &["title", "filename"], texts);
        }
        UiPart::Tool(tool) => add_call(tool, texts),
        UiPart::Reasoning(_) | UiPart::StepStart(_) | UiPart::Data(_) | UiPart::Unknown(_) => {}
    }
}

fn add_fields<'m>(part: &'m impl PartFields, names: &[&str], texts: &mut Vec<Cow<'m, str>>) {
    for name in names {
        texts.extend(part.field(name).and_then(Json::as_str).map(Cow::from));
    }
}

fn add_call<'m>(tool: &'m ToolPart, texts: &mut Vec<Cow<'m, str>>) {
    texts.extend(tool.name().map(Cow::from));
    add_fields(tool, &["title"], texts);
    if let Some(input) = tool.input() {
        add_values(input, texts);
    }
    if tool.name().is_some_and(shows_the_past) {
        return;
    }
    if let Some(output) = tool.output() {
        add_values(output, texts);
    }
    texts.extend(tool.error_text().map(Cow::from));
}

/// Adds the strings and numbers of a value, without recursion.
fn add_values<'m>(value: &'m Json, texts: &mut Vec<Cow<'m, str>>) {
    let mut waiting = vec![value];
    while let Some(value) = waiting.pop() {
        match value {
            Json::String(_) => texts.extend(value.as_str().and_then(text_of).map(Cow::from)),
            Json::Number(_) => texts.push(value.to_string().into()),
            Json::Array(_) => waiting.extend(value.as_array().unwrap_or_default().iter().rev()),
            Json::Object(object) => waiting.extend(object.iter().rev().map(|(_, value)| value)),
            Json::Null | Json::Bool(_) => {}
        }
    }
}

/// Returns what is read of a string; nothing of the bytes of a file.
fn text_of(string: &str) -> Option<&str> {
    let is_data = string.starts_with("data:") && string.chars().take(120).any(|c| c == ',');
    let end = string.floor_char_boundary(STRING_BYTES_MAX);
    string.get(..end).filter(|_| !is_data)
}

/// Whether the text of a message ends with a question.
fn asks(message: &UiMessage) -> bool {
    let texts =
        message.parts().iter().rev().filter_map(|part| {
            if let UiPart::Text(text) = part { Some(text.text()) } else { None }
        });
    let last = texts.map(str::trim_end).find(|text| !text.is_empty()).unwrap_or_default();
    let mut end = last.chars().rev().take(QUESTION_END);
    end.any(|c| matches!(c, '?' | '？' | '؟')) || last.trim_end_matches('。').ends_with("か")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(message: &str) -> Option<SearchableMessage> {
        searchable_message(&UiMessage::parse(message).unwrap())
    }

    #[test]
    fn texts_calls_files_and_titles_count_and_nothing_else() {
        let found = read(
            r#"{"id":"a","role":"assistant","metadata":{"ts":5},"parts":[
            {"type":"step-start"},
            {"type":"reasoning","text":"secret thought"},
            {"type":"text","text":"Said."},
            {"type":"text","text":"(cut)","providerMetadata":{"ship":{"notice":"cut"}}},
            {"type":"tool-bash","toolCallId":"c","state":"output-available","title":"List",
             "input":{"command":["ls","-l"],"port":8080},"output":{"ok":true,"text":"a.txt"}},
            {"type":"dynamic-tool","toolName":"grep","toolCallId":"d","state":"output-error","input":{},"errorText":"no"},
            {"type":"file","mediaType":"image/png","url":"data:image/png;base64,AAAA","filename":"sea.png"},
            {"type":"source-url","sourceId":"s","url":"https://e.org","title":"Page"},
            {"type":"source-document","sourceId":"t","mediaType":"x/y","title":"Book","filename":"b.pdf"},
            {"type":"data-weather","data":{"text":"rain"}},
            {"type":"odd","text":"odd"}]}"#,
        );
        let found = found.unwrap();
        assert_eq!(
            found.texts,
            [
                "Said.",
                "bash",
                "List",
                "ls",
                "-l",
                "8080",
                "a.txt",
                "grep",
                "no",
                "sea.png",
                "Page",
                "https://e.org",
                "Book",
                "b.pdf"
            ]
        );
        assert_eq!(found.participant, Participant { name: None, role: Role::Assistant });
        assert_eq!(found.ts, Some(Timestamp::from_millis(5)));
    }

    #[test]
    fn what_repeats_something_is_no_hit() {
        for kind in ["summary", "reference"] {
            let message = format!(
                r#"{{"id":"a","role":"assistant","metadata":{{"kind":"{kind}"}},"parts":[{{"type":"text","text":"x"}}]}}"#
            );
            assert_eq!(read(&message), None);
        }
        assert_eq!(
            read(r#"{"id":"s","role":"system","parts":[{"type":"text","text":"x"}]}"#),
            None
        );
        let recall = r#"{"id":"a","role":"assistant","parts":[{"type":"tool-chat_context_recall","toolCallId":"c",
            "state":"output-available","input":{"contextId":"c_1"},"output":"以下是 the past"}]}"#;
        assert_eq!(read(recall).unwrap().texts, ["chat_context_recall", "c_1"]);
    }

    #[test]
    fn a_long_string_is_read_in_part_and_bytes_of_a_file_are_not() {
        let long = "é".repeat(STRING_BYTES_MAX);
        assert_eq!(text_of(&long).map(str::len), Some(STRING_BYTES_MAX));
        assert_eq!(text_of("data:image/png;base64,AAAA"), None);
        assert_eq!(text_of("data: none"), Some("data: none"));
    }

    #[test]
    fn a_message_with_a_name_is_said_by_that_name() {
        let message = |text: &str| {
            read(&format!(
                r#"{{"id":"u","role":"user","metadata":{{"username":" Ann "}},"parts":[{{"type":"text","text":"{text}"}}]}}"#
            ))
            .unwrap()
        };
        assert_eq!(message("hi").participant.name.as_deref(), Some("Ann"));
        for (text, asks) in [
            ("Where is it? Thanks", true),
            ("どこですか。", true),
            ("在哪里？", true),
            ("Here.", false),
        ] {
            assert_eq!(message(text).asks, asks, "{text}");
        }
    }
}
