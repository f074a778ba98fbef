//! Pairs calls and results: each call is answered exactly once, directly after it.
//!
//! A result belongs to the call with its id in the assistant's message before it. A call without a result gets an
//! error; a result without a call, or a second result, is dropped. Text after a call in the same message moves
//! behind the result, because Anthropic takes calls only at the end of a message.

use std::collections::{HashMap, VecDeque};

use ship_message::json::{Json, Object};
use ship_message::{
    INTERRUPTED_CALL, ModelContent, ModelMessage, ModelPart, ModelParts, ModelRole, ModelValue,
    ToolCallModelPart, ToolOutput, ToolResultModelPart,
};

use super::names::{CallIds, ToolNames};
use super::{CompileTarget, parts};

/// The text for an empty place, where providers want at least a word.
const EMPTY: &str = "(empty)";

/// One contribution to the conversation and its author.
pub(super) enum Exchange<'a> {
    Person(ModelParts<'a>),
    /// The calls stand last in `parts`; `results` has one for each, in their order.
    Assistant {
        parts: ModelParts<'a>,
        results: ModelParts<'a>,
    },
}

/// Divides the messages into exchanges, with calls and their results together.
pub(super) fn group_exchanges<'a>(
    messages: Vec<ModelMessage<'a>>,
    target: &CompileTarget<'_>,
    names: &ToolNames,
) -> Vec<Exchange<'a>> {
    let mut exchanges =
        Exchanges { target, names, ids: CallIds::new(target.forms), finished: Vec::new() };
    let mut messages = messages.into_iter().peekable();
    while let Some(message) = messages.next() {
        match message.role {
            ModelRole::System => exchanges.push_note(message.content),
            ModelRole::User => exchanges.push_person(message.content),
            ModelRole::Assistant => {
                let mut results = Results::default();
                while let Some(after) = messages.next_if(|next| next.role == ModelRole::Tool) {
                    results.extend(after.content);
                }
                exchanges.push_assistant(message.content, results);
            }
            // The calls of these results do not exist.
            ModelRole::Tool => {}
        }
    }
    exchanges.finished
}

struct Exchanges<'a, 't> {
    target: &'t CompileTarget<'t>,
    names: &'t ToolNames,
    ids: CallIds,
    finished: Vec<Exchange<'a>>,
}

/// The results after one assistant's message, by the ids of their calls.
#[derive(Default)]
struct Results<'a>(HashMap<String, VecDeque<ToolResultModelPart<'a>>>);

impl<'a> Results<'a> {
    fn extend(&mut self, content: ModelContent<'a>) {
        let ModelContent::Parts(parts) = content else { return };
        for part in parts {
            if let ModelPart::ToolResult(result) = part {
                self.0.entry(string_of(result.call_id())).or_default().push_back(result);
            }
        }
    }
}

