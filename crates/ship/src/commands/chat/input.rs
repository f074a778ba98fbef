//! What the person types: with line editing on a terminal, as plain lines from a pipe.

use std::io::{self, BufRead, IsTerminal, Read};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{CompletionType, Config, Editor, ExternalPrinter};

use super::complete::Completions;
use crate::failure::Failure;
use crate::output;
use crate::session::Session;

/// What was typed.
pub(super) enum Typed {
    Line(String),
    /// A line that is longer than a message may be. It was passed over.
    TooLong,
    /// Ctrl-C at the prompt.
    Interrupted,
    End,
}

/// Whether the Up key brings a line back.
enum Remember {
    Yes,
    No,
}

/// Where lines come from.
pub(super) enum Input {
    Terminal {
        editor: Option<Box<Editor<Completions, FileHistory>>>,
        history: PathBuf,
        aside: Aside,
    },
    /// Lines of so many bytes at most.
    Pipe(u64),
}

impl Input {
    pub(super) fn open(session: &Session, completions: Completions) -> Result<Self, Failure> {
        if !io::stdin().is_terminal() {
            return Ok(Self::Pipe(session.message_bytes_max()));
        }
        let config = Config::builder().completion_type(CompletionType::List).build();
        let mut editor: Editor<Completions, FileHistory> =
            Editor::with_config(config).map_err(|error| Failure::from_error("terminal", &error))?;
        editor.set_helper(Some(completions));
        // A terminal that can only be read from has nothing beside its prompt.
        let aside = match editor.create_external_printer() {
            Ok(printer) => Aside(Some(Arc::new(Mutex::new(printer)))),
            Err(_) => Aside(None),
        };
        let history = session.project.root().join(".ship/terminal_history");
        // No history yet is an empty one.
        let _ = editor.load_history(&history);
        Ok(Self::Terminal { editor: Some(Box::new(editor)), history, aside })
    }

    pub(super) fn is_interactive(&self) -> bool {
        matches!(self, Self::Terminal { .. })
    }

    /// Where something can be told while the person types.
    pub(super) fn aside(&self) -> Aside {
        match self {
            Self::Terminal { aside, .. } => aside.clone(),
            Self::Pipe(_) => Aside(None),
        }
    }

    /// Waits for something to be said, and remembers it for the Up key.
    pub(super) async fn line(&mut self) -> Result<Typed, Failure> {
        self.next("> ", Remember::Yes).await
    }

    /// Waits for the answer to a question.
    pub(super) async fn answer(&mut self, question: &'static str) -> Result<Typed, Failure> {
        self.next(question, Remember::No).await
    }

    /// Editing blocks, so it has a thread of its own.
    async fn next(&mut self, prompt: &'static str, remember: Remember) -> Result<Typed, Failure> {
        match self {
            Self::Pipe(limit) => {
                let limit = *limit;
                let read = tokio::task::spawn_blocking(move || {
                    read_piped_line(&mut io::stdin().lock(), limit)
                        .map_err(|error| Failure::from_error("input", &error))
                });
                tokio::select! {
                    line = read => line.map_err(|error| Failure::from_error("input", &error))?,
                    _ = tokio::signal::ctrl_c() => Ok(Typed::End),
                }
            }
            Self::Terminal { editor, history, .. } => {
                let Some(mut taken) = editor.take() else { return Ok(Typed::End) };
                let path = history.clone();
                let read = tokio::task::spawn_blocking(move || {
                    // What was typed is kept once there is a folder for it, which the first message makes.
                    // A history that cannot be kept is no reason to stop talking.
                    let _ = taken.save_history(&path);
                    let typed = match taken.readline(prompt) {
                        Ok(line) => {
                            if matches!(remember, Remember::Yes) {
                                let _ = taken.add_history_entry(line.as_str());
                                let _ = taken.save_history(&path);
                            }
                            Ok(Typed::Line(line))
                        }
                        Err(ReadlineError::Interrupted) => Ok(Typed::Interrupted),
                        Err(ReadlineError::Eof) => Ok(Typed::End),
                        Err(error) => Err(Failure::from_error("terminal", &error)),
                    };
                    (taken, typed)
                });
                let (returned, typed) =
                    read.await.map_err(|error| Failure::from_error("terminal", &error))?;
                *editor = Some(returned);
                typed
            }
        }
    }
}

/// Tells something while the person types, above what they type.
#[derive(Clone)]
pub(super) struct Aside(Option<Arc<Mutex<dyn ExternalPrinter + Send>>>);

impl Aside {
    pub(super) fn line(&self, text: &str) -> Result<(), Failure> {
        let Some(printer) = self.0.clone() else { return output::line(text) };
        let text = format!("{text}\n");
        // The editor takes it when it comes to it, and nobody waits for that.
        tokio::task::spawn_blocking(move || {
            printer.lock().unwrap_or_else(PoisonError::into_inner).print(text)
        });
        Ok(())
    }
}

/// Reads a line, and of one that is too long no more than shows that it is.
fn read_piped_line(input: &mut impl BufRead, limit: u64) -> io::Result<Typed> {
    let mut bytes = Vec::new();
    // The end of a line is no part of it.
    input.take(limit + 2).read_until(b'\n', &mut bytes)?;
    if bytes.is_empty() {
        return Ok(Typed::End);
    }
    let is_whole = bytes.ends_with(b"\n");
    let line = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if line.len() as u64 > limit {
        if !is_whole {
            input.skip_until(b'\n')?;
        }
        return Ok(Typed::TooLong);
    }
    // What is not UTF-8 is replaced once, here; everything behind keeps the text as it is.
    Ok(Typed::Line(String::from_utf8_lossy(line).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(input: &str, limit: u64) -> Vec<Option<String>> {
        let mut input = input.as_bytes();
        let mut lines = Vec::new();
        loop {
            match read_piped_line(&mut input, limit).unwrap() {
                Typed::Line(line) => lines.push(Some(line)),
                Typed::TooLong => lines.push(None),
                Typed::Interrupted | Typed::End => return lines,
            }
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_passed_over_and_the_next_one_is_whole() {
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(
            lines("abc\nabcd\r\nabcde\nab\n", 4),
            [some("abc"), some("abcd"), None, some("ab")]
        );
        assert_eq!(lines("abcdefghij\nab", 4), [None, some("ab")]);
        assert_eq!(lines("abcdefghij", 4), [None]);
        assert_eq!(lines("\nabcd", 4), [some(""), some("abcd")]);
    }
}
