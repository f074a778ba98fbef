//! The flags that choose a project and a chat, for the commands that `ship` names to the person.

use std::path::Path;

use ship_store::ChatKey;

use crate::arguments::{Arguments, DEFAULT_CHAT};
use crate::output::quote_for_shell;

/// The commands that concern the whole project.
const OF_PROJECT: [&str; 6] = ["chats", "config", "init", "logs", "repair", "verify"];

/// The flags with which the person chose project and chat. Each begins with a space; one that is not needed is empty.
/// A choice by a variable of the environment needs none.
#[derive(Clone, Debug, Default)]
pub(crate) struct ChatFlags {
    chat: String,
    project: String,
}

impl ChatFlags {
    pub(crate) fn new(arguments: &Arguments) -> Self {
        // The shell that set a variable has it for the next command, too.
        let has_variable = std::env::var_os("SHIP_CHAT").is_some_and(|chat| !chat.is_empty());
        let is_default = arguments.chat == DEFAULT_CHAT && !has_variable;
        let chat = Some(&arguments.chat).filter(|_| arguments.flags.chat && !is_default);
        let chat = chat.map(|chat| format!(" --chat {}", quote_for_shell(chat)));
        let folder = arguments.project.as_deref().filter(|_| arguments.flags.project);
        Self { chat: chat.unwrap_or_default(), ..Self::of_folder(folder) }
    }

    /// Returns the flags that choose the project of a folder, if the person named one.
    pub(crate) fn of_folder(folder: Option<&Path>) -> Self {
        let project = folder
            .map(|folder| format!(" --project {}", quote_for_shell(&folder.to_string_lossy())));
        Self { chat: String::new(), project: project.unwrap_or_default() }
    }

    /// Returns the flags for a sentence about all chats of the project.
    pub(crate) fn of_project(&self) -> Self {
        Self { chat: String::new(), ..self.clone() }
    }

    /// Returns the flags that choose another chat of the project.
    pub(crate) fn of_chat(&self, chat: &ChatKey) -> Self {
        let is_default = chat.as_str() == DEFAULT_CHAT;
        let chat = (!is_default).then(|| format!(" --chat {}", quote_for_shell(chat.as_str())));
        Self { chat: chat.unwrap_or_default(), ..self.clone() }
    }

    /// Adds the flags to a command.
    pub(crate) fn add_to(&self, command: &str) -> String {
        let name = command.split(' ').nth(1).unwrap_or_default();
        let chat = if OF_PROJECT.contains(&name) { "" } else { &self.chat };
        format!("{command}{chat}{}", self.project)
    }

    /// Adds the flags to the commands between backticks in a sentence, except to those that have flags already.
    pub(crate) fn add_to_commands_in(&self, sentence: &str) -> String {
        const OPENING: &str = "`ship ";
        let (mut completed, mut rest) = (String::new(), sentence);
        while let Some(at) = rest.find(OPENING) {
            let (before, quoted) = rest.split_at(at);
            let Some((command, after)) = quoted[1..].split_once('`') else { break };
            let has_project = command.contains(" --project ");
            let command = match command.contains(" --chat ") {
                _ if has_project => command.to_owned(),
                true => self.of_project().add_to(command),
                false => self.add_to(command),
            };
            completed.push_str(&format!("{before}`{command}`"));
            rest = after;
        }
        completed + rest
    }
}

#[cfg(test)]
impl From<(&str, &str)> for ChatFlags {
    fn from((chat, project): (&str, &str)) -> Self {
        Self { chat: chat.to_owned(), project: project.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_in_a_sentence_leads_to_the_chat_of_the_sentence() {
        let flags = ChatFlags::from((" --chat c2", " --project 'a b'"));
        for (sentence, expected) in [
            (
                "`ship send 'go on'` goes on; `ship history` shows it",
                "`ship send 'go on' --chat c2 --project 'a b'` goes on; \
                 `ship history --chat c2 --project 'a b'` shows it",
            ),
            ("see `ship verify`", "see `ship verify --project 'a b'`"),
            ("`ship send --chat NAME`", "`ship send --chat NAME --project 'a b'`"),
            ("`ship undo --chat c2 --project x`", "`ship undo --chat c2 --project x`"),
            ("`kill 42`, and a `ship that sails", "`kill 42`, and a `ship that sails"),
        ] {
            assert_eq!(flags.add_to_commands_in(sentence), expected);
            assert_eq!(flags.add_to_commands_in(expected), expected, "it is done once");
            assert_eq!(ChatFlags::default().add_to_commands_in(sentence), sentence);
        }
    }
}
