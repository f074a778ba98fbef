//! `ship config`: prints every setting in force and its source.

use std::process::ExitCode;

use ship_message::json::{Json, Object};
use ship_project::{EffectiveSetting, SettingSource, nearest_name};

use crate::failure::{Failure, USAGE};
use crate::output;
use crate::session::Session;
use crate::style::Style;
use crate::table;

/// The width of the value column; most values are shorter.
const VALUE_COLUMNS: usize = 24;

/// The columns below which a value would say too little.
const VALUE_COLUMNS_MIN: usize = 16;

pub(crate) fn run(session: &Session) -> Result<ExitCode, Failure> {
    print(session, &session.project.effective_settings())?;
    if !session.json {
        let model = format!("\nModel: {}", session.describe_model());
        output::print_line(&table::wrap_text(&model, 7))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints settings. A person is not shown those that are not set and have no effect.
fn print(session: &Session, rows: &[EffectiveSetting]) -> Result<(), Failure> {
    if session.json {
        let entry = |row: &EffectiveSetting| (row.key, setting_json(row));
        return output::print_json(&Json::Object(rows.iter().map(entry).collect()));
    }
    let is_listed =
        |row: &&EffectiveSetting| row.has_effect || row.source != SettingSource::Default;
    let listed: Vec<_> = rows.iter().filter(is_listed).cloned().collect();
    if listed.is_empty() {
        return output::print_line("These settings have no effect in this version.");
    }
    let mut lines = setting_lines(&listed, table::columns(), Style::of_stdout()).into_iter();
    lines.try_for_each(|line| output::print_line(&line))
}

/// Prints one setting, a text as it is and everything else as JSON, or all settings of a group.
pub(crate) fn get(session: &Session, key: &str) -> Result<ExitCode, Failure> {
    let rows = session.project.effective_settings();
    let group: Vec<_> = rows.iter().filter(|row| is_in_group(row.key, key)).cloned().collect();
    if !group.is_empty() {
        print(session, &group)?;
        return Ok(ExitCode::SUCCESS);
    }
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

/// Runs `ship config KEY`, and explains everything else that is no command.
pub(crate) fn run_words(session: &Session, words: &[String]) -> Result<ExitCode, Failure> {
    let rows = session.project.effective_settings();
    let is_known = |key: &str| rows.iter().any(|row| row.key == key || is_in_group(row.key, key));
    let usage = |message: String| Failure::new(USAGE, message);
    match words {
        [key] if is_known(key) => get(session, key),
        [key, ..] if is_known(key) => {
            Err(usage("`ship config` changes nothing by itself".to_owned())
                .with_hint(format!("`ship config set {key} VALUE` changes this setting")))
        }
        words => {
            let word = words.first().map(String::as_str).unwrap_or_default();
            let names = rows.iter().map(|row| row.key).chain(["get", "list", "set", "unset"]);
            let hint = match nearest_name(word, names) {
                Some(nearest) => format!("did you mean `ship config {nearest}`?"),
                None => "`ship config --help` lists the commands".to_owned(),
            };
            Err(usage(format!("`ship config` has no command `{word}`")).with_hint(hint))
        }
    }
}

/// Whether a key is one of a group, such as `llm`.
fn is_in_group(key: &str, group: &str) -> bool {
    key.strip_prefix(group).is_some_and(|rest| rest.starts_with('.'))
}

fn setting_json(row: &EffectiveSetting) -> Json {
    let fields = [("value", row.value.clone()), ("source", row.source.to_string().into())];
    Json::Object(Object::from(fields))
}

/// Returns a line for each setting, with its value cut where it does not fit. In a narrow terminal the group of the
/// settings stands above them, and only a value that is not the default shows its source.
fn setting_lines(rows: &[EffectiveSetting], columns: usize, style: Style) -> Vec<String> {
    let widest = |texts: &dyn Fn(&EffectiveSetting) -> usize| rows.iter().map(texts).max();
    let key_width = widest(&|row| row.key.len()).unwrap_or_default();
    let source_width = widest(&|row| row.source.to_string().len()).unwrap_or_default();
    let room = columns.saturating_sub(key_width + source_width + 4);
    if room >= VALUE_COLUMNS_MIN {
        let line = |row: &EffectiveSetting| {
            let (value, source) = (table::fit(&shown_value(row), room), row.source.to_string());
            let value = table::pad(&value, VALUE_COLUMNS.min(room));
            format!("{:<key_width$}  {value} {}", row.key, style.dim(&source))
        };
        return rows.iter().map(line).collect();
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
        let source = match row.source {
            SettingSource::Default => String::new(),
            _ => format!("  {}", row.source),
        };
        let room = columns.saturating_sub(width + 4 + source.len()).max(VALUE_COLUMNS_MIN);
        let value = table::fit(&shown_value(row), room);
        lines.push(format!("  {name:<width$}  {value}{}", style.dim(&source)));
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

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Vec<EffectiveSetting> {
        let row = |key, value: Json, source| EffectiveSetting {
            key,
            value,
            source,
            about: "",
            has_effect: true,
            words: &[],
        };
        vec![
            row(
                "llm.model",
                "a-model-with-a-name-of-many-words".into(),
                SettingSource::ShipJson { line: 3 },
            ),
            row("context.history.maxInputTokensApprox", "auto".into(), SettingSource::Default),
        ]
    }

    #[test]
    fn a_long_value_is_cut_and_moves_no_column() {
        let wide = setting_lines(&rows(), 72, Style::plain());
        assert_eq!(
            wide,
            [
                "llm.model                             \"a-model-with-a-name… ship.json:3",
                "context.history.maxInputTokensApprox  \"auto\"                default",
            ]
        );
        let narrow = setting_lines(&rows(), 60, Style::plain());
        assert_eq!(
            narrow,
            [
                "llm",
                "  model                 \"a-model-with-a-name-o…  ship.json:3",
                "context.history",
                "  maxInputTokensApprox  \"auto\"",
            ]
        );
    }

    #[test]
    fn a_program_gets_whole_values() {
        let lines = setting_lines(&rows(), usize::MAX, Style::plain());
        assert!(lines[0].contains("many-words\" ship.json:3"), "{lines:?}");
    }
}
