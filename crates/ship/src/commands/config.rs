//! `ship config`: prints every setting in force and its source.

use std::process::ExitCode;

use ship_message::json::{Json, Object};
use ship_project::{EffectiveSetting, SettingSource, nearest_name};

use crate::failure::Failure;
use crate::output;
use crate::session::Session;
use crate::style::Style;
use crate::table;

/// The width of the value column; most values are shorter.
const VALUE_COLUMNS: usize = 24;

pub(crate) fn run(session: &Session) -> Result<ExitCode, Failure> {
    let rows = session.project.effective_settings();
    if session.json {
        let entry = |row: &EffectiveSetting| (row.key, setting_json(row));
        output::print_json(&Json::Object(rows.iter().map(entry).collect()))?;
        return Ok(ExitCode::SUCCESS);
    }
    let style = Style::of_stdout();
    for line in setting_lines(&rows, table::columns(), style) {
        output::print_line(&line)?;
    }
    output::print_line(&table::wrap_text(&format!("\nModel: {}", session.describe_model()), 7))?;
    Ok(ExitCode::SUCCESS)
}

/// Prints one setting: a text as it is, and everything else as JSON.
pub(crate) fn get(session: &Session, key: &str) -> Result<ExitCode, Failure> {
    let rows = session.project.effective_settings();
    let Some(row) = rows.iter().find(|row| row.key == key) else {
        let nearest = nearest_name(key, rows.iter().map(|row| row.key));
        let hint = nearest.map_or("`ship config` lists all settings".to_owned(), |nearest| {
            format!("did you mean `{nearest}`?")
        });
        return Err(Failure::new("config", format!("there is no setting `{key}`")).with_hint(hint));
    };
    match &row.value {
        Json::Null => return Err(Failure::new("config", format!("`{key}` is not set"))),
        _ if session.json => output::print_json(&setting_json(row))?,
        Json::String(text) => output::print_line(&output::escape_unprintable(text))?,
        other => output::print_json(other)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn setting_json(row: &EffectiveSetting) -> Json {
    let fields = [("value", row.value.clone()), ("source", row.source.to_string().into())];
    Json::Object(Object::from(fields))
}

/// Returns a line for each setting. In a narrow terminal its group stands above it, and only a value that is not
/// the default shows its source.
fn setting_lines(rows: &[EffectiveSetting], columns: usize, style: Style) -> Vec<String> {
    let width = rows.iter().map(|row| row.key.len()).max().unwrap_or_default();
    let source = |row: &EffectiveSetting| style.dim(&row.source.to_string());
    if columns >= width + 2 + VALUE_COLUMNS + 1 + SettingSource::Default.to_string().len() {
        let value = |row: &EffectiveSetting| table::pad(&shown_value(row), VALUE_COLUMNS);
        let line =
            |row: &EffectiveSetting| format!("{:<width$}  {} {}", row.key, value(row), source(row));
        return rows.iter().map(|row| table::wrap_text(&line(row), width + 2)).collect();
    }
    let parts = |row: &EffectiveSetting| row.key.rsplit_once('.').unwrap_or(("", row.key));
    let width = rows.iter().map(|row| parts(row).1.len()).max().unwrap_or_default();
    let mut lines = Vec::new();
    let mut above = "";
    for row in rows {
        let (group, name) = parts(row);
        if group != above {
            let group = if group.is_empty() { "everything" } else { group };
            lines.push(style.bold(group));
        }
        above = group;
        let line = format!("  {name:<width$}  {}", shown_value(row));
        let line = match row.source {
            SettingSource::Default => line,
            _ => format!("{line}  {}", source(row)),
        };
        lines.push(table::wrap_text(&line, 4));
    }
    lines
}

fn shown_value(row: &EffectiveSetting) -> String {
    if row.value.is_null() {
        "-".to_owned()
    } else {
        output::escape_unprintable(&row.value.to_string())
    }
}
