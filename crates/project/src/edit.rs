//! Changes one value of a settings file, and leaves the rest of the file as it is.

mod error;
mod text;
mod write;

use std::path::{Path, PathBuf};

use ship_message::json::Json;

pub use error::EditSettingsError;

use crate::load::{self, SettingScope, SettingsFiles, nearest_key, read_settings_text};
use crate::settings::{SettingKey, Settings, is_group, is_project_only, key};
use crate::{LoadProjectError, ProjectProblem};

/// Changes settings in `ship.json` of a project, or in the user-wide file.
///
/// A change is checked by the reader of the settings before it is written, in the place of the old file as a whole.
///
/// ```
/// use ship_project::{SettingScope, SettingsEditor};
///
/// let folder = tempfile::tempdir()?;
/// std::fs::write(folder.path().join("ship.json"), "{\n  \"llm\": { \"model\": \"a\" } // mine\n}\n")?;
/// let editor = SettingsEditor::new(folder.path(), None, []);
///
/// editor.set(SettingScope::Project, "llm.model", "b")?;
///
/// let text = std::fs::read_to_string(folder.path().join("ship.json"))?;
/// assert_eq!(text, "{\n  \"llm\": { \"model\": \"b\" } // mine\n}\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct SettingsEditor {
    root: PathBuf,
    user_file: Option<PathBuf>,
    environment: Vec<(String, String)>,
}

impl SettingsEditor {
    /// Makes an editor for the project in `root`, with what
    /// a [`Project`](crate::Project::load_with_user_settings) is loaded with.
    pub fn new(
        root: impl Into<PathBuf>,
        user_file: Option<PathBuf>,
        environment: impl IntoIterator<Item = (String, String)>,
    ) -> Self {
        Self { root: root.into(), user_file, environment: environment.into_iter().collect() }
    }

    /// Sets a key, and returns the path of the changed file. The value is JSON, or else a plain text.
    ///
    /// # Errors
    /// Fails if the key is unknown or has no place in the file, if the reader refuses the value, or if the file cannot
    /// be written. The file is then unchanged.
    pub fn set(
        &self,
        scope: SettingScope,
        name: &str,
        value: &str,
    ) -> Result<PathBuf, EditSettingsError> {
        let key = find_key(name)?;
        if scope == SettingScope::User && is_project_only(key.name) {
            return Err(EditSettingsError::ProjectOnly { key: key.name });
        }
        let value = choose_value(key, value);
        if scope == SettingScope::Project && is_plain_secret(key, &value) {
            return Err(EditSettingsError::PlainSecret { key: key.name });
        }
        self.change(scope, |old| text::set(old, key.name, &value))
    }

    /// Removes a key, and returns the path of the changed file.
    ///
    /// # Errors
    /// Fails if the key is unknown or not set in the file, or if the file cannot be written. The file
    /// is then unchanged.
    pub fn unset(&self, scope: SettingScope, name: &str) -> Result<PathBuf, EditSettingsError> {
        let key = find_key(name)?;
        let file = self.file(scope)?;
        let old = read_settings_text(&file)?.unwrap_or_default();
        let Some(new) = text::unset(&old, key.name) else {
            return Err(EditSettingsError::NotSet { key: key.name, file });
        };
        write::replace(&file, &new, mode_of_new(scope))?;
        Ok(file)
    }

    fn change(
        &self,
        scope: SettingScope,
        edit: impl Fn(&str) -> Option<String>,
    ) -> Result<PathBuf, EditSettingsError> {
        let file = self.file(scope)?;
        let old = read_settings_text(&file)?.unwrap_or_default();
        let before = self.problems(None);
        let Some(new) = edit(&old) else {
            // Where a value cannot be put, the file has a mistake that the reader knows.
            return Err(LoadProjectError::new(before).into());
        };
        let mut after = self.problems(Some((&file, &new)));
        // Other wrong values may be mended later, one by one.
        after.retain(|problem| !before.iter().any(|old| old.is_same_value(problem)));
        // The value is not in the file yet, so no line of the file is to blame.
        let is_refused =
            |problem: &ProjectProblem| problem.file == file && problem.value_problem().is_some();
        if let Some(at) = after.iter().position(is_refused) {
            return Err(EditSettingsError::Value(after.swap_remove(at)));
        }
        if !after.is_empty() {
            return Err(LoadProjectError::new(after).into());
        }
        write::replace(&file, &new, mode_of_new(scope))?;
        Ok(file)
    }

    fn file(&self, scope: SettingScope) -> Result<PathBuf, EditSettingsError> {
        match scope {
            SettingScope::Project => Ok(self.root.join("ship.json")),
            SettingScope::User => self.user_file.clone().ok_or(EditSettingsError::NoUserFile),
        }
    }

    /// Returns what is wrong with the settings, if one file had another text.
    fn problems(&self, edited: Option<(&Path, &str)>) -> Vec<ProjectProblem> {
        let files = SettingsFiles { root: &self.root, user: self.user_file.as_deref(), edited };
        let loaded = load::load(files, self.environment.iter().cloned());
        loaded.err().map(LoadProjectError::into_problems).unwrap_or_default()
    }
}

fn find_key(name: &str) -> Result<&'static SettingKey, EditSettingsError> {
    key(name).ok_or_else(|| match is_group(name) {
        true => EditSettingsError::Group { name: name.to_owned() },
        false => EditSettingsError::UnknownKey { key: name.to_owned(), nearest: nearest_key(name) },
    })
}

/// Reads a value as JSON, or else as text, whichever the key takes. If it takes neither, the reader will say so.
fn choose_value(key: &SettingKey, value: &str) -> Json {
    let parsed = Json::parse(value).ok();
    let plain = Json::from(value);
    let is_taken = |json: &Json| json.is_null() || (key.put)(&mut Settings::default(), json);
    match parsed {
        Some(json) if is_taken(&json) || !is_taken(&plain) => json,
        _ => plain,
    }
}

/// Whether a value is or holds a secret, and not the name of a variable.
fn is_plain_secret(key: &SettingKey, value: &Json) -> bool {
    let mut settings = Settings::default();
    let is_plain = value.as_str().is_some_and(|text| !text.contains("${"));
    is_plain && (key.put)(&mut settings, value) && !(key.secrets)(&settings).is_empty()
}

/// Returns the permissions of a new file. The user-wide one may hold a key.
fn mode_of_new(scope: SettingScope) -> u32 {
    match scope {
        SettingScope::User => 0o600,
        SettingScope::Project => 0o666,
    }
}
