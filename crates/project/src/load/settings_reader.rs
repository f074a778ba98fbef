//! Turns files and variables into settings.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;

use ship_message::json::Json;

use super::did_you_mean::nearest_key;
use super::document::{DocumentValue, LocatedValue};
use super::expand::{ExpandError, expand};
use super::settings_files::{
    SettingScope, SettingsFile, SettingsFiles, address_secrets, named_texts, read_variables,
};
use super::{
    LoadProjectError, ProjectProblem, ProjectProblemKind, SettingSource, Variables, Warning,
    WarningKind,
};
use crate::Secrets;
use crate::settings::{
    RequestFacts, SettingKey, Settings, TokenBudget, is_group, is_project_only, key, keys,
};

/// The number of characters that are shown of a wrong value.
const FOUND_CHARS_MAX: usize = 60;

/// The setting of older versions that put the request id into the first system block, and its successor.
const REQUEST_ID_IN_SYSTEM: &str = "llm.requestIdInSystem";
const REQUEST_FACTS: &str = "llm.requestFacts";

const API_KEY: &str = "llm.apiKey";

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

/// Reads the settings files and `.env` of a project, and applies the overrides of the environment.
pub(crate) fn load(
    files: SettingsFiles<'_>,
    environment: impl IntoIterator<Item = (String, String)>,
) -> Result<Loaded, LoadProjectError> {
    let mut warnings = Vec::new();
    let variables = read_variables(&files.root.join(".env"), environment, &mut warnings)?;
    let files = files.read(&mut warnings)?;

    let texts: Vec<_> = files.iter().flat_map(|file| named_texts(&file.document)).collect();
    let named = || variables.iter().chain(texts.iter().copied());
    let in_addresses: Vec<_> =
        files.iter().flat_map(|file| address_secrets(&file.document)).collect();
    // Problems must not show secrets, so the secrets are collected before the settings are read, and again with
    // the expanded values after that.
    let known = Secrets::collect(named(), in_addresses.iter().map(String::as_str));
    let mut reading = SettingsReader::new(&variables, &known);
    for file in &files {
        reading.read_file(file);
    }
    reading.keep_key_from_other_hosts();
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

/// The settings while they are being read.
struct SettingsReader<'a> {
    /// The file that is being read.
    file: PathBuf,
    scope: SettingScope,
    variables: &'a Variables,
    secrets: &'a Secrets,
    settings: Settings,
    sources: Sources,
    warnings: Vec<Warning>,
    problems: Vec<ProjectProblem>,
}

impl<'a> SettingsReader<'a> {
    fn new(variables: &'a Variables, secrets: &'a Secrets) -> Self {
        Self {
            file: PathBuf::new(),
            scope: SettingScope::Project,
            variables,
            secrets,
            settings: Settings::default(),
            sources: Sources::new(),
            warnings: vec![],
            problems: vec![],
        }
    }

    /// Reads a file. Its values count in the place of those that were read before.
    fn read_file(&mut self, file: &SettingsFile) {
        (self.file, self.scope) = (file.path.clone(), file.scope);
        match &file.document {
            LocatedValue { value: DocumentValue::Object(entries), .. } => {
                self.read_object("", entries)
            }
            LocatedValue { line, value: DocumentValue::Plain(json) } => {
                let found = self.describe(json);
                self.add_wrong_value(*line, "", found, "an object in braces".to_owned());
            }
        }
    }

    /// Returns the source of a value in the file that is being read.
    fn source(&self, line: usize) -> SettingSource {
        match self.scope {
            SettingScope::User => SettingSource::UserShipJson { file: self.file.clone(), line },
            SettingScope::Project => SettingSource::ShipJson { line },
        }
    }

    /// Whether the file that is being read has set a key.
    fn is_set_here(&self, key: &str) -> bool {
        let of_user = |source: &SettingSource| matches!(source, SettingSource::UserShipJson { .. });
        let source = self.sources.get(key);
        source.is_some_and(|source| of_user(source) == (self.scope == SettingScope::User))
    }

    /// Forgets a user-wide key where the project chooses the provider or its address: the key is for the provider of
    /// the user-wide file, and a project that was copied from elsewhere must not send it to a host of its choice.
    fn keep_key_from_other_hosts(&mut self) {
        let is_of_project =
            |key| matches!(self.sources.get(key), Some(SettingSource::ShipJson { .. }));
        let of_user = matches!(self.sources.get(API_KEY), Some(SettingSource::UserShipJson { .. }));
        if of_user && ["llm.provider", "llm.baseUrl"].into_iter().any(is_of_project) {
            self.settings.llm.api_key = None;
            self.sources.remove(API_KEY);
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
        let is_new_set = self.is_set_here(REQUEST_FACTS);
        if matches!(node.value, DocumentValue::Plain(Json::Bool(true))) && !is_new_set {
            self.settings.llm.request_facts = RequestFacts::System;
            self.sources.insert(REQUEST_FACTS, self.source(node.line));
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
        let is_misplaced = self.scope == SettingScope::User && is_project_only(key.name);
        match (key.has_effect, is_misplaced) {
            (true, false) => {}
            (true, true) => self.warn(line, WarningKind::ProjectOnly { key: key.name }),
            (false, _) => self.warn(line, WarningKind::NoEffect { key: key.name }),
        }
        if is_misplaced {
            return;
        }
        match self.expand(json) {
            Ok(candidates) => {
                if candidates.iter().any(|json| (key.put)(&mut self.settings, json)) {
                    self.sources.insert(key.name, self.source(line));
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
            let line = match self.sources.get(name) {
                Some(SettingSource::ShipJson { line }) => *line,
                Some(SettingSource::UserShipJson { file, line }) => {
                    self.file.clone_from(file);
                    *line
                }
                _ => return,
            };
            let expected = format!("\"auto\" or at most {window} (`llm.window`)");
            self.add_wrong_value(line, name, tokens.to_string(), expected);
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
        Json::String(_) => "some other text",
        Json::Array(_) => "a list",
        Json::Object(_) => "an object",
    }
}
