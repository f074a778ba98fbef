//! Parses `/context …`, `/checkpoint`, `/rewind`, `/fork` and `/undo`.

use ship_agent::ContextOperation;
use ship_context::contexts::{LoadMode, RecallMode};

use super::{Listed, Meant, Slash, listed};
use crate::commands::context::ContextRequest;

/// The subcommands of `/context`.
pub(in super::super) const SUBCOMMANDS: [Listed; 7] = [
    listed("list", "", "which there are; /context alone does the same"),
    listed("show", "[X]", "what is in the active one, or in X"),
    listed("new", "[TITLE]", "leave it and go on clean; --reason WHY says why"),
    listed("load", "X", "go to X: an id, words of it, or - for the one left last"),
    listed("recall", "X", "show X to the model once, and stay here"),
    listed("clear", "", "leave it because it is spoilt, and go on clean"),
    listed("rename", "TITLE", "call it something else"),
];

/// Interprets a command about contexts; `None` for any other command.
pub(super) fn meant(name: &str, rest: &str) -> Option<Meant> {
    let given = (!rest.is_empty()).then(|| rest.to_owned());
    let operation = match name {
        "/context" => return Some(context(rest)),
        "/checkpoint" => given.map(|name| ContextOperation::Checkpoint { name }),
        "/rewind" => given.map(|to| ContextOperation::Rewind { to }),
        "/fork" => return Some(fork(rest)),
        // With more words after it, the line is a message for the agent.
        "/undo" if given.is_some() => return None,
        "/undo" => Some(ContextOperation::Undo),
        _ => return None,
    };
    let usage = match name {
        "/checkpoint" => "/checkpoint NAME names this point.",
        _ => "/rewind NAME goes back to a checkpoint, or to a message by its id.",
    };
    Some(operation.map_or(Meant::Usage(usage), done))
}

fn context(rest: &str) -> Meant {
    let (word, rest) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let given = Some(rest.trim()).filter(|rest| !rest.is_empty()).map(str::to_owned);
    let looked = |asked| Meant::Command(Slash::Context(asked));
    match (word, given) {
        ("" | "list", None) => looked(ContextRequest::List { limit: None }),
        ("list", Some(count)) => match count.parse() {
            Ok(limit) => looked(ContextRequest::List { limit: Some(limit) }),
            Err(_) => Meant::Usage("/context list N lists the N that were left last."),
        },
        ("show", which) => looked(ContextRequest::Show { which }),
        ("new", given) => new(given.as_deref().unwrap_or_default()),
        ("load", Some(which)) => load(which),
        ("recall", Some(which)) => recall(which),
        ("clear", None) => done(ContextOperation::Clear),
        ("rename", Some(title)) => done(ContextOperation::Rename { title }),
        ("load" | "recall", None) => {
            Meant::Usage("Which one? An id, words of it, or - for the one left last.")
        }
        ("rename", None) => Meant::Usage("/context rename TITLE gives this context a title."),
        ("clear", Some(_)) => Meant::Usage("/context clear leaves this context; say nothing else."),
        _ => Meant::Usage(
            "Behind /context stands list, show, new, load, recall, clear or rename; /help tells more.",
        ),
    }
}

fn done(operation: ContextOperation) -> Meant {
    Meant::Command(Slash::Context(ContextRequest::Do(operation)))
}

/// Parses `/fork [AT] [--at AT] [--to CHAT]`.
fn fork(rest: &str) -> Meant {
    let (at, [flagged, to]) = with_flags(rest, ["--at", "--to"]);
    match to.as_deref().map(str::parse).transpose() {
        Ok(to) => done(ContextOperation::Fork { at: flagged.or(at), to }),
        Err(_) => Meant::Usage("Behind --to stands the key of a chat, such as terminal:retry."),
    }
}

/// Parses `/context new [TITLE] [--title TITLE] [--reason WHY]`.
fn new(rest: &str) -> Meant {
    let (title, [flagged, reason]) = with_flags(rest, ["--title", "--reason"]);
    done(ContextOperation::New { title: flagged.or(title), reason })
}

