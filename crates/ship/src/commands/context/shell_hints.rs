//! Rewrites the hints of the engine, which are meant for `ship chat`, as commands for a shell.

use crate::chat_flags::ChatFlags;
use crate::output;

/// The words before a hint at the end of a line, the slash command, and the shell command.
const AT_THE_END: [(&str, &str, &str); 2] = [
    ("to return: ", "/context load ", "ship context load "),
    ("To come back: ", "/rewind ", "ship rewind "),
];

/// The hints in the middle of a line, and the shell commands for them.
const WITHIN: [(&str, &str); 4] = [
    ("`/checkpoint NAME`", "ship checkpoint NAME"),
    ("`/compact --undo`", "ship compact --undo"),
    ("`/context rename`", "ship context rename"),
    ("`ship verify`", "ship verify"),
];

/// Returns a line with its hints as shell commands for the same chat.
pub(crate) fn hints_for_shell(line: &str, flags: &ChatFlags) -> String {
    let line = WITHIN.iter().fold(line.to_owned(), |line, (typed, command)| {
        line.replace(typed, &format!("`{}`", flags.add_to(command)))
    });
    for (before, typed, command) in AT_THE_END {
        // The last occurrence counts, because a title may contain the same words.
        if let Some((start, word)) = line.rsplit_once(&format!("{before}{typed}")) {
            let command = format!("{command}{}", output::quote_for_shell(word));
            return format!("{start}{before}{}", flags.add_to(&command));
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_is_what_works_at_a_shell() {
        for (line, chat, expected) in [
            (
                "Now in “a”. Left “b”; to return: /context load c_20260205_a",
                "",
                "Now in “a”. Left “b”; to return: ship context load c_20260205_a",
            ),
            (
                "Checkpoint “a b” is here. To come back: /rewind a b",
                " --chat x",
                "Checkpoint “a b” is here. To come back: ship rewind 'a b' --chat x",
            ),
            (
                "there are no checkpoints; `/checkpoint NAME` makes one",
                " --chat x",
                "there are no checkpoints; `ship checkpoint NAME --chat x` makes one",
            ),
            ("Now in “/context load”.", " --chat x", "Now in “/context load”."),
        ] {
            assert_eq!(hints_for_shell(line, &ChatFlags::from((chat, ""))), expected);
        }
    }
}