impl<'a> Exchanges<'a, '_> {
    /// Turns a system message inside a history into a note: system blocks stand before all messages.
    fn push_note(&mut self, content: ModelContent<'a>) {
        let ModelContent::Text(words) = content else { return };
        if !parts::is_blank(&words) {
            let note = parts::text(format!("[system note] {words}"));
            self.finished.push(Exchange::Person(std::iter::once(note).collect()));
        }
    }

    fn push_person(&mut self, content: ModelContent<'a>) {
        let mut sent_parts = ModelParts::new();
        match content {
            ModelContent::Text(words) if parts::is_blank(&words) => {}
            ModelContent::Text(words) => sent_parts.push(parts::text(words)),
            ModelContent::Parts(all) => {
                for part in all {
                    match part {
                        ModelPart::Text(text) => sent_parts.extend(parts::text_part(text)),
                        // Whether a file can be sent is decided when all of them are known.
                        ModelPart::File(_) | ModelPart::Image(_) => sent_parts.push(part),
                        _ => {}
                    }
                }
            }
        }
        if sent_parts.is_empty() {
            sent_parts.push(parts::text(EMPTY));
        }
        self.finished.push(Exchange::Person(sent_parts));
    }

    fn push_assistant(&mut self, content: ModelContent<'a>, mut results: Results<'a>) {
        let all = match content {
            ModelContent::Text(words) => std::iter::once(parts::text(words)).collect(),
            ModelContent::Parts(all) => all,
        };
        let mut sent_parts = ModelParts::new();
        let mut answers = ModelParts::new();
        for part in all {
            let part = match part {
                // Its result follows in the same message, and is described instead.
                ModelPart::ToolCall(call) if is_true(call.provider_executed()) => None,
                ModelPart::ToolCall(call) => {
                    let (call, result) = self.pair_call(&call, &mut results);
                    sent_parts.push(call);
                    answers.push(result);
                    continue;
                }
                ModelPart::ToolResult(result) => Some(describe_provider_call(&result)),
                ModelPart::Text(text) => parts::text_part(text),
                ModelPart::Reasoning(part) => parts::reasoning_part(part, self.target),
                ModelPart::File(_) | ModelPart::Image(_) => {
                    Some(parts::text("[a file that the assistant made]"))
                }
                ModelPart::ToolApprovalRequest(_)
                | ModelPart::ToolApprovalResponse(_)
                | ModelPart::Unknown(_) => None,
            };
            let Some(part) = part else { continue };
            if !answers.is_empty() {
                self.push_answer(std::mem::take(&mut sent_parts), std::mem::take(&mut answers));
            }
            sent_parts.push(part);
        }
        self.push_answer(sent_parts, answers);
    }

    fn push_answer(&mut self, sent_parts: ModelParts<'a>, results: ModelParts<'a>) {
        // Reasoning alone is not a message.
        if sent_parts.iter().any(|part| !matches!(part, ModelPart::Reasoning(_))) {
            self.finished.push(Exchange::Assistant { parts: sent_parts, results });
        }
    }

    /// Returns a call and its result in the form that is sent.
    fn pair_call(
        &mut self,
        call: &ToolCallModelPart<'a>,
        results: &mut Results<'a>,
    ) -> (ModelPart<'a>, ModelPart<'a>) {
        let own_id = string_of(call.call_id());
        // If calls share an id, each has its own result, in their order.
        let result = results.0.get_mut(&own_id).and_then(VecDeque::pop_front);
        let id = self.ids.assign(&own_id);
        let name = string_of(call.tool_name());
        let name = self.names.sent_name(&name);
        let mut sent = Object::from([
            ("type", Json::from("tool-call")),
            ("toolCallId", id.as_str().into()),
            ("toolName", name.as_ref().into()),
            ("input", input_object(call.input())),
        ]);
        // The metadata may have a signature that the model wants back with its call.
        let options = call.provider_options().map(ModelValue::into_json);
        if let Some(options) = options.filter(|options| parts::is_own(options, self.target))
            && let Some(google) = options.get("google")
        {
            sent.set("providerOptions", Object::from([("google", google.clone())]));
        }
        let mut answer = Object::from([
            ("type", Json::from("tool-result")),
            ("toolCallId", id.into()),
            ("toolName", name.as_ref().into()),
        ]);
        answer.set("output", output_json(result.as_ref()));
        (ModelPart::from_json(sent.into()), ModelPart::from_json(answer.into()))
    }
}

/// Returns the input as an object, which providers require.
fn input_object(input: Option<ModelValue<'_>>) -> Json {
    match input.map(ModelValue::into_json) {
        Some(Json::Object(input)) => input.into(),
        None | Some(Json::Null) => Object::new().into(),
        Some(other) => Object::from([("input", other)]).into(),
    }
}

/// Returns the answer of a tool, or an error if it is unknown.
fn output_json(result: Option<&ToolResultModelPart<'_>>) -> Json {
    let of = |kind: &str, value: Json| {
        Object::from([("type", Json::from(kind)), ("value", value)]).into()
    };
    match result.and_then(ToolResultModelPart::output) {
        Some(ToolOutput::Of(kind, value)) => match value.as_str() {
            Some(words) if parts::is_blank(words) => of(kind.name(), EMPTY.into()),
            _ => of(kind.name(), value.into_json()),
        },
        Some(ToolOutput::Other(other)) => of("json", other.clone()),
        None => of("error-text", INTERRUPTED_CALL.into()),
    }
}

