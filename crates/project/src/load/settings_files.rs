//! Reads the files that settings come from, and finds the secrets in them.

use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use ship_message::json::Json;

use super::document::{self, DocumentValue, LocatedValue};
use super::{
    LoadProjectError, ProjectProblem, ProjectProblemKind, Variables, Warning, WarningKind,
    parse_dotenv,
};
use crate::file_reader::{FileBytes, is_missing, read_beginning};
use crate::settings::{Address, key};

/// The files of a project's settings.
#[derive(Clone, Copy)]
pub(crate) struct SettingsFiles<'a> {
    /// The project folder.
    pub(crate) root: &'a Path,
    /// The user-wide settings, which those of the project override.
    pub(crate) user: Option<&'a Path>,
    /// A file with a text that counts in the place of its own.
    pub(crate) edited: Option<(&'a Path, &'a str)>,
}

impl SettingsFiles<'_> {
    /// Reads the user-wide file and the one of the project, in this order.
    pub(super) fn read(
        &self,
        warnings: &mut Vec<Warning>,
    ) -> Result<Vec<SettingsFile>, LoadProjectError> {
        let user = self.user.map(|file| (file.to_path_buf(), SettingScope::User));
        let project = (self.root.join("ship.json"), SettingScope::Project);
        let mut files = Vec::new();
        for (path, scope) in user.into_iter().chain([project]) {
            let text = match self.edited {
                Some((edited, text)) if edited == path => Some(text.to_owned()),
                _ => read_text(&path, warnings)?,
            };
            let document = text.map(|text| parse_document(&path, &text)).transpose()?.flatten();
            files.extend(document.map(|document| SettingsFile { path, scope, document }));
        }
        Ok(files)
    }
}

/// The range of a settings file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingScope {
    /// The file counts for all projects of a person.
    User,
    /// The file counts for one project.
    Project,
}

/// A settings file that was read.
pub(super) struct SettingsFile {
    pub(super) path: PathBuf,
    pub(super) scope: SettingScope,
    pub(super) document: LocatedValue,
}

/// Reads `.env`, and merges it with the environment.
pub(super) fn read_variables(
    file: &Path,
    environment: impl IntoIterator<Item = (String, String)>,
    warnings: &mut Vec<Warning>,
) -> Result<Variables, LoadProjectError> {
    let text = read_text(file, warnings)?;
    let lines = parse_dotenv(&text.unwrap_or_default()).map_err(|problems| {
        let problem = |(line, problem)| ProjectProblem {
            file: file.to_path_buf(),
            line: Some(line),
            kind: ProjectProblemKind::DotEnv(problem),
        };
        LoadProjectError::new(problems.into_iter().map(problem).collect())
    })?;
    Ok(Variables::new(environment, lines))
}

fn parse_document(file: &Path, text: &str) -> Result<Option<LocatedValue>, LoadProjectError> {
    document::parse(text).map_err(|error| {
        let kind = ProjectProblemKind::Syntax { column: error.column, what: error.what };
        LoadProjectError::new(vec![ProjectProblem {
            file: file.to_path_buf(),
            line: Some(error.line),
            kind,
        }])
    })
}

/// Reads the text of a settings file; `None` if it does not exist.
pub(crate) fn read_settings_text(file: &Path) -> Result<Option<String>, LoadProjectError> {
    read_text(file, &mut Vec::new())
}

/// Reads a file of settings; `None` if it does not exist.
fn read_text(file: &Path, warnings: &mut Vec<Warning>) -> Result<Option<String>, LoadProjectError> {
    let problem = |line, kind| {
        LoadProjectError::new(vec![ProjectProblem { file: file.to_path_buf(), line, kind }])
    };
    let FileBytes { bytes, cut } = match read_beginning(file) {
        Ok(bytes) => bytes,
        Err(error) if is_missing(&error) => return Ok(None),
        Err(error) if error.kind() == io::ErrorKind::IsADirectory => {
            // A folder called `.env` is a Python environment and does not concern us.
            if file.file_name() != Some(".env".as_ref()) {
                let kind = WarningKind::Folder;
                warnings.push(Warning { file: file.to_path_buf(), line: None, kind });
            }
            return Ok(None);
        }
        Err(error) => return Err(problem(None, ProjectProblemKind::Unreadable(error))),
    };
    if cut {
        return Err(problem(None, ProjectProblemKind::TooLarge));
    }
    if file.metadata().is_ok_and(|found| found.permissions().mode() & 0o002 != 0) {
        warnings.push(Warning {
            file: file.to_path_buf(),
            line: None,
            kind: WarningKind::WritableByAll,
        });
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Some(text)),
        Err(error) => {
            let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
            let line = good.iter().filter(|&&byte| byte == b'\n').count() + 1;
            Err(problem(Some(line), ProjectProblemKind::NotText))
        }
    }
}

/// Returns the texts of the file with the last word of their names, except those of keys without a secret:
/// `maxInputTokensApprox` only sounds like one. The value of a misspelt `apikey` is thus still masked.
pub(super) fn named_texts(node: &LocatedValue) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    let mut pending = vec![(String::new(), "", node)];
    while let Some((full, name, node)) = pending.pop() {
        match &node.value {
            DocumentValue::Object(entries) => pending.extend(entries.iter().map(|(name, node)| {
                let full = if full.is_empty() { name.clone() } else { format!("{full}.{name}") };
                (full, name.as_str(), node)
            })),
            DocumentValue::Plain(json) if key(&full).is_none_or(|key| key.hidden) => {
                found.extend(json.as_str().map(|text| (name, text)));
            }
            DocumentValue::Plain(_) => {}
        }
    }
    found
}

/// Returns the passwords of all addresses in the file, under any key: the address of a database is secret even
/// under a wrong key.
pub(super) fn address_secrets(node: &LocatedValue) -> Vec<String> {
    let mut found = Vec::new();
    let mut pending = vec![node];
    while let Some(node) = pending.pop() {
        match &node.value {
            DocumentValue::Object(entries) => pending.extend(entries.iter().map(|(_, node)| node)),
            DocumentValue::Plain(Json::Array(values)) => {
                found.extend(values.iter().filter_map(Json::as_str).flat_map(Address::secrets_in));
            }
            DocumentValue::Plain(json) => {
                found.extend(json.as_str().into_iter().flat_map(Address::secrets_in));
            }
        }
    }
    found
}
