//! `ship chats`: lists the chats of the project.

use std::cmp::Reverse;
use std::process::ExitCode;

use ship_agent::{ChatList, ChatSummary, ListedChat};
use ship_message::json::{Json, Object};
use ship_store::{ChatKey, StorageProblem, Timestamp};

use crate::failure::Failure;
use crate::output;
use crate::session::Session;
use crate::style::Style;
use crate::table;

/// The number of chats that are read at once.
const PAGE: usize = 1_000;

pub(crate) async fn run(session: &Session) -> Result<ExitCode, Failure> {
    let (store, mut rows, mut after) = (session.store()?, Vec::new(), None);
    loop {
        let page = ChatList::read(&*store, after, PAGE).await?;
        rows.extend(page.chats.into_iter().filter_map(|listed| row_of(session, listed)));
        match page.next {
            Some(next) => after = Some(next),
            None => break,
        }
    }
    // Chats without a time come first, because they wait for an answer or cannot be read.
    rows.sort_by_key(|row| updated_at(row).map(Reverse));
    if session.json {
        let rows: Vec<Json> = rows.into_iter().map(Json::Object).collect();
        output::print_json(&Json::Object(Object::from([("chats", rows)])))?;
        return Ok(ExitCode::SUCCESS);
    }
    if rows.is_empty() {
        let begin = session.chat_flags.add_to("ship chat");
        output::print_line(&format!("No chats yet. Begin one with: {begin}"))?;
    } else {
        // A write for each of thousands of lines would take longer than to make them.
        output::print_line(&lines(session, &rows).join("\n"))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Makes the row of a chat. A folder without a chat has none, and is told as a warning.
fn row_of(session: &Session, listed: ListedChat) -> Option<Object> {
    match listed {
        ListedChat::Chat(chat) => Some(row(&chat)),
        ListedChat::Unreadable(key, error) => {
            let failure = Failure::from(error).mask_secrets(session.project.secrets());
            output::print_warning(&format!("chat `{key}`: {}", failure.sentence()));
            Some(unread_row(&key, &failure.sentence()))
        }
        ListedChat::NoChat(StorageProblem { place, message, remedy, .. }) => {
            let remedy = session.chat_flags.of_project().add_to_commands_in(&remedy);
            output::print_warning(&format!("{place}: {message} ({remedy})"));
            None
        }
    }
}

/// Writes each row as a line for a person.
fn lines(session: &Session, rows: &[Object]) -> Vec<String> {
    let abouts: Vec<String> = describe(rows);
    let about_width = abouts.iter().map(|about| table::width(about)).max().unwrap_or_default();
    let keys: Vec<String> = rows
        .iter()
        .map(|row| output::escape_unprintable(row.str("chatKey").unwrap_or_default()))
        .collect();
    let widest = keys.iter().map(|key| table::width(key)).max().unwrap_or_default();
    let columns = table::columns().saturating_sub(about_width + GAP);
    let unread = session.chat_flags.add_to_commands_in("cannot be read; see `ship verify`");
    let style = Style::of_stdout();
    let line = |((row, key), about): ((&Object, &String), &String)| {
        let about = if row.has("problem") { style.red(&unread) } else { style.dim(about) };
        table::in_columns(&style.bold(key), table::width(key), widest.min(columns), &about)
    };
    rows.iter().zip(&keys).zip(&abouts).map(line).collect()
}

/// The number of spaces between two columns.
const GAP: usize = 2;

/// Describes the chats: how many messages each has, when the last one came, and what waits.
fn describe(rows: &[Object]) -> Vec<String> {
    let number = |row: &Object, key: &str| row.get(key).and_then(Json::as_u64).unwrap_or_default();
    let count = |row: &Object| number(row, "messageCount").to_string();
    let width = rows.iter().map(|row| count(row).len()).max().unwrap_or_default();
    let updated = |row: &Object| updated_at(row).map(output::format_time).unwrap_or_default();
    let updated_width = rows.iter().map(|row| updated(row).len()).max().unwrap_or_default();
    let about = |row: &Object| {
        let count = count(row);
        let word = if count == "1" { "message " } else { "messages" };
        let updated = updated(row);
        let waiting = match number(row, "queued") {
            0 => String::new(),
            queued => format!("  {queued} waiting"),
        };
        format!("{count:>width$} {word}  {updated:<updated_width$}{waiting}").trim_end().to_owned()
    };
    rows.iter().map(about).collect()
}

fn updated_at(row: &Object) -> Option<Timestamp> {
    row.get("updatedAt").and_then(Timestamp::from_json)
}

/// Makes the row of a chat that cannot be read: its key and the problem.
fn unread_row(key: &ChatKey, problem: &str) -> Object {
    let mut row = Object::from([("chatKey", key.as_str())]);
    for name in ["channel", "contextId", "title", "messageCount", "queued", "updatedAt"] {
        row.set(name, Json::Null);
    }
    row.set("problem", problem);
    row
}

fn row(chat: &ChatSummary) -> Object {
    let mut row = Object::from([("chatKey", chat.key.as_str())]);
    let text = |value: Option<&str>| value.map_or(Json::Null, Json::from);
    row.set("channel", text(chat.channel.as_deref()));
    row.set("contextId", text(chat.context.as_ref().map(|context| context.as_str())));
    row.set("title", text(chat.title.as_deref()));
    row.set("messageCount", chat.messages_said);
    row.set("queued", chat.waiting as u64);
    row.set("updatedAt", chat.updated_at.map(Timestamp::to_json).unwrap_or_default());
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_is_aligned_where_a_chat_has_no_time() {
        let row = |queued: u64, updated: Json| {
            let mut row = Object::from([("messageCount", Json::from(2_u64))]);
            row.set("queued", queued);
            row.set("updatedAt", updated);
            row
        };
        let at = Timestamp::from_millis(1_770_286_500_123).to_json();
        let lines = describe(&[row(1, at.clone()), row(3, Json::Null), row(0, at)]);
        assert_eq!(lines[0].find("1 waiting"), lines[1].find("3 waiting"));
        assert!(lines[0].starts_with(&lines[2]), "{lines:?}");
    }
}
