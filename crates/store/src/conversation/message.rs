//! A new message, before it has an id and a time.

use ship_message::UiMessage;
use ship_message::json::{Json, Object};

use super::{EntryRole, MessageEntry};

/// A message to append.
#[derive(Clone, Debug, PartialEq)]
pub struct NewConversationMessage {
    /// The author of the message.
    pub role: EntryRole,
    /// The content: text, the parts of a UIMessage, or any other JSON.
    pub content: Json,
    /// The id of the call that a tool's message answers.
    pub tool_call_id: Option<String>,
    /// The name of the tool that answers.
    pub tool_name: Option<String>,
    /// The calls in an assistant's message.
    pub tool_calls: Option<Vec<Json>>,
    /// Whether the tool failed.
    pub is_error: bool,
    /// Whether the program writes the message in the role of the user.
    pub is_meta: bool,
}

impl NewConversationMessage {
    /// Makes a message of any role.
    pub fn new(role: EntryRole, content: impl Into<Json>) -> Self {
        Self {
            role,
            content: content.into(),
            tool_call_id: None,
            tool_name: None,
            tool_calls: None,
            is_error: false,
            is_meta: false,
        }
    }

    /// Makes a message with the agent's instructions.
    pub fn system(content: impl Into<Json>) -> Self {
        Self::new(EntryRole::System, content)
    }

    /// Makes a message of the person.
    pub fn user(content: impl Into<Json>) -> Self {
        Self::new(EntryRole::User, content)
    }

    /// Makes a message of the agent.
    pub fn assistant(content: impl Into<Json>) -> Self {
        Self::new(EntryRole::Assistant, content)
    }

    /// Makes a message of the agent that has calls and no text.
    pub fn calls(tool_calls: Vec<Json>) -> Self {
        Self { tool_calls: Some(tool_calls), ..Self::assistant(Json::Null) }
    }

    /// Makes the answer to a call.
    pub fn tool(
        call_id: impl Into<String>,
        tool: impl Into<String>,
        content: impl Into<Json>,
    ) -> Self {
        Self {
            tool_call_id: Some(call_id.into()),
            tool_name: Some(tool.into()),
            ..Self::new(EntryRole::Tool, content)
        }
    }

    /// Returns the message with the mark that the tool failed.
    pub fn error(self) -> Self {
        Self { is_error: true, ..self }
    }

    /// Returns the message with the mark that the program wrote it.
    pub fn meta(self) -> Self {
        Self { is_meta: true, ..self }
    }

    pub(super) fn into_entry(self, id: String, ts: String) -> MessageEntry {
        MessageEntry {
            tool_call_id: self.tool_call_id,
            tool_name: self.tool_name,
            tool_calls: self.tool_calls,
            is_error: self.is_error,
            is_meta: self.is_meta,
            ..MessageEntry::new(id, ts, self.role, self.content)
        }
    }
}

/// A skill to activate.
#[derive(Clone, Debug, PartialEq)]
pub struct SkillActivation {
    /// The name of the skill.
    pub skill: String,
    /// The answer to the call for the skill, made with [`NewConversationMessage::tool`]; none if
    /// a person activates it.
    pub answer: Option<NewConversationMessage>,
    /// The instructions of the skill for the model.
    pub prompt: String,
}

/// A message of a view to append, with what its lines hold besides.
#[derive(Clone, Debug, PartialEq)]
pub struct NewViewMessage {
    /// The message. With an empty id it gets the next one.
    pub message: UiMessage,
    /// The skills that its calls activated or deactivated.
    pub skill_changes: Vec<SkillChange>,
    /// Further fields of its first line.
    pub other: Object,
}

impl From<UiMessage> for NewViewMessage {
    fn from(message: UiMessage) -> Self {
        Self { message, skill_changes: Vec::new(), other: Object::new() }
    }
}

/// A skill that a call in a message activated or deactivated.
#[derive(Clone, Debug, PartialEq)]
pub struct SkillChange {
    /// The name of the skill.
    pub skill: String,
    /// The id of the call.
    pub call_id: String,
    /// The instructions of the skill for the model; none if the call deactivated it.
    pub prompt: Option<String>,
}
