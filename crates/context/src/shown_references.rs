//! Recognises references, and finds what those in view show.
//!
//! A reference that the model fetched is the output of the call that fetched it. One that a person brought in is an
//! assistant message of its own; so is each reference of older programs.

use std::borrow::Borrow;

use ship_message::{ToolPart, ToolState, UiMessage, UiPart};
use ship_record::{ContextId, LedgerSeq, MessageKind, Metadata};

/// The beginning of the first line of every reference.
const FIRST_LINE: &str = "以下是";

/// The tools that show the past, and whether their output is a reference.
const TOOLS_OF_THE_PAST: [(&str, bool); 5] = [
    ("chat_context_list", false),
    ("chat_context_load", true),
    ("chat_context_recall", true),
    ("chat_history_search", false),
    ("chat_load_history", true),
];

/// Whether the output of a tool repeats what is found where it was said.
pub(crate) fn shows_the_past(tool: &str) -> bool {
    TOOLS_OF_THE_PAST.iter().any(|(name, _)| *name == tool)
}

/// Whether a message is a reference.
pub fn is_reference(message: &UiMessage) -> bool {
    Metadata::of(message).kind() == Some(MessageKind::Reference)
}

/// Whether a message is a reference to this context in this mode.
pub fn is_reference_to(message: &UiMessage, context: &ContextId, mode: &str) -> bool {
    let metadata = Metadata::of(message);
    is_reference(message)
        && metadata.context_id() == Some(context.as_str())
        && metadata.mode() == Some(mode)
}

/// The beginning of the line that names the message of a reference to a message and its neighbours.
pub(crate) const MESSAGE_LINE: &str = "- messageId: ";

/// Whether a message is a reference to the message of this id and its neighbours.
pub fn is_reference_around(message: &UiMessage, id: &str) -> bool {
    let text = if is_reference(message) { message.text() } else { return false };
    // The lines of the head, before the fence.
    text.lines().take(4).any(|line| line.strip_prefix(MESSAGE_LINE) == Some(id))
}

/// Returns what a reference shows, without its head and its fences.
pub fn reference_content(reference: &str) -> Option<&str> {
    let (rest, fence) = reference.rsplit_once('\n')?;
    let opening = format!("\n{fence}\n");
    rest.split_once(&opening).map(|(_, content)| content)
}

/// Returns the reference that a call has fetched.
pub fn fetched_reference(tool: &ToolPart) -> Option<&str> {
    let is_it = tool.state() == ToolState::OutputAvailable
        && tool.name().is_some_and(|name| TOOLS_OF_THE_PAST.contains(&(name, true)));
    let output = tool.output().filter(|_| is_it)?;
    output.as_str().filter(|text| text.starts_with(FIRST_LINE))
}

/// The content of the references that a model has fetched.
#[derive(Clone, Debug, Default)]
pub struct FetchedReferences {
    contexts: Vec<(String, String)>,
    entries: Vec<LedgerSeq>,
}

impl FetchedReferences {
    /// Collects the references of the calls in messages.
    pub fn in_messages<M: Borrow<UiMessage>>(messages: impl IntoIterator<Item = M>) -> Self {
        let mut fetched = Self::default();
        for message in messages {
            for part in message.borrow().parts() {
                if let UiPart::Tool(tool) = part
                    && let Some(text) = fetched_reference(tool)
                {
                    fetched.add(text);
                }
            }
        }
        fetched
    }

    /// Adds a reference, which says in its first lines what it shows. In a list of entries, each one begins a line with
    /// its number; the other lines of a message are indented.
    pub fn add(&mut self, text: &str) {
        let field =
            |name: &str| text.lines().skip(1).take(2).find_map(|line| line.strip_prefix(name));
        if let (Some(context), Some(mode)) = (field("- contextId: "), field("- mode: ")) {
            self.contexts.push((context.to_owned(), mode.to_owned()));
            return;
        }
        let number = |line: &str| line.strip_prefix('#')?.split_once(" [")?.0.parse().ok();
        self.entries.extend(text.lines().filter_map(number).map(LedgerSeq::new));
    }

    /// Whether a context was fetched in this mode.
    pub fn has_context(&self, context: &ContextId, mode: &str) -> bool {
        self.contexts.iter().any(|(id, name)| id == context.as_str() && name == mode)
    }

    /// Returns the ledger entries that were fetched.
    pub fn entries(&self) -> &[LedgerSeq] {
        &self.entries
    }
}

#[cfg(test)]
mod tests {
    use ship_message::json::Json;

    use super::*;

    const RECALL: &str = "以下是历史归档 context（仅供参考，可能与当前问题不一致）：\n- contextId: c_20260205_abcd\n- mode: full\nEnglish.\n```\n#9 [x\n```";
    const HISTORY: &str = "以下是更早的聊天记录（仅供参考，可能与当前问题不一致）：\n- mode: history\nEnglish.\n```\n#12 [2026] user: a\n  #13 [no] b\n#14 [2026] user: c\n```";

    fn answered(tool: &str, output: &str) -> UiMessage {
        let mut call = ToolPart::new(tool, "c1", Json::Null);
        call.set_output(Json::from(output));
        UiMessage::new("a1", ship_message::Role::Assistant, vec![UiPart::Tool(call)])
    }

    #[test]
    fn the_output_of_a_call_says_what_it_shows() {
        let fetched = FetchedReferences::in_messages([
            answered("chat_context_recall", RECALL),
            answered("chat_load_history", HISTORY),
        ]);
        let context: ContextId = "c_20260205_abcd".parse().unwrap();
        assert!(fetched.has_context(&context, "full"));
        assert!(!fetched.has_context(&context, "summary"));
        assert_eq!(fetched.entries(), [LedgerSeq::new(12), LedgerSeq::new(14)]);
    }

    #[test]
    fn the_content_of_a_reference_stands_between_its_fences() {
        assert_eq!(
            reference_content("head\n````\na\n```\nb\n```\nc\n````"),
            Some("a\n```\nb\n```\nc")
        );
        assert_eq!(reference_content("a plain text"), None);
    }

    #[test]
    fn other_outputs_are_no_references() {
        for (tool, output) in [("read_file", RECALL), ("chat_context_load", "{}")] {
            let message = answered(tool, output);
            let UiPart::Tool(tool) = &message.parts()[0] else { panic!("a call") };
            assert_eq!(fetched_reference(tool), None, "{output}");
        }
    }
}
