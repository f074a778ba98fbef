//! A project: its folder, with the settings that its files and the environment give.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ship_message::json::Json;

use crate::load::{self, Loaded, SettingsFiles, Variables};
use crate::provider_choice::{ProviderChoice, choose_provider};
use crate::settings::{Settings, keys};
use crate::{LoadProjectError, Secrets, SettingSource, Warning};

/// A project folder and its settings.
///
/// ```
/// use ship_project::{Project, ProviderName, SettingSource};
///
/// let folder = tempfile::tempdir()?;
/// std::fs::write(folder.path().join("ship.json"), "{ \"lock\": { \"waitMs\": 50 } } // mine")?;
/// let environment = [("OPENAI_API_KEY".to_owned(), "sk-0123456789".to_owned())];
///
/// let project = Project::load(folder.path(), environment)?;
///
/// let (lock, provider) = (&project.settings().lock, project.provider().provider);
/// assert_eq!((lock.wait_ms, provider), (50, ProviderName::OpenAi));
/// assert_eq!(project.secrets().mask("I use sk-0123456789"), "I use ****");
/// let wait = project.effective_settings().into_iter().find(|row| row.key == "lock.waitMs").unwrap();
/// assert_eq!(wait.source, SettingSource::ShipJson { line: 1 });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Project {
    root: PathBuf,
    settings: Settings,
    sources: load::Sources,
    variables: Variables,
    secrets: Arc<Secrets>,
    warnings: Vec<Warning>,
}

/// A value in force as `ship config` shows it, with secrets masked.
#[derive(Debug, Clone, PartialEq)]
pub struct EffectiveSetting {
    /// The key, such as `llm.maxTokens`.
    pub key: &'static str,
    /// The value, or `null` if there is none.
    pub value: Json,
    /// The source of the value.
    pub source: SettingSource,
    /// The purpose of the key.
    pub about: &'static str,
    /// Whether any part of the program obeys the setting.
    pub has_effect: bool,
    /// The words among its valid values, such as `true`.
    pub words: &'static [&'static str],
}

impl Project {
    /// Loads the project in `root`: its `.env` and `ship.json`, if they exist, under `environment`.
    ///
    /// # Errors
    /// Fails if a file cannot be read or has an invalid value. The error lists every problem and shows no secret.
    pub fn load(
        root: impl Into<PathBuf>,
        environment: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, LoadProjectError> {
        Self::load_with_user_settings(root, None, environment)
    }

    /// Loads the project in `root` above the settings of `user_file`, which count where the project sets nothing.
    ///
    /// # Errors
    /// Fails as [`load`](Self::load) does.
    pub fn load_with_user_settings(
        root: impl Into<PathBuf>,
        user_file: Option<&Path>,
        environment: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, LoadProjectError> {
        let root = root.into();
        let files = SettingsFiles { root: &root, user: user_file, edited: None };
        let Loaded { settings, sources, variables, secrets, warnings } =
            load::load(files, environment)?;
        Ok(Self { root, settings, sources, variables, secrets: Arc::new(secrets), warnings })
    }

    /// Returns the project with another model. `llm.window` belongs to the host if one is set, and to the
    /// model before otherwise.
    #[must_use]
    pub fn with_model(mut self, model: &str) -> Self {
        let llm = &mut self.settings.llm;
        if llm.base_url.is_none() && llm.model.as_deref() != Some(model) {
            llm.window = None;
        }
        llm.model = Some(model.to_owned());
        self
    }

    /// Returns the project folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the settings in force.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns the warnings of loading.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// Returns the secrets of the project, with which a caller masks texts.
    pub fn secrets(&self) -> &Arc<Secrets> {
        &self.secrets
    }

    /// Whether `SMA_LOG_LLM_PAYLOAD` asks for raw bodies in the logs.
    pub fn log_payload(&self) -> bool {
        let value = self.variables.get("SMA_LOG_LLM_PAYLOAD").map(|variable| variable.value.trim());
        value.is_some_and(|value| {
            ["1", "true", "on", "yes"].contains(&value.to_ascii_lowercase().as_str())
        })
    }

    /// Chooses the provider and its key.
    pub fn provider(&self) -> ProviderChoice {
        choose_provider(&self.settings.llm, |name| {
            self.variables.get_non_empty(name).map(|variable| variable.value.as_str())
        })
    }

    /// Returns each value in force and its source, in the order of the catalogue.
    pub fn effective_settings(&self) -> Vec<EffectiveSetting> {
        let mut rows: Vec<EffectiveSetting> = keys()
            .map(|key| EffectiveSetting {
                key: key.name,
                value: self.mask((key.show)(&self.settings)),
                source: self.sources.get(key.name).cloned().unwrap_or(SettingSource::Default),
                about: key.about.trim(),
                has_effect: key.has_effect,
                words: key.words,
            })
            .collect();
        self.show_choice(&mut rows);
        rows
    }

    /// Shows the provider and the key that a variable has decided, instead of an empty setting.
    fn show_choice(&self, rows: &mut [EffectiveSetting]) {
        let choice = self.provider();
        let variable = choice.variable.and_then(|name| self.variables.get(name));
        for row in rows {
            let (value, decided) = match row.key {
                "llm.provider" => {
                    (Some(choice.provider.to_string()), self.settings.llm.provider.is_none())
                }
                "llm.apiKey" => (choice.key.masked(), variable.is_some()),
                _ => continue,
            };
            if let (Some(value), true) = (value, decided) {
                row.value = value.into();
                row.source =
                    variable.map_or(SettingSource::Default, |variable| variable.source.clone());
            }
        }
    }

    /// Masks secrets in a value: one may stand where none belongs, as in the path of an address.
    fn mask(&self, value: Json) -> Json {
        match value {
            Json::String(text) => self.secrets.mask(&text).into_owned().into(),
            Json::Array(values) => {
                values.into_vec().into_iter().map(|v| self.mask(v)).collect::<Vec<_>>().into()
            }
            other => other,
        }
    }
}

impl fmt::Debug for Project {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = self.effective_settings();
        let rows = rows.iter().map(|row| (row.key, &row.value));
        write!(f, "Project {{ root: {:?}, settings: ", self.root)?;
        f.debug_map().entries(rows).finish()?;
        f.write_str(" }")
    }
}