/// Describes a call that the provider ran itself in one line; the call itself is dropped.
fn describe_provider_call<'a>(result: &ToolResultModelPart<'_>) -> ModelPart<'a> {
    let output = output_json(Some(result));
    let value = output.get("value");
    let words = match value.and_then(Json::as_str) {
        Some(words) => words.to_owned(),
        None => value.map(Json::to_string).unwrap_or_default(),
    };
    let words: String = words.chars().take(ELSEWHERE_CHARS_MAX).collect();
    parts::text(format!("[{} was run by the provider: {words}]", string_of(result.tool_name())))
}

/// The length to which such a result is cut: pages of a provider's search are long, and were used
/// when they were new.
const ELSEWHERE_CHARS_MAX: usize = 2000;

fn is_true(value: Option<ModelValue<'_>>) -> bool {
    value.is_some_and(|value| value.into_json().as_bool() == Some(true))
}

fn string_of(value: Option<ModelValue<'_>>) -> String {
    value.as_ref().and_then(ModelValue::as_str).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use ship_message::UiMessage;

    use super::*;
    use crate::compile::convert_view;
    use crate::wire::{Format, Parameters};
    use crate::{HostForms, SendFiles};

    /// Returns each call of an assistant's message with its result: ids, input and output, in order.
    fn answered_calls(parts: &[&str]) -> Vec<(String, String, String, String)> {
        let message = format!(r#"{{"id":"a","role":"assistant","parts":[{}]}}"#, parts.join(","));
        let view = [UiMessage::parse(&message).unwrap()];
        let parameters = Parameters::new("test");
        let target = CompileTarget {
            format: Format::OpenAi,
            provider: "openai",
            files: SendFiles::Yes,
            forms: HostForms::default(),
            parameters,
        };
        let done = group_exchanges(convert_view(&view), &target, &ToolNames::default());
        let mut answered = Vec::new();
        for exchange in &done {
            let Exchange::Assistant { parts: said, results } = exchange else { panic!("a person") };
            assert_eq!(said.len(), results.len(), "one result for each call");
            for (call, result) in said.iter().zip(results) {
                let (ModelPart::ToolCall(call), ModelPart::ToolResult(result)) = (call, result)
                else {
                    panic!("a call and its result")
                };
                let input = call.input().map(ModelValue::into_json).unwrap_or_default();
                let Some(ToolOutput::Of(_, output)) = result.output() else { panic!("no output") };
                answered.push((
                    string_of(call.call_id()),
                    string_of(result.call_id()),
                    input.get("nth").map(Json::to_string).unwrap_or_default(),
                    output.as_str().unwrap_or_default().to_owned(),
                ));
            }
        }
        answered
    }

    fn call(nth: u64, output: &str) -> String {
        format!(
            r#"{{"type":"tool-look","toolCallId":"1","state":"output-available","input":{{"nth":{nth}}},"output":"{output}"}}"#
        )
    }

    #[test]
    fn calls_that_share_an_id_get_one_result_each_in_their_order() {
        let answered = answered_calls(&[&call(1, "one"), &call(2, "two"), &call(3, "three")]);
        let pairs: Vec<(&str, &str)> =
            answered.iter().map(|(_, _, nth, output)| (nth.as_str(), output.as_str())).collect();
        assert_eq!(pairs, [("1", "one"), ("2", "two"), ("3", "three")]);
        for (call_id, result_id, ..) in &answered {
            assert_eq!(call_id, result_id, "a result is sent under the id of its call");
            let same = answered.iter().filter(|(other, ..)| other == call_id).count();
            assert_eq!(same, 1, "{call_id} is sent once");
        }
    }

    #[test]
    fn a_call_without_a_result_does_not_get_that_of_another_call_with_its_id() {
        let open =
            r#"{"type":"tool-look","toolCallId":"1","state":"input-available","input":{"nth":2}}"#;
        let answered = answered_calls(&[&call(1, "one"), open]);
        let outputs: Vec<&str> = answered.iter().map(|(.., output)| output.as_str()).collect();
        assert_eq!(outputs, ["one", INTERRUPTED_CALL]);
    }
}
