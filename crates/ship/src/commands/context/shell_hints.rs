//! Rewrites the hints of the engine, which are meant for `ship chat`, as commands for a shell.

use crate::output;

/// The words before a hint at the end of a line, the slash command, and the shell command.
const AT_THE_END: [(&str, &str, &str); 2] = [
    ("to return: ", "/context load ", "ship context load "),
    ("To come back: ", "/rewind ", "ship rewind "),
];

/// The hints in the middle of a line, and the shell commands for them.
const WITHIN: [(&str, &str); 3] = [
    ("`/checkpoint NAME`", "`ship checkpoint NAME`"),
    ("`/compact --undo`", "`ship compact --undo`"),
    ("`/context rename`", "`ship context rename`"),
];

/// Returns a line with its hints as shell commands. `chat_flags` has the flags that choose the same chat.
pub(crate) fn hints_for_shell(line: &str, chat_flags: &str) -> String {
    for (before, typed, command) in AT_THE_END {
        // The last occurrence counts, because a title may contain the same words.
        if let Some((told, word)) = line.rsplit_once(&format!("{before}{typed}")) {
            return format!("{told}{before}{command}{}{chat_flags}", output::quote_for_shell(word));
        }
    }
    WITHIN.iter().fold(line.to_owned(), |line, (typed, command)| line.replace(typed, command))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_is_what_works_at_a_shell() {
        for (line, chat_flags, expected) in [
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
                "",
                "there are no checkpoints; `ship checkpoint NAME` makes one",
            ),
            ("Now in “/context load”.", " --chat x", "Now in “/context load”."),
        ] {
            assert_eq!(hints_for_shell(line, chat_flags), expected);
        }
    }
}
