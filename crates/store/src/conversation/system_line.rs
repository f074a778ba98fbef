//! The system line of an agent: the instructions that it gives the model, for other programs to read.
//!
//! A field marks the line as the agent's own. So the agent knows that it sends this text anyway, and may write the
//! line again, under the same id, when its instructions change. A system line without the mark belongs to another
//! program: the agent keeps it, sends it, and writes none of its own beside it. Nor does it write one among messages
//! that began without: a program that sends lines in their order would have it in the middle.

use super::{Conversation, EntryRole, MessageEntry, NewConversationMessage, WriteError};

/// The field of the mark, and its value.
const WRITTEN_BY: (&str, &str) = ("written_by", "agent");

impl Conversation {
    /// Writes the instructions of an agent as its system line, if the conversation is empty or the line has changed.
    ///
    /// A line of another program stays alone, except if it has exactly this text: then it becomes the agent's.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub fn write_agent_system(&mut self, text: &str) -> Result<(), WriteError> {
        let has_text = |line: &&MessageEntry| line.content.as_str() == Some(text);
        let known = self.system_lines().find(|line| is_agents(line));
        let mut line = match known.or_else(|| self.system_lines().find(has_text)) {
            Some(line) if is_agents(line) && has_text(&line) => return Ok(()),
            Some(line) => {
                MessageEntry { ts: self.timestamp(), content: text.into(), ..line.clone() }
            }
            None if self.state.has_messages() => return Ok(()),
            None => {
                let id = self.state.ids().next_message();
                NewConversationMessage::system(text).into_entry(id, self.timestamp())
            }
        };
        line.other.set(WRITTEN_BY.0, WRITTEN_BY.1);
        self.commit(vec![line.into()])
    }

    /// Returns the id of the agent's system line, if there is one.
    pub fn agent_system_id(&self) -> Option<&str> {
        self.system_lines().find(|line| is_agents(line)).map(|line| line.id.as_str())
    }

    fn system_lines(&self) -> impl Iterator<Item = &MessageEntry> {
        let messages = self.state.visible_entries().map(|(_, message)| message);
        messages.filter(|message| message.role == EntryRole::System)
    }
}

fn is_agents(line: &MessageEntry) -> bool {
    line.other.str(WRITTEN_BY.0) == Some(WRITTEN_BY.1)
}