/// Returns the words before the first flag, and the words after each flag.
fn with_flags<const N: usize>(
    said: &str,
    flags: [&str; N],
) -> (Option<String>, [Option<String>; N]) {
    let mut before: Vec<&str> = Vec::new();
    let mut behind: [Vec<&str>; N] = std::array::from_fn(|_| Vec::new());
    let mut flag = None;
    for word in said.split_whitespace() {
        match (flags.iter().position(|known| *known == word), flag) {
            (Some(at), _) => flag = Some(at),
            (None, Some(at)) => behind[at].push(word),
            (None, None) => before.push(word),
        }
    }
    let text = |words: Vec<&str>| (!words.is_empty()).then(|| words.join(" "));
    (text(before), behind.map(text))
}

const MODES: &str =
    "Behind --mode stands summary, recent or full; for load also switch or reference.";

fn load(which: String) -> Meant {
    match with_mode(which, LoadMode::named) {
        (_, Some(None)) => Meant::Usage(MODES),
        (which, mode) => done(match mode.flatten().and_then(LoadMode::recall_mode) {
            None => ContextOperation::Load { which },
            Some(mode) => ContextOperation::Recall { which, mode },
        }),
    }
}

fn recall(which: String) -> Meant {
    match with_mode(which, RecallMode::named) {
        (_, Some(None)) => Meant::Usage(MODES),
        (which, mode) => done(ContextOperation::Recall {
            which,
            mode: mode.flatten().unwrap_or(RecallMode::Summary),
        }),
    }
}

/// Takes `--mode M` from the end of the text.
fn with_mode<M>(said: String, named: impl Fn(&str) -> Option<M>) -> (String, Option<Option<M>>) {
    match said.rsplit_once(" --mode ") {
        Some((which, mode)) => (which.trim().to_owned(), Some(named(mode.trim()))),
        None => (said, None),
    }
}

#[cfg(test)]
mod tests {
    use super::super::meant;
    use super::*;

    #[test]
    fn contexts_are_spoken_of_as_on_the_command_line() {
        let text = |text: &str| text.to_owned();
        let recall =
            |which: &str, mode| done(ContextOperation::Recall { which: text(which), mode });
        let looked = |asked| Meant::Command(Slash::Context(asked));
        for (line, expected) in [
            ("/context", looked(ContextRequest::List { limit: None })),
            ("/context list 3", looked(ContextRequest::List { limit: Some(3) })),
            ("/context show", looked(ContextRequest::Show { which: None })),
            ("/context new", done(ContextOperation::New { title: None, reason: None })),
            (
                "/context  new a b",
                done(ContextOperation::New { title: Some(text("a b")), reason: None }),
            ),
            ("/context load a b", done(ContextOperation::Load { which: text("a b") })),
            ("/context load - --mode switch", done(ContextOperation::Load { which: text("-") })),
            ("/context load a --mode reference", recall("a", RecallMode::Recent)),
            ("/context recall a", recall("a", RecallMode::Summary)),
            ("/context recall a b --mode full", recall("a b", RecallMode::Full)),
            ("/context clear", done(ContextOperation::Clear)),
            ("/context rename a b", done(ContextOperation::Rename { title: text("a b") })),
            ("/checkpoint a b", done(ContextOperation::Checkpoint { name: text("a b") })),
            ("/rewind a b", done(ContextOperation::Rewind { to: text("a b") })),
            ("/fork", done(ContextOperation::Fork { at: None, to: None })),
            (
                "/fork the start --to terminal:retry",
                done(ContextOperation::Fork {
                    at: Some(text("the start")),
                    to: Some("terminal:retry".parse().unwrap()),
                }),
            ),
            (
                "/context new --title A new plan --reason too messy",
                done(ContextOperation::New {
                    title: Some(text("A new plan")),
                    reason: Some(text("too messy")),
                }),
            ),
            ("/fork a b", done(ContextOperation::Fork { at: Some(text("a b")), to: None })),
            ("/undo", done(ContextOperation::Undo)),
            ("/undo that, please", Meant::Message),
        ] {
            assert_eq!(meant(line), expected, "{line:?}");
        }
    }

    #[test]
    fn what_is_said_otherwise_is_told_and_neither_done_nor_sent() {
        for line in [
            "/context lod a",
            "/context load",
            "/context load a --mode all",
            "/context recall a --mode switch",
            "/context rename",
            "/context clear it",
            "/context list all",
            "/checkpoint",
            "/rewind ",
        ] {
            assert!(matches!(meant(line), Meant::Usage(_)), "{line:?}");
        }
    }
}
