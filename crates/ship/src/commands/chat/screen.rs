//! Shows the person what the agent does.

use std::io::IsTerminal;
use std::pin::pin;
use std::time::Duration;

use ship_agent::{Listener, Outcome, RunEvent};
use ship_message::{Chunk, FinishReason};

use super::keyboard::Keyboard;
use crate::commands::context::dim_line;
use crate::commands::interrupt::Interrupt;
use crate::commands::message_exchange::{Notice, print_waiting, read_notice};
use crate::commands::run_activity::RunActivity;
use crate::failure::Failure;
use crate::markdown::Markdown;
use crate::output;
use crate::session::Session;
use crate::style::Style;
use crate::table;
use crate::text_for_user;

/// Shows the events of one run.
pub(super) struct Screen<'a> {
    session: &'a Session,
    keyboard: Option<&'a Keyboard>,
    listener: Listener,
    style: Style,
    markdown: Markdown,
    /// Whether the cursor is not at the start of a line.
    mid_line: bool,
    activity: RunActivity,
    /// The run that has ended, and its outcome.
    ended: Option<(String, Outcome)>,
    /// Whether the answer reached the limit of its length.
    is_cut: bool,
    /// Whether something was said to the person.
    has_spoken: bool,
}

/// A run whose cost is to be told.
pub(super) struct RunCost {
    pub(super) run_id: String,
    pub(super) time: Duration,
    /// Whether a summary was made on the way.
    pub(super) has_summary: bool,
}

impl<'a> Screen<'a> {
    pub(super) fn new(
        session: &'a Session,
        keyboard: Option<&'a Keyboard>,
        listener: Listener,
    ) -> Self {
        let activity = RunActivity::begin(session);
        // A line between the answers on the way to another program would only be in its way.
        let activity = if std::io::stdout().is_terminal() { activity } else { activity.hidden() };
        let (style, markdown) = (Style::of_stdout(), Markdown::of_stdout());
        Self {
            session,
            keyboard,
            listener,
            style,
            markdown,
            mid_line: false,
            activity,
            ended: None,
            is_cut: false,
            has_spoken: false,
        }
    }

    /// Shows events until `running` ends, and returns its result.
    pub(super) async fn follow<T>(
        &mut self,
        running: impl Future<Output = T>,
        interrupt: &Interrupt,
    ) -> Result<T, Failure> {
        let mut running = pin!(running);
        // The reader of the output may go away; the run still continues to its end and is kept.
        let mut shown = Ok(());
        let result = loop {
            tokio::select! {
                biased;
                Some(event) = self.listener.next() => {
                    if shown.is_ok() {
                        shown = self.show(&event);
                    }
                }
                result = &mut running => break result,
                () = until_next_look(self.keyboard) => {}
                () = self.activity.next_frame(!self.mid_line) => {}
            }
            if shown.is_ok() {
                shown = self.show_typed();
            }
        };
        // The terminal may have shown `^C` at the cursor, perhaps behind the line that is erased.
        let was_erased = self.activity.erase();
        shown?;
        while let Some(event) = self.listener.try_next() {
            self.show(&event)?;
        }
        self.mid_line |= interrupt.was_pressed() && !was_erased && self.shows_keys();
        self.end_text()?;
        Ok(result)
    }

    /// Returns the run that has ended with an answer.
    pub(super) fn cost(&self) -> Option<RunCost> {
        let (run_id, _) = self.ended.clone().filter(|(_, outcome)| *outcome != Outcome::Parked)?;
        let (time, has_summary) = (self.activity.elapsed(), self.activity.has_summary());
        Some(RunCost { run_id, time, has_summary })
    }

    /// Whether the run has failed, or its answer lacks its end.
    pub(super) fn is_unfinished(&self) -> bool {
        self.is_cut || matches!(self.ended, Some((_, Outcome::Failed(_))))
    }

    /// Whether the terminal shows keys at the cursor.
    fn shows_keys(&self) -> bool {
        std::io::stdout().is_terminal() && !self.keyboard.is_some_and(Keyboard::is_taken)
    }

    /// Whether the run has said something.
    pub(super) fn has_spoken(&self) -> bool {
        self.has_spoken
    }

    /// Ends the output of a run that the person does not wait for.
    pub(super) fn end_early(mut self) -> Result<(), Failure> {
        self.mid_line |= !self.activity.erase() && self.shows_keys();
        self.end_text()
    }

