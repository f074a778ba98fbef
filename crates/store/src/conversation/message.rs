//! What is appended: a message before it has an id and a time.

use ship_message::json::Json;

use super::{EntryRole, MessageEntry};

/// A message to append.
#[derive(Clone, Debug, PartialEq)]
pub struct NewConversationMessage {
    /// Who it is from.
    pub role: EntryRole,
    /// What is said: text, or the parts of a UIMessage, or anything else.
    pub content: Json,
    /// The call that a tool's message answers.
    pub tool_call_id: Option<String>,
    /// The tool that answers.
    pub tool_name: Option<String>,
    /// The calls that an assistant's message makes.
    pub tool_calls: Option<Vec<Json>>,
    /// Whether the tool failed.
    pub is_error: bool,
    /// Whether the program says it, in the role of the person.
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

    /// Makes the agent's instructions.
    pub fn system(content: impl Into<Json>) -> Self {
        Self::new(EntryRole::System, content)
    }

    /// Makes a person's message.
    pub fn user(content: impl Into<Json>) -> Self {
        Self::new(EntryRole::User, content)
    }

    /// Makes the agent's message.
    pub fn assistant(content: impl Into<Json>) -> Self {
        Self::new(EntryRole::Assistant, content)
    }

    /// Makes the agent's message that calls tools and says nothing.
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

    /// The same, as the failure of a tool.
    pub fn error(self) -> Self {
        Self { is_error: true, ..self }
    }

    /// The same, as said by the program.
    pub fn meta(self) -> Self {
        Self { is_meta: true, ..self }
    }

    pub(super) fn entry(self, id: String, ts: String) -> MessageEntry {
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
    /// The skill's name.
    pub skill: String,
    /// The answer to the call that asked for it, made with [`NewConversationMessage::tool`]; none if a person did.
    pub answer: Option<NewConversationMessage>,
    /// What the skill tells the model.
    pub prompt: String,
}
