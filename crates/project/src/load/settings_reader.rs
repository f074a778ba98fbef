//! Turns files and variables into settings.

use std::collections::{BTreeMap, HashSet};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use ship_message::json::Json;

use super::did_you_mean::nearest_key;
use super::document::{self, DocumentValue, LocatedValue};
use super::expand::{ExpandError, expand};
use super::{
    LoadProjectError, ProjectProblem, ProjectProblemKind, SettingSource, Variables, Warning,
    WarningKind, parse_dotenv,
};
use crate::Secrets;
use crate::file_reader::{FileBytes, is_missing, read_beginning};
use crate::settings::{
    Address, RequestFacts, SettingKey, Settings, TokenBudget, is_group, key, keys,
};

/// The number of characters that are shown of a wrong value.
const FOUND_CHARS_MAX: usize = 60;

/// The setting of older versions that put the request id into the first system block, and its successor.
const REQUEST_ID_IN_SYSTEM: &str = "llm.requestIdInSystem";
const REQUEST_FACTS: &str = "llm.requestFacts";

/// Everything that loading gives.
pub(crate) struct Loaded {
    pub(crate) settings: Settings,
    pub(crate) sources: Sources,
    pub(crate) variables: Variables,
    pub(crate) secrets: Secrets,
    pub(crate) warnings: Vec<Warning>,
}

/// The source of each value that is not the default.
pub(crate) type Sources = BTreeMap<&'static str, SettingSource>;

/// Reads `.env` and `ship.json` of a project, and applies the overrides of the environment.
pub(crate) fn load(
    root: &Path,
    environment: impl IntoIterator<Item = (String, String)>,
) -> Result<Loaded, LoadProjectError> {
    let mut warnings = Vec::new();
    let variables = read_variables(&root.join(".env"), environment, &mut warnings)?;
    let file = root.join("ship.json");
    let document = read_document(&file, &mut warnings)?;

    let texts = document.as_ref().map_or_else(Vec::new, named_texts);
    let named = || variables.iter().chain(texts.iter().copied());
    let in_addresses = document.as_ref().map_or_else(Vec::new, address_secrets);
    // Problems must not show secrets, so the secrets are collected before the settings are read, and again with
    // the expanded values after that.
    let known = Secrets::collect(named(), in_addresses.iter().map(String::as_str));
    let mut reading = SettingsReader::new(file, &variables, &known);
    reading.read_root(document.as_ref());
    reading.apply_overrides(&variables);
    reading.check_together();
    let SettingsReader { settings, sources, problems, warnings: more, .. } = reading;
    if !problems.is_empty() {
        return Err(LoadProjectError::new(problems));
    }

    warnings.extend(more);
    let configured: Vec<String> = keys().flat_map(|key| (key.secrets)(&settings)).collect();
    let configured = configured.iter().chain(&in_addresses).map(String::as_str);
    let secrets = Secrets::collect(named(), configured);
    Ok(Loaded { settings, sources, variables, secrets, warnings })
}

