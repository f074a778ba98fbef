//! The line at the prompt, as far as other places must know it: it is kept when the chat ends, and drawn again when the
//! process goes on after Ctrl-Z.

use std::io::stdin;
use std::sync::Arc;

use parking_lot::Mutex;
use rustix::process::Signal;
use rustix::termios::{OptionalActions, OutputModes, tcgetattr, tcsetattr};
use tokio::signal::unix::{SignalKind, signal};

use super::input::PromptPrinter;
use super::keyboard::mark_pastes;

/// The message that is being written at the prompt, if there is one.
#[derive(Clone, Default)]
pub(super) struct PromptLine(Arc<Mutex<PromptState>>);

#[derive(Default)]
struct PromptState {
    /// The text; `None` if no message is asked for.
    text: Option<String>,
    /// Whether the editor has the terminal, for a message or for the answer to a question.
    is_edited: bool,
}

impl PromptLine {
    /// Begins with a draft.
    pub(super) fn begin(&self, draft: &str) {
        self.0.lock().text = Some(draft.to_owned());
    }

    /// Notes the line of the editor.
    pub(super) fn note(&self, line: &str) {
        if let Some(text) = &mut self.0.lock().text {
            line.clone_into(text);
        }
    }

    /// Notes whether the editor has the terminal.
    pub(super) fn set_edited(&self, is_edited: bool) {
        self.0.lock().is_edited = is_edited;
    }

    /// Returns the text, if there is any.
    pub(super) fn text(&self) -> Option<String> {
        self.0.lock().text.clone().filter(|text| !text.is_empty())
    }

    /// Ends the line, and returns its text if there was any.
    pub(super) fn end(&self) -> Option<String> {
        self.0.lock().text.take().filter(|text| !text.is_empty())
    }

    /// Gives the terminal the modes of the editor again, if it is at work. Returns whether it is.
    fn restore_modes(&self) -> bool {
        let is_edited = self.0.lock().is_edited;
        // A terminal that is gone has no modes.
        if let (true, Ok(mut modes)) = (is_edited, tcgetattr(stdin())) {
            modes.make_raw();
            modes.output_modes.insert(OutputModes::OPOST);
            let _ = tcsetattr(stdin(), OptionalActions::Now, &modes);
            mark_pastes();
        }
        is_edited
    }
}

/// Draws the line again each time the process goes on. The editor stops the process by itself, but of a process with
/// several threads some run on until it stops, and the shell changes the modes of the terminal meanwhile.
pub(super) fn redraw_when_continued(line: PromptLine, printer: PromptPrinter) {
    let Ok(mut continued) = signal(SignalKind::from_raw(Signal::CONT.as_raw())) else { return };
    tokio::spawn(async move {
        while continued.recv().await.is_some() {
            if line.restore_modes() {
                // A failure to print ends the chat at its next line.
                let _ = printer.line("(back)");
            }
        }
    });
}
