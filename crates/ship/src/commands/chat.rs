//! `ship chat`: a person types, the message is on disk, the agent answers.

mod input;
mod markdown;
mod question;
mod screen;
mod slash;

use std::process::ExitCode;

use ship_agent::{Agent, Outcome, RunError};

use super::turn::{Ended, Interrupt, Turn, is_elsewhere};
use crate::failure::Failure;
use crate::output;
use crate::session::Session;
use crate::style::Style;
use crate::table;
use input::{Input, Typed};
use question::{Question, Reply};
use screen::Screen;
use slash::{Meant, Slash};

pub(crate) async fn run(session: &Session) -> Result<ExitCode, Failure> {
    let agent = session.agent()?;
    let mut chat = Chat { session, agent: &agent, input: Input::open(session)? };
    if chat.input.is_interactive() {
        chat.greet()?;
    }
    // What a run that was cut off left to do comes first.
    chat.go_on().await?;
    loop {
        match chat.input.line().await? {
            Typed::End => return Ok(ExitCode::SUCCESS),
            Typed::Interrupted => chat.note("Ctrl-D leaves.")?,
            Typed::Line(line) => match slash::meant(&line) {
                Meant::Nothing => {}
                Meant::Command(Slash::Exit) => return Ok(ExitCode::SUCCESS),
                Meant::Command(command) => chat.obey(command).await?,
                Meant::NoCommand => {
                    let name = output::visible(line.trim());
                    chat.note(&format!("There is no command {name}; /help lists them."))?;
                }
                // As it was typed: spaces at its ends are the person's too.
                Meant::Message => chat.say(&line).await?,
            },
        }
    }
}

/// A person and an agent, talking.
struct Chat<'a> {
    session: &'a Session,
    agent: &'a Agent,
    input: Input,
}

impl Chat<'_> {
    fn greet(&self) -> Result<(), Failure> {
        let style = Style::of_stdout();
        let root = self.session.project.root().display().to_string();
        let lines = [
            format!("{} {}", style.bold("Shipmate"), style.dim(&self.session.who_answers())),
            style.dim(&table::fit(&format!("{} in {root}", self.session.chat), table::columns())),
            style.dim("/help lists what you can do, Ctrl-D leaves."),
        ];
        output::line(&lines.join("\n"))
    }

    /// A word from the program itself, told apart from what the agent says.
    fn note(&self, text: &str) -> Result<(), Failure> {
        output::line(&Style::of_stdout().dim(text))
    }

    /// Does a command. One that fails says so and ends nothing, unless nobody reads us any more.
    async fn obey(&self, command: Slash) -> Result<(), Failure> {
        let session = self.session;
        let done = match command {
            Slash::Help => return output::line(&slash::help(Style::of_stdout())),
            Slash::History => super::history::run(session, 10, false).await,
            Slash::Inspect => super::inspect::run(session).await,
            Slash::Chats => super::chats::run(session).await,
            Slash::Config => super::config::run(session),
            Slash::Verify => super::verify::run(session).await,
            Slash::Exit => return Ok(()),
        };
        match done {
            Err(failure) if failure.is_reader_gone() => Err(failure),
            Err(failure) => {
                failure.without(session.project.secrets()).print(session.json);
                Ok(())
            }
            Ok(_) => Ok(()),
        }
    }

    fn screen(&self) -> Screen {
        Screen::new(self.agent.listen(&self.session.chat))
    }

    async fn go_on(&mut self) -> Result<(), Failure> {
        let interrupt = Interrupt::default();
        let running = self.agent.run(&self.session.chat, &interrupt.stop);
        match interrupt.heeded(self.screen().follow(running)).await.transpose()? {
            None => Ok(()),
            // What is typed here is accepted all the same.
            Some(Err(error)) if is_elsewhere(&error) => self
                .note("Another ship is at work in this chat; what you say is kept and answered."),
            Some(Err(error)) => Err(error.into()),
            Some(Ok(outcome)) => self.settle(outcome).await,
        }
    }

    async fn say(&mut self, text: &str) -> Result<(), Failure> {
        let turn = Turn::new(self.session, self.agent);
        let interrupt = Interrupt::default();
        let whole = async {
            let accepted = turn.accept(text).await?;
            turn.run(accepted, &interrupt).await
        };
        match interrupt.heeded(self.screen().follow(whole)).await.transpose()?.transpose() {
            // The message is at fault, not the chat: the person can say it another way.
            Err(failure) if failure.is_refusal() => {
                failure.without(self.session.project.secrets()).print(self.session.json);
                Ok(())
            }
            Err(failure) => Err(failure),
            Ok(None | Some(Ended::Left)) => self.note("(your message is kept)"),
            Ok(Some(Ended::Here(outcome))) => self.settle(outcome).await,
            Ok(Some(Ended::Elsewhere(message))) => output::line(&output::visible(&message.text())),
        }
    }

    /// Tells how a run ended, and asks what it waits for.
    async fn settle(&mut self, mut outcome: Option<Outcome>) -> Result<(), Failure> {
        while outcome == Some(Outcome::Parked) {
            let Some(question) = Question::of(self.session).await? else { return Ok(()) };
            let answer = match question.ask(&mut self.input).await? {
                Reply::Answer(answer) => answer,
                Reply::Later => return self.note("It waits; you are asked again next time."),
                Reply::Message(text) => {
                    Turn::new(self.session, self.agent).accept(&text).await?;
                    self.note("Kept; it is answered once this is settled.")?;
                    continue;
                }
            };
            let interrupt = Interrupt::default();
            let answering = self.agent.answer(&self.session.chat, answer, &interrupt.stop);
            outcome = match interrupt.heeded(self.screen().follow(answering)).await.transpose()? {
                None => return Ok(()),
                Some(Err(RunError::NotWaiting { .. })) => {
                    return self.note("It was answered elsewhere meanwhile.");
                }
                Some(result) => result?,
            };
        }
        if outcome == Some(Outcome::Stopped) {
            self.note("(stopped; what was said is kept)")?;
        }
        Ok(())
    }
}
