//! Rewrites the hints of the engine, which are meant for `ship chat`, as commands for a shell.

use ship_agent::{Destination, WayBack};

use crate::chat_flags::ChatFlags;
use crate::output;

/// The hints in the words of the engine, and the shell commands for them.
const HINTS: [(&str, &str); 5] = [
    ("`/checkpoint NAME`", "ship checkpoint NAME"),
    ("`/compact --undo`", "ship compact --undo"),
    ("`/context recall --around ID`", "ship context recall --around ID"),
    ("`/search WORDS`", "ship search WORDS"),
    ("`ship verify`", "ship verify"),
];

/// Returns a line about contexts, with its hints and its way back as shell commands for the same chat. The context that
/// was left is named by its id, for programs.
pub(crate) fn line_for_program(
    line: &str,
    way_back: Option<&WayBack>,
    flags: &ChatFlags,
) -> String {
    let command = way_back.map(|way_back| match &way_back.destination {
        Destination::Context(context) => format!("ship context load {context}"),
        Destination::Checkpoint(name) => rewind_command(name),
    });
    complete_line(line, way_back.zip(command), flags)
}

/// Returns the same for a person. The context that was just left is the last one, which needs no id.
pub(crate) fn line_for_shell(line: &str, way_back: Option<&WayBack>, flags: &ChatFlags) -> String {
    let command = way_back.map(|way_back| match &way_back.destination {
        Destination::Context(_) => "ship context load -".to_owned(),
        Destination::Checkpoint(name) => rewind_command(name),
    });
    complete_line(line, way_back.zip(command), flags)
}

/// Returns a line about contexts for a person in `ship chat`.
pub(crate) fn line_for_chat(line: &str, way_back: Option<&WayBack>) -> String {
    match way_back {
        Some(WayBack { introduction, destination: Destination::Context(_) }) => {
            format!("{introduction}/context load -")
        }
        Some(way_back) => way_back.line_in_chat(),
        // Both words work; the chat names the shorter one everywhere.
        None => line.replace("`/compact --undo`", "`/compact undo`"),
    }
}

fn rewind_command(checkpoint: &str) -> String {
    format!("ship rewind {}", output::quote_for_shell(checkpoint))
}

fn complete_line(line: &str, way_back: Option<(&WayBack, String)>, flags: &ChatFlags) -> String {
    match way_back {
        None => hints_for_shell(line, flags),
        Some((WayBack { introduction, .. }, command)) => {
            hints_for_shell(introduction, flags) + &flags.add_to(&command)
        }
    }
}

/// Returns a text with its hints as shell commands for the same chat.
pub(crate) fn hints_for_shell(text: &str, flags: &ChatFlags) -> String {
    HINTS.iter().fold(text.to_owned(), |text, (typed, command)| {
        text.replace(typed, &format!("`{}`", flags.add_to(command)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_way_back_is_what_works_at_a_shell() {
        let context = "c_20260205_a".parse().unwrap();
        let way_back = |introduction: &str, destination| {
            Some(WayBack { introduction: introduction.to_owned(), destination })
        };
        let to_context = way_back("Left “b”; to return: ", Destination::Context(context));
        let checkpoint = Destination::Checkpoint("a b".to_owned());
        for (line, way_back, chat, expected) in [
            ("", to_context, "", "Left “b”; to return: ship context load -"),
            (
                "",
                way_back("To come back: ", checkpoint),
                " --chat x",
                "To come back: ship rewind 'a b' --chat x",
            ),
            (
                "there are no checkpoints; `/checkpoint NAME` makes one",
                None,
                " --chat x",
                "there are no checkpoints; `ship checkpoint NAME --chat x` makes one",
            ),
            ("Now in “/context load”.", None, " --chat x", "Now in “/context load”."),
        ] {
            let flags = ChatFlags::from((chat, ""));
            assert_eq!(line_for_shell(line, way_back.as_ref(), &flags), expected);
            let for_program = line_for_program(line, way_back.as_ref(), &flags);
            assert_eq!(for_program.replace("c_20260205_a", "-"), expected);
        }
    }
}
