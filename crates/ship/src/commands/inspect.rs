//! `ship inspect`: shows the next or an earlier request, with the tokens of each piece.

mod past_requests;
mod pieces;

use std::process::ExitCode;

use ship_agent::{Activation, SharedPrefix};
use ship_message::json::Json;

use self::pieces::PieceTable;
use crate::failure::Failure;
use crate::output;
use crate::session::Session;
use crate::table;

pub(crate) use self::past_requests::{list, raw_of_nothing, run as run_past};

/// Shows the next request.
pub(crate) async fn run(session: &Session) -> Result<ExitCode, Failure> {
    let next = session.agent()?.inspect(&session.chat).await?;
    let limits = (next.trigger.tokens, next.window_tokens);
    let tools = next.tools.iter().map(|tool| tool.to_json()).collect();
    let pieces = PieceTable::new(next.blocks, next.messages, tools, next.tokens, limits);
    if session.json {
        let mut object = pieces.into_object();
        object.set("stable", next.stable.to_object());
        object.set("warning", next.trigger.warning.map_or(Json::Null, Json::from));
        output::json(&object.into())?;
        return Ok(ExitCode::SUCCESS);
    }
    print_about(&[
        ("Project", session.project.root().display().to_string()),
        ("Chat", session.chat.to_string()),
        ("Context", context(next.began.as_ref())),
        ("Model", session.who_answers()),
    ])?;
    if next.stable.before.is_some() {
        print_about(&[("Before", stable(&next.stable))])?;
    }
    pieces.print()?;
    if let Some(warning) = &next.trigger.warning {
        output::warning(warning);
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints names with their values, on one or more lines each.
fn print_about(about: &[(&str, String)]) -> Result<(), Failure> {
    for (name, about) in about {
        output::line(&table::wrapped(&format!("{name:<8} {about}"), 9))?;
    }
    Ok(())
}

/// Describes what a request shares with the one before it.
fn stable(stable: &SharedPrefix) -> String {
    let tokens = format!("{} tokens as in the request before", stable.tokens);
    match &stable.difference {
        None => format!("{tokens}, then only what is new"),
        Some(difference) => format!("{tokens}; first difference: {}", output::visible(difference)),
    }
}

/// Describes the active context, the time of its activation, and the reason.
fn context(began: Option<&Activation>) -> String {
    let Some(began) = began else { return "none yet: it begins with the first message".to_owned() };
    let mut about = began.context.to_string();
    if let Some(title) = &began.title {
        about.push_str(&format!(" \u{201c}{}\u{201d}", output::visible(title)));
    }
    if let Some(since) = began.since {
        about.push_str(&format!(", since {}", output::moment(since.millis() as f64)));
    }
    if let Some(by) = &began.by {
        about.push_str(&format!(", by {}", output::visible(by)));
    }
    about
}
