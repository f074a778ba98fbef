//! Leaves out tool output that is no longer needed.
//!
//! An output is superseded if the same tool was called again later with the same input; it is old if enough
//! messages followed. Pruned outputs are named in an event, so that they are the same in every later request
//! and can be restored.

use std::collections::{BTreeMap, HashSet};

use ship_message::json::{Json, Object};
use ship_message::{ToolPart, ToolState, UiMessage, UiPart};

use crate::shown_references::fetched_reference;

/// The size below which an output is not pruned: it costs less than the note in its place.
const BYTES_MIN: usize = 400;

/// The outputs that are left out: message ids, with the ids of calls in them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PrunedOutputs(BTreeMap<String, Vec<String>>);

impl PrunedOutputs {
    /// Reads the outputs from an event or a head.
    pub fn from_json(json: &Json) -> Self {
        let calls = |list: &Json| {
            let ids = list.as_array().unwrap_or_default().iter();
            ids.filter_map(Json::as_str).map(str::to_owned).collect()
        };
        let messages = json.as_object().into_iter().flat_map(|object| object.iter());
        Self(messages.map(|(id, list)| (id.to_owned(), calls(list))).collect())
    }

    /// Returns the outputs in the form of an event or a head.
    pub fn to_json(&self) -> Json {
        let list =
            |calls: &[String]| calls.iter().map(|id| Json::from(id.as_str())).collect::<Vec<_>>();
        let object: Object =
            self.0.iter().map(|(id, calls)| (id.clone(), Json::from(list(calls)))).collect();
        object.into()
    }

    /// Whether no output is left out.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the number of outputs that are left out.
    pub fn len(&self) -> usize {
        self.0.values().map(Vec::len).sum()
    }

    /// Adds the outputs of another set.
    pub fn extend(&mut self, other: Self) {
        for (message, calls) in other.0 {
            let already_pruned = self.0.entry(message).or_default();
            for call in calls {
                if !already_pruned.contains(&call) {
                    already_pruned.push(call);
                }
            }
        }
    }

    /// Keeps only the outputs of these messages.
    pub fn retain_messages<'m>(mut self, messages: impl Iterator<Item = &'m UiMessage>) -> Self {
        let ids: HashSet<&str> = messages.filter_map(UiMessage::id).collect();
        self.0.retain(|id, _| ids.contains(id.as_str()));
        self
    }

    /// Whether any output of a message is left out.
    pub fn has_output_of(&self, message: &UiMessage) -> bool {
        message.id().is_some_and(|id| self.0.contains_key(id))
    }

    /// Removes the outputs from a message that is about to be shown. Returns whether there were any. The same outputs
    /// are removed from a message once: what is left is kept with it.
    pub fn apply(&self, message: &mut UiMessage) -> bool {
        let Some(calls) = message.id().and_then(|id| self.0.get(id)) else { return false };
        let pruned = message.derived(
            |pruned: &PrunedForm| pruned.calls == *calls,
            || PrunedForm {
                calls: calls.clone(),
                message: without_outputs(message.clone(), calls),
            },
        );
        *message = pruned.message.clone();
        true
    }
}

/// A message without the outputs of these calls.
struct PrunedForm {
    calls: Vec<String>,
    message: UiMessage,
}

fn without_outputs(mut message: UiMessage, calls: &[String]) -> UiMessage {
    for part in message.parts_mut() {
        if let UiPart::Tool(tool) = part
            && calls.iter().any(|call| call == tool.call_id())
            && is_prunable(tool)
        {
            let bytes = output_bytes(tool);
            tool.set_output(Json::from(format!(
                "[{bytes} bytes of output, left out to save room; the chat's log has them]"
            )));
        }
    }
    message
}

