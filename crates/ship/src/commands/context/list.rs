//! `ship context list`: prints the active context and the archived ones.

use ship_agent::{Agent, ContextList};
use ship_context::contexts::IndexItem;
use ship_message::json::{Json, Object};
use ship_store::Timestamp;

use super::contexts;
use crate::failure::Failure;
use crate::output;
use crate::session::Session;
use crate::style::Style;
use crate::table;

pub(super) async fn run(
    session: &Session,
    agent: &Agent,
    limit: Option<u64>,
) -> Result<(), Failure> {
    let contexts = contexts(session, agent).await?;
    if session.json {
        let none = || {
            let items = Json::from(Vec::<Json>::new());
            Json::Object(Object::from([("active", Json::Null), ("items", items)]))
        };
        return output::json(&contexts.map_or_else(none, |contexts| contexts.to_json(limit)));
    }
    match contexts {
        None => output::line("Nothing was said yet."),
        Some(contexts) => print(session, &contexts, limit),
    }
}

fn print(session: &Session, contexts: &ContextList, limit: Option<u64>) -> Result<(), Failure> {
    let style = Style::of_stdout();
    let ContextList { active, index, began, .. } = contexts;
    output::line(&table::wrapped(&format!("* {}", style.bold(&shown(active.title()))), 2))?;
    let since = began.since.map(moment).map(|since| format!(", active since {since}"));
    let by = began.by.as_deref().map(|by| format!(", by {}", output::visible(by)));
    let id = active.context();
    let messages = counted(active.message_count());
    let about =
        format!("  {id}, {messages}{}{}", since.unwrap_or_default(), by.unwrap_or_default());
    dim(&about)?;
    let listed = index.newest(limit);
    listed.iter().try_for_each(print_item)?;
    let more = index.items().len().saturating_sub(listed.len());
    if more > 0 {
        dim(&format!("  and {more} more: ship context list --limit N{}", session.same))?;
    }
    Ok(())
}

fn print_item(item: &IndexItem) -> Result<(), Failure> {
    let style = Style::of_stdout();
    output::line(&table::wrapped(&format!("  {}", style.bold(&shown(&item.title))), 2))?;
    let messages = counted(item.message_count);
    dim(&format!("  {}, {messages}, left {}", item.context, moment(item.archived_at)))?;
    let preview = table::fit(&shown(&item.summary_preview), table::columns().saturating_sub(2));
    match preview.is_empty() {
        true => Ok(()),
        false => output::line(&style.dim(&format!("  {preview}"))),
    }
}

fn dim(text: &str) -> Result<(), Failure> {
    output::line(&Style::of_stdout().dim(&table::wrapped(text, 2)))
}

/// Returns a text on one line, with nothing that moves the cursor.
fn shown(text: &str) -> String {
    output::visible(text).replace('\n', " ")
}

pub(super) fn moment(at: Timestamp) -> String {
    output::moment(at.millis() as f64)
}

pub(super) fn counted(messages: u64) -> String {
    match messages {
        1 => "1 message".to_owned(),
        count => format!("{count} messages"),
    }
}
