//! `ship send`: one message, one answer.

use std::io::Read;
use std::process::ExitCode;

use ship_agent::{Outcome, Stop};

use super::turn::{Ended, Turn};
use crate::failure::Failure;
use crate::output;
use crate::session::Session;

pub(crate) async fn run(session: &Session, text: &str) -> Result<ExitCode, Failure> {
    let text = if text == "-" { read_stdin()? } else { text.to_owned() };
    if text.trim().is_empty() {
        return Err(Failure::new("empty", "there is nothing to send").hint("ship send 'hello'"));
    }
    let agent = session.agent()?;
    let turn = Turn::new(session, &agent);
    let accepted = turn.accept(&text).await?;
    let stop = Stop::default();
    let on_signal = stop.clone();
    tokio::spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            on_signal.stop();
        }
    });
    let (message, outcome) = match turn.run(accepted, &stop).await? {
        Ended::Here(outcome) => (turn.last_answer().await?, outcome),
        Ended::Elsewhere(message) => (Some(message), Some(Outcome::Done)),
    };
    if outcome == Some(Outcome::Parked) {
        return Err(Failure::new("waiting", "the agent waits for your word on a tool")
            .hint("answer it in `ship chat`"));
    }
    let Some(message) = message else {
        return Err(Failure::new("no_answer", "the message is kept, but there is no answer yet")
            .hint("ship history"));
    };
    if session.json {
        output::json(&message.to_json())?;
    } else {
        output::line(&output::visible(&message.text()))?;
    }
    Ok(match outcome {
        Some(Outcome::Failed(_)) => ExitCode::FAILURE,
        Some(Outcome::Done | Outcome::Stopped | Outcome::Parked) | None => ExitCode::SUCCESS,
    })
}

fn read_stdin() -> Result<String, Failure> {
    let mut bytes = Vec::new();
    std::io::stdin().lock().read_to_end(&mut bytes)?;
    // What is not UTF-8 is replaced once, here; everything behind keeps the text as it is.
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
