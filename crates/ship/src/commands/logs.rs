//! `ship logs`: prints what the agent did, line by line.
//!
//! Programs get the lines unchanged. People get one line for each: time, level, kind, chat, and details.

use std::process::ExitCode;

use ship_message::json::{Json, Object};
use ship_project::LogReader;
use ship_store::{ChatKey, Timestamp};

use super::log_watch::LogWatch;
use crate::failure::{Failure, INTERRUPTED};
use crate::output;
use crate::session::Session;
use crate::style::Style;
use crate::table;

/// Below `NARROW` columns a line has only the most important fields; from `WIDE` on it has whole dates.
const NARROW: usize = 60;
const WIDE: usize = 100;

/// The width of the chat's column: that of `terminal:main`, which most lines are about.
const KEY_COLUMNS: usize = 13;

/// The indent of the further lines of a line that is printed whole.
const DETAILS_INDENT: usize = 4;

pub(crate) async fn run(
    session: &Session,
    follow: bool,
    request: Option<&str>,
) -> Result<ExitCode, Failure> {
    let root = session.project.root();
    let cannot = |error: std::io::Error| {
        let folder = root.join(".ship/logs");
        Failure::new("logs", format!("{} cannot be read: {error}", folder.display()))
            .with_hint("check its permissions")
    };
    let mut reader = match request {
        None if follow => LogReader::from_end(root).map_err(cannot)?,
        None => LogReader::from_start(root),
        Some(id) => LogReader::of_request(root, id).map_err(cannot)?,
    };
    let chat = session.named_chat();
    let is_wanted =
        |line: &&Object| chat.is_none_or(|chat| line.str("chatKey") == Some(chat.as_str()));
    let (mut watch, mut is_empty) = (LogWatch::new(root), true);
    loop {
        let lines = reader.poll().map_err(cannot)?;
        for line in lines.iter().filter(is_wanted) {
            print(session, line, request.is_some())?;
            is_empty = false;
        }
        if !lines.is_empty() {
            continue;
        }
        match (request, chat) {
            _ if follow => {}
            (Some(id), _) if is_empty => return Err(unknown_request(id)),
            (None, Some(chat)) if is_empty => return Err(unknown_chat(chat)),
            _ => return Ok(ExitCode::SUCCESS),
        }
        tokio::select! {
            () = watch.until_written() => {}
            _ = tokio::signal::ctrl_c() => return Ok(ExitCode::from(INTERRUPTED)),
        }
    }
}

fn unknown_chat(chat: &ChatKey) -> Failure {
    Failure::new("no_chat", format!("the logs have no line about `{chat}`"))
        .with_hint("`ship chats` lists the chats")
}

fn unknown_request(id: &str) -> Failure {
    Failure::new("no_request", format!("the logs have no request `{id}`"))
        .with_hint("`ship inspect --requests` lists the latest requests of a chat")
}

/// Prints a line. All lines are cut at the width of the terminal; those of one request are printed whole.
fn print(session: &Session, line: &Object, is_whole: bool) -> Result<(), Failure> {
    if session.json {
        return output::print_json(&Json::Object(line.clone()));
    }
    let style = Style::of_stdout();
    if !is_whole {
        return output::print_line(&format_line(line, table::columns(), style));
    }
    output::print_line(&table::wrap_text(&format_line(line, usize::MAX, style), DETAILS_INDENT))
}

/// Formats a line for a person, cut at this width.
fn format_line(line: &Object, columns: usize, style: Style) -> String {
    let text = |key: &str| output::escape_unprintable(line.str(key).unwrap_or_default());
    let format = match columns {
        0..NARROW => "%H:%M:%S",
        NARROW..WIDE => "%m-%d %H:%M:%S",
        WIDE.. => "%Y-%m-%d %H:%M:%S",
    };
    let when = Timestamp::parse(line.str("ts").unwrap_or_default());
    let when = when.map(|when| output::format_local_time(when, format)).unwrap_or_default();
    let is_usual = text("level") == "info";
    let mut pieces = vec![(when, Style::dim as fn(Style, &str) -> String)];
    if columns >= NARROW || !is_usual {
        let colour = if is_usual { Style::dim } else { Style::red };
        pieces.push((table::pad(&text("level"), 5), colour));
    }
    pieces.push((table::pad(&text("kind"), 12), Style::bold));
    if columns >= NARROW {
        // Programs get whole keys; in a terminal, a long one must not push away what happened.
        let key = if columns == usize::MAX {
            text("chatKey")
        } else {
            table::fit(&text("chatKey"), KEY_COLUMNS)
        };
        pieces.push((table::pad(&key, KEY_COLUMNS), Style::cyan));
    }
    let used: usize = pieces.iter().map(|(text, _)| table::width(text) + 1).sum();
    // One line of the log stays one line here.
    let about = output::escape_unprintable(&details(line)).replace('\n', " ");
    let about = table::fit(&about, columns.saturating_sub(used));
    let styled = pieces.iter().map(|(text, paint)| paint(style, text));
    styled.chain([about]).collect::<Vec<_>>().join(" ")
}

/// Returns the details of a line, the most important first, without the fields that every line has.
fn details(line: &Object) -> String {
    let (mut details, mut more): (Vec<String>, Vec<String>) = Default::default();
    for (key, value) in line.iter() {
        let list = value.as_array().unwrap_or_default();
        let plain = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        match key {
            "ts" | "level" | "kind" | "chatKey" | "requestId" | "requestIds" | "runId"
            | "sha256" => {}
            "error" | "message" | "problem" => details.push(plain),
            "model" | "finishReason" => more.push(plain),
            "bytes" => more.push(format!("{plain} bytes")),
            "olderMessages" => more.extend(older_messages(value)),
            "newMessages" => details.extend(list.iter().map(quote_message)),
            "parts" => details.extend(list.iter().map(part_text)),
            key => more.push(format!("{key} {plain}")),
        }
    }
    details.extend(more);
    details.retain(|piece| !piece.is_empty());
    details.join(", ")
}

/// Tells how many older messages a request had. Earlier versions have listed their ids.
fn older_messages(value: &Json) -> Option<String> {
    let of_range = || value.get("count").and_then(Json::as_u64);
    let count = value.as_array().map_or_else(of_range, |ids| Some(ids.len() as u64));
    count.filter(|count| *count > 0).map(|count| format!("{count} older"))
}

/// Quotes the text of a message.
fn quote_message(message: &Json) -> String {
    let parts = message.get("parts").and_then(Json::as_array).unwrap_or_default();
    parts.iter().map(part_text).collect::<Vec<_>>().join(" ")
}

fn part_text(part: &Json) -> String {
    let text = |key: &str| part.get(key).and_then(Json::as_str);
    match (text("text"), text("type").and_then(|kind| kind.strip_prefix("tool-"))) {
        (Some(text), _) => format!("\u{201c}{}\u{201d}", text.trim()),
        (None, Some(tool)) => format!("calls {tool}"),
        (None, None) => String::new(),
    }
}
