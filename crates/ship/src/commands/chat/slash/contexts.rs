//! Parses `/context …`, `/new`, `/clear`, `/checkpoint`, `/rewind`, `/fork`, `/retry` and `/undo`.

use ship_agent::ContextOperation;
use ship_context::contexts::{LoadMode, RecallMode};

use super::{LineMeaning, Listed, Slash, listed};
use crate::commands::context::ContextRequest;

/// The flags of `/new` and `/context new`.
pub(super) const NEW_FLAGS: &[&str] = &["--title", "--reason"];

/// The subcommands of `/context`.
pub(in super::super) const SUBCOMMANDS: [Listed; 8] = [
    listed("list", "", "list them, like /context alone; --limit N").with_flags(&["--limit"]),
    listed("show", "[X]", "what is in this one, or in X"),
    listed("new", "[TITLE]", "begin a clean one; --reason WHY").with_flags(NEW_FLAGS),
    listed("load", "X", "go to X: an id, words, or - for the last").with_flags(&["--mode"]),
    listed("recall", "X", "show X to the model once; --around ID a message")
        .with_flags(&["--mode", "--around"]),
    listed("clear", "", "drop this one; /undo brings it back"),
    listed("rename", "TITLE", "give it a new title"),
    listed("undo", "", "undo the last of these, whatever was said since"),
];

/// Interprets a command about contexts; `None` for any other command.
pub(super) fn interpret_command(name: &str, rest: &str) -> Option<LineMeaning> {
    let given = (!rest.is_empty()).then(|| rest.to_owned());
    let operation = match name {
        "/context" => return Some(parse_context(rest)),
        "/new" => return Some(parse_new(rest)),
        "/checkpoint" => given.map(|name| ContextOperation::Checkpoint { name }),
        "/rewind" => given.map(|to| ContextOperation::Rewind { to }),
        "/fork" => return Some(parse_fork(rest)),
        "/undo" => return Some(parse_undo(rest)),
        "/retry" => Some(ContextOperation::Retry).filter(|_| given.is_none()),
        "/clear" => Some(ContextOperation::Clear).filter(|_| given.is_none()),
        _ => return None,
    };
    let usage = match name {
        "/checkpoint" => "/checkpoint NAME names this point.",
        "/retry" => "/retry takes no words; it asks your last message again.",
        "/clear" => "/clear takes no words; it leaves this context.",
        _ => "/rewind NAME goes back to a checkpoint, or to a message by its id.",
    };
    Some(operation.map_or(LineMeaning::Usage(usage), operation_line))
}

fn parse_context(rest: &str) -> LineMeaning {
    let (word, rest) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let given = Some(rest.trim()).filter(|rest| !rest.is_empty()).map(str::to_owned);
    let looked = |request| LineMeaning::Command(Slash::Context(request));
    match (word, given) {
        ("" | "list", None) => looked(ContextRequest::List { limit: None }),
        ("list", Some(count)) => {
            match count.trim_start_matches("--limit").trim_matches([' ', '=']).parse() {
                Ok(limit) => looked(ContextRequest::List { limit: Some(limit) }),
                Err(_) => {
                    LineMeaning::Usage("/context list --limit N lists the N that were left last.")
                }
            }
        }
        ("show", which) => looked(ContextRequest::Show { which }),
        ("new", given) => parse_new(given.as_deref().unwrap_or_default()),
        ("load", Some(which)) => load(which),
        ("recall", Some(which)) => match which.strip_prefix("--around") {
            Some(id) => recall_message(id),
            None => recall(which),
        },
        ("clear", None) => operation_line(ContextOperation::Clear),
        ("undo", None) => operation_line(ContextOperation::Undo),
        ("rename", Some(title)) => operation_line(ContextOperation::Rename { title }),
        ("load" | "recall", None) => {
            LineMeaning::Usage("Which one? An id, words of it, or - for the one left last.")
        }
        ("rename", None) => LineMeaning::Usage("/context rename TITLE gives this context a title."),
        ("clear", Some(_)) => {
            LineMeaning::Usage("/context clear takes no words; it leaves this context.")
        }
        _ => LineMeaning::Usage(
            "/context takes list, show, new, load, recall, clear, rename or undo; /help tells more.",
        ),
    }
}

