//! The environment and `.env` together.

use std::collections::BTreeMap;

use super::{SettingSource, dotenv};

/// A variable, and who set it.
#[derive(Clone)]
pub(crate) struct Variable {
    pub(crate) value: String,
    pub(crate) source: SettingSource,
}

/// All variables by name. What the environment sets wins over `.env`, so that one call can differ from
/// what the project says.
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

    /// The variable, be it empty.
    pub(crate) fn get(&self, name: &str) -> Option<&Variable> {
        self.0.get(name)
    }

    /// The variable, unless it is empty: `OPENAI_API_KEY=` in a file says that there is no key.
    pub(crate) fn filled(&self, name: &str) -> Option<&Variable> {
        self.get(name).filter(|variable| !variable.value.trim().is_empty())
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, variable)| (name.as_str(), variable.value.as_str()))
    }
}
