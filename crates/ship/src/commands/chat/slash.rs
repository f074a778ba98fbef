//! Parses the commands of `ship chat`, which begin with a slash.

mod contexts;
#[cfg(test)]
mod tested_commands;

use crate::commands::compact;
use crate::commands::context::ContextRequest;
use crate::style::Style;
use crate::table;

use contexts::NEW_FLAGS;
pub(super) use contexts::SUBCOMMANDS;

/// A command with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Slash {
    Help,
    /// Shows this number of the newest messages.
    History(usize),
    /// Finds what was said, by words.
    Search(String),
    Inspect,
    Compact(compact::CompactFlags),
    /// Asks what a tool waits for again.
    Answer,
    /// Opens the editor on this text, and sends what was saved.
    Edit(String),
    /// Chooses the model of this chat, or tells which one answers.
    Model(Option<String>),
    /// Takes the last operation back, or this number of exchanges.
    Undo(Option<usize>),
    /// Concerns the contexts of the chat.
    Context(ContextRequest),
    Chats,
    Config,
    Verify,
    Exit,
}

/// A listed command: its name, its arguments, what it does, and its flags. Help and completion are made from this.
pub(super) struct Listed {
    pub(super) name: &'static str,
    takes: &'static str,
    about: &'static str,
    pub(super) flags: &'static [&'static str],
}

const fn listed(name: &'static str, takes: &'static str, about: &'static str) -> Listed {
    Listed { name, takes, about, flags: &[] }
}

impl Listed {
    const fn with_flags(self, flags: &'static [&'static str]) -> Self {
        Self { flags, ..self }
    }
}

pub(super) const COMMANDS: [Listed; 20] = [
    listed("/help", "", "this list"),
    listed("/history", "[N]", "what was said last"),
    listed("/search", "WORDS", "find what was said, in all contexts"),
    listed("/retry", "", "ask again; the first answer is kept"),
    listed("/answer", "", "answer what a tool waits for"),
    listed("/model", "[NAME]", "show or choose the model of this chat"),
    listed("/edit", "[TEXT]", "write a message in your editor ($VISUAL, $EDITOR)"),
    listed("/inspect", "", "what the model would be sent now"),
    listed("/context", "…", "the contexts of this chat:"),
    listed("/checkpoint", "NAME", "name this point"),
    listed("/rewind", "NAME", "go back to a point; what followed is kept"),
    listed("/fork", "[NAME]", "continue in a copy; --to CHAT in another chat")
        .with_flags(&["--at", "--to"]),
    listed("/new", "[TITLE]", "begin a clean context; this one is kept").with_flags(NEW_FLAGS),
    listed("/clear", "", "begin a clean context instead of this one"),
    listed("/undo", "[N]", "take back the last exchange or command; again restores it"),
    listed("/compact", "[WORDS]", "make room with a summary; /compact undo restores it")
        .with_flags(&["--dry-run", "--undo"]),
    listed("/chats", "", "the chats of this project"),
    listed("/config", "", "all settings"),
    listed("/verify", "", "look for damage"),
    listed("/exit", "", "leave; so do exit, /quit and Ctrl-D"),
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
    /// The command does not exist. This one has nearly the same name.
    NoCommand(Option<&'static str>),
    /// The line is a message for the agent.
    Message,
}

/// Interprets a line. A slash and a word are a command, or a mistake, and never sent. A path such as `/etc/hosts`, a
/// line for the offline model (`/tool …`) and a line with two slashes are messages.
pub(super) fn interpret_line(line: &str) -> LineMeaning {
    let line = line.trim();
    if line.is_empty() {
        return LineMeaning::Nothing;
    }
    let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let rest = rest.trim();
    if let Some(meant) = contexts::interpret_command(name, rest) {
        return meant;
    }
    match (name, rest) {
        (name, "") if plain_command(name).is_some() => {
            plain_command(name).map_or(LineMeaning::Nothing, LineMeaning::Command)
        }
        ("/history", count) => match count.parse() {
            Ok(count) => LineMeaning::Command(Slash::History(count)),
            Err(_) => LineMeaning::Usage("/history N shows the last N messages."),
        },
        ("/search", "") => LineMeaning::Usage("/search WORDS finds what was said in this chat."),
        ("/search", words) => LineMeaning::Command(Slash::Search(words.to_owned())),
        ("/edit", rest) => LineMeaning::Command(Slash::Edit(rest.to_owned())),
        ("/compact", rest) => parse_compact(rest),
        ("/model", rest) => {
            let name = Some(rest).filter(|rest| !rest.is_empty()).map(str::to_owned);
            LineMeaning::Command(Slash::Model(name))
        }
        (name, _) if plain_command(name).is_some() => {
            LineMeaning::Usage("This command takes no words. Begin with // to send the line.")
        }
        ("/tool", _) => LineMeaning::Message,
        (name, _) if is_command_name(name) => LineMeaning::NoCommand(nearest_command(name)),
        _ => LineMeaning::Message,
    }
}

/// Returns the command that a person means by a word alone in a line: other programs are left with `exit`, too.
pub(super) fn command_of_word(line: &str) -> Option<Slash> {
    match line.trim().to_lowercase().as_str() {
        "exit" | "quit" => Some(Slash::Exit),
        "?" | "/" => Some(Slash::Help),
        _ => None,
    }
}

/// Splits a command from the lines behind it: a command is one line, and only `/edit` takes all. A command
/// that is pasted with a message is meant as well as the message.
pub(super) fn split_command(text: &str) -> (&str, Option<&str>) {
    match text.trim_start().split_once('\n') {
        Some((line, rest)) if !is_message(line) && !line.starts_with("/edit") => (line, Some(rest)),
        _ => (text, None),
    }
}

/// Whether a line is sent to the agent.
pub(super) fn is_message(line: &str) -> bool {
    matches!(interpret_line(line), LineMeaning::Message)
}

/// Returns the text of a message. The first of two slashes only says that the line is no command.
pub(super) fn message_text(line: &str) -> &str {
    line.strip_prefix("//").map_or(line, |_| &line[1..])
}

/// Returns the line that means a message with this text: a text that looks like a command gets its slash again.
pub(super) fn as_message(text: &str) -> String {
    if is_message(text) { text.to_owned() } else { format!("/{text}") }
}

fn is_command_name(name: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    name.strip_prefix('/').is_some_and(|word| !word.is_empty() && word.chars().all(is_letter))
}

/// Returns the command that was probably meant: it has the same beginning, or nearly the same letters.
fn nearest_command(name: &str) -> Option<&'static str> {
    let names = COMMANDS.iter().map(|command| command.name);
    let near = |known: &str| strsim::damerau_levenshtein(&name.to_lowercase(), known);
    // Every short word is near some command. So only a third of the letters may be wrong.
    let best =
        names.clone().min_by_key(|known| near(known)).filter(|known| near(known) <= name.len() / 3);
    best.or_else(|| names.clone().find(|known| name.len() > 2 && known.starts_with(name)))
}