/// Parses `/undo [N]`.
fn parse_undo(rest: &str) -> LineMeaning {
    match (rest, rest.parse()) {
        ("", _) => LineMeaning::Command(Slash::Undo(None)),
        (_, Ok(exchanges @ 1..)) => LineMeaning::Command(Slash::Undo(Some(exchanges))),
        _ => LineMeaning::Usage("/undo takes back the last thing, /undo N your last N messages."),
    }
}

fn operation_line(operation: ContextOperation) -> LineMeaning {
    LineMeaning::Command(Slash::Context(ContextRequest::Do(operation)))
}

/// Parses `/fork [AT] [--at AT] [--to CHAT]`.
fn parse_fork(rest: &str) -> LineMeaning {
    let (at, [flagged, to]) = split_flags(rest, ["--at", "--to"]);
    match to.as_deref().map(str::parse).transpose() {
        Ok(to) => operation_line(ContextOperation::Fork { at: flagged.or(at), to }),
        Err(_) => LineMeaning::Usage("--to takes the key of a chat, such as terminal:retry."),
    }
}

/// Parses `[TITLE] [--title TITLE] [--reason WHY]`, which stands behind `/new` and `/context new`.
fn parse_new(rest: &str) -> LineMeaning {
    let (title, [flagged, reason]) = split_flags(rest, ["--title", "--reason"]);
    operation_line(ContextOperation::New { title: flagged.or(title), reason })
}

/// Returns the words before the first flag, and the words after each flag.
fn split_flags<const N: usize>(
    text: &str,
    flags: [&str; N],
) -> (Option<String>, [Option<String>; N]) {
    let mut before: Vec<&str> = Vec::new();
    let mut behind: [Vec<&str>; N] = std::array::from_fn(|_| Vec::new());
    let mut flag = None;
    for word in text.split_whitespace() {
        match (flags.iter().position(|known| *known == word), flag) {
            (Some(at), _) => flag = Some(at),
            (None, Some(at)) => behind[at].push(word),
            (None, None) => before.push(word),
        }
    }
    let text = |words: Vec<&str>| (!words.is_empty()).then(|| words.join(" "));
    (text(before), behind.map(text))
}

const MODES: &str = "--mode takes summary, recent or full; for load also switch or reference.";

fn load(which: String) -> LineMeaning {
    match split_mode(which, LoadMode::named) {
        (_, Some(None)) => LineMeaning::Usage(MODES),
        (which, mode) => operation_line(match mode.flatten().and_then(LoadMode::recall_mode) {
            None => ContextOperation::Load { which },
            Some(mode) => ContextOperation::Recall { which, mode },
        }),
    }
}

/// Parses what stands behind `--around`: a space or `=`, and the id of a message.
fn recall_message(behind: &str) -> LineMeaning {
    match behind.strip_prefix([' ', '=']).unwrap_or_default().trim() {
        "" => LineMeaning::Usage("--around takes the id of a message, such as u_17."),
        id if id.contains(char::is_whitespace) => {
            LineMeaning::Usage("--around ID stands alone behind /context recall.")
        }
        id => operation_line(ContextOperation::RecallMessage { id: id.to_owned() }),
    }
}

fn recall(which: String) -> LineMeaning {
    match split_mode(which, RecallMode::named) {
        (_, Some(None)) => LineMeaning::Usage(MODES),
        (which, mode) => operation_line(ContextOperation::Recall {
            which,
            mode: mode.flatten().unwrap_or(RecallMode::Summary),
        }),
    }
}