    /// Shows what the person has typed ahead: the draft beside the activity, and messages that wait between two lines.
    fn show_typed(&mut self) -> Result<(), Failure> {
        let Some(mut typed) = self.keyboard.map(Keyboard::typed) else { return Ok(()) };
        self.activity.set_draft(typed.draft());
        if self.mid_line {
            return Ok(());
        }
        let queued = typed.unshown();
        drop(typed);
        queued.iter().try_for_each(|text| {
            let line = format!("(queued: {})", output::on_one_line(text));
            let line = table::fit(&line, table::columns());
            self.print_part(&format!("{}\n", self.style.dim(&line)))
        })
    }

    fn show(&mut self, event: &RunEvent) -> Result<(), Failure> {
        self.activity.follow(event);
        match event {
            RunEvent::Chunk(Chunk::TextDelta(_, delta)) => {
                self.has_spoken |= !delta.is_empty();
                let text = self.markdown.push(&output::escape_unprintable(delta));
                self.print_part(&text)
            }
            // An interrupted text has no end of its own, and the next text does not continue it.
            RunEvent::Chunk(Chunk::TextStart(_) | Chunk::TextEnd(_)) => self.end_text(),
            RunEvent::Chunk(Chunk::ToolInputAvailable { tool_name, .. }) => {
                self.print_note(&format!("[{}]", output::escape_unprintable(tool_name)))
            }
            RunEvent::Chunk(Chunk::ToolOutputError { error_text, .. }) => {
                self.print_note(&format!("[failed: {}]", output::escape_unprintable(error_text)))
            }
            RunEvent::Chunk(Chunk::ToolInputError { tool_name, .. }) => self.print_note(&format!(
                "[{}: a call that cannot be read]",
                output::escape_unprintable(tool_name)
            )),
            RunEvent::Chunk(Chunk::Data(part)) => match read_notice(part) {
                Some(notice) => self.show_notice(notice),
                None => Ok(()),
            },
            RunEvent::Sent(text) => {
                self.has_spoken = true;
                self.end_line()?;
                self.print_part(&format!("{}\n", text_for_user::render_text(text)))
            }
            RunEvent::Waiting(waiting) => {
                self.activity.erase();
                print_waiting(self.session, waiting);
                Ok(())
            }
            RunEvent::Ended { run_id, outcome, .. } => {
                self.ended = Some((run_id.clone(), outcome.clone()));
                Ok(())
            }
            RunEvent::Chunk(Chunk::Finish { finish_reason, .. }) => {
                self.is_cut = *finish_reason == Some(FinishReason::Length);
                Ok(())
            }
            RunEvent::Chunk(_) | RunEvent::Reply(_) => Ok(()),
        }
    }

    fn show_notice(&mut self, notice: Notice<'_>) -> Result<(), Failure> {
        match notice {
            Notice::Context(notice) => {
                self.end_text()?;
                self.print_part(&format!("{}\n", dim_line(&notice.line_for_chat())))
            }
            // The line of the activity says it, and the result is told.
            Notice::MakingRoom(_) if self.activity.is_shown() => Ok(()),
            Notice::Retry { .. } => Ok(()),
            // A reader at the other end of a pipe gets only the answers.
            Notice::MakingRoom(text) | Notice::MadeRoom(text)
                if !std::io::stdout().is_terminal() =>
            {
                output::print_notice(text);
                Ok(())
            }
            Notice::MakingRoom(text) | Notice::MadeRoom(text) | Notice::Other(text) => {
                self.end_text()?;
                self.print_note(&format!("[{}]", output::escape_unprintable(text)))
            }
        }
    }

    /// Prints the rest of a text, and ends its line.
    fn end_text(&mut self) -> Result<(), Failure> {
        let rest = self.markdown.end();
        self.print_part(&rest)?;
        self.end_line()
    }

    fn print_note(&mut self, text: &str) -> Result<(), Failure> {
        self.end_line()?;
        self.print_part(&format!("{}\n", self.style.cyan(text)))
    }

    fn end_line(&mut self) -> Result<(), Failure> {
        if self.mid_line { self.print_part("\n") } else { Ok(()) }
    }

    fn print_part(&mut self, text: &str) -> Result<(), Failure> {
        if text.is_empty() {
            return Ok(());
        }
        self.activity.erase();
        self.mid_line = !text.ends_with('\n');
        output::print_part(text)
    }
}

async fn until_next_look(keyboard: Option<&Keyboard>) {
    match keyboard {
        Some(keyboard) => keyboard.until_next_look().await,
        None => std::future::pending().await,
    }
}
