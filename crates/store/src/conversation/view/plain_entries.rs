//! The plain rules, which turn a message into entries without ids and times.

use std::collections::HashSet;

use ship_message::json::{Json, Object};
use ship_message::{PartFields as _, Role, StepStartPart, ToolPart, ToolState, UiMessage, UiPart};

use crate::conversation::{EntryRole, MessageEntry};

/// The type of the first part, which holds the other fields of a message.
const OPENING: &str = "data-message";

/// The conditions that the place of a message sets for its first entry.
#[derive(Clone, Copy)]
pub(super) struct Opening {
    /// Whether the entry has the id of the message.
    pub(super) keeps_id: bool,
    /// Whether a tool's result stands before it, so that a step of the assistant would count as its continuation.
    pub(super) could_be_taken_for_a_step: bool,
}

/// Returns the entries of a message, without ids and times.
pub(super) fn entries_of(message: &UiMessage, opening: Opening) -> Vec<MessageEntry> {
    let given = opening_fields(message, opening);
    if message.role() == Role::Assistant {
        return steps(message.parts()).flat_map(with_results(given)).collect();
    }
    let role = if message.role() == Role::System { EntryRole::System } else { EntryRole::User };
    let content = match message.parts() {
        // `type` and `text` alone: any further field would be lost in plain content.
        [UiPart::Text(text)] if given.is_none() && text.object().len() == 2 => {
            text.field("text").filter(|text| text.as_str().is_some()).cloned()
        }
        _ => None,
    };
    let content = content.unwrap_or_else(|| content_list(given, message.parts()));
    vec![MessageEntry::new("", "", role, content)]
}

/// Returns the fields of the opening part, or `None` if the message needs none.
fn opening_fields(message: &UiMessage, opening: Opening) -> Option<Object> {
    let mut given = Object::new();
    for (key, is_usual) in [
        ("id", opening.keeps_id),
        ("role", message.role() != Role::Unknown),
        ("parts", message.has_parts()),
    ] {
        if !is_usual {
            given.set(key, message.field(key).cloned().unwrap_or_else(absent_field));
        }
    }
    for (key, value) in message.fields().iter() {
        if !["id", "role", "parts"].contains(&key) {
            given.set(key.to_owned(), value.clone());
        }
    }
    let first = message.parts().first();
    let poses_as_opening = matches!(first, Some(UiPart::Data(data)) if is_opening(data.object()));
    let poses_as_step = opening.could_be_taken_for_a_step
        && message.role() == Role::Assistant
        && matches!(first, Some(UiPart::StepStart(_)));
    (!given.is_empty() || poses_as_opening || poses_as_step).then_some(given)
}

/// Sets the fields of an opening part on a message.
pub(super) fn with_given_fields(message: UiMessage, given: &Object) -> UiMessage {
    let mut json = message.into_json();
    if let Some(fields) = json.as_object_mut() {
        for (key, value) in given.iter() {
            let value = (*value != absent_field()).then(|| value.clone());
            fields.set_or_remove(key.to_owned(), value);
        }
    }
    UiMessage::from_json(json).unwrap_or_else(|_| UiMessage::new("", Role::Unknown, vec![]))
}

/// Stands for a missing field of a message. An empty list is neither an id, nor a role, nor parts with content, so
/// no real message has it.
fn absent_field() -> Json {
    Json::from(Vec::new())
}

/// Returns the fields of the opening part if the content of an entry begins with one.
pub(super) fn read_opening(entry: &MessageEntry) -> Option<&Object> {
    let list = entry.content.as_array().filter(|_| entry.role != EntryRole::Tool)?;
    let part = list.first()?.as_object().filter(|part| is_opening(part))?;
    part.get("data")?.as_object()
}

fn is_opening(part: &Object) -> bool {
    part.str("type") == Some(OPENING)
}

/// Whether an assistant's content begins with the start of a step.
pub(super) fn begins_step(content: &Json) -> bool {
    let Json::Array(list) = content else { return true };
    list.first().is_some_and(|part| part.get("type").and_then(Json::as_str) == Some("step-start"))
}

/// The parts of an assistant's message that make one entry and its results: parts, then calls.
struct EntryStep<'a> {
    head: &'a [UiPart],
    calls: &'a [UiPart],
}

/// Divides a message where a step begins and all calls before it are answered, so that the entry of the next step
/// is read as a continuation.
fn steps(parts: &[UiPart]) -> impl Iterator<Item = EntryStep<'_>> {
    let mut rest = Some(parts);
    std::iter::from_fn(move || {
        let parts = rest?;
        let starts = (1..parts.len()).filter(|at| matches!(parts[*at], UiPart::StepStart(_)));
        let cut = starts.into_iter().find(|at| ends_answered(&parts[..*at]));
        rest = cut.map(|at| &parts[at..]);
        let parts = &parts[..cut.unwrap_or(parts.len())];
        let (head, calls) = parts.split_at(parts.len() - trailing_calls(parts));
        Some(EntryStep { head, calls })
    })
}

fn ends_answered(parts: &[UiPart]) -> bool {
    let calls = &parts[parts.len() - trailing_calls(parts)..];
    !calls.is_empty() && calls.iter().filter_map(plain_call).all(is_answered)
}