/// Returns a command that takes no arguments.
fn plain_command(name: &str) -> Option<Slash> {
    Some(match name {
        "/help" => Slash::Help,
        "/history" => Slash::History(10),
        "/answer" => Slash::Answer,
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
        "@path attaches a text or a picture.",
        "Alt-Enter begins a new line, and so does a \\ before Enter.",
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
    fn a_slash_and_a_word_is_a_command_and_a_path_is_a_message() {
        for (line, expected) in [
            ("", LineMeaning::Nothing),
            ("  \t", LineMeaning::Nothing),
            ("/help", LineMeaning::Command(Slash::Help)),
            (" /exit ", LineMeaning::Command(Slash::Exit)),
            ("/quit", LineMeaning::Command(Slash::Exit)),
            ("/history", LineMeaning::Command(Slash::History(10))),
            ("/history 3", LineMeaning::Command(Slash::History(3))),
            ("/answer", LineMeaning::Command(Slash::Answer)),
            ("/search red sail", LineMeaning::Command(Slash::Search("red sail".to_owned()))),
            ("/hlep", LineMeaning::NoCommand(Some("/help"))),
            ("/contxt list", LineMeaning::NoCommand(Some("/context"))),
            ("/check", LineMeaning::NoCommand(Some("/checkpoint"))),
            ("/tmp is full", LineMeaning::NoCommand(None)),
            ("//tmp is full", LineMeaning::Message),
            ("/etc/hosts", LineMeaning::Message),
            ("/tool chat_send {}", LineMeaning::Message),
            ("/edit", LineMeaning::Command(Slash::Edit(String::new()))),
            ("/edit a b", LineMeaning::Command(Slash::Edit("a b".to_owned()))),
            ("/model", LineMeaning::Command(Slash::Model(None))),
            ("/undo", LineMeaning::Command(Slash::Undo(None))),
            ("/undo 2", LineMeaning::Command(Slash::Undo(Some(2)))),
            ("/model gpt-5 ", LineMeaning::Command(Slash::Model(Some("gpt-5".to_owned())))),
            ("/", LineMeaning::Message),
            ("1/2", LineMeaning::Message),
        ] {
            assert_eq!(interpret_line(line), expected, "{line:?}");
        }
    }

    #[test]
    fn a_word_alone_leaves_or_asks_for_help_and_a_sentence_does_not() {
        for (line, expected) in [
            ("exit", Some(Slash::Exit)),
            (" Quit ", Some(Slash::Exit)),
            ("?", Some(Slash::Help)),
            ("/", Some(Slash::Help)),
            ("exit codes?", None),
            ("??", None),
            ("", None),
        ] {
            assert_eq!(command_of_word(line), expected, "{line:?}");
        }
    }

    #[test]
    fn a_command_is_one_line_and_what_is_below_it_stays_typed() {
        for (text, line, rest) in [
            ("/model\ngpt-5", "/model", Some("gpt-5")),
            (" \n/new Trip\nHello\n/context", "/new Trip", Some("Hello\n/context")),
            ("/nwe Trip\nHello", "/nwe Trip", Some("Hello")),
            ("/model", "/model", None),
            ("/edit one\ntwo", "/edit one\ntwo", None),
            ("Hello\n/model", "Hello\n/model", None),
            ("//model\nHello", "//model\nHello", None),
            ("/etc/hosts\nis a file", "/etc/hosts\nis a file", None),
        ] {
            assert_eq!(split_command(text), (line, rest), "{text:?}");
        }
    }

    #[test]
    fn words_behind_a_command_that_takes_none_are_not_sent() {
        for line in
            ["/help me with this", "/history of Rome", "/undo that, please", "/retry it", "/undo 0"]
        {
            assert!(matches!(interpret_line(line), LineMeaning::Usage(_)), "{line}");
        }
        assert_eq!(message_text("//tmp is full"), "/tmp is full");
        for line in ["//tmp is full", "//help", "/etc/hosts", "hello"] {
            assert_eq!(as_message(message_text(line)), line, "it comes back as it was typed");
        }
        assert_eq!(message_text(" /etc/hosts "), " /etc/hosts ");
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
