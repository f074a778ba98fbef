//! `ship inspect`: shows the next or an earlier request, with the tokens of each piece.

mod past_requests;
mod pieces;

use std::process::ExitCode;

use ship_agent::{Activation, SharedPrefix};
use ship_message::json::{Json, Object};

use self::pieces::PieceTable;
use crate::failure::Failure;
use crate::output;
use crate::session::Session;
use crate::table;

pub(crate) use self::past_requests::{list, raw_without_request, run as run_past};

/// Shows the next request.
pub(crate) async fn run(session: &Session) -> Result<ExitCode, Failure> {
    let next = session.agent().await?.inspect(&session.chat).await?;
    let limits = (next.trigger.tokens, next.window_tokens);
    let tools = next.tools.iter().map(|tool| tool.to_json()).collect();
    let pieces = PieceTable::new(next.blocks, next.messages, tools, next.tokens, limits);
    if session.json {
        let mut object = pieces.into_object();
        object.set("stable", next.shared_prefix.to_object());
        object.set_or_remove("host", next.host.map(Json::from));
        object.set("warning", next.trigger.warning.map_or(Json::Null, Json::from));
        output::print_json(&object.into())?;
        return Ok(ExitCode::SUCCESS);
    }
    print_about(&[
        ("Project", session.project.root().display().to_string()),
        ("Chat", session.chat.to_string()),
        ("Context", describe_context(next.activation.as_ref())),
        ("Model", session.describe_model()),
    ])?;
    if let Some(host) = &next.host {
        print_about(&[("Host", describe_host(host))])?;
    }
    if next.shared_prefix.before.is_some() {
        print_about(&[("Repeats", describe_shared_prefix(&next.shared_prefix))])?;
    }
    pieces.print(session)?;
    if let Some(warning) = &next.trigger.warning {
        output::print_warning(warning);
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints names with their values, on one or more lines each.
fn print_about(about: &[(&str, String)]) -> Result<(), Failure> {
    for (name, about) in about {
        output::print_line(&table::wrap_text(&format!("{name:<8} {about}"), 9))?;
    }
    Ok(())
}

/// Describes the part of a request that repeats the one before it.
fn describe_shared_prefix(stable: &SharedPrefix) -> String {
    let tokens = format!("the first {} tokens of the previous request", stable.tokens);
    match &stable.difference {
        None => format!("{tokens}, and only adds to them"),
        Some(difference) => {
            format!("{tokens}; first difference: {}", output::escape_unprintable(difference))
        }
    }
}

/// Describes what is known of the host that answers.
fn describe_host(host: &Object) -> String {
    let number = |key: &str| host.get(key).and_then(Json::as_u64);
    let facts = [
        number("limit").map(|limit| format!("its limit is {limit} tokens")),
        number("refused").map(|refused| format!("refused {refused} tokens")),
        number("answerLimit").map(|answer| format!("limits answers to {answer} tokens")),
        number("accepted").map(|accepted| format!("accepted {accepted} tokens")),
        host.get("rate")
            .and_then(Json::as_number)
            .map(|rate| format!("counts {rate:.2} times our estimate")),
    ];
    let mut facts: Vec<String> = facts.into_iter().flatten().collect();
    let forms = host.get("forms").and_then(Json::as_array).unwrap_or_default();
    if !forms.is_empty() {
        let forms: Vec<&str> = forms.iter().filter_map(Json::as_str).collect();
        facts.push(format!("needs {}", forms.join(", ")));
    }
    let address = output::escape_unprintable(host.str("address").unwrap_or_default());
    if facts.is_empty() { address } else { format!("{address}: {}", facts.join(", ")) }
}

/// Describes the active context, the time of its activation, and the reason.
fn describe_context(activation: Option<&Activation>) -> String {
    let Some(activation) = activation else {
        return "none yet; the first message begins one".to_owned();
    };
    let mut about = activation.context.to_string();
    if let Some(title) = &activation.title {
        about.push_str(&format!(" \u{201c}{}\u{201d}", output::escape_unprintable(title)));
    }
    if let Some(since) = activation.since {
        about.push_str(&format!(", since {}", output::format_time(since)));
    }
    if let Some(by) = &activation.by {
        about.push_str(&format!(", by {}", output::escape_unprintable(by)));
    }
    about
}
