//! Parses the commands of `ship chat`, which begin with a slash.

mod contexts;

use crate::commands::compact;
use crate::commands::context::ContextRequest;
use crate::style::Style;
use crate::table;

pub(super) use contexts::SUBCOMMANDS;

/// A command with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Slash {
    Help,
    /// Shows this number of the newest messages.
    History(usize),
    Inspect,
    Compact(compact::CompactFlags),
    /// Concerns the contexts of the chat.
    Context(ContextRequest),
    Chats,
    Config,
    Verify,
    Exit,
}

/// A listed command: its name, its arguments, and what it does. Help and completion are made from this.
pub(super) struct Listed {
    pub(super) name: &'static str,
    takes: &'static str,
    about: &'static str,
}

const fn listed(name: &'static str, takes: &'static str, about: &'static str) -> Listed {
    Listed { name, takes, about }
}

pub(super) const COMMANDS: [Listed; 13] = [
    listed("/help", "", "this list"),
    listed("/history", "[N]", "what was said last"),
    listed("/inspect", "", "what the model would be sent now"),
    listed("/context", "…", "the contexts of this chat:"),
    listed("/checkpoint", "NAME", "name this point"),
    listed("/rewind", "NAME", "go back to a point; what followed is kept as a context"),
    listed("/fork", "[NAME]", "go on in a copy, of now or of a point; --to CHAT elsewhere"),
    listed("/undo", "", "take the last of these back; once more does it again"),
    listed("/compact", "[WORDS]", "make room; a summary heeds the words, undo takes it back"),
    listed("/chats", "", "the chats of this project"),
    listed("/config", "", "the settings in force"),
    listed("/verify", "", "look for damage"),
    listed("/exit", "", "leave, as Ctrl-D does"),
];

/// The meaning of a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum LineMeaning {
    /// The line is empty.
    Nothing,
    /// The line is a command.
    Command(Slash),
    /// The command exists, but its arguments are wrong.
    Usage(&'static str),
    /// The command does not exist.
    NoCommand,
    /// The line is a message for the agent.
    Message,
}

/// Interprets a line. A path such as `/etc/hosts` and a line for the offline model (`/tool …`) are messages: a line
/// that cannot be a command is sent to the agent and not dropped.
pub(super) fn interpret_line(line: &str) -> LineMeaning {
    let line = line.trim();
    if line.is_empty() {
        return LineMeaning::Nothing;
    }
    let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    if let Some(meant) = contexts::interpret_command(name, rest.trim()) {
        return meant;
    }
    if let Some(command) = plain_command(name).filter(|_| rest.is_empty()) {
        return LineMeaning::Command(command);
    }
    if let ("/history", Ok(count)) = (name, rest.trim().parse()) {
        return LineMeaning::Command(Slash::History(count));
    }
    if name == "/compact" {
        return parse_compact(rest.trim());
    }
    let is_word = |rest: &str| !rest.is_empty() && rest.chars().all(|c| c.is_ascii_alphabetic());
    match line.strip_prefix('/') {
        Some(rest) if is_word(rest) && rest != "tool" => LineMeaning::NoCommand,
        _ => LineMeaning::Message,
    }
}

/// Returns a command that takes no arguments.
fn plain_command(name: &str) -> Option<Slash> {
    Some(match name {
        "/help" => Slash::Help,
        "/history" => Slash::History(10),
        "/inspect" => Slash::Inspect,
        "/chats" => Slash::Chats,
        "/config" => Slash::Config,
        "/verify" => Slash::Verify,
        "/exit" | "/quit" => Slash::Exit,
        _ => return None,
    })
}

/// Parses the arguments of `/compact`: flags as on the command line, or instructions for the summary.
fn parse_compact(rest: &str) -> LineMeaning {
    let mut flags = compact::CompactFlags::default();
    match rest {
        "" => {}
        "undo" | "--undo" => flags.undo = true,
        "--dry-run" => flags.dry_run = true,
        flag if flag.starts_with("--") => {
            return LineMeaning::Usage(
                "/compact makes room, /compact undo takes it back; any words are heeded.",
            );
        }
        words => flags.instructions = Some(words.to_owned()),
    }
    LineMeaning::Command(Slash::Compact(flags))
}

pub(super) fn help(style: Style) -> String {
    const COLUMN: usize = 17;
    let line = |indent: usize, command: &Listed| {
        let usage = format!("{:indent$}{} {}", "", command.name, command.takes);
        let usage = style.cyan(&table::pad(usage.trim_end(), COLUMN));
        table::wrap_text(&format!("  {usage} {}", command.about), COLUMN + 3)
    };
    let mut lines = Vec::new();
    for command in &COMMANDS {
        lines.push(line(0, command));
        if command.name == "/context" {
            lines.extend(SUBCOMMANDS.iter().map(|command| line(2, command)));
        }
    }
    for sentence in [
        "Tab completes, Up brings back what you typed, Ctrl-C stops an answer.",
        "Everything else is said to the agent, and kept.",
    ] {
        lines.push(table::wrap_text(sentence, 0));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slash_and_a_word_is_a_command_and_what_says_more_is_a_message() {
        for (line, expected) in [
            ("", LineMeaning::Nothing),
            ("  \t", LineMeaning::Nothing),
            ("/help", LineMeaning::Command(Slash::Help)),
            (" /exit ", LineMeaning::Command(Slash::Exit)),
            ("/quit", LineMeaning::Command(Slash::Exit)),
            ("/history", LineMeaning::Command(Slash::History(10))),
            ("/history 3", LineMeaning::Command(Slash::History(3))),
            ("/history of Rome", LineMeaning::Message),
            ("/hlep", LineMeaning::NoCommand),
            ("/etc/hosts", LineMeaning::Message),
            ("/tool chat_send {}", LineMeaning::Message),
            ("/help me with this", LineMeaning::Message),
            ("/", LineMeaning::Message),
            ("1/2", LineMeaning::Message),
        ] {
            assert_eq!(interpret_line(line), expected, "{line:?}");
        }
    }

    #[test]
    fn compact_takes_words_that_the_summary_heeds_and_undo() {
        let flags = |line: &str| match interpret_line(line) {
            LineMeaning::Command(Slash::Compact(flags)) => flags,
            other => panic!("{line}: {other:?}"),
        };
        assert_eq!(flags("/compact"), compact::CompactFlags::default());
        assert_eq!(flags("/compact  keep colours").instructions.as_deref(), Some("keep colours"));
        assert!(flags("/compact undo").undo && flags("/compact --undo").undo);
        assert!(flags("/compact --dry-run").dry_run);
        assert!(matches!(interpret_line("/compact --now"), LineMeaning::Usage(_)));
    }

    #[test]
    fn every_command_that_is_listed_means_something() {
        for Listed { name, .. } in &COMMANDS {
            assert!(
                matches!(interpret_line(name), LineMeaning::Command(_) | LineMeaning::Usage(_)),
                "{name}"
            );
        }
    }
}
