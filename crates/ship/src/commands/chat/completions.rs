//! Completes commands, their arguments, contexts, checkpoints, messages, models and files with Tab.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use rustyline::completion::{Completer, Pair};
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::validate::Validator;
use rustyline::{Context, Helper};
use ship_agent::ContextList;

use super::prompt_line::PromptLine;
use super::slash::{COMMANDS, SUBCOMMANDS};
use crate::commands::mentions::{escape_path, mentions};
use crate::commands::message_draft::resolve;
use crate::output;
use crate::table;

/// The words to choose from in the chat.
#[derive(Default)]
struct CompletionWords {
    /// The id and the title of each archived context, the one left last first.
    contexts: Vec<(String, String)>,
    checkpoints: Vec<String>,
    /// The id and the first line of each of the last messages, the newest first.
    messages: Vec<(String, String)>,
    models: Vec<String>,
}

/// Completes lines that begin with a slash, and paths behind an `@`. The chat updates the words when they change.
#[derive(Clone, Default)]
pub(super) struct Completions {
    words: Arc<Mutex<CompletionWords>>,
    /// Whether the backslash before the cursor is completed to a new line.
    continues_line: Arc<AtomicBool>,
    /// The line that is being edited.
    line: PromptLine,
}

impl Completions {
    /// Returns the line that is being edited.
    pub(super) fn line(&self) -> PromptLine {
        self.line.clone()
    }

    /// Replaces the models to choose from.
    pub(super) fn set_models(&self, models: Vec<String>) {
        self.words.lock().models = models;
    }

    /// Replaces the other words to choose from.
    pub(super) fn set_words(&self, contexts: &ContextList, messages: Vec<(String, String)>) {
        let named = |item: &ship_context::contexts::IndexItem| {
            (item.context.as_str().to_owned(), item.title.clone())
        };
        let mut words = self.words.lock();
        words.contexts = contexts.index.items().iter().map(named).collect();
        words.checkpoints.clone_from(&contexts.checkpoints);
        words.messages = messages;
    }

    /// Makes the next completion turn the backslash before the cursor into a new line. The editor has no other command
    /// that replaces text and leaves the cursor behind it.
    pub(super) fn continue_line(&self) {
        self.continues_line.store(true, Ordering::Relaxed);
    }

    /// Returns the place where the completed word begins, and its candidates.
    fn candidates(&self, typed: &str) -> (usize, Vec<Pair>) {
        let behind = |command: &str| {
            let rest = typed.strip_prefix(command)?.strip_prefix(' ')?.trim_start();
            Some((typed.len() - rest.len(), rest))
        };
        if let Some((at, flags)) = flags_behind(typed) {
            return (at, matching_words(flags.iter().copied(), &typed[at..]));
        }
        // The longer commands come first, because `/context` begins them all.
        if let Some((at, rest)) = behind("/context load")
            .or_else(|| behind("/context recall"))
            .or_else(|| behind("/context show"))
        {
            return (at, self.matching_contexts(rest));
        }
        if let Some((at, rest)) = behind("/context") {
            return (at, matching_words(SUBCOMMANDS.iter().map(|command| command.name), rest));
        }
        if let Some((at, rest)) = behind("/rewind").or_else(|| behind("/fork")) {
            let known = self.words.lock();
            let mut found = matching_words(known.checkpoints.iter().map(String::as_str), rest);
            found.extend(matching_names(&known.messages, rest, |(id, _)| id.clone()));
            return (at, found);
        }
        if let Some((at, rest)) = behind("/model") {
            let known = self.words.lock();
            return (at, matching_words(known.models.iter().map(String::as_str), rest));
        }
        match typed.starts_with('/') {
            true => (0, matching_words(COMMANDS.iter().map(|command| command.name), typed)),
            false => matching_files(typed),
        }
    }

    /// Returns the contexts with a title or id that begins with the typed text.
    fn matching_contexts(&self, typed: &str) -> Vec<Pair> {
        let known = self.words.lock();
        let replacement = |(id, title): &(String, String)| match id.starts_with(typed) {
            true => id.clone(),
            false => title.clone(),
        };
        matching_names(&known.contexts, typed, replacement)
    }
}

/// Returns the flags of the command in a line whose last word begins one, and the place of that word.
fn flags_behind(typed: &str) -> Option<(usize, &'static [&'static str])> {
    let at = typed.rfind(' ')? + 1;
    if !typed[at..].starts_with("--") {
        return None;
    }
    let (name, rest) = typed.split_once(' ')?;
    let subcommand = rest.split(' ').next();
    let command = match name {
        "/context" => SUBCOMMANDS.iter().find(|command| Some(command.name) == subcommand),
        name => COMMANDS.iter().find(|command| command.name == name),
    };
    command.map(|command| (at, command.flags))
}

