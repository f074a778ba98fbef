//! `ship send`: one message, one answer.

use std::io::Read;
use std::process::ExitCode;

use ship_agent::Outcome;

use super::turn::{Ended, Interrupt, Turn};
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
    let interrupt = Interrupt::default();
    let whole = async {
        let accepted = turn.accept(&text).await?;
        let outcome = match turn.run(accepted, &interrupt).await? {
            Ended::Here(outcome) => outcome,
            Ended::Elsewhere(_) => Some(Outcome::Done),
            Ended::Left => None,
        };
        Ok::<_, Failure>((turn.answered(accepted).await?, outcome))
    };
    let (message, outcome) = interrupt.heeded(whole).await.transpose()?.unwrap_or_default();
    if message.is_none() && outcome == Some(Outcome::Parked) {
        let sentence = "your message is kept, but the agent waits for an answer about a tool first";
        return Err(Failure::new("waiting", sentence).hint("`ship chat` asks for it"));
    }
    let Some(message) = message else {
        return Err(Failure::new("no_answer", "your message is kept, but there is no answer yet")
            .hint("`ship chat` goes on with it; `ship history` shows it"));
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
