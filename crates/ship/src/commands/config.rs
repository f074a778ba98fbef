//! `ship config`: every setting in force, and where it came from.

use std::process::ExitCode;

use ship_message::json::{Json, Object};

use crate::failure::Failure;
use crate::output;
use crate::session::Session;
use crate::style::Style;

pub(crate) fn run(session: &Session) -> Result<ExitCode, Failure> {
    let rows = session.project.effective();
    if session.json {
        let entry = |row: &ship_project::Effective| {
            let value = Object::from([
                ("value", row.value.clone()),
                ("source", row.source.to_string().into()),
            ]);
            (row.key, Json::Object(value))
        };
        output::json(&Json::Object(rows.iter().map(entry).collect()))?;
        return Ok(ExitCode::SUCCESS);
    }
    let style = Style::of_stdout();
    let width = rows.iter().map(|row| row.key.len()).max().unwrap_or_default();
    for row in &rows {
        let value = if row.value.is_null() { "-".to_owned() } else { row.value.to_string() };
        let source = style.dim(&row.source.to_string());
        output::line(&format!("{:<width$}  {:<24} {source}", row.key, value))?;
    }
    output::line(&format!("\nModel: {}", session.who_answers()))?;
    Ok(ExitCode::SUCCESS)
}
