//! What can be said to `ship chat` itself, with a slash before it.

use crate::style::Style;
use crate::table;

/// A command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slash {
    Help,
    /// So many of the newest messages.
    History(usize),
    Inspect,
    Compact,
    Chats,
    Config,
    Verify,
    Exit,
}

/// Each name, its command, and what it does. Help and completion follow from this.
pub(super) const COMMANDS: [(&str, Slash, &str); 8] = [
    ("/help", Slash::Help, "this list"),
    ("/history", Slash::History(10), "what was said last; /history 3 for the last three"),
    ("/inspect", Slash::Inspect, "what the model would be sent now"),
    ("/compact", Slash::Compact, "make room: older messages become a summary"),
    ("/chats", Slash::Chats, "the chats of this project"),
    ("/config", Slash::Config, "the settings in force"),
    ("/verify", Slash::Verify, "look for damage"),
    ("/exit", Slash::Exit, "leave, as Ctrl-D does"),
];

/// What a line means.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Meant {
    /// Nothing.
    Nothing,
    /// Do this.
    Command(Slash),
    /// There is no such command.
    NoCommand,
    /// Say it to the agent.
    Message,
}

/// Tells what a line means. A path such as `/etc/hosts` and a line for the offline model (`/tool …`) are
/// messages: what cannot be a command is said to the agent, not thrown away.
pub(super) fn meant(line: &str) -> Meant {
    let line = line.trim();
    if line.is_empty() {
        return Meant::Nothing;
    }
    let name = if line == "/quit" { "/exit" } else { line };
    if let Some((_, command, _)) = COMMANDS.iter().find(|(known, ..)| *known == name) {
        return Meant::Command(*command);
    }
    if let Some(("/history", count)) = line.split_once(' ')
        && let Ok(count) = count.trim().parse()
    {
        return Meant::Command(Slash::History(count));
    }
    let is_word = |rest: &str| !rest.is_empty() && rest.chars().all(|c| c.is_ascii_alphabetic());
    match name.strip_prefix('/') {
        Some(rest) if is_word(rest) && rest != "tool" => Meant::NoCommand,
        _ => Meant::Message,
    }
}

pub(super) fn help(style: Style) -> String {
    let command = |(name, _, about): &(&str, Slash, &str)| {
        table::wrapped(&format!("  {} {about}", style.cyan(&table::pad(name, 10))), 13)
    };
    let mut lines: Vec<String> = COMMANDS.iter().map(command).collect();
    for sentence in [
        "Tab completes, Up brings back what you typed, Ctrl-C stops an answer.",
        "Everything else is said to the agent, and kept.",
    ] {
        lines.push(table::wrapped(sentence, 0));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slash_and_a_word_is_a_command_and_what_says_more_is_a_message() {
        for (line, expected) in [
            ("", Meant::Nothing),
            ("  \t", Meant::Nothing),
            ("/help", Meant::Command(Slash::Help)),
            (" /exit ", Meant::Command(Slash::Exit)),
            ("/quit", Meant::Command(Slash::Exit)),
            ("/history", Meant::Command(Slash::History(10))),
            ("/history 3", Meant::Command(Slash::History(3))),
            ("/history of Rome", Meant::Message),
            ("/hlep", Meant::NoCommand),
            ("/etc/hosts", Meant::Message),
            ("/tool chat_send {}", Meant::Message),
            ("/help me with this", Meant::Message),
            ("/", Meant::Message),
            ("1/2", Meant::Message),
        ] {
            assert_eq!(meant(line), expected, "{line:?}");
        }
    }
}
