//! The end of a run in a chat, and the questions of a run that waits for the person.

use ship_agent::{CallAnswer, Outcome, RunError};
use ship_project::OnUndecided;

use super::question::{Question, QuestionReply};
use super::slash::Slash;
use super::{ChatAction, ChatScreen};
use crate::commands::interrupt::Interrupt;
use crate::commands::message_exchange::AcceptResult;
use crate::commands::send;
use crate::failure::Failure;
use crate::output;

impl ChatScreen<'_> {
    /// Asks what a parked run waits for, which the person has left open.
    pub(super) async fn answer_question(&mut self) -> Result<ChatAction, Failure> {
        if self.session.json {
            self.refuse_line("/answer needs `ship chat` without --json.")?;
            return Ok(ChatAction::Listen);
        }
        if Question::find(self.session, &self.agent).await?.is_none() {
            self.refuse_line("No tool waits for you.")?;
            return Ok(ChatAction::Listen);
        }
        self.report_outcome(Some(Outcome::Parked)).await
    }

    /// Reports the end of a run, and asks the question that it waits for.
    pub(super) async fn report_outcome(
        &mut self,
        mut outcome: Option<Outcome>,
    ) -> Result<ChatAction, Failure> {
        let on_undecided = self.session.project.settings().tools.on_undecided;
        while outcome == Some(Outcome::Parked) {
            let Some(question) = Question::find(self.session, &self.agent).await? else {
                return Ok(ChatAction::Listen);
            };
            match question.ask(&mut self.input).await? {
                QuestionReply::Answer(answer) => outcome = self.answer_call(answer).await?,
                QuestionReply::Later => {
                    // What was typed ahead would go on without the answer.
                    self.take_back_typed();
                    self.print_note(match on_undecided {
                        OnUndecided::GoOn => {
                            "It waits; /answer asks again, and your next message goes on without it."
                        }
                        OnUndecided::Wait => "It waits; /answer asks again.",
                    })?;
                    return Ok(ChatAction::Listen);
                }
                QuestionReply::Again => {}
                QuestionReply::Help(lines) => {
                    self.run_command(Slash::Help).await?;
                    // At a terminal, the person reads it with the question, which is asked again.
                    if !self.input.is_interactive() {
                        output::print_line(&lines)?;
                    }
                }
                QuestionReply::Command(command) => match self.run_command(command).await? {
                    ChatAction::Leave => return Ok(ChatAction::Leave),
                    ChatAction::Begin | ChatAction::Resume => {
                        outcome = self.finish_left_work().await?;
                    }
                    ChatAction::Listen => {}
                },
                QuestionReply::Usage(usage) => self.refuse_line(usage)?,
                QuestionReply::NoCommand(line, meant) => {
                    self.report_unknown_command(&line, meant)?
                }
                QuestionReply::Message(text) if on_undecided == OnUndecided::GoOn => {
                    return Box::pin(self.send_message(&text)).await;
                }
                QuestionReply::Message(text) => self.keep_message(&text).await?,
            }
        }
        if outcome == Some(Outcome::Stopped) {
            self.print_note(match self.has_spoken.get() {
                true => "(stopped; what was said is kept)",
                false => "(stopped)",
            })?;
        }
        if matches!(outcome, Some(Outcome::Failed(_))) && self.input.is_interactive() {
            self.print_note("/retry asks again.")?;
        }
        Ok(ChatAction::Listen)
    }

    /// Keeps a message that was typed instead of an answer.
    async fn keep_message(&self, text: &str) -> Result<(), Failure> {
        match self.accept(text, &Interrupt::default()).await {
            Ok(AcceptResult::Yes(_)) => {
                self.print_note("Kept; it is answered once this is settled.")
            }
            Ok(AcceptResult::Unknown) => self.print_failure(send::unknown_if_kept()),
            Err(failure) if failure.is_refusal() => self.print_failure(failure),
            Err(failure) => Err(failure),
        }
    }

    /// Gives an answer to the waiting run, and follows the run.
    async fn answer_call(&self, answer: CallAnswer) -> Result<Option<Outcome>, Failure> {
        if matches!(answer, CallAnswer::Approval { approved: false, .. }) {
            self.print_note("Not allowed; the agent is told.")?;
        }
        let (interrupt, mut screen) = (Interrupt::default(), self.screen());
        let answering = self.agent.answer(&self.session.chat, answer, &interrupt.stop);
        match self.follow(&mut screen, answering, &interrupt).await? {
            None => screen.end_early().map(|()| None),
            Some(Err(RunError::NotWaiting { .. })) => {
                self.print_note("It was answered elsewhere meanwhile.").map(|()| None)
            }
            Some(result) => Ok(result?),
        }
    }
}
