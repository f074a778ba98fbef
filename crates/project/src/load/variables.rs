//! Merges the environment and `.env`.

use std::collections::BTreeMap;

use super::{SettingSource, dotenv};

/// A variable and its source.
#[derive(Clone)]
pub(crate) struct Variable {
    pub(crate) value: String,
    pub(crate) source: SettingSource,
}

/// All variables by name. The environment wins over `.env`, so that a single call can differ from the project.
#[derive(Clone, Default)]
pub(crate) struct Variables(BTreeMap<String, Variable>);

impl Variables {
    pub(crate) fn new(
        environment: impl IntoIterator<Item = (String, String)>,
        dotenv: Vec<dotenv::DotEnvLine>,
    ) -> Self {
        let of_file = dotenv.into_iter().map(|line| {
            let source = SettingSource::DotEnv { name: line.name.clone(), line: line.number };
            (line.name, Variable { value: line.value, source })
        });
        let of_process = environment.into_iter().map(|(name, value)| {
            let source = SettingSource::Environment { name: name.clone() };
            (name, Variable { value, source })
        });
        Self(of_file.chain(of_process).collect())
    }

    /// Returns the variable, even if it is empty.
    pub(crate) fn get(&self, name: &str) -> Option<&Variable> {
        self.0.get(name)
    }

    /// Returns the variable unless it is empty: `OPENAI_API_KEY=` in a file means that there is no key.
    pub(crate) fn get_non_empty(&self, name: &str) -> Option<&Variable> {
        self.get(name).filter(|variable| !variable.value.trim().is_empty())
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, variable)| (name.as_str(), variable.value.as_str()))
    }
}
