//! `ship compact`: make room in the active context, look at what that would do, or take it back.

use std::process::ExitCode;

use ship_message::json::{Json, Object};

use crate::failure::Failure;
use crate::output;
use crate::session::Session;

/// What is asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Asked {
    pub(crate) dry_run: bool,
    pub(crate) undo: bool,
    pub(crate) instructions: Option<String>,
}

pub(crate) async fn run(session: &Session, asked: Asked) -> Result<ExitCode, Failure> {
    if asked.undo {
        undo(session).await?;
    } else if asked.dry_run {
        plan(session).await?;
    } else {
        compact(session, asked.instructions).await?;
    }
    Ok(ExitCode::SUCCESS)
}

async fn compact(session: &Session, wishes: Option<String>) -> Result<(), Failure> {
    let agent = session.agent()?;
    let compacted = agent.compact(&session.chat, wishes).await?;
    if session.json {
        let compacted = compacted.map_or(Json::Null, |compacted| compacted.to_object().into());
        return output::json(&Object::from([("compacted", compacted)]).into());
    }
    let Some(compacted) = compacted else {
        return output::line("There is nothing to leave out; everything stays as it is.");
    };
    let what = match compacted.messages {
        0 => counted(compacted.outputs, "old tool output is", "old tool outputs are") + " left out",
        messages => counted(messages, "message became", "messages became") + " a summary",
    };
    output::line(&format!(
        "{what} (by {}): {} tokens before, about {} now. Take it back with: ship compact --undo",
        compacted.rung.name(),
        compacted.tokens_before,
        compacted.tokens_after
    ))
}

async fn plan(session: &Session) -> Result<(), Failure> {
    let planned = session.agent()?.plan_compaction(&session.chat).await?;
    let Some(planned) = planned else {
        if session.json {
            return output::json(&Object::from([("planned", Json::Null)]).into());
        }
        return output::line("There is nothing to leave out.");
    };
    if session.json {
        let number = |count: usize| Json::from(count as u64);
        let planned = Object::from([
            ("tokensNow", Json::from(planned.tokens_now)),
            ("trigger", planned.trigger.into()),
            ("target", planned.target.into()),
            ("messages", number(planned.messages)),
            ("kept", number(planned.kept)),
            ("outputs", number(planned.outputs)),
        ]);
        return output::json(&Object::from([("planned", Json::from(planned))]).into());
    }
    let what = match (planned.messages, planned.outputs) {
        (0, 0) => "Nothing would be left out".to_owned(),
        (0, outputs) => {
            counted(outputs, "old tool output", "old tool outputs") + " would be left out"
        }
        (messages, _) => counted(messages, "message", "messages") + " would become a summary",
    };
    output::line(&format!(
        "{what}, and {} would stay. A request takes {} tokens now; over {} it is compacted, to {} or less.",
        planned.kept, planned.tokens_now, planned.trigger, planned.target
    ))
}

async fn undo(session: &Session) -> Result<(), Failure> {
    let back = session.agent()?.undo_compaction(&session.chat).await?;
    if session.json {
        let back = back.map_or(Json::Null, |count| Json::from(count as u64));
        return output::json(&Object::from([("restored", back)]).into());
    }
    match back {
        None => output::line("There is no compaction to take back."),
        Some(count) => output::line(&format!(
            "{} back, before what was said since. The whole window may be used until it is full.",
            counted(count, "message is", "messages are")
        )),
    }
}

fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
