//! Shows the person what the agent does.

use std::io::IsTerminal;
use std::pin::pin;

use ship_agent::{Listener, RunEvent};
use ship_message::Chunk;

use crate::commands::context::dim_line;
use crate::commands::interrupt::Interrupt;
use crate::commands::message_exchange::{Notice, print_waiting, read_notice};
use crate::failure::Failure;
use crate::markdown::Markdown;
use crate::output::{self, PassingNote};
use crate::session::Session;
use crate::style::Style;
use crate::text_for_user;

/// Shows the events of one run.
pub(super) struct Screen<'a> {
    session: &'a Session,
    listener: Listener,
    style: Style,
    markdown: Markdown,
    /// Whether the cursor is not at the start of a line.
    mid_line: bool,
    note: PassingNote,
}

impl<'a> Screen<'a> {
    pub(super) fn new(session: &'a Session, listener: Listener) -> Self {
        let style = Style::of_stdout();
        let (markdown, note) = (Markdown::of_stdout(), PassingNote::default());
        Self { session, listener, style, markdown, mid_line: false, note }
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
            }
        };
        self.note.clear();
        shown?;
        while let Some(event) = self.listener.try_next() {
            self.show(&event)?;
        }
        // The terminal has shown `^C` at the cursor.
        self.mid_line |= interrupt.was_pressed() && std::io::stdout().is_terminal();
        output::print_part(&self.markdown.end())?;
        self.new_line()?;
        Ok(result)
    }

    /// Ends the output of a run that the person does not wait for.
    pub(super) fn end_early(mut self) -> Result<(), Failure> {
        self.mid_line |= std::io::stdout().is_terminal();
        output::print_part(&self.markdown.end())?;
        self.new_line()
    }

    fn show(&mut self, event: &RunEvent) -> Result<(), Failure> {
        self.note.clear();
        match event {
            RunEvent::Chunk(Chunk::TextDelta(_, delta)) => {
                let text = self.markdown.push(&output::escape_unprintable(delta));
                self.mid_line = !delta.ends_with('\n');
                output::print_part(&text)
            }
            // An interrupted text has no end of its own, and the next text does not continue it.
            RunEvent::Chunk(Chunk::TextStart(_) | Chunk::TextEnd(_)) => {
                output::print_part(&self.markdown.end())?;
                self.new_line()
            }
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
                Some(Notice::Context(notice)) => {
                    output::print_part(&self.markdown.end())?;
                    self.new_line()?;
                    output::print_line(&dim_line(&notice.line))
                }
                Some(Notice::Retry(text)) => {
                    self.note.show(text);
                    Ok(())
                }
                // A reader at the other end of a pipe gets only the answers.
                Some(Notice::MakingRoom(text) | Notice::MadeRoom(text))
                    if !std::io::stdout().is_terminal() =>
                {
                    output::print_notice(text);
                    Ok(())
                }
                Some(Notice::MakingRoom(text) | Notice::MadeRoom(text) | Notice::Other(text)) => {
                    output::print_part(&self.markdown.end())?;
                    self.print_note(&format!("[{}]", output::escape_unprintable(text)))
                }
                None => Ok(()),
            },
            RunEvent::Sent(text) => {
                self.new_line()?;
                output::print_line(&text_for_user::render_text(text))
            }
            RunEvent::Waiting(waiting) => {
                print_waiting(self.session, waiting);
                Ok(())
            }
            RunEvent::Chunk(_) | RunEvent::Ended { .. } | RunEvent::Reply(_) => Ok(()),
        }
    }

    fn print_note(&mut self, text: &str) -> Result<(), Failure> {
        self.new_line()?;
        output::print_line(&self.style.cyan(text))
    }

    fn new_line(&mut self) -> Result<(), Failure> {
        if std::mem::take(&mut self.mid_line) { output::print_line("") } else { Ok(()) }
    }
}