/// Returns the files that the last word can name, if it begins with an `@`.
fn matching_files(typed: &str) -> (usize, Vec<Pair>) {
    let last = mentions(&format!("{typed}\u{1}")).pop();
    let Some(path) = last.as_ref().and_then(|mention| mention.path.strip_suffix('\u{1}')) else {
        return (0, Vec::new());
    };
    let at = last.as_ref().map_or(0, |mention| mention.start + 1);
    let (folder, name) = path.split_at(path.rfind('/').map_or(0, |slash| slash + 1));
    let listed = std::fs::read_dir(resolve(if folder.is_empty() { "./" } else { folder }));
    let mut found: Vec<Pair> = listed
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let file = entry.file_name().into_string().ok()?;
            let is_wanted =
                file.starts_with(name) && (!file.starts_with('.') || name.starts_with('.'));
            let end = if entry.path().is_dir() { "/" } else { "" };
            is_wanted.then(|| Pair {
                display: output::escape_unprintable(&format!("{file}{end}")),
                replacement: escape_path(&format!("{folder}{file}{end}")),
            })
        })
        .collect();
    found.sort_by(|one, other| one.display.cmp(&other.display));
    (at, found)
}

/// Returns the names with an id or a text that begins with the typed text, and what each is completed to.
fn matching_names(
    names: &[(String, String)],
    typed: &str,
    replacement: impl Fn(&(String, String)) -> String,
) -> Vec<Pair> {
    let begins = |text: &str| text.to_lowercase().starts_with(&typed.to_lowercase());
    let pair = |name: &(String, String)| {
        let (id, text) = name;
        let display = format!("{id}  {}", output::escape_unprintable(text));
        (id.starts_with(typed) || begins(text)).then(|| Pair {
            display: table::fit(&display, table::columns()),
            replacement: replacement(name),
        })
    };
    names.iter().filter_map(pair).collect()
}

fn matching_words<'a>(words: impl Iterator<Item = &'a str>, typed: &str) -> Vec<Pair> {
    let pair = |word: &str| Pair {
        display: output::escape_unprintable(word),
        replacement: word.to_owned(),
    };
    words.filter(|word| word.starts_with(typed)).map(pair).collect()
}

impl Helper for Completions {}
impl Highlighter for Completions {}
impl Validator for Completions {}

impl Hinter for Completions {
    type Hint = String;

    /// Gives no hint. The editor asks for one whenever the line has changed.
    fn hint(&self, line: &str, _: usize, _: &Context<'_>) -> Option<String> {
        self.line.note(line);
        None
    }
}

impl Completer for Completions {
    type Candidate = Pair;

    fn complete(
        &self,
        line: &str,
        at: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<Pair>)> {
        if self.continues_line.swap(false, Ordering::Relaxed)
            && line.get(..at).is_some_and(|typed| typed.ends_with('\\'))
        {
            let new_line = Pair { display: String::new(), replacement: "\n".to_owned() };
            return Ok((at - 1, vec![new_line]));
        }
        Ok(self.candidates(line.get(..at).unwrap_or_default()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offered(typed: &str) -> (usize, Vec<String>) {
        let known = CompletionWords {
            contexts: vec![
                ("c_20260206_b".to_owned(), "Dinner".to_owned()),
                ("c_20260205_a".to_owned(), "数据库 plan".to_owned()),
            ],
            checkpoints: vec!["early".to_owned(), "before it all".to_owned()],
            messages: vec![("u_2".to_owned(), "Which port?".to_owned())],
            models: vec!["gpt-5".to_owned(), "tiny".to_owned()],
        };
        let completions =
            Completions { words: Arc::new(Mutex::new(known)), ..Completions::default() };
        let (at, pairs) = completions.candidates(typed);
        (at, pairs.into_iter().map(|pair| pair.replacement).collect())
    }

    #[test]
    fn whatever_can_stand_there_is_offered() {
        for (typed, at, expected) in [
            ("/con", 0, &["/context", "/config"][..]),
            ("/context l", 9, &["list", "load"]),
            ("/context load ", 14, &["c_20260206_b", "c_20260205_a"]),
            ("/context load c_20260205", 14, &["c_20260205_a"]),
            ("/context recall din", 16, &["Dinner"]),
            ("/context show 数", 14, &["数据库 plan"]),
            ("/rewind b", 8, &["before it all"]),
            ("/fork ", 6, &["early", "before it all", "u_2"]),
            ("/rewind u", 8, &["u_2"]),
            ("/rewind which", 8, &["u_2"]),
            ("/model t", 7, &["tiny"]),
            ("/context load nothing", 14, &[]),
            ("/context load a --", 16, &["--mode"]),
            ("/new Dinner --r", 12, &["--reason"]),
            ("/undo --", 6, &[]),
            ("hello", 0, &[]),
        ] {
            let expected = expected.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
            let (found_at, mut found) = offered(typed);
            found.sort_by_key(|word| expected.iter().position(|other| other == word));
            assert_eq!((found_at, found), (at, expected), "{typed:?}");
        }
    }
}
