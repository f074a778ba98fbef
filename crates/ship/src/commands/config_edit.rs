//! `ship config set` and `unset`: change one setting in a file.

use std::path::Path;
use std::process::ExitCode;

use ship_message::json::{Json, Object};
use ship_project::{
    EffectiveSetting, Project, SettingScope, SettingSource, SettingsEditor, Warning, WarningKind,
};

use crate::arguments::Arguments;
use crate::failure::Failure;
use crate::output;
use crate::session;

/// A change of a setting. Without a value, the setting is removed.
pub(crate) struct SettingChange<'a> {
    pub(crate) scope: SettingScope,
    pub(crate) key: &'a str,
    pub(crate) value: Option<&'a str>,
}

/// Changes a setting. The project need not be loaded for it: its settings may be wrong until now.
pub(crate) fn run(arguments: &Arguments, change: &SettingChange<'_>) -> Result<ExitCode, Failure> {
    let root = session::project_root(arguments)?;
    let user_file = session::user_settings_file();
    let editor = SettingsEditor::new(&root, user_file.clone(), session::environment());
    let SettingChange { scope, key, value } = *change;
    let file = match value {
        Some(value) => editor.set(scope, key, value)?,
        None => editor.unset(scope, key)?,
    };
    let project =
        Project::load_with_user_settings(root, user_file.as_deref(), session::environment());
    // Other settings may still be wrong. The next command says so.
    let rows = project.as_ref().map(Project::effective_settings).unwrap_or_default();
    let row = rows.iter().find(|row| row.key == key);
    if arguments.json {
        return print_json(change, &file, row);
    }
    let done = if value.is_some() { "is set in" } else { "is removed from" };
    output::print_line(&format!("`{key}` {done} {}", file.display()))?;
    let has_no_effect = |warning: &Warning| matches!(warning.kind, WarningKind::NoEffect { key } if key == change.key);
    let warnings = project.as_ref().map(Project::warnings).unwrap_or_default();
    for warning in warnings.iter().filter(|warning| value.is_some() && has_no_effect(warning)) {
        output::print_warning(&warning.to_string());
    }
    if let Some(row) = row.filter(|row| !is_in_force(change, row)) {
        output::print_warning(&format!("here it stays {}, set by {}", row.value, row.source));
    }
    Ok(ExitCode::SUCCESS)
}

fn print_json(
    change: &SettingChange<'_>,
    file: &Path,
    row: Option<&EffectiveSetting>,
) -> Result<ExitCode, Failure> {
    let mut object = Object::from([("key", change.key)]);
    object.set("file", file.display().to_string());
    object.set("value", row.map_or(Json::Null, |row| row.value.clone()));
    object.set("source", row.map_or(Json::Null, |row| row.source.to_string().into()));
    output::print_json(&Json::Object(object))?;
    Ok(ExitCode::SUCCESS)
}

/// Whether the value in force is the one of the change, and not one that overrides it.
fn is_in_force(change: &SettingChange<'_>, row: &EffectiveSetting) -> bool {
    match (&row.source, change.scope) {
        _ if change.value == Some("null") => true,
        (SettingSource::Default, _) => true,
        (SettingSource::ShipJson { .. }, SettingScope::Project)
        | (SettingSource::UserShipJson { .. }, SettingScope::User) => change.value.is_some(),
        _ => false,
    }
}
