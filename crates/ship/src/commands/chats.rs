//! `ship chats`: the chats of the project.

use std::process::ExitCode;

use ship_message::json::{Json, Object};
use ship_store::{Chat, ChatKey, LedgerBody, Store};

use crate::failure::Failure;
use crate::output;
use crate::session::Session;
use crate::style::Style;

pub(crate) async fn run(session: &Session) -> Result<ExitCode, Failure> {
    let store = session.store()?;
    let mut rows = Vec::new();
    for look in store.chats().await? {
        match look.key {
            Ok(key) => rows.push(row(&*store, &key).await?),
            Err(problem) => {
                let style = Style::of_stderr();
                eprintln!(
                    "{} {}: {} ({})",
                    style.dim("warning:"),
                    problem.file,
                    problem.message,
                    problem.remedy
                );
            }
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
    let style = Style::of_stdout();
    for row in &rows {
        let number = |key: &str| row.get(key).and_then(Json::as_u64).unwrap_or_default();
        let queued = match number("queued") {
            0 => String::new(),
            queued => format!(", {queued} waiting"),
        };
        let key = output::visible(row.str("chatKey").unwrap_or_default());
        let about = format!("{} messages{queued}", number("messageCount"));
        output::line(&format!("{}  {}", style.bold(&key), style.dim(&about)))?;
    }
    Ok(ExitCode::SUCCESS)
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
async fn queued(chat: &dyn Chat, inbox: Option<ship_store::LedgerSeq>) -> Result<u64, Failure> {
    const PAGE: usize = 500;
    let (mut count, mut after) = (0, inbox);
    loop {
        let lines = chat.ledger_after(after, PAGE).await?;
        let waits = |body: &LedgerBody| matches!(body, LedgerBody::Entry(entry) if entry.entry.str("role") == Some("user"));
        count += lines.iter().filter(|line| waits(&line.body)).count() as u64;
        if lines.len() < PAGE {
            return Ok(count);
        }
        after = lines.last().map(|line| line.seq);
    }
}
