//! `ship chat`: a person types, the message is on disk, the agent answers.

mod input;
mod question;
mod screen;
mod slash;

use std::process::ExitCode;

use ship_agent::{Agent, Answer, Outcome, RunError};

use super::interrupt::Interrupt;
use super::turn::{Ended, Kept, Turn, Waiting, is_elsewhere};
use crate::failure::Failure;
use crate::output;
use crate::session::Session;
use crate::style::Style;
use crate::table;
use crate::told::{self, told};
use input::{Input, Typed};
use question::{Question, Reply};
use screen::Screen;
use slash::{Meant, Slash};

pub(crate) async fn run(session: &Session) -> Result<ExitCode, Failure> {
    let agent = session.agent()?;
    let mut chat = Chat { session, agent: &agent, input: Input::open(session)? };
    if chat.input.is_interactive() && !session.json {
        chat.greet()?;
    }
    // What a run that was cut off left to do comes first.
    let mut next = if session.json { Next::GoOn } else { chat.go_on().await? };
    while next == Next::GoOn {
        next = chat.turn().await?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Whether the person is still here.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    GoOn,
    Leave,
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
        let fit = |text: &str| style.dim(&table::fit(text, table::columns()));
        let who = table::fit(&self.session.who_answers(), table::columns().saturating_sub(9));
        let lines = [
            format!("{} {}", style.bold("Shipmate"), style.dim(&who)),
            fit(&format!("{} in {root}", self.session.chat)),
            style.dim(&table::wrapped("/help lists what you can do, Ctrl-D leaves.", 0)),
        ];
        output::line(&lines.join("\n"))
    }

    /// A word from the program itself, told apart from what the agent says.
    fn note(&self, text: &str) -> Result<(), Failure> {
        output::line(&Style::of_stdout().dim(&table::wrapped(text, 0)))
    }

    /// Tells of a failure that ends nothing, unless nobody reads us any more.
    fn tell(&self, failure: Failure) -> Result<(), Failure> {
        if failure.is_reader_gone() {
            return Err(failure);
        }
        failure.without(self.session.project.secrets()).print(self.session.json);
        Ok(())
    }

    /// Reads one line, and does what it means.
    async fn turn(&mut self) -> Result<Next, Failure> {
        match self.input.line().await? {
            Typed::End => return Ok(Next::Leave),
            Typed::Interrupted => self.note("Ctrl-D leaves.")?,
            Typed::TooLong => {
                self.tell(Failure::too_long(None, self.session.message_bytes_max()))?
            }
            Typed::Line(line) => match slash::meant(&line) {
                Meant::Nothing => {}
                Meant::Command(command) => return self.obey(command).await,
                Meant::NoCommand => self.no_command(&line)?,
                // As it was typed: spaces at its ends are the person's too.
                Meant::Message if self.session.json => self.answer_json(&line).await?,
                Meant::Message => return self.say(&line).await,
            },
        }
        Ok(Next::GoOn)
    }

    fn no_command(&self, line: &str) -> Result<(), Failure> {
        let name = output::visible(line.trim());
        self.note(&format!("There is no command {name}; /help lists them."))
    }

    /// Does a command. One that fails says so and ends nothing.
    async fn obey(&self, command: Slash) -> Result<Next, Failure> {
        let session = self.session;
        let done = match command {
            Slash::Help => {
                output::line(&slash::help(Style::of_stdout())).map(|()| ExitCode::SUCCESS)
            }
            Slash::History(last) => super::history::run(session, last, false).await,
            Slash::Inspect => super::inspect::run(session).await,
            Slash::Compact => super::compact::run(session, super::compact::Asked::default()).await,
            Slash::Chats => super::chats::run(session).await,
            Slash::Config => super::config::run(session),
            Slash::Verify => super::verify::run(session).await,
            Slash::Exit => return Ok(Next::Leave),
        };
        if let Err(failure) = done {
            self.tell(failure)?;
        }
        Ok(Next::GoOn)
    }

    /// For programs: each answer is a line, as `ship send --json` prints it.
    async fn answer_json(&self, text: &str) -> Result<(), Failure> {
        let answered = super::send::answer(self.session, self.agent, text).await;
        match answered.and_then(|message| super::send::print(self.session, &message)) {
            Err(failure) => self.tell(failure),
            Ok(()) => Ok(()),
        }
    }

    fn screen(&self) -> Screen {
        Screen::new(self.agent.listen(&self.session.chat))
    }

    /// Does what is left to do, unless somebody else is at it: the person need not wait for that.
    async fn go_on(&mut self) -> Result<Next, Failure> {
        let (interrupt, mut screen) = (Interrupt::default(), self.screen());
        let mut waiting = Waiting::new(self.agent.listen(&self.session.chat));
        let running = waiting.told(self.agent.run_now(&self.session.chat, &interrupt.stop));
        match interrupt.heeded(screen.follow(running, &interrupt)).await.transpose()? {
            None => {
                screen.cut()?;
                self.note("(what was left to do is left for the next time)")?;
            }
            // What is typed here is accepted all the same.
            Some(Err(error)) if is_elsewhere(&error) => self
                .note("Another ship is at work in this chat; what you say is kept and answered.")?,
            Some(Err(error)) => return Err(error.into()),
            Some(Ok(outcome)) => return self.settle(outcome).await,
        }
        Ok(Next::GoOn)
    }

    async fn say(&mut self, text: &str) -> Result<Next, Failure> {
        let turn = Turn::new(self.session, self.agent);
        let (interrupt, mut screen) = (Interrupt::default(), self.screen());
        let accepted = match turn.accept(text, &interrupt).await {
            Ok(Kept::Yes(accepted)) => accepted,
            Ok(Kept::Unknown) => {
                screen.cut()?;
                self.tell(super::send::not_known_to_be_kept())?;
                return Ok(Next::GoOn);
            }
            // The message is at fault, not the chat: the person can say it another way.
            Err(failure) if failure.is_refusal() => {
                self.tell(failure)?;
                return Ok(Next::GoOn);
            }
            Err(failure) => return Err(failure),
        };
        let running = turn.run(accepted, &interrupt);
        match interrupt.heeded(screen.follow(running, &interrupt)).await.transpose()?.transpose()? {
            None => {
                screen.cut()?;
                self.note("(your message is kept)")?;
            }
            Some(Ended::Left) => self.note("(your message is kept)")?,
            Some(Ended::Here(outcome)) => return self.settle(outcome).await,
            Some(Ended::Elsewhere(message)) => {
                for text in told(&message, self.session.project.settings()) {
                    output::line(&told::shown(&text))?;
                }
            }
        }
        Ok(Next::GoOn)
    }

    /// Tells how a run ended, and asks what it waits for.
    async fn settle(&mut self, mut outcome: Option<Outcome>) -> Result<Next, Failure> {
        while outcome == Some(Outcome::Parked) {
            let Some(question) = Question::of(self.session).await? else { return Ok(Next::GoOn) };
            match question.ask(&mut self.input).await? {
                Reply::Answer(answer) => outcome = self.answer(answer).await?,
                Reply::Later => {
                    self.note("It waits; you are asked again next time.")?;
                    return Ok(Next::GoOn);
                }
                Reply::Again => {}
                Reply::Help(lines) => {
                    self.obey(Slash::Help).await?;
                    // A person at a terminal reads it with the question, which comes again.
                    if !self.input.is_interactive() {
                        output::line(&lines)?;
                    }
                }
                Reply::Command(command) => {
                    if self.obey(command).await? == Next::Leave {
                        return Ok(Next::Leave);
                    }
                }
                Reply::NoCommand(line) => self.no_command(&line)?,
                Reply::Message(text) => self.keep(&text).await?,
            }
        }
        if outcome == Some(Outcome::Stopped) {
            self.note("(stopped; what was said is kept)")?;
        }
        Ok(Next::GoOn)
    }

    /// Keeps what was said instead of an answer.
    async fn keep(&self, text: &str) -> Result<(), Failure> {
        match Turn::new(self.session, self.agent).accept(text, &Interrupt::default()).await {
            Ok(Kept::Yes(_)) => self.note("Kept; it is answered once this is settled."),
            Ok(Kept::Unknown) => self.tell(super::send::not_known_to_be_kept()),
            Err(failure) if failure.is_refusal() => self.tell(failure),
            Err(failure) => Err(failure),
        }
    }

    /// Hands an answer to the run that waits for it, and follows it further.
    async fn answer(&self, answer: Answer) -> Result<Option<Outcome>, Failure> {
        if matches!(answer, Answer::Approval { approved: false, .. }) {
            self.note("Not allowed; the agent is told.")?;
        }
        let (interrupt, mut screen) = (Interrupt::default(), self.screen());
        let answering = self.agent.answer(&self.session.chat, answer, &interrupt.stop);
        match interrupt.heeded(screen.follow(answering, &interrupt)).await.transpose()? {
            None => screen.cut().map(|()| None),
            Some(Err(RunError::NotWaiting { .. })) => {
                self.note("It was answered elsewhere meanwhile.").map(|()| None)
            }
            Some(result) => Ok(result?),
        }
    }
}
