//! Collects what a person types while an answer is shown.

use std::cell::{RefCell, RefMut};
use std::io::{self, IsTerminal, Write, stdin, stdout};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Signal, getpgrp};
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, Termios, tcgetattr, tcgetpgrp, tcsetattr,
};
use tokio::signal::unix::{SignalKind, signal};

use super::prompt_line::PromptLine;
use super::typed_ahead::{TypedAhead, TypedLine};
use super::typed_file::{LeftTexts, TypedFile};
use crate::commands::polling;
use crate::failure::Failure;
use crate::output;
use crate::progress_line::{CursorPlace, ProgressLine, TypedBeside};
use crate::style;

/// Has the terminal mark the beginning and the end of a paste.
const MARK_PASTES: &str = "\x1b[?2004h";
const DO_NOT_MARK_PASTES: &str = "\x1b[?2004l";

/// The keyboard between two prompts. The terminal does not show what is typed, and it is kept for the next prompt.
/// Dropped, the terminal is as before, and what was typed and not sent is on disk.
///
/// The prompt has modes of its own while a line is edited. Between two prompts the system would show typed letters
/// in the middle of an answer, and Ctrl-C would discard them.
pub(crate) struct Keyboard {
    before: Option<Termios>,
    use_of_keys: KeyUse,
    typed: RefCell<TypedAhead>,
    /// What was typed before a question that is being asked.
    before_question: RefCell<TypedAhead>,
    /// The message that was taken, until it is in the chat.
    in_hand: RefCell<Option<String>>,
    /// The line at the prompt.
    line: PromptLine,
    /// The file that keeps what was typed, if keys are collected.
    file: Option<RefCell<TypedFile>>,
    /// The failure to keep it that the person has not been told.
    untold: RefCell<Option<io::Error>>,
    /// Whether the process was stopped and goes on, so that the terminal may have other modes.
    is_continued: Arc<AtomicBool>,
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
    pub(super) fn take(file: TypedFile, line: PromptLine) -> Self {
        let keyboard = Self::with_use(KeyUse::Collect, || true);
        keyboard.silence_when_continued();
        keyboard.keeping(file, line)
    }

    fn keeping(mut self, file: TypedFile, line: PromptLine) -> Self {
        (self.file, self.line) = (Some(RefCell::new(file)), line);
        self
    }

    /// Hides the keys while an answer is shown, and leaves them to the shell. A command in the background must not
    /// touch its terminal: the system would stop it.
    pub(crate) fn hide() -> Self {
        let is_in_background = || tcgetpgrp(stdin()).is_ok_and(|group| group != getpgrp());
        Self::with_use(KeyUse::Leave, || !is_in_background())
    }

    fn with_use(use_of_keys: KeyUse, may_change: impl FnOnce() -> bool) -> Self {
        let is_capable = stdin().is_terminal() && stdout().is_terminal();
        let is_capable = is_capable && !style::is_dumb_terminal() && may_change();
        let before = if is_capable { tcgetattr(stdin()).ok() } else { None };
        let keyboard = Self {
            before,
            use_of_keys,
            typed: RefCell::default(),
            before_question: RefCell::default(),
            in_hand: RefCell::default(),
            line: PromptLine::default(),
            file: None,
            untold: RefCell::default(),
            is_continued: Arc::default(),
        };
        keyboard.silence();
        keyboard
    }

    /// Notes when the process goes on after it was stopped. The shell has changed the modes of the terminal meanwhile.
    fn silence_when_continued(&self) {
        let Ok(mut continued) = signal(SignalKind::from_raw(Signal::CONT.as_raw())) else { return };
        let is_continued = Arc::clone(&self.is_continued);
        tokio::spawn(async move {
            while continued.recv().await.is_some() {
                is_continued.store(true, Ordering::Relaxed);
            }
        });
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
            mark_pastes();
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

    /// Finds what was typed for this chat in processes that have ended.
    pub(super) fn find_left(&self) -> io::Result<Vec<LeftTexts>> {
        self.file.as_ref().map_or(Ok(Vec::new()), |file| file.borrow().find_left())
    }

    /// Makes drafts of what was typed in processes that have ended. Returns whether there is anything.
    pub(super) fn take_over(&self, left: Vec<LeftTexts>) -> io::Result<bool> {
        let Some(file) = &self.file else { return Ok(false) };
        let texts = file.borrow_mut().take_over(left)?;
        let is_any = !texts.is_empty();
        self.typed.borrow_mut().bring_back(texts);
        Ok(is_any)
    }

    /// Takes the next line. A message stays on disk until it is let go.
    pub(super) fn take_line(&self) -> TypedLine {
        self.let_go();
        self.tell_failure();
        let taken = self.typed().take_line();
        match &taken {
            TypedLine::Message(text) => *self.in_hand.borrow_mut() = Some(text.clone()),
            TypedLine::Draft(draft) => self.line.begin(draft),
            TypedLine::End => {}
        }
        taken
    }

    /// Holds a message that was written at the prompt, until it is in the chat.
    pub(super) fn hold(&self, text: &str) {
        *self.in_hand.borrow_mut() = Some(text.to_owned());
    }

    /// Lets go of a line that is in the chat, or done, or refused.
    pub(super) fn let_go(&self) {
        self.in_hand.take();
        self.keep_all();
    }

    /// Puts aside what was typed before a question, which it does not answer.
    pub(super) fn begin_question(&self) {
        let before = std::mem::take(&mut *self.typed());
        self.before_question.borrow_mut().append(before);
        self.keep_all();
    }

    /// Brings back what was typed before a question, in front of what was typed since.
    pub(super) fn end_question(&self) {
        let mut typed = self.typed();
        let since = std::mem::replace(&mut *typed, self.before_question.take());
        typed.append(since);
    }

    /// Returns what is shown beside the activity. A message is on disk before it is shown to wait.
    pub(crate) fn beside(&self) -> TypedBeside {
        let waiting = self.typed().waiting();
        self.keep(waiting);
        self.typed.borrow().beside()
    }

    fn keep_all(&self) {
        let texts = self.typed().texts();
        self.keep(texts);
    }

    /// Has the file hold these texts, behind those that were taken and are not in the chat.
    fn keep(&self, texts: Vec<String>) {
        let Some(file) = &self.file else { return };
        let taken = self.in_hand.borrow().clone().into_iter().chain(self.line.text());
        let before = self.before_question.borrow().texts();
        if let Err(error) = file.borrow_mut().keep(taken.chain(before).chain(texts).collect()) {
            *self.untold.borrow_mut() = Some(error);
        }
    }

    /// Tells that what was typed ahead is not on disk. In the middle of an answer, nobody would read it.
    fn tell_failure(&self) {
        if let Some(error) = self.untold.take() {
            output::print_warning(&format!("what you typed ahead is not kept on disk: {error}"));
        }
    }

    /// Collects the keys that were pressed until now. They are one burst.
    fn read_waiting(&self) {
        if !self.is_taken() {
            return;
        }
        if self.is_continued.swap(false, Ordering::Relaxed) {
            self.silence();
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
        self.keep_all();
        self.release();
        self.tell_failure();
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

/// Has the terminal mark pastes.
pub(super) fn mark_pastes() {
    print_mode(MARK_PASTES);
}

/// Switches a mode of the terminal. If the terminal is gone, there is nothing to switch.
fn print_mode(mode: &str) {
    let mut out = stdout();
    let _ = out.write_all(mode.as_bytes()).and_then(|()| out.flush());
}
