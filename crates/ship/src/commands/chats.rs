//! `ship chats`: the chats of the project.

use std::process::ExitCode;

use ship_message::json::{Json, Object};
use ship_store::{Chat, ChatKey, LedgerBody, LedgerLine, LedgerSeq, Store};

use crate::failure::Failure;
use crate::output;
use crate::session::Session;
use crate::style::Style;
use crate::table;

pub(crate) async fn run(session: &Session) -> Result<ExitCode, Failure> {
    let store = session.store()?;
    let mut rows = Vec::new();
    for look in store.chats().await? {
        match look.key {
            Ok(key) => match row(&*store, &key).await {
                Ok(row) => rows.push(row),
                // One that cannot be read hides none of the others.
                Err(failure) => {
                    let failure = failure.without(session.project.secrets());
                    output::warning(&format!("chat `{key}`: {}", failure.sentence()));
                    rows.push(unread_row(&key, &failure.sentence()));
                }
            },
            Err(problem) => output::warning(&format!(
                "{}: {} ({})",
                problem.file, problem.message, problem.remedy
            )),
        }
    }
    if session.json {
        let rows: Vec<Json> = rows.into_iter().map(Json::Object).collect();
        output::json(&Json::Object(Object::from([("chats", rows)])))?;
        return Ok(ExitCode::SUCCESS);
    }
    if rows.is_empty() {
        output::line("No chats yet. Begin one with: ship chat")?;
    }
    print(&rows)?;
    Ok(ExitCode::SUCCESS)
}

fn print(rows: &[Object]) -> Result<(), Failure> {
    let style = Style::of_stdout();
    let key = |row: &Object| output::visible(row.str("chatKey").unwrap_or_default());
    let width = rows.iter().map(|row| table::width(&key(row))).max().unwrap_or_default();
    for row in rows {
        if row.has("problem") {
            let about = style.red("cannot be read; see `ship verify`");
            output::line(&format!("{}  {about}", style.bold(&table::pad(&key(row), width))))?;
            continue;
        }
        let number = |key: &str| row.get(key).and_then(Json::as_u64).unwrap_or_default();
        let mut about = match number("messageCount") {
            1 => "1 message".to_owned(),
            count => format!("{count} messages"),
        };
        if number("queued") > 0 {
            about.push_str(&format!(", {} waiting", number("queued")));
        }
        if let Some(updated) = row.get("updatedAt").and_then(Json::as_number) {
            about.push_str(&format!(", {}", output::moment(updated)));
        }
        let key = style.bold(&table::pad(&key(row), width));
        output::line(&table::wrapped(&format!("{key}  {}", style.dim(&about)), 4))?;
    }
    Ok(())
}

/// A chat of which nothing more than its name can be told, and why.
fn unread_row(key: &ChatKey, problem: &str) -> Object {
    let mut row = Object::from([("chatKey", key.as_str())]);
    for name in ["channel", "contextId", "title", "messageCount", "queued", "updatedAt"] {
        row.set(name, Json::Null);
    }
    row.set("problem", problem);
    row
}

async fn row(store: &dyn Store, key: &ChatKey) -> Result<Object, Failure> {
    let mut row = Object::from([("chatKey", key.as_str())]);
    let Some(chat) = store.open(key).await? else { return Ok(row) };
    let text = |value: Option<String>| value.map_or(Json::Null, Json::from);
    row.set("channel", text(chat.about().await?.channel));
    let view = chat.view().await?;
    let head = view.as_ref().map(|view| &view.head);
    row.set("contextId", text(head.map(|head| head.context.as_str().to_owned())));
    row.set("title", text(head.and_then(|head| head.title.clone())));
    let messages: Vec<&Object> =
        view.as_ref().map(|view| view.messages().collect()).unwrap_or_default();
    row.set("messageCount", messages.len() as u64);
    let inbox = view.as_ref().and_then(|view| view.inbox);
    row.set("queued", queued(&*chat, inbox).await?);
    let updated = messages.last().and_then(|message| message.get("metadata")?.get("ts").cloned());
    row.set("updatedAt", updated.unwrap_or_default());
    Ok(row)
}

/// How many messages wait behind the inbox cursor.
async fn queued(chat: &dyn Chat, inbox: Option<LedgerSeq>) -> Result<u64, Failure> {
    let waits = |line: &&LedgerLine| matches!(&line.body, LedgerBody::Entry(entry) if entry.entry.str("role") == Some("user"));
    Ok(unread(chat, inbox).await?.iter().filter(waits).count() as u64)
}

/// Everything in the ledger behind the inbox cursor.
pub(super) async fn unread(
    chat: &dyn Chat,
    inbox: Option<LedgerSeq>,
) -> Result<Vec<LedgerLine>, Failure> {
    const PAGE: usize = 500;
    let (mut lines, mut after) = (Vec::new(), inbox);
    loop {
        let page = chat.ledger_after(after, PAGE).await?;
        let full = page.len() == PAGE;
        after = page.last().map(|line| line.seq).or(after);
        lines.extend(page);
        if !full {
            return Ok(lines);
        }
    }
}
