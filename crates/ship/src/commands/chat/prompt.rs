//! Edits a line at the prompt, and keeps what was typed behind it.

use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use rustix::process::{Signal, getpid, kill_process};
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{
    Cmd, CompletionType, ConditionalEventHandler, Config, Editor, Event, EventContext,
    EventHandler, ExternalPrinter, KeyCode, KeyEvent, Modifiers, RepeatCount,
};

use super::completions::Completions;
use super::typed_ahead::{TypedAhead, TypedLine, continues};
use crate::output;

/// The prompt of a line that continues the one before, in a terminal that cannot show both at once.
const CONTINUATION: &str = "… ";

/// The line editor of the prompt.
pub(super) struct LineEditor {
    editor: Editor<Completions, FileHistory>,
    entered: Arc<Mutex<Option<Entered>>>,
}

/// A line that was ended with Enter, and the keys that came with it in one burst.
struct Entered {
    line: String,
    behind: String,
}

impl LineEditor {
    /// Opens the editor. If `takes_bursts`, it returns what came with a line in one burst.
    pub(super) fn open(
        completions: Completions,
        takes_bursts: bool,
    ) -> Result<Self, ReadlineError> {
        let config = Config::builder().completion_type(CompletionType::List).build();
        let mut editor: Editor<Completions, FileHistory> = Editor::with_config(config)?;
        editor.set_helper(Some(completions.clone()));
        let entered = Arc::default();
        if takes_bursts {
            let handler = EnterKey { entered: Arc::clone(&entered), completions };
            editor.bind_sequence(Event::Any, EventHandler::Conditional(Box::new(handler)));
        } else {
            editor.bind_sequence(KeyEvent(KeyCode::Enter, Modifiers::ALT), Cmd::Newline);
        }
        Ok(Self { editor, entered })
    }

    pub(super) fn create_printer(
        &mut self,
    ) -> Result<impl ExternalPrinter + Send + use<>, ReadlineError> {
        self.editor.create_external_printer()
    }

    /// Loads the lines that the Up key brings back. A missing history counts as an empty one.
    pub(super) fn load_history(&mut self, path: &Path) {
        let _ = self.editor.load_history(path);
    }

    /// Saves the history. One that cannot be saved is no reason to end the chat.
    pub(super) fn save_history(&mut self, path: &Path) {
        let _ = self.editor.save_history(path);
    }

    /// Has the Up key bring a text back.
    pub(super) fn remember(&mut self, text: &str, path: &Path) {
        let _ = self.editor.add_history_entry(text);
        self.save_history(path);
    }

    /// Reads a message, and returns it with what was typed behind it.
    pub(super) fn read(
        &mut self,
        prompt: &str,
        mut draft: String,
    ) -> Result<(String, TypedAhead), ReadlineError> {
        loop {
            let read = self.editor.readline_with_initial(prompt, (&draft, ""));
            let entered = self.entered.lock().take();
            let Some(Entered { line, behind }) = entered else {
                return Ok((self.read_continued(read?)?, TypedAhead::default()));
            };
            if behind.is_empty() {
                return Ok((line, TypedAhead::default()));
            }
            let shown = line.len();
            let mut typed = TypedAhead::with_draft(line);
            typed.push(format!("\r{behind}").as_bytes());
            match typed.take_line() {
                TypedLine::Message(text) => {
                    print_unshown(text.get(shown..).unwrap_or_default())?;
                    return Ok((text, typed));
                }
                TypedLine::End => return Err(ReadlineError::Eof),
                TypedLine::Draft(text) => draft = text,
            }
        }
    }

    /// Reads the lines that continue a line, in a terminal where they have prompts of their own.
    fn read_continued(&mut self, mut text: String) -> Result<String, ReadlineError> {
        while continues(&text) {
            text.pop();
            match self.editor.readline(CONTINUATION) {
                Ok(line) => text.push_str(&format!("\n{line}")),
                // Ctrl-D ends the message.
                Err(ReadlineError::Eof) => return Ok(text),
                Err(error) => return Err(error),
            }
        }
        Ok(text)
    }
}

/// Shows the lines of a message that the editor has not shown.
fn print_unshown(text: &str) -> Result<(), ReadlineError> {
    let Some(lines) = text.strip_prefix('\n') else { return Ok(()) };
    let printed = output::print_line(&output::escape_unprintable(lines));
    printed.map_err(|_| ReadlineError::Io(std::io::ErrorKind::BrokenPipe.into()))
}

/// Ends a line at Enter, and takes the keys behind it that the editor has read already.
///
/// The editor reads all keys that wait, and would use the rest for the next line. But the next line may be asked for
/// after an answer, or after keys that were pressed meanwhile, or it may be the answer to a question. So at Enter the
/// editor is interrupted: it uses up what it has read, which is collected here, and then stops.
struct EnterKey {
    entered: Arc<Mutex<Option<Entered>>>,
    completions: Completions,
}

impl ConditionalEventHandler for EnterKey {
    fn handle(
        &self,
        event: &Event,
        _: RepeatCount,
        _: bool,
        context: &EventContext<'_>,
    ) -> Option<Cmd> {
        let key = event.get(0)?;
        let mut entered = self.entered.lock();
        if let Some(entered) = &mut *entered {
            entered.behind.push_str(&key_text(*key));
            return Some(Cmd::Noop);
        }
        if *key == KeyEvent(KeyCode::Enter, Modifiers::ALT) {
            return Some(Cmd::Newline);
        }
        if !is_enter(*key) {
            return None;
        }
        let line = context.line();
        if context.pos() == line.len() && continues(line) {
            self.completions.continue_line();
            return Some(Cmd::Complete);
        }
        if kill_process(getpid(), Signal::INT).is_err() {
            return Some(Cmd::AcceptLine);
        }
        *entered = Some(Entered { line: line.to_owned(), behind: String::new() });
        Some(Cmd::Noop)
    }
}

fn is_enter(KeyEvent(code, modifiers): KeyEvent) -> bool {
    match code {
        KeyCode::Enter => modifiers.is_empty(),
        KeyCode::Char('J' | 'M') => modifiers == Modifiers::CTRL,
        _ => false,
    }
}

/// Returns what the terminal sends for a key, if the key has a meaning without a prompt.
fn key_text(key: KeyEvent) -> String {
    match key {
        key if is_enter(key) => "\r".to_owned(),
        KeyEvent(KeyCode::Enter, Modifiers::ALT) => "\u{1b}\r".to_owned(),
        KeyEvent(KeyCode::Char(c), Modifiers::NONE) => c.to_string(),
        KeyEvent(KeyCode::Tab, Modifiers::NONE) => "\t".to_owned(),
        KeyEvent(KeyCode::Backspace, _) => "\u{7f}".to_owned(),
        KeyEvent(KeyCode::BracketedPasteStart, _) => "\u{1b}[200~".to_owned(),
        KeyEvent(KeyCode::BracketedPasteEnd, _) => "\u{1b}[201~".to_owned(),
        KeyEvent(KeyCode::Char('D'), Modifiers::CTRL) => "\u{4}".to_owned(),
        KeyEvent(KeyCode::Char('U'), Modifiers::CTRL) => "\u{15}".to_owned(),
        KeyEvent(KeyCode::Char('W'), Modifiers::CTRL) => "\u{17}".to_owned(),
        _ => String::new(),
    }
}
