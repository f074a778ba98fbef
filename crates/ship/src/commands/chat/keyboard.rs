//! Collects what a person types while an answer is shown.

use std::cell::{RefCell, RefMut};
use std::io::{self, IsTerminal, Write, stdin, stdout};
use std::pin::pin;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::getpgrp;
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, Termios, tcgetattr, tcgetpgrp, tcsetattr,
};

use super::typed_ahead::{TypedAhead, TypedLine};
use super::typed_file::TypedFile;
use crate::commands::polling;
use crate::failure::Failure;
use crate::output;
use crate::progress_line::{CursorPlace, ProgressLine, TypedBeside};
use crate::style;

/// Has the terminal mark the beginning and the end of a paste.
const MARK_PASTES: &str = "\x1b[?2004h";
const DO_NOT_MARK_PASTES: &str = "\x1b[?2004l";

/// The keyboard between two prompts. The terminal does not show what is typed, and it is kept for the next prompt.
/// Dropped, the terminal is as before.
///
/// The prompt has modes of its own while a line is edited. Between two prompts the system would show typed letters
/// in the middle of an answer, and Ctrl-C would discard them.
pub(crate) struct Keyboard {
    before: Option<Termios>,
    use_of_keys: KeyUse,
    typed: RefCell<TypedAhead>,
    /// The file that keeps what was typed, if keys are collected.
    file: Option<RefCell<TypedFile>>,
}

/// What happens to the keys between two prompts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum KeyUse {
    /// They are collected for the next prompt.
    Collect,
    /// The system keeps them for the next program, which is the shell.
    Leave,
}

impl Keyboard {
    /// Takes the keyboard over, where the terminal has a line editor.
    pub(super) fn take(file: TypedFile) -> Self {
        Self::with_use(KeyUse::Collect, Some(RefCell::new(file)), || true)
    }

    /// Hides the keys while an answer is shown, and leaves them to the shell. A command in the background must not
    /// touch its terminal: the system would stop it.
    pub(crate) fn hide() -> Self {
        let is_in_background = || tcgetpgrp(stdin()).is_ok_and(|group| group != getpgrp());
        Self::with_use(KeyUse::Leave, None, || !is_in_background())
    }

    fn with_use(
        use_of_keys: KeyUse,
        file: Option<RefCell<TypedFile>>,
        may_change: impl FnOnce() -> bool,
    ) -> Self {
        let is_capable = stdin().is_terminal() && stdout().is_terminal();
        let is_capable = is_capable && !style::is_dumb_terminal() && may_change();
        let before = if is_capable { tcgetattr(stdin()).ok() } else { None };
        let keyboard = Self { before, use_of_keys, typed: RefCell::default(), file };
        keyboard.silence();
        keyboard
    }

    /// Whether keys are collected. If not, the system keeps them.
    pub(crate) fn is_taken(&self) -> bool {
        self.is_silent() && self.use_of_keys == KeyUse::Collect
    }

    /// Whether the terminal does not show keys.
    pub(crate) fn is_silent(&self) -> bool {
        self.before.is_some()
    }

    /// Keeps keys from being shown. The line editor leaves the terminal as it found it, except for the marks of pastes.
    pub(crate) fn silence(&self) {
        let Some(mut modes) = self.before.clone() else { return };
        modes.local_modes.remove(LocalModes::ECHO);
        if self.is_taken() {
            modes.local_modes.remove(LocalModes::ICANON);
            modes.local_modes.insert(LocalModes::NOFLSH);
            modes.input_modes.remove(InputModes::ICRNL);
        }
        // In a terminal that cannot be changed, keys are shown in answers, and that is all.
        let _ = tcsetattr(stdin(), OptionalActions::Drain, &modes);
        if self.is_taken() {
            print_mode(MARK_PASTES);
        }
    }

    /// Gives the keyboard back, for another program or for good.
    pub(crate) fn release(&self) {
        if let Some(before) = &self.before {
            if self.is_taken() {
                print_mode(DO_NOT_MARK_PASTES);
            }
            let _ = tcsetattr(stdin(), OptionalActions::Drain, before);
        }
    }