/// Takes `--mode M` from the end of the text.
fn split_mode<M>(words: String, named: impl Fn(&str) -> Option<M>) -> (String, Option<Option<M>>) {
    match words.rsplit_once(" --mode ") {
        Some((which, mode)) => (which.trim().to_owned(), Some(named(mode.trim()))),
        None => (words, None),
    }
}

#[cfg(test)]
mod tests {
    use super::super::interpret_line;
    use super::*;

    #[test]
    fn contexts_are_spoken_of_as_on_the_command_line() {
        let text = |text: &str| text.to_owned();
        let recall = |which: &str, mode| {
            operation_line(ContextOperation::Recall { which: text(which), mode })
        };
        let looked = |request| LineMeaning::Command(Slash::Context(request));
        for (line, expected) in [
            ("/context", looked(ContextRequest::List { limit: None })),
            ("/context list --limit 2", looked(ContextRequest::List { limit: Some(2) })),
            ("/context list --limit=2", looked(ContextRequest::List { limit: Some(2) })),
            ("/context list 3", looked(ContextRequest::List { limit: Some(3) })),
            ("/context show", looked(ContextRequest::Show { which: None })),
            ("/context new", operation_line(ContextOperation::New { title: None, reason: None })),
            (
                "/context  new a b",
                operation_line(ContextOperation::New { title: Some(text("a b")), reason: None }),
            ),
            ("/new", operation_line(ContextOperation::New { title: None, reason: None })),
            (
                "/new a b",
                operation_line(ContextOperation::New { title: Some(text("a b")), reason: None }),
            ),
            ("/context load a b", operation_line(ContextOperation::Load { which: text("a b") })),
            (
                "/context load - --mode switch",
                operation_line(ContextOperation::Load { which: text("-") }),
            ),
            ("/context load a --mode reference", recall("a", RecallMode::Recent)),
            (
                "/context recall --around u_17",
                operation_line(ContextOperation::RecallMessage { id: text("u_17") }),
            ),
            ("/context recall a", recall("a", RecallMode::Summary)),
            ("/context recall a b --mode full", recall("a b", RecallMode::Full)),
            ("/context clear", operation_line(ContextOperation::Clear)),
            (
                "/context rename a b",
                operation_line(ContextOperation::Rename { title: text("a b") }),
            ),
            ("/checkpoint a b", operation_line(ContextOperation::Checkpoint { name: text("a b") })),
            ("/rewind a b", operation_line(ContextOperation::Rewind { to: text("a b") })),
            ("/fork", operation_line(ContextOperation::Fork { at: None, to: None })),
            (
                "/fork the start --to terminal:retry",
                operation_line(ContextOperation::Fork {
                    at: Some(text("the start")),
                    to: Some("terminal:retry".parse().unwrap()),
                }),
            ),
            (
                "/context new --title A new plan --reason too messy",
                operation_line(ContextOperation::New {
                    title: Some(text("A new plan")),
                    reason: Some(text("too messy")),
                }),
            ),
            (
                "/fork a b",
                operation_line(ContextOperation::Fork { at: Some(text("a b")), to: None }),
            ),
            ("/context undo", operation_line(ContextOperation::Undo)),
            ("/retry", operation_line(ContextOperation::Retry)),
            ("/clear", operation_line(ContextOperation::Clear)),
        ] {
            assert_eq!(interpret_line(line), expected, "{line:?}");
        }
    }

    #[test]
    fn what_is_said_otherwise_is_told_and_neither_done_nor_sent() {
        for line in [
            "/context lod a",
            "/context load",
            "/context load a --mode all",
            "/context recall a --mode switch",
            "/context recall --around",
            "/context recall --around u_17 --mode full",
            "/context rename",
            "/context clear it",
            "/context list all",
            "/context list --limit",
            "/checkpoint",
            "/rewind ",
        ] {
            assert!(matches!(interpret_line(line), LineMeaning::Usage(_)), "{line:?}");
        }
    }
}
