//! Lists earlier requests, and shows one of them rebuilt.

use std::process::ExitCode;

use ship_agent::{
    PastRequest, PieceTokens, RENDERING, RecordedRequest, RequestAnswer, RequestMessages,
    RequestRecord,
};
use ship_message::json::{Json, Object};
use ship_store::Timestamp;

use super::{PieceTable, describe_shared_prefix, print_about};
use crate::failure::Failure;
use crate::output;
use crate::session::Session;
use crate::style::Style;
use crate::table;

/// The columns from which on a line of the list has all its fields.
const WIDE: usize = 96;

/// Lists the last requests, the oldest first.
pub(crate) async fn list(session: &Session, last: usize) -> Result<ExitCode, Failure> {
    let calls = session.agent().await?.requests(&session.chat, last).await?;
    for call in &calls {
        match session.json {
            true => output::print_json(&to_object(call).into())?,
            false => print_line(call)?,
        }
    }
    if calls.is_empty() && last > 0 && !session.json {
        output::print_line("No requests yet.")?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the record of a request with its answer.
fn to_object(call: &RecordedRequest) -> Object {
    let mut object = call.record.to_object();
    let answer = call.answer.as_ref().map(RequestAnswer::to_object);
    object.set("answer", answer.map_or(Json::Null, Json::from));
    object
}

fn print_line(call: &RecordedRequest) -> Result<(), Failure> {
    output::print_line(&format_line(call, table::columns(), Style::of_stdout()))
}

/// Formats a request as one line of this width. Where it is narrow, the line has only the most important columns.
fn format_line(call: &RecordedRequest, columns: usize, style: Style) -> String {
    let record = &call.record;
    let id = output::escape_unprintable(&record.id);
    let (format, repeated) = match columns {
        0..WIDE => ("%m-%d %H:%M", String::new()),
        _ => ("%Y-%m-%d %H:%M:%S %Z", format!(", {:>7} repeated", record.shared_prefix.tokens)),
    };
    let when = output::format_local_time(record.ts, format);
    let numbers = format!("{when}  {:>7} tokens{repeated}", record.tokens.total());
    let what = match record.shown {
        RequestMessages::Context { .. } => "",
        _ => "summary: ",
    };
    let outcome = format!("{what}{}", short_outcome(call.answer.as_ref()));
    let used = table::width(&id) + table::width(&numbers) + 4;
    let outcome = table::fit(&outcome, columns.saturating_sub(used));
    format!("{}  {numbers}  {}", style.cyan(&id), style.dim(&outcome))
}

/// Shows an earlier request, or prints its body.
pub(crate) async fn run(session: &Session, id: &str, raw: bool) -> Result<ExitCode, Failure> {
    let agent = session.agent().await?;
    let Some(past) = agent.past_request(&session.chat, id).await? else {
        let sentence = format!("there is no request `{id}` in `{}`", session.chat);
        return Err(Failure::new("no_request", sentence)
            .with_hint("`ship inspect --requests` lists the latest"));
    };
    if raw {
        return print_raw(&past);
    }
    let tokens = agent.piece_tokens(&past);
    match session.json {
        true => output::print_json(&past_object(past, tokens).into())?,
        false => print(session, past, tokens)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Makes the failure of `--raw` without a request, which has no body to print.
pub(crate) fn raw_without_request() -> Failure {
    Failure::new("no_request", "`--raw` needs an earlier request".to_owned())
        .with_hint("name it with `--request ID`; `ship inspect --requests` lists the latest")
}

/// Prints exactly the body, and nothing else on standard output.
fn print_raw(past: &PastRequest) -> Result<ExitCode, Failure> {
    let Some(body) = &past.body else {
        return Err(Failure::new("not_explained", verdict(past)));
    };
    output::print_part(body)?;
    if past.is_equal {
        return Ok(ExitCode::SUCCESS);
    }
    output::print_warning(&verdict(past));
    Ok(ExitCode::FAILURE)
}

fn past_object(past: PastRequest, tokens: PieceTokens) -> Object {
    let mut request = to_object(&past.call);
    let compaction = |(ts, data): &(Timestamp, Json)| {
        let mut object = Object::from([("ts", ts.to_json())]);
        for (key, value) in data.as_object().into_iter().flat_map(Object::iter) {
            object.set(key.to_owned(), value.clone());
        }
        Json::from(object)
    };
    let texts =
        |list: &[String]| list.iter().map(|text| Json::from(text.as_str())).collect::<Vec<_>>();
    request.set("equal", past.is_equal);
    request.set("missing", texts(&past.missing));
    request.set("others", texts(&past.others));
    request.set("pruned", past.pruned.to_json());
    request.set("compactions", past.compactions.iter().map(compaction).collect::<Vec<_>>());
    let mut object = piece_table(past, tokens).into_object();
    object.set("request", request);
    object
}

fn piece_table(past: PastRequest, tokens: PieceTokens) -> PieceTable {
    let estimated = past.call.record.tokens;
    let limits = (Some(estimated.budget), estimated.window);
    let tools = past.tools.iter().map(|tool| tool.to_json()).collect();
    PieceTable::new(past.blocks, past.messages, tools, tokens, limits)
}

fn print(session: &Session, past: PastRequest, tokens: PieceTokens) -> Result<(), Failure> {
    let record = &past.call.record;
    print_about(&[
        ("Project", session.project.root().display().to_string()),
        ("Chat", session.chat.to_string()),
        ("Request", model_name(record)),
        ("Model", format!("{}/{}", record.recipe.provider, record.recipe.model)),
        ("Body", verdict(&past)),
        ("Answer", outcome(past.call.answer.as_ref())),
        ("Repeats", describe_shared_prefix(&record.shared_prefix)),
    ])?;
    if !past.others.is_empty() {
        print_about(&[("Others", format!("for the same message: {}", past.others.join(", ")))])?;
    }
    if !past.pruned.is_empty() {
        let outputs = count_text(past.pruned.len() as u64, "tool output");
        print_about(&[("Left out", format!("{outputs}, to save room"))])?;
    }
    for (ts, data) in &past.compactions {
        print_about(&[("Compact", describe_compaction(*ts, data))])?;
    }
    piece_table(past, tokens).print(session)
}

fn model_name(record: &RequestRecord) -> String {
    let when = output::format_time(record.ts);
    let id = output::escape_unprintable(&record.id);
    match &record.shown {
        RequestMessages::Context { position, .. } => format!("{id}, {when}, at {position}"),
        RequestMessages::Continuation { .. } | RequestMessages::Summary(_) => {
            format!("{id}, for a summary, {when}")
        }
    }
}

/// Says whether the rebuilt request equals the one that was sent.
fn verdict(past: &PastRequest) -> String {
    let record = &past.call.record;
    let recorded = format!("{} bytes, sha256 {}", record.bytes, record.sha256);
    match &past.body {
        Some(_) if past.is_equal => format!("{recorded}; rebuilt byte for byte"),
        Some(body) => describe_difference(&recorded, record.rendering, body.len()),
        None => format!(
            "cannot be rebuilt: {} (sent: {recorded})",
            output::escape_unprintable(&past.missing.join("; "))
        ),
    }
}

fn describe_difference(recorded: &str, rendering: u64, bytes: usize) -> String {
    if rendering < RENDERING {
        return format!(
            "sent by an older version, which rendered messages differently ({recorded}); shown as this version renders them"
        );
    }
    format!(
        "NOT as it was sent ({recorded}): rebuilt, it has {bytes} bytes, so what is shown may differ"
    )
}

fn outcome(answer: Option<&RequestAnswer>) -> String {
    match answer {
        Some(RequestAnswer::Answered { finish_reason, usage: Some(usage), .. }) => format!(
            "{}; the provider counted {} tokens in ({} cached) and {} out",
            output::escape_unprintable(finish_reason),
            usage.input,
            usage.cached,
            usage.output
        ),
        answer => short_outcome(answer),
    }
}

/// Describes the end of an answer without its tokens.
fn short_outcome(answer: Option<&RequestAnswer>) -> String {
    match answer {
        None => "no answer".to_owned(),
        Some(RequestAnswer::Failed(code)) => {
            format!("failed: {}", output::escape_unprintable(code))
        }
        Some(RequestAnswer::Answered { finish_reason, .. }) => {
            output::escape_unprintable(finish_reason)
        }
    }
}

/// Describes a compaction from its event.
fn describe_compaction(ts: Timestamp, data: &Json) -> String {
    let number = |key: &str| data.get(key).and_then(Json::as_u64).unwrap_or_default();
    let method = data.get("rung").and_then(Json::as_str).unwrap_or("?");
    format!(
        "{}: {}; {} became a summary, {} left out; {} tokens before, {} after",
        output::format_time(ts),
        output::escape_unprintable(method),
        count_text(number("messages"), "message"),
        count_text(number("outputs"), "tool output"),
        number("tokensBefore"),
        number("tokensAfter")
    )
}

fn count_text(count: u64, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_of_an_older_rendering_is_no_damage() {
        let older = describe_difference("9 bytes", RENDERING - 1, 10);
        assert!(older.starts_with("sent by an older version"), "{older}");
        let today = describe_difference("9 bytes", RENDERING, 10);
        assert!(today.starts_with("NOT as it was sent (9 bytes)"), "{today}");
    }
}