    /// Returns what was typed so far.
    pub(crate) fn typed(&self) -> RefMut<'_, TypedAhead> {
        self.read_waiting();
        self.typed.borrow_mut()
    }

    /// Adds what the line editor has read and not used.
    pub(crate) fn put_back(&self, typed: TypedAhead) {
        self.typed.borrow_mut().append(typed);
    }

    /// Brings back what was typed for this chat in processes that have ended. Returns whether there was anything.
    pub(super) fn take_left(&self) -> io::Result<bool> {
        let Some(file) = &self.file else { return Ok(false) };
        let left = file.borrow_mut().take_left()?;
        let is_any = !left.is_empty();
        self.typed.borrow_mut().bring_back(left);
        Ok(is_any)
    }

    /// Takes the next line. What was taken before is done; this one stays in the file until then.
    pub(super) fn take_line(&self) -> TypedLine {
        self.keep(self.typed().texts());
        self.typed().take_line()
    }

    /// Returns what is shown beside the activity. A message is on disk before it is shown to wait.
    pub(crate) fn beside(&self) -> TypedBeside {
        self.keep(self.typed().waiting());
        self.typed.borrow().beside()
    }

    /// Has the file hold these texts. A person who types ahead on a disk that fails is warned once for each failure.
    fn keep(&self, texts: Vec<String>) {
        let kept = self.file.as_ref().map_or(Ok(()), |file| file.borrow_mut().keep(texts));
        if let Err(error) = kept {
            output::print_warning(&format!("what you type ahead is not kept on disk: {error}"));
        }
    }

    /// Collects the keys that were pressed until now. They are one burst.
    fn read_waiting(&self) {
        if !self.is_taken() {
            return;
        }
        let mut burst = Vec::new();
        let mut piece = [0; 4096];
        while is_readable() {
            // A terminal that is gone has no keys.
            match rustix::io::read(stdin(), &mut piece) {
                Ok(count @ 1..) => burst.extend_from_slice(&piece[..count]),
                _ => break,
            }
        }
        if !burst.is_empty() {
            self.typed.borrow_mut().push(&burst);
        }
    }
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        self.keep(self.typed().texts());
        self.release();
    }
}

/// Waits until it is time to look for keys again. Without a keyboard, that time never comes.
pub(crate) async fn until_next_look(keyboard: Option<&Keyboard>) {
    match keyboard.is_some_and(Keyboard::is_taken) {
        true => polling::until_next_look().await,
        false => std::future::pending().await,
    }
}

/// Waits for a command, and collects the keys that are pressed meanwhile.
pub(crate) async fn collect_keys<T>(
    keyboard: Option<&Keyboard>,
    running: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    let mut running = pin!(running);
    loop {
        tokio::select! {
            biased;
            result = &mut running => return result,
            () = until_next_look(keyboard) => {
                let _ = keyboard.map(Keyboard::beside);
            }
        }
    }
}

/// Waits for a command that prints nothing, says how long it takes, and collects the keys that are pressed meanwhile.
pub(super) async fn collect_keys_beside<T>(
    keyboard: Option<&Keyboard>,
    mut progress: ProgressLine,
    running: impl Future<Output = T>,
) -> T {
    let mut running = pin!(running);
    loop {
        tokio::select! {
            biased;
            result = &mut running => return result,
            () = until_next_look(keyboard) => {
                let typed = keyboard.map(Keyboard::beside).unwrap_or_default();
                progress.show_typed(typed, CursorPlace::LineStart);
            }
            () = progress.next_frame(CursorPlace::LineStart) => {}
        }
    }
}

fn is_readable() -> bool {
    let stdin = stdin();
    let keys = &mut [PollFd::new(&stdin, PollFlags::IN)];
    poll(keys, Some(&Timespec::default())).is_ok_and(|ready| ready > 0)
}

/// Switches a mode of the terminal. If the terminal is gone, there is nothing to switch.
fn print_mode(mode: &str) {
    let mut out = stdout();
    let _ = out.write_all(mode.as_bytes()).and_then(|()| out.flush());
}
