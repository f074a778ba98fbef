//! Shows the person what the agent does, while it does it.

use std::io::IsTerminal;
use std::pin::pin;
use std::time::Duration;

use ship_agent::{Listener, Outcome, RunEvent, RunNotice};
use ship_message::{Chunk, FinishReason, TextChunk};
use ship_store::has_notice_mark;

use super::broken_text::BrokenText;
use super::chat::keyboard::{Keyboard, until_next_look};
use super::context::dim_line;
use super::interrupt::Interrupt;
use super::message_exchange::{context_line_for_chat, made_room_line, print_notice, print_waiting};
use super::message_line::notice_line;
use super::run_activity::RunActivity;
use crate::failure::Failure;
use crate::markdown::Markdown;
use crate::output;
use crate::progress_line::CursorPlace;
use crate::session::Session;
use crate::style::Style;
use crate::table;
use crate::text_for_user;

/// Shows the events of one run.
pub(crate) struct Screen<'a> {
    session: &'a Session,
    keyboard: Option<&'a Keyboard>,
    listener: Listener,
    command: ScreenCommand,
    style: Style,
    markdown: Markdown,
    cursor: CursorPlace,
    activity: RunActivity,
    /// The run that has ended, and its outcome.
    ended: Option<(String, Outcome)>,
    /// Whether the answer reached the limit of its length.
    is_cut: bool,
    /// Whether something was said to the person.
    has_spoken: bool,
    /// Leaves out what is said again, for a person; a program gets everything.
    broken: Option<BrokenText>,
    /// The agent's notices behind an answer that are not shown here.
    held: Vec<String>,
    /// Whether the last of them is still being told.
    is_held: bool,
}

/// The command that shows a run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ScreenCommand {
    /// A chat also shows calls, and the agent's notices as parts of the answer.
    Chat,
    /// `ship send` shows the answer alone. A notice about its end may become the failure of the command.
    Send,
}

/// A run whose cost is to be told.
pub(crate) struct RunCost {
    pub(crate) run_id: String,
    pub(crate) time: Duration,
    /// Whether a summary was made on the way.
    pub(crate) has_summary: bool,
}

impl<'a> Screen<'a> {
    pub(crate) fn new(
        session: &'a Session,
        keyboard: Option<&'a Keyboard>,
        listener: Listener,
        command: ScreenCommand,
    ) -> Self {
        let activity = RunActivity::begin(session);
        // A line between the answers on the way to another program would only be in its way.
        let activity = if std::io::stdout().is_terminal() { activity } else { activity.hidden() };
        let (style, markdown) = (Style::of_stdout(), Markdown::of_stdout());
        Self {
            session,
            keyboard,
            listener,
            command,
            style,
            markdown,
            cursor: CursorPlace::LineStart,
            activity,
            ended: None,
            is_cut: false,
            has_spoken: false,
            broken: std::io::stdout().is_terminal().then(BrokenText::default),
            held: Vec::new(),
            is_held: false,
        }
    }

