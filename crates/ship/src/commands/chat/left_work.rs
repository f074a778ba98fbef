//! The work that is left in a chat: messages without an answer, and interrupted runs.

use ship_agent::Outcome;

use super::{ChatAction, ChatScreen};
use crate::commands::frozen_holder::FrozenHolder;
use crate::commands::interrupt::Interrupt;
use crate::commands::message_exchange::open_questions;
use crate::failure::Failure;
use crate::output;
use crate::table;

impl ChatScreen<'_> {
    /// Begins with the work that is left. A person learns why something is answered that was not asked just now.
    pub(super) async fn begin(&mut self) -> Result<ChatAction, Failure> {
        let chat = &self.session.chat;
        if self.input.is_interactive() && !open_questions(&self.agent, chat).await?.is_empty() {
            self.print_note("Not answered yet:")?;
        }
        self.resume().await
    }

    pub(super) async fn resume(&mut self) -> Result<ChatAction, Failure> {
        if self.input.is_interactive() {
            self.print_open_questions().await?;
        }
        let outcome = self.finish_left_work().await?;
        self.report_outcome(outcome).await
    }

    /// Shows the messages that are answered next. Their answer alone would puzzle a person that comes back.
    async fn print_open_questions(&self) -> Result<(), Failure> {
        for question in open_questions(&self.agent, &self.session.chat).await? {
            let line = format!("> {}", output::on_one_line(question.trim()));
            self.print_note(&table::fit(&line, table::columns()))?;
        }
        Ok(())
    }

    /// Does the work that is left, unless another process is doing it: the person need not wait for that.
    pub(super) async fn finish_left_work(&self) -> Result<Option<Outcome>, Failure> {
        let (interrupt, mut screen) = (Interrupt::default(), self.screen());
        let running = self.agent.run_now(&self.session.chat, &interrupt.stop);
        match self.follow(&mut screen, running, &interrupt).await? {
            None => {
                screen.end_early()?;
                self.print_note("(what was left to do is left for the next time)")?;
            }
            // Lines typed here are accepted all the same.
            Some(Err(error)) if error.is_elsewhere() => {
                match FrozenHolder::find(self.session, &self.agent).await? {
                    Some(frozen) => self.print_failure(frozen.failure("what you say is kept"))?,
                    None => self.print_note(
                        "Another ship is at work in this chat; what you say is kept and answered.",
                    )?,
                }
            }
            Some(Err(error)) => return Err(error.into()),
            Some(Ok(outcome)) => return Ok(outcome),
        }
        Ok(None)
    }
}
