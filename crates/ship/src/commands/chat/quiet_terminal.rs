//! Keeps what a person types while an answer is shown.

use std::io::{IsTerminal, stdin};

use rustix::termios::{InputModes, LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

/// A terminal that does not show what is typed, and keeps it for the next prompt. Dropped, the terminal is as before.
///
/// The prompt has modes of its own while a line is edited. Between two prompts the system would show typed letters
/// in the middle of an answer, and would keep no more than a page of a line.
pub(super) struct QuietTerminal {
    before: Option<Termios>,
}

impl QuietTerminal {
    pub(super) fn new() -> Self {
        let before = tcgetattr(stdin()).ok().filter(|_| stdin().is_terminal());
        if let Some(mut modes) = before.clone() {
            modes.local_modes.remove(LocalModes::ECHO | LocalModes::ICANON);
            modes.input_modes.remove(InputModes::ICRNL);
            // In a terminal that cannot be changed, keys are shown in answers, and that is all.
            let _ = tcsetattr(stdin(), OptionalActions::Drain, &modes);
        }
        Self { before }
    }
}

impl Drop for QuietTerminal {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            let _ = tcsetattr(stdin(), OptionalActions::Drain, before);
        }
    }
}