    /// Shows events until `running` ends, and returns its result.
    pub(crate) async fn follow<T>(
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
                        shown = self.show_all(&event);
                    }
                }
                result = &mut running => break result,
                () = until_next_look(self.keyboard) => {}
                () = self.activity.next_frame(self.cursor) => {}
            }
            if shown.is_ok() {
                self.show_typed();
            }
        };
        // The terminal may have shown `^C` at the cursor, perhaps behind the line that is erased.
        let was_erased = self.activity.erase();
        shown?;
        while let Some(event) = self.listener.try_next() {
            self.show(&event)?;
        }
        if interrupt.was_pressed() && !was_erased && self.shows_keys() {
            self.cursor = CursorPlace::Unknown;
        }
        self.end_text()?;
        Ok(result)
    }

    /// Returns the run that has ended with an answer.
    pub(crate) fn cost(&self) -> Option<RunCost> {
        let (run_id, _) = self.ended.clone().filter(|(_, outcome)| *outcome != Outcome::Parked)?;
        let (time, has_summary) = (self.activity.elapsed(), self.activity.has_summary());
        Some(RunCost { run_id, time, has_summary })
    }

    /// Whether the run has failed, or its answer lacks its end.
    pub(crate) fn is_unfinished(&self) -> bool {
        self.is_cut || matches!(self.ended, Some((_, Outcome::Failed(_))))
    }

    /// Whether the terminal shows keys at the cursor.
    fn shows_keys(&self) -> bool {
        std::io::stdout().is_terminal() && !self.keyboard.is_some_and(Keyboard::is_silent)
    }

    /// Whether the run has said something.
    pub(crate) fn has_spoken(&self) -> bool {
        self.has_spoken
    }

    /// Returns what the run is doing.
    pub(crate) fn activity(&self) -> &RunActivity {
        &self.activity
    }

    /// Returns the notices behind the answer that were not shown.
    pub(crate) fn held_notices(&self) -> &[String] {
        &self.held
    }

    /// Ends the output of a run that the person does not wait for.
    pub(crate) fn end_early(mut self) -> Result<(), Failure> {
        if !self.activity.erase() && self.shows_keys() {
            self.cursor = CursorPlace::Unknown;
        }
        self.end_text()
    }

    /// Shows below the answer what the person has typed ahead.
    fn show_typed(&mut self) {
        if let Some(keyboard) = self.keyboard {
            self.activity.show_typed(keyboard.beside(), self.cursor);
        }
    }

    /// Shows an event, and those that came with it.
    fn show_all(&mut self, event: &RunEvent) -> Result<(), Failure> {
        self.show(event)?;
        while let Some(event) = self.listener.try_next() {
            self.show(&event)?;
        }
        Ok(output::flush()?)
    }

    fn show(&mut self, event: &RunEvent) -> Result<(), Failure> {
        self.activity.follow(event);
        match event {
            RunEvent::Chunk(Chunk::TextDelta(_, delta)) if self.is_held => {
                if let Some(held) = self.held.last_mut() {
                    held.push_str(delta);
                }
                Ok(())
            }
            RunEvent::Chunk(Chunk::TextDelta(_, delta)) => {
                let new = self.broken.as_mut().map(|broken| broken.push(delta));
                self.show_text(new.as_deref().unwrap_or(delta))
            }
            // An interrupted text has no end of its own, and the next text does not continue it.
            RunEvent::Chunk(Chunk::TextStart(text)) => {
                let is_chat_of_person = self.broken.is_some();
                self.is_held =
                    (self.command == ScreenCommand::Send || is_chat_of_person) && is_notice(text);
                self.held.extend(self.is_held.then(String::new));
                if let Some(broken) = &mut self.broken {
                    broken.begin();
                }
                self.end_text()
            }
            RunEvent::Chunk(Chunk::TextEnd(_)) if self.is_held => {
                self.is_held = false;
                self.show_held_notice()
            }
            RunEvent::Chunk(Chunk::TextEnd(_)) => {
                let rest = self.broken.as_mut().map(BrokenText::end).unwrap_or_default();
                self.show_text(&rest)?;
                self.end_text()
            }
            RunEvent::Chunk(
                Chunk::ToolInputAvailable { .. }
                | Chunk::ToolOutputError { .. }
                | Chunk::ToolInputError { .. },
            ) if self.command == ScreenCommand::Send => Ok(()),
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
            RunEvent::Chunk(Chunk::Data(part)) => match RunNotice::read(part) {
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
            RunEvent::Chunk(_)
            | RunEvent::Repeated(_)
            | RunEvent::Left { .. }
            | RunEvent::Missed
            | RunEvent::Reply(_) => Ok(()),
        }
    }

    fn show_text(&mut self, text: &str) -> Result<(), Failure> {
        self.has_spoken |= !text.is_empty();
        self.markdown.set_width(table::columns());
        let text = self.markdown.push(&output::escape_unprintable(text));
        self.print_part(&text)
    }

    /// Shows a notice behind an answer in a chat as words of the program, which are not those of the agent.
    fn show_held_notice(&mut self) -> Result<(), Failure> {
        if self.command == ScreenCommand::Send {
            return Ok(());
        }
        let notice = output::escape_unprintable(&self.held.pop().unwrap_or_default());
        let line = notice_line(&notice);
        let line = match line.strip_prefix("ship:") {
            Some(rest) => table::wrap_text(&format!("{}{rest}", self.style.red("ship:")), 6),
            None => self.style.dim(&table::wrap_text(&line, 0)),
        };
        self.has_spoken = true;
        self.end_text()?;
        self.print_part(&format!("{line}\n"))
    }

    fn show_notice(&mut self, notice: RunNotice<'_>) -> Result<(), Failure> {
        if let (RunNotice::Broken(_), Some(broken)) = (&notice, &mut self.broken) {
            let is_new = broken.note_break();
            self.end_text()?;
            let note = self.style.dim("(the connection broke; asking again)");
            return if is_new { self.print_part(&format!("{note}\n")) } else { Ok(()) };
        }
        if self.command == ScreenCommand::Send {
            self.end_text()?;
            print_notice(self.session, notice, &mut self.activity);
            return Ok(());
        }
        match notice {
            RunNotice::Context(notice) => {
                self.end_text()?;
                self.print_part(&format!("{}\n", dim_line(&context_line_for_chat(&notice))))
            }
            // The line of the activity says it, and the result is told.
            RunNotice::MakingRoom(_) if self.activity.is_shown() => Ok(()),
            RunNotice::Retry { .. } => Ok(()),
            RunNotice::MakingRoom(text) => self.print_room_notice(text),
            RunNotice::MadeRoom { text, is_purged } => {
                self.print_room_notice(&made_room_line(text, is_purged, "/compact undo"))
            }
            RunNotice::Broken(text) | RunNotice::Other(text) => {
                self.end_text()?;
                self.print_note(&format!("[{}]", output::escape_unprintable(text)))
            }
        }
    }

    /// Tells of a compaction. A reader at the other end of a pipe gets only the answers.
    fn print_room_notice(&mut self, text: &str) -> Result<(), Failure> {
        if !std::io::stdout().is_terminal() {
            output::print_notice(text);
            return Ok(());
        }
        self.end_text()?;
        self.print_note(&format!("[{}]", output::escape_unprintable(text)))
    }

    /// Prints the rest of a text, and ends its line.
    fn end_text(&mut self) -> Result<(), Failure> {
        let rest = self.markdown.end();
        self.print_part(&rest)?;
        self.end_line()
    }

    fn print_note(&mut self, text: &str) -> Result<(), Failure> {
        self.end_line()?;
        self.print_part(&format!("{}\n", self.style.cyan(&table::wrap_text(text, 1))))
    }

    fn end_line(&mut self) -> Result<(), Failure> {
        match self.cursor {
            CursorPlace::LineStart => Ok(()),
            CursorPlace::Column(_) | CursorPlace::Unknown => self.print_part("\n"),
        }
    }

    fn print_part(&mut self, text: &str) -> Result<(), Failure> {
        if text.is_empty() {
            return Ok(());
        }
        if self.broken.is_none() {
            // The reader of a pipe has no lines that are too short, and gets at once what came at once.
            self.cursor = self.cursor.after(text, usize::MAX);
            return output::print_unflushed(text);
        }
        self.activity.erase();
        self.cursor = self.cursor.after(text, table::columns());
        output::print_part(text)
    }
}

impl Drop for Screen<'_> {
    /// Ends the line of a text that was left in the middle.
    fn drop(&mut self) {
        self.activity.erase();
        // If the reader is gone, there is no line to end.
        let _ = self.end_line();
    }
}

/// Whether a text that begins is a notice of the agent, and not a part of the model's answer.
fn is_notice(text: &TextChunk) -> bool {
    text.provider_metadata.as_ref().is_some_and(has_notice_mark)
}
