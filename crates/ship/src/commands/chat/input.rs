//! Reads what the person types: with line editing on a terminal, as plain lines from a pipe.

use std::io::{self, BufRead, IsTerminal, Read};
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use rustyline::ExternalPrinter;
use rustyline::error::ReadlineError;

use super::completions::Completions;
use super::keyboard::Keyboard;
use super::prompt::LineEditor;
use super::prompt_line::{PromptLine, redraw_when_continued};
use super::typed_ahead::TypedLine;
use super::typed_file::TypedFile;
use crate::failure::Failure;
use crate::output;
use crate::session::Session;

/// The result of reading a line.
pub(super) enum LineInput {
    Line(String),
    /// The line is longer than a message may be, and was skipped.
    TooLong,
    /// The person pressed Ctrl-C at the prompt.
    Interrupted,
    End,
}

/// The prompt of a message.
const PROMPT: &str = "> ";

/// The source of lines.
pub(super) enum LineSource {
    Terminal {
        editor: Option<Box<LineEditor>>,
        history: PathBuf,
        printer: PromptPrinter,
        keyboard: Box<Keyboard>,
        line: PromptLine,
    },
    /// Lines of at most `limit` bytes; `read` bytes were read so far. After Ctrl-C there are no more.
    Pipe { limit: u64, read: u64, is_interrupted: bool },
}

impl LineSource {
    pub(super) fn open(session: &Session, completions: Completions) -> Result<Self, Failure> {
        if !io::stdin().is_terminal() {
            return Ok(Self::Pipe {
                limit: session.message_bytes_max(),
                read: 0,
                is_interrupted: false,
            });
        }
        let typed = TypedFile::new(session.project.root(), &session.chat);
        let line = completions.line();
        let keyboard = Box::new(Keyboard::take(typed, line.clone()));
        let mut editor = LineEditor::open(completions, keyboard.is_taken())
            .map_err(|error| terminal_failure(&error))?;
        // A terminal that can only be read has no place beside its prompt.
        let printer = match editor.create_printer() {
            Ok(printer) => PromptPrinter(Some(Arc::new(Mutex::new(printer)))),
            Err(_) => PromptPrinter(None),
        };
        redraw_when_continued(line.clone(), printer.clone());
        let history = session.project.root().join(".ship/terminal_history");
        editor.load_history(&history);
        Ok(Self::Terminal { editor: Some(Box::new(editor)), history, printer, keyboard, line })
    }

    pub(super) fn is_interactive(&self) -> bool {
        matches!(self, Self::Terminal { .. })
    }

    /// Whether Ctrl-C has ended the lines of a pipe.
    pub(super) fn is_interrupted(&self) -> bool {
        matches!(self, Self::Pipe { is_interrupted: true, .. })
    }

    /// Returns the place where notes are shown while the person types.
    pub(super) fn printer(&self) -> PromptPrinter {
        match self {
            Self::Terminal { printer, .. } => printer.clone(),
            Self::Pipe { .. } => PromptPrinter(None),
        }
    }

    /// Returns the keyboard between two prompts.
    pub(super) fn keyboard(&self) -> Option<&Keyboard> {
        match self {
            Self::Terminal { keyboard, .. } => Some(keyboard),
            Self::Pipe { .. } => None,
        }
    }

    /// Has the Up key bring a text back.
    pub(super) fn remember(&mut self, text: &str) {
        if let Self::Terminal { editor: Some(editor), history, .. } = self {
            editor.remember(text, history);
        }
    }

    /// Waits for a line, and remembers it for the Up key. A line that was typed ahead comes first.
    pub(super) async fn line(&mut self) -> Result<LineInput, Failure> {
        let typed = self.keyboard().map(Keyboard::take_line);
        let line = match typed.unwrap_or(TypedLine::Draft(String::new())) {
            TypedLine::Message(text) => {
                output::print_line(&format!("{PROMPT}{}", output::escape_unprintable(&text)))?;
                LineInput::Line(text)
            }
            TypedLine::End => LineInput::End,
            TypedLine::Draft(draft) => self.next_message(draft).await?,
        };
        if let LineInput::Line(text) = &line {
            self.remember(text);
        }
        Ok(line)
    }

    /// Waits for a message at the prompt.
    async fn next_message(&mut self, draft: String) -> Result<LineInput, Failure> {
        let typed = self.next_kept(PROMPT, draft).await?;
        if let (LineInput::Line(text), Some(keyboard)) = (&typed, self.keyboard()) {
            keyboard.hold(text);
        }
        Ok(typed)
    }

    /// Waits for a line, which is known while it is written. What is given up with Ctrl-C comes back with the Up key.
    async fn next_kept(
        &mut self,
        prompt: &'static str,
        draft: String,
    ) -> Result<LineInput, Failure> {
        let Self::Terminal { line, .. } = self else { return self.next(prompt, draft).await };
        let line = line.clone();
        line.begin(&draft);
        let typed = self.next(prompt, draft).await;
        let left = line.end();
        let typed = typed?;
        if let (LineInput::Interrupted, Some(text)) = (&typed, left) {
            self.remember(&text);
        }
        Ok(typed)
    }

