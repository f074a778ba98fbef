//! The engine's hints are what one types in `ship chat`. At a shell the same is done by commands.

use crate::output;

/// What stands before a hint that ends a line, and the command that it begins with.
const AT_THE_END: [(&str, &str, &str); 2] = [
    ("to return: ", "/context load ", "ship context load "),
    ("To come back: ", "/rewind ", "ship rewind "),
];

/// Hints in the middle of a line.
const WITHIN: [(&str, &str); 3] = [
    ("`/checkpoint NAME`", "`ship checkpoint NAME`"),
    ("`/compact --undo`", "`ship compact --undo`"),
    ("`/context rename`", "`ship context rename`"),
];

/// A line with its hints as somebody at a shell types them. `same` are the flags that choose the same chat.
pub(crate) fn in_shell(line: &str, same: &str) -> String {
    for (before, typed, command) in AT_THE_END {
        // The last one: a title may say anything.
        if let Some((told, word)) = line.rsplit_once(&format!("{before}{typed}")) {
            return format!("{told}{before}{command}{}{same}", output::quoted(word));
        }
    }
    WITHIN.iter().fold(line.to_owned(), |line, (typed, command)| line.replace(typed, command))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_is_what_works_at_a_shell() {
        for (line, same, expected) in [
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
            assert_eq!(in_shell(line, same), expected);
        }
    }
}
