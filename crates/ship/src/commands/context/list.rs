//! `ship context list`: prints the active context and the archived ones.

use ship_agent::{Agent, ContextList};
use ship_context::contexts::IndexItem;
use ship_message::json::{Json, Object};

use super::contexts;
use crate::failure::Failure;
use crate::output::{self, format_time};
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
        return output::print_json(&contexts.map_or_else(none, |contexts| contexts.to_json(limit)));
    }
    match contexts {
        None => output::print_line("Nothing was said yet."),
        Some(contexts) => print(session, &contexts, limit),
    }
}

fn print(session: &Session, contexts: &ContextList, limit: Option<u64>) -> Result<(), Failure> {
    let style = Style::of_stdout();
    let ContextList { active, index, activation: began, .. } = contexts;
    output::print_line(&table::wrap_text(
        &format!("* {}", style.bold(&one_line(active.title()))),
        2,
    ))?;
    let since = began.since.map(format_time).map(|since| format!(", active since {since}"));
    let by = began.by.as_deref().map(|by| format!(", by {}", output::escape_unprintable(by)));
    let id = active.context();
    let messages = count_text(active.message_count());
    let about =
        format!("  {id}, {messages}{}{}", since.unwrap_or_default(), by.unwrap_or_default());
    print_dim(&about)?;
    let listed = index.newest(limit);
    listed.iter().try_for_each(print_item)?;
    let more = index.items().len().saturating_sub(listed.len());
    if more > 0 {
        let all = session.chat_flags.add_to("ship context list --limit N");
        print_dim(&format!("  and {more} more: {all}"))?;
    }
    Ok(())
}

fn print_item(item: &IndexItem) -> Result<(), Failure> {
    let style = Style::of_stdout();
    output::print_line(&table::wrap_text(&format!("  {}", style.bold(&one_line(&item.title))), 2))?;
    let messages = count_text(item.message_count);
    print_dim(&format!("  {}, {messages}, left {}", item.context, format_time(item.archived_at)))?;
    let preview = table::fit(&one_line(&item.summary_preview), table::columns().saturating_sub(2));
    match preview.is_empty() {
        true => Ok(()),
        false => output::print_line(&style.dim(&format!("  {preview}"))),
    }
}

fn print_dim(text: &str) -> Result<(), Failure> {
    output::print_line(&Style::of_stdout().dim(&table::wrap_text(text, 2)))
}

/// Returns a text on one line, with nothing that moves the cursor.
fn one_line(text: &str) -> String {
    output::escape_unprintable(text).replace('\n', " ")
}

pub(super) fn count_text(messages: u64) -> String {
    match messages {
        1 => "1 message".to_owned(),
        count => format!("{count} messages"),
    }
}