    /// Waits for the answer to a question. What was typed before the question was shown is no answer to it, and waits.
    pub(super) async fn answer(&mut self, question: &'static str) -> Result<LineInput, Failure> {
        self.keyboard().inspect(|keyboard| keyboard.begin_question());
        let answer = self.next_kept(question, String::new()).await;
        self.keyboard().inspect(|keyboard| keyboard.end_question());
        answer
    }

    /// Waits for the next line. Editing blocks, so it has a thread of its own.
    async fn next(&mut self, prompt: &'static str, draft: String) -> Result<LineInput, Failure> {
        match self {
            Self::Pipe { is_interrupted: true, .. } => Ok(LineInput::End),
            Self::Pipe { limit, read, is_interrupted } => {
                let limit = *limit;
                let reading = tokio::task::spawn_blocking(move || {
                    read_piped_line(&mut io::stdin().lock(), limit)
                        .map_err(|error| Failure::from_other("input", &error))
                });
                let line = tokio::select! {
                    line = reading => line.map_err(|error| Failure::from_other("input", &error))??,
                    _ = tokio::signal::ctrl_c() => {
                        *is_interrupted = true;
                        return Ok(LineInput::End);
                    }
                };
                let before = std::mem::replace(read, *read + line.bytes);
                line.typed.map_err(|NotUtf8 { offset }| {
                    Failure::not_utf8(
                        before + offset,
                        "that line was not sent, nor what follows it",
                    )
                })
            }
            Self::Terminal { editor, history, keyboard, line, .. } => {
                let Some(mut taken) = editor.take() else { return Ok(LineInput::End) };
                // The history is saved once its folder exists, which the first message creates.
                taken.save_history(history);
                let line = line.clone();
                let read = tokio::task::spawn_blocking(move || {
                    line.set_edited(true);
                    let prompted = taken.read(prompt, draft);
                    line.set_edited(false);
                    (taken, prompted)
                });
                let (returned, prompted) = read.await.map_err(|error| terminal_failure(&error))?;
                *editor = Some(returned);
                keyboard.silence();
                match prompted {
                    Ok((text, typed_behind)) => {
                        keyboard.put_back(typed_behind);
                        Ok(LineInput::Line(text))
                    }
                    Err(ReadlineError::Interrupted) => Ok(LineInput::Interrupted),
                    Err(ReadlineError::Eof) => Ok(LineInput::End),
                    Err(error) => Err(terminal_failure(&error)),
                }
            }
        }
    }
}

fn terminal_failure(error: &dyn std::error::Error) -> Failure {
    Failure::new("terminal", format!("the terminal cannot be read: {error}"))
}

/// Shows notes above the line that the person types.
#[derive(Clone)]
pub(super) struct PromptPrinter(Option<Arc<Mutex<dyn ExternalPrinter + Send>>>);

impl PromptPrinter {
    pub(super) fn line(&self, text: &str) -> Result<(), Failure> {
        let Some(printer) = self.0.clone() else { return output::print_line(text) };
        let text = format!("{text}\n");
        // The editor prints it when it can; the caller does not wait for that.
        tokio::task::spawn_blocking(move || printer.lock().print(text));
        Ok(())
    }
}

/// A line from a pipe.
struct PipedLine {
    typed: Result<LineInput, NotUtf8>,
    /// The number of bytes read, with the line end.
    bytes: u64,
}

/// A line that is not UTF-8 from this byte on.
#[derive(Debug)]
struct NotUtf8 {
    offset: u64,
}

/// Reads a line. Of one that is too long, it keeps only enough to show that.
fn read_piped_line(input: &mut impl BufRead, limit: u64) -> io::Result<PipedLine> {
    let mut bytes = Vec::new();
    // The line end does not count towards the limit.
    input.take(limit + 2).read_until(b'\n', &mut bytes)?;
    let read = bytes.len() as u64;
    let line = |typed| Ok(PipedLine { typed, bytes: read });
    if bytes.is_empty() {
        return line(Ok(LineInput::End));
    }
    let is_whole = bytes.ends_with(b"\n");
    let text = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
    let text = text.strip_suffix(b"\r").unwrap_or(text);
    if text.len() as u64 > limit {
        let rest = if is_whole { 0 } else { input.skip_until(b'\n')? as u64 };
        return Ok(PipedLine { typed: Ok(LineInput::TooLong), bytes: read + rest });
    }
    match std::str::from_utf8(text) {
        Ok(text) => line(Ok(LineInput::Line(text.to_owned()))),
        Err(error) => line(Err(NotUtf8 { offset: error.valid_up_to() as u64 })),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(input: &str, limit: u64) -> Vec<Option<String>> {
        let mut input = input.as_bytes();
        let mut lines = Vec::new();
        loop {
            match read_piped_line(&mut input, limit).unwrap().typed.unwrap() {
                LineInput::Line(line) => lines.push(Some(line)),
                LineInput::TooLong => lines.push(None),
                LineInput::Interrupted | LineInput::End => return lines,
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

    #[test]
    fn the_bytes_of_lines_add_up_to_the_place_of_a_bad_one() {
        let mut input = &b"abc\r\nabcdefghij\nab\xe9\n"[..];
        let mut read = || read_piped_line(&mut input, 4).unwrap();
        let before = read().bytes + read().bytes;
        let bad = read().typed.err().expect("latin-1 is not UTF-8");
        assert_eq!(before + bad.offset, 18);
    }
}