/// Names the outputs to leave out. The newest messages, from `protected` on, stay unchanged, except for superseded
/// outputs, which are left out everywhere.
pub fn prunable_outputs(
    messages: &[&UiMessage],
    protected: usize,
    already_pruned: &PrunedOutputs,
) -> PrunedOutputs {
    let mut later: HashSet<(String, String)> = HashSet::new();
    let mut pruned = PrunedOutputs::default();
    for (at, message) in messages.iter().enumerate().rev() {
        for part in message.parts().iter().rev() {
            let UiPart::Tool(tool) = part else { continue };
            let call = (
                tool.name().unwrap_or_default().to_owned(),
                tool.input().map(Json::to_string).unwrap_or_default(),
            );
            // The loop goes from new to old, so an equal call that is already in the set comes later in the chat.
            // The same recall may show something else later, and the model has answered by this one.
            let is_superseded = !later.insert(call) && fetched_reference(tool).is_none();
            let id = message.id().unwrap_or_default();
            let is_known = already_pruned
                .0
                .get(id)
                .is_some_and(|calls| calls.iter().any(|c| c == tool.call_id()));
            // The event could not name an output of a message without an id.
            if (is_superseded || at < protected) && is_prunable(tool) && !is_known && !id.is_empty()
            {
                pruned.0.entry(id.to_owned()).or_default().push(tool.call_id().to_owned());
            }
        }
    }
    pruned
}

fn is_prunable(tool: &ToolPart) -> bool {
    tool.state() == ToolState::OutputAvailable && output_bytes(tool) >= BYTES_MIN
}

fn output_bytes(tool: &ToolPart) -> usize {
    match tool.output() {
        Some(Json::String(text)) => text.as_str().len(),
        Some(json) => json.to_string().len(),
        None => 0,
    }
}

#[cfg(test)]
mod tests {
    use ship_message::Role;

    use super::*;

    fn called(id: &str, call: &str, input: u64, bytes: usize) -> UiMessage {
        let mut tool = ToolPart::new("look", call, Json::from(input));
        tool.set_output(Json::from("x".repeat(bytes)));
        UiMessage::new(id, Role::Assistant, vec![UiPart::Tool(tool)])
    }

    #[test]
    fn superseded_outputs_go_and_old_ones_and_small_ones_stay() {
        let messages = [
            called("a", "c1", 1, 1_000),
            called("b", "c2", 2, 10),
            called("c", "c3", 3, 1_000),
            called("d", "c4", 1, 1_000),
        ];
        let list: Vec<&UiMessage> = messages.iter().collect();
        let superseded = prunable_outputs(&list, 0, &PrunedOutputs::default());
        assert_eq!(superseded.to_json().to_string(), r#"{"a":["c1"]}"#);
        let old = prunable_outputs(&list, 3, &superseded);
        assert_eq!(
            old.to_json().to_string(),
            r#"{"c":["c3"]}"#,
            "what is known is not named again"
        );
    }

    #[test]
    fn a_reference_is_not_superseded_by_one_that_was_fetched_later() {
        let fetched = |id: &str, call: &str, first_line: &str| {
            let mut tool = ToolPart::new("chat_load_history", call, Json::Null);
            tool.set_output(Json::from(format!("{first_line}\n{}", "x".repeat(1_000))));
            UiMessage::new(id, Role::Assistant, vec![UiPart::Tool(tool)])
        };
        for (first_line, pruned) in [
            ("以下是更早的聊天记录（仅供参考，可能与当前问题不一致）：", "{}"),
            ("another output", r#"{"a":["c1"]}"#),
        ] {
            let messages = [fetched("a", "c1", first_line), fetched("b", "c2", first_line)];
            let list: Vec<&UiMessage> = messages.iter().collect();
            let found = prunable_outputs(&list, 0, &PrunedOutputs::default());
            assert_eq!(found.to_json().to_string(), pruned, "{first_line}");
        }
    }

    #[test]
    fn what_is_left_out_is_told_and_survives_being_written() {
        let mut message = called("a", "c1", 1, 1_000);
        let pruned = prunable_outputs(&[&message], 1, &PrunedOutputs::default());
        let pruned = PrunedOutputs::from_json(&pruned.to_json());
        pruned.apply(&mut message);
        let UiPart::Tool(tool) = &message.parts()[0] else { panic!("a call") };
        let note = "[1000 bytes of output, left out to save room; the chat's log has them]";
        assert_eq!(tool.output().and_then(Json::as_str), Some(note));
        assert!(pruned.retain_messages(std::iter::empty()).is_empty());
    }
}
