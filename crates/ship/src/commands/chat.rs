//! `ship chat`: a person types, the message is on disk, the agent answers.

mod input;
mod markdown;
mod screen;

use std::pin::pin;
use std::process::ExitCode;

use ship_agent::{Agent, Answer, Outcome, Stop};
use ship_message::json::Json;

use super::turn::{Ended, Turn};
use crate::failure::Failure;
use crate::output;
use crate::session::Session;
use crate::style::Style;
use input::{Input, Typed};
use screen::Screen;

const HELP: &str = "\
/help            this
/history         what was said last
/inspect         what the model would be sent now
/exit            leave; Ctrl-D does it too
Ctrl-C stops the answer; what was said is kept.";

pub(crate) async fn run(session: &Session) -> Result<ExitCode, Failure> {
    let agent = session.agent()?;
    let mut input = Input::open(session)?;
    if input.is_interactive() {
        greet(session)?;
    }
    // What a run that was cut off left to do comes first.
    go_on(session, &agent, &mut input).await?;
    loop {
        match input.next("> ").await? {
            Typed::End => return Ok(ExitCode::SUCCESS),
            Typed::Interrupted => output::line("(Ctrl-D leaves)")?,
            Typed::Line(line) if line.trim().is_empty() => {}
            Typed::Line(line) => match line.trim() {
                "/exit" | "/quit" => return Ok(ExitCode::SUCCESS),
                "/help" => output::line(HELP)?,
                "/history" => drop(super::history::run(session, 10, false).await),
                "/inspect" => drop(super::inspect::run(session).await?),
                command if is_unknown_command(command) => {
                    output::line(&format!("There is no command `{command}`; /help lists them."))?;
                }
                text => say(session, &agent, &mut input, text).await?,
            },
        }
    }
}

/// A line that begins with a slash and a word is a command; `/tool` is for the offline model.
fn is_unknown_command(line: &str) -> bool {
    line.starts_with('/') && !line.starts_with("/tool") && !line.contains(' ')
}

fn greet(session: &Session) -> Result<(), Failure> {
    let style = Style::of_stdout();
    output::line(&format!("{} {}", style.bold("Shipmate"), style.dim(&session.who_answers())))?;
    let where_ = format!(
        "{} in {}. /help helps, Ctrl-D leaves.",
        session.chat,
        session.project.root().display()
    );
    output::line(&style.dim(&where_))
}

async fn go_on(session: &Session, agent: &Agent, input: &mut Input) -> Result<(), Failure> {
    let stop = Stop::default();
    let screen = Screen::new(agent.listen(&session.chat));
    match screen.follow(agent.run(&session.chat, &stop)).await? {
        // Somebody else runs the chat; what is typed here is accepted all the same.
        Err(ship_agent::RunError::Lane(_)) => Ok(()),
        Err(error) => Err(error.into()),
        Ok(outcome) => settle(session, agent, input, outcome).await,
    }
}

async fn say(
    session: &Session,
    agent: &Agent,
    input: &mut Input,
    text: &str,
) -> Result<(), Failure> {
    let turn = Turn::new(session, agent);
    let accepted = turn.accept(text).await?;
    let stop = Stop::default();
    let screen = Screen::new(agent.listen(&session.chat));
    match stoppable(&stop, screen.follow(turn.run(accepted, &stop))).await?? {
        Ended::Here(outcome) => settle(session, agent, input, outcome).await,
        Ended::Elsewhere(message) => output::line(&output::visible(&message.text())),
    }
}

/// Lets Ctrl-C stop the run, and waits until it has kept what was said.
async fn stoppable<T>(stop: &Stop, running: impl Future<Output = T>) -> T {
    let mut running = pin!(running);
    tokio::select! {
        result = &mut running => return result,
        _ = tokio::signal::ctrl_c() => stop.stop(),
    }
    running.await
}

/// Tells how a run ended, and asks what it waits for.
async fn settle(
    session: &Session,
    agent: &Agent,
    input: &mut Input,
    mut outcome: Option<Outcome>,
) -> Result<(), Failure> {
    while outcome == Some(Outcome::Parked) {
        let Some(answer) = ask(session, input).await? else {
            return output::line("It waits; answer when you come back.");
        };
        let stop = Stop::default();
        let screen = Screen::new(agent.listen(&session.chat));
        let answering = agent.answer(&session.chat, answer, &stop);
        outcome = stoppable(&stop, screen.follow(answering)).await??;
    }
    if outcome == Some(Outcome::Stopped) {
        output::line(&Style::of_stdout().dim("(stopped; what was said is kept)"))?;
    }
    Ok(())
}

/// Asks the person for what the run waits for; none when they do not say.
async fn ask(session: &Session, input: &mut Input) -> Result<Option<Answer>, Failure> {
    let Some(chat) = session.store()?.open(&session.chat).await? else { return Ok(None) };
    let Some(journal) = ship_context::Journal::read(&chat.journal().await?) else {
        return Ok(None);
    };
    let client = &session.project.settings().tools.client;
    let Some((name, call_id, tool_input)) =
        super::turn::waits_for(&journal.message).into_iter().next()
    else {
        return Ok(None);
    };
    let shown = output::visible(&tool_input.to_string());
    if client.contains(&name) {
        output::line(&format!("`{name}` runs with you. Its input is {shown}"))?;
        let Typed::Line(line) = input.next("Its output: ").await? else { return Ok(None) };
        let output = Json::parse(&line).unwrap_or_else(|_| Json::from(line));
        return Ok(Some(Answer::Output { call_id, output: Ok(output) }));
    }
    output::line(&format!("`{name}` wants to run with {shown}"))?;
    let Typed::Line(line) = input.next("Allow it? [y/N] ").await? else { return Ok(None) };
    let approved = matches!(line.trim().to_lowercase().as_str(), "y" | "yes");
    Ok(Some(Answer::Approval { approval_id: format!("approve_{call_id}"), approved, reason: None }))
}