/// Returns how many parts at the end are plain calls, each with an id of its own.
fn trailing_calls(parts: &[UiPart]) -> usize {
    let mut ids = HashSet::new();
    let calls = parts.iter().rev().map_while(plain_call);
    calls.take_while(|call| ids.insert(call.call_id())).count()
}

/// Returns the entries of a step: the assistant's, and one for each answered call.
fn with_results(mut given: Option<Object>) -> impl FnMut(EntryStep<'_>) -> Vec<MessageEntry> {
    move |step| {
        let content = step_content(given.take(), step.head);
        let mut assistant = MessageEntry::new("", "", EntryRole::Assistant, content);
        let calls: Vec<&ToolPart> = step.calls.iter().filter_map(plain_call).collect();
        if !calls.is_empty() {
            assistant.tool_calls = Some(calls.iter().map(|call| write_call(call)).collect());
        }
        let results = calls.into_iter().filter(|call| is_answered(call)).map(result_entry);
        std::iter::once(assistant).chain(results).collect()
    }
}

fn step_content(given: Option<Object>, head: &[UiPart]) -> Json {
    let rest = match head {
        [UiPart::StepStart(start), rest @ ..] if given.is_none() && start.object().len() == 1 => {
            rest
        }
        _ => return content_list(given, head),
    };
    match rest {
        [] => Json::Null,
        // `type`, `text` and `state` alone. An empty text would be read back as no part at all.
        [UiPart::Text(text)] if text.object().len() == 3 && !text.text().is_empty() => {
            let is_done = text.object().str("state") == Some("done");
            text.field("text")
                .filter(|_| is_done)
                .cloned()
                .unwrap_or_else(|| content_list(None, head))
        }
        _ => content_list(None, head),
    }
}

fn content_list(given: Option<Object>, parts: &[UiPart]) -> Json {
    let opening = given
        .map(|given| Object::from([("type", Json::from(OPENING)), ("data", given.into())]).into());
    opening
        .into_iter()
        .chain(parts.iter().cloned().map(UiPart::into_json))
        .collect::<Vec<_>>()
        .into()
}

/// Makes a step with one text. Empty text makes no part, because providers refuse it.
pub(super) fn text_step(text: Option<Json>) -> Vec<UiPart> {
    let text = text.filter(|text| text.as_str() != Some(""));
    let done = text.map(|text| {
        let fields = [("type", Json::from("text")), ("text", text), ("state", "done".into())];
        UiPart::from_json(Object::from(fields).into())
    });
    [UiPart::StepStart(StepStartPart::new())].into_iter().chain(done).collect()
}

/// Makes a text part as user messages have it.
pub(super) fn text(text: Json) -> UiPart {
    UiPart::from_json(Object::from([("type", Json::from("text")), ("text", text)]).into())
}

/// Returns the call if the fields of an entry can hold all of it.
fn plain_call(part: &UiPart) -> Option<&ToolPart> {
    let UiPart::Tool(call) = part else { return None };
    let extra = match call.state() {
        ToolState::InputAvailable => 0,
        ToolState::OutputAvailable => usize::from(call.output().is_some()),
        ToolState::OutputError => usize::from(call.error_text().is_some()),
        _ => return None,
    };
    let has_result = call.state() == ToolState::InputAvailable || extra == 1;
    let has_id = call.field("toolCallId").and_then(Json::as_str).is_some();
    let is_plain = !call.is_dynamic() && has_id && call.input().is_some() && has_result;
    // `type`, `toolCallId`, `state` and `input`: the fields of an entry cannot hold any other.
    (is_plain && call.object().len() == 4 + extra).then_some(call)
}

fn is_answered(call: &ToolPart) -> bool {
    call.state().is_terminal()
}

/// Writes a call in the form that a line has.
fn write_call(call: &ToolPart) -> Json {
    let arguments = call.input().map(Json::to_string).unwrap_or_default();
    let name = call.name().unwrap_or_default();
    let function = Object::from([("name", name), ("arguments", &arguments)]);
    let call = [
        ("id", Json::from(call.call_id())),
        ("type", "function".into()),
        ("function", function.into()),
    ];
    Object::from(call).into()
}

/// Reads a call, also in the forms of other programs: without `function` around it, or with the input as JSON.
pub(super) fn read_call(call: &Json) -> Option<ToolPart> {
    let function = call.get("function").unwrap_or(call);
    let id = call.get("id")?.as_str()?;
    let name = function.get("name")?.as_str()?;
    let input = ["arguments", "args", "input"].iter().find_map(|key| function.get(key));
    let input = match input {
        None => Object::new().into(),
        Some(Json::String(text)) if text.trim().is_empty() => Object::new().into(),
        // Arguments that are not JSON stay text, so that nothing is lost.
        Some(Json::String(text)) => Json::parse(text).unwrap_or_else(|_| text.clone().into()),
        Some(input) => input.clone(),
    };
    Some(ToolPart::new(name, id, input))
}

fn result_entry(call: &ToolPart) -> MessageEntry {
    let error = call.field("errorText").filter(|_| call.state() == ToolState::OutputError);
    let content = error.or(call.output()).cloned().unwrap_or_default();
    MessageEntry {
        tool_call_id: Some(call.call_id().to_owned()),
        tool_name: call.name().map(str::to_owned),
        is_error: error.is_some(),
        ..MessageEntry::new("", "", EntryRole::Tool, content)
    }
}
