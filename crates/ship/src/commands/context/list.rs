//! `ship context list`: prints the active context and the archived ones.

use ship_agent::{Agent, ContextList};
use ship_context::contexts::{IndexItem, without_branch_note};
use ship_message::json::{Json, Object};

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
    list_command: &str,
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
        Some(contexts) => print(session, &contexts, limit, list_command),
    }
}

/// The number of columns from which a context has one line.
const WIDE: usize = 80;

/// A line of the list.
struct Row {
    mark: &'static str,
    title: String,
    messages: String,
    when: String,
    id: String,
}

fn print(
    session: &Session,
    contexts: &ContextList,
    limit: Option<u64>,
    list_command: &str,
) -> Result<(), Failure> {
    let ContextList { active, index, .. } = contexts;
    let listed = index.newest(limit);
    let row = |item: &IndexItem| Row {
        mark: "  ",
        title: one_line(&item.title),
        messages: count_text(item.message_count),
        when: output::time_ago(session.now(), item.archived_at),
        id: item.context.to_string(),
    };
    let first = Row {
        mark: "* ",
        title: one_line(active.title()),
        messages: count_text(active.message_count()),
        when: "active".to_owned(),
        id: active.context().to_string(),
    };
    let mut rows: Vec<Row> = std::iter::once(first).chain(listed.iter().map(row)).collect();
    drop_needless_notes(&mut rows);
    output::print_line(&format_rows(&rows, table::columns(), Style::of_stdout()).join("\n"))?;
    match index.items().len().saturating_sub(listed.len()) {
        0 => Ok(()),
        more => print_dim(&format!("  and {more} more; `{list_command} --limit N` lists them")),
    }
}

/// Drops the notes from titles that no other context has.
fn drop_needless_notes(rows: &mut [Row]) {
    let plain: Vec<String> =
        rows.iter().map(|row| without_branch_note(&row.title).to_owned()).collect();
    for (row, title) in rows.iter_mut().zip(&plain) {
        if plain.iter().filter(|other| *other == title).count() == 1 {
            row.title.clone_from(title);
        }
    }
}

/// Puts the facts about each context beside its title, or below it where the terminal is narrow.
fn format_rows(rows: &[Row], columns: usize, style: Style) -> Vec<String> {
    let widest = |text: fn(&Row) -> &str| {
        rows.iter().map(|row| table::width(text(row))).max().unwrap_or_default()
    };
    let (messages, when) = (widest(|row| &row.messages), widest(|row| &row.when));
    let facts = |row: &Row| {
        let count = " ".repeat(messages - table::width(&row.messages)) + &row.messages;
        format!("{count}  {}  {}", table::pad(&row.when, when), row.id)
    };
    let facts_width = rows.iter().map(|row| table::width(&facts(row))).max().unwrap_or_default();
    let title_width = widest(|row| &row.title).min(columns.saturating_sub(facts_width + 4));
    let line = |row: &Row| {
        if columns < WIDE {
            let title = table::wrap(&format!("{}{}", row.mark, style.bold(&row.title)), 2, columns);
            let facts = table::wrap(&format!("    {}", facts(row)), 4, columns);
            return format!("{title}\n{}", style.dim(&facts));
        }
        let title = table::fit(&row.title, title_width);
        let padding = " ".repeat(title_width.saturating_sub(table::width(&title)));
        format!("{}{}{padding}  {}", row.mark, style.bold(&title), style.dim(&facts(row)))
    };
    rows.iter().map(line).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    fn row(mark: &'static str, title: &str, count: u64, when: &str) -> Row {
        let id = "c_20260205_4f1c22d09a7e".to_owned();
        let (title, messages) = (title.to_owned(), count_text(count));
        Row { mark, title, messages, when: when.to_owned(), id }
    }

    #[test]
    fn a_note_in_a_title_stands_only_where_it_tells_two_contexts_apart() {
        let titles = |titles: &[&str]| -> Vec<String> {
            let mut rows: Vec<Row> = titles.iter().map(|title| row("", title, 1, "")).collect();
            drop_needless_notes(&mut rows);
            rows.into_iter().map(|row| row.title).collect()
        };
        assert_eq!(titles(&["a (asked again)", "b (copy)"]), ["a", "b (copy)"]);
        let both = ["a (rewound)", "a", "b"];
        assert_eq!(titles(&both), both);
    }

    #[test]
    fn a_list_has_columns_where_there_is_room_and_two_lines_for_each_context_elsewhere() {
        let long = "plan the migration of the database to another machine in March";
        let rows = [row("* ", "Dinner", 1, "active"), row("  ", long, 12, "2 hours ago")];
        let plain = Style::plain();
        let wide = format_rows(&rows, 100, plain);
        assert_eq!(
            wide,
            [
                "* Dinner                                             1 message  active       c_20260205_4f1c22d09a7e",
                "  plan the migration of the database to another …  12 messages  2 hours ago  c_20260205_4f1c22d09a7e",
            ]
        );
        assert!(wide.iter().all(|line| table::width(line) <= 100), "{wide:#?}");
        assert_eq!(
            format_rows(&rows, 60, plain),
            [
                "* Dinner\n      1 message  active       c_20260205_4f1c22d09a7e",
                "  plan the migration of the database to another machine in\n  March\n    \
                 12 messages  2 hours ago  c_20260205_4f1c22d09a7e",
            ]
        );
    }
}
