//! Follows the run that answers a message of `ship send`.

use std::io::IsTerminal;
use std::pin::pin;
use std::time::Duration;

use ship_agent::{Agent, Listener, Reply, RunEvent, RunNotice};
use ship_message::Chunk;

use super::chat::keyboard::Keyboard;
use super::interrupt::{Interrupt, break_line};
use super::message_exchange::{open_questions, print_notice, print_waiting};
use super::run_activity::RunActivity;
use super::run_screen::{Screen, ScreenCommand};
use crate::failure::Failure;
use crate::progress_line::CursorPlace;
use crate::session::Session;

/// Returns the messages that wait for an answer before another one is sent. A chat that cannot be read is reported by
/// what needs it.
pub(super) async fn questions_before(session: &Session, agent: &Agent) -> Vec<String> {
    open_questions(agent, &session.chat).await.unwrap_or_default()
}

/// Whether the answer can be shown as it comes. In a chat with other messages that wait, the first answer may be theirs.
pub(super) fn can_stream(session: &Session, before: &[String]) -> bool {
    !session.json && std::io::stdout().is_terminal() && before.is_empty()
}

/// The reply to a message, or the reason why there is none.
type ReplyResult = Result<Option<Reply>, Failure>;

/// A run that was followed to its end, or until the person left.
pub(super) struct FollowedRun {
    /// The reply; `None` if the person left.
    pub(super) ended: Option<ReplyResult>,
    /// Whether the answer was shown as it came.
    pub(super) is_shown: bool,
    /// The notices behind an answer that were not shown with it.
    pub(super) held: Vec<String>,
    pub(super) time: Duration,
    /// Whether a summary was made on the way.
    pub(super) has_summary: bool,
}

impl FollowedRun {
    /// Shows a run as it goes on. What another process answers is not shown.
    pub(super) async fn on_screen(
        session: &Session,
        listener: Listener,
        running: impl Future<Output = ReplyResult>,
        interrupt: &Interrupt,
    ) -> Result<Self, Failure> {
        let keyboard = Keyboard::hide();
        let mut screen = Screen::new(session, Some(&keyboard), listener, ScreenCommand::Send);
        let followed = interrupt.stop_on_interrupt(screen.follow(running, interrupt)).await;
        let ended = followed.transpose()?;
        let is_shown = match &ended {
            Some(Ok(Some(reply))) => reply.is_from_here,
            Some(_) | None => screen.has_spoken(),
        };
        let held = screen.held_notices().to_vec();
        let run = Self { is_shown, held, ..Self::hidden(ended, screen.activity()) };
        if run.ended.is_none() {
            screen.end_early()?;
        }
        Ok(run)
    }

    /// Waits for a run, and reports on standard error what it waits for and where the chat continues.
    pub(super) async fn with_notices(
        session: &Session,
        listener: Listener,
        running: impl Future<Output = ReplyResult>,
        interrupt: &Interrupt,
    ) -> Self {
        let (keyboard, mut activity) = (Keyboard::hide(), RunActivity::begin(session));
        let followed = print_notices(session, listener, &mut activity, running);
        let ended = interrupt.stop_on_interrupt(followed).await;
        // The `^C` behind the line goes with it.
        if !activity.erase() && interrupt.was_pressed() && !keyboard.is_silent() {
            break_line();
        }
        Self::hidden(ended, &activity)
    }

    /// Makes a run of which nothing was shown.
    fn hidden(ended: Option<ReplyResult>, activity: &RunActivity) -> Self {
        let (time, has_summary) = (activity.elapsed(), activity.has_summary());
        Self { ended, is_shown: false, held: Vec::new(), time, has_summary }
    }
}

async fn print_notices<T>(
    session: &Session,
    mut listener: Listener,
    activity: &mut RunActivity,
    running: impl Future<Output = T>,
) -> T {
    let mut running = pin!(running);
    loop {
        tokio::select! {
            result = &mut running => return result,
            Some(event) = listener.next() => {
                activity.follow(&event);
                print_event(session, &event, activity);
            }
            () = activity.next_frame(CursorPlace::LineStart) => {}
        }
    }
}

fn print_event(session: &Session, event: &RunEvent, activity: &mut RunActivity) {
    match event {
        RunEvent::Chunk(Chunk::Data(part)) => {
            if let Some(notice) = RunNotice::read(part) {
                print_notice(session, notice, activity);
            }
        }
        RunEvent::Waiting(waiting) => {
            activity.erase();
            print_waiting(session, waiting);
        }
        _ => {}
    }
}