fn read_variables(
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

fn read_document(
    file: &Path,
    warnings: &mut Vec<Warning>,
) -> Result<Option<LocatedValue>, LoadProjectError> {
    let Some(text) = read_text(file, warnings)? else { return Ok(None) };
    document::parse(&text).map_err(|error| {
        let kind = ProjectProblemKind::Syntax { column: error.column, what: error.what };
        LoadProjectError::new(vec![ProjectProblem {
            file: file.to_path_buf(),
            line: Some(error.line),
            kind,
        }])
    })
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
fn named_texts(node: &LocatedValue) -> Vec<(&str, &str)> {
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
fn address_secrets(node: &LocatedValue) -> Vec<String> {
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

/// The settings while they are being read.
struct SettingsReader<'a> {
    file: PathBuf,
    variables: &'a Variables,
    secrets: &'a Secrets,
    settings: Settings,
    sources: Sources,
    warnings: Vec<Warning>,
    problems: Vec<ProjectProblem>,
}

impl<'a> SettingsReader<'a> {
    fn new(file: PathBuf, variables: &'a Variables, secrets: &'a Secrets) -> Self {
        let (settings, sources) = (Settings::default(), Sources::new());
        Self { file, variables, secrets, settings, sources, warnings: vec![], problems: vec![] }
    }

    fn read_root(&mut self, document: Option<&LocatedValue>) {
        match document {
            None => {}
            Some(LocatedValue { value: DocumentValue::Object(entries), .. }) => {
                self.read_object("", entries)
            }
            Some(LocatedValue { line, value: DocumentValue::Plain(json) }) => {
                let found = self.describe(json);
                self.add_wrong_value(*line, "", found, "an object in braces".to_owned());
            }
        }
    }

    /// Reads the keys of one object; `place` is its name with a dot at the end.
    fn read_object(&mut self, place: &str, entries: &[(String, LocatedValue)]) {
        let mut seen = HashSet::new();
        for (name, node) in entries {
            let full = format!("{place}{name}");
            if !seen.insert(name) {
                self.warn(node.line, WarningKind::Twice { key: self.shown_key(&full) });
            }
            match key(&full) {
                Some(key) => self.read_value(key, node),
                None if is_group(&full) => self.read_group(&full, node),
                None if full == REQUEST_ID_IN_SYSTEM => self.read_request_id_in_system(node),
                // Editors use `$schema` to know the keys.
                None if full == "$schema" => {}
                None => {
                    let nearest = nearest_key(&full);
                    let key = self.shown_key(&full);
                    self.warn(node.line, WarningKind::UnknownKey { key, nearest });
                }
            }
        }
    }

    /// Reads the setting that `llm.requestFacts` has replaced.
    fn read_request_id_in_system(&mut self, node: &LocatedValue) {
        self.warn(
            node.line,
            WarningKind::Replaced { key: REQUEST_ID_IN_SYSTEM, by: REQUEST_FACTS },
        );
        let is_new_set = self.sources.contains_key(REQUEST_FACTS);
        if matches!(node.value, DocumentValue::Plain(Json::Bool(true))) && !is_new_set {
            self.settings.llm.request_facts = RequestFacts::System;
            self.sources.insert(REQUEST_FACTS, SettingSource::ShipJson { line: node.line });
        }
    }

    fn read_group(&mut self, name: &str, node: &LocatedValue) {
        match &node.value {
            DocumentValue::Object(entries) => self.read_object(&format!("{name}."), entries),
            DocumentValue::Plain(Json::Null) => {}
            DocumentValue::Plain(json) => {
                let found = self.describe(json);
                self.add_wrong_value(node.line, name, found, "an object in braces".to_owned());
            }
        }
    }

    fn read_value(&mut self, key: &'static SettingKey, node: &LocatedValue) {
        let line = node.line;
        let json = match &node.value {
            // A key with the value `null` counts as not set.
            DocumentValue::Plain(Json::Null) => return,
            DocumentValue::Plain(json) => json,
            DocumentValue::Object(_) => {
                return self.add_wrong_value(
                    line,
                    key.name,
                    "an object".to_owned(),
                    (key.expected)(),
                );
            }
        };
        match self.expand(json) {
            Ok(candidates) => {
                if candidates.iter().any(|json| (key.put)(&mut self.settings, json)) {
                    self.sources.insert(key.name, SettingSource::ShipJson { line });
                    return;
                }
                let value = candidates.into_iter().next().unwrap_or_default();
                let found =
                    if key.hidden { kind_of(&value).to_owned() } else { self.describe(&value) };
                self.add_wrong_value(line, key.name, found, (key.expected)());
            }
            Err(error) => {
                let key = key.name.to_owned();
                let kind = match error {
                    ExpandError::Unset(variable) => ProjectProblemKind::Unset { key, variable },
                    ExpandError::NotAName => ProjectProblemKind::NotAVariable { key },
                };
                self.add_problem(line, kind);
            }
        }
    }

    /// Expands the variables of a value. A text from a variable may also be meant as a number: `"port": "${PORT}"`
    /// cannot be written in another way.
    fn expand(&self, json: &Json) -> Result<Vec<Json>, ExpandError> {
        match json {
            Json::String(text) => {
                let expanded = expand(text, self.variables)?;
                let as_number =
                    expanded.had_variables.then(|| Json::parse(expanded.text.trim()).ok());
                let as_text = Json::from(expanded.text);
                // The text comes first, so that a setting that takes texts keeps it.
                Ok([Some(as_text), as_number.flatten()].into_iter().flatten().collect())
            }
            Json::Array(values) => {
                let expand_one = |value: &Json| match value.as_str() {
                    Some(text) => Ok(Json::from(expand(text, self.variables)?.text)),
                    None => Ok(value.clone()),
                };
                let values: Result<Vec<Json>, ExpandError> =
                    values.iter().map(expand_one).collect();
                Ok(vec![values?.into()])
            }
            other => Ok(vec![other.clone()]),
        }
    }

    /// Applies the one override of the environment: it can turn off message text in logs.
    fn apply_overrides(&mut self, variables: &Variables) {
        let off = |text: &str| {
            matches!(text.trim().to_ascii_lowercase().as_str(), "0" | "false" | "off" | "no")
        };
        if let Some(variable) = variables.get("SMA_LOG_LLM_MESSAGES").filter(|v| off(&v.value)) {
            self.settings.llm.log_messages = false;
            self.sources.insert("llm.logMessages", variable.source.clone());
        }
    }

    /// Checks values that are valid alone but not together.
    fn check_together(&mut self) {
        let (budget, window) =
            (self.settings.context.history.max_input_tokens_approx, self.settings.llm.window);
        if let (TokenBudget::Tokens(tokens), Some(window)) = (budget, window)
            && tokens > window
        {
            let name = "context.history.maxInputTokensApprox";
            let Some(SettingSource::ShipJson { line }) = self.sources.get(name) else { return };
            let expected = format!("\"auto\" or at most {window}, which is `llm.window`");
            self.add_wrong_value(*line, name, tokens.to_string(), expected);
        }
    }

    fn add_wrong_value(&mut self, line: usize, key: &str, found: String, expected: String) {
        self.add_problem(line, ProjectProblemKind::Value { key: key.to_owned(), found, expected });
    }

    fn add_problem(&mut self, line: usize, kind: ProjectProblemKind) {
        self.problems.push(ProjectProblem { file: self.file.clone(), line: Some(line), kind });
    }

    fn warn(&mut self, line: usize, kind: WarningKind) {
        self.warnings.push(Warning { file: self.file.clone(), line: Some(line), kind });
    }

    /// Returns a key in a form that a warning may show.
    fn shown_key(&self, key: &str) -> String {
        if key.contains("://") {
            "an address".to_owned()
        } else {
            self.secrets.mask(key).into_owned()
        }
    }

    /// Returns a value in a form that an error may show. It is masked first and then shortened, so that no part of
    /// a secret is left. An address is not shown at all, because a password in it may be too short to be found, or
    /// come from a variable.
    fn describe(&self, json: &Json) -> String {
        let text = json.to_string();
        if text.contains("://") {
            return "an address".to_owned();
        }
        let masked = self.secrets.mask(&text);
        match masked.char_indices().nth(FOUND_CHARS_MAX) {
            Some((at, _)) => format!("{}…", &masked[..at]),
            None => masked.into_owned(),
        }
    }
}

/// Names the type of a value that must not be shown.
fn kind_of(json: &Json) -> &'static str {
    match json {
        Json::Null => "null",
        Json::Bool(_) => "true or false",
        Json::Number(_) => "a number",
        Json::String(text) if text.trim().is_empty() => "empty",
        Json::String(_) => "another text",
        Json::Array(_) => "a list",
        Json::Object(_) => "an object",
    }
}
