//! Where a value came from.

use std::fmt;

/// Where a value came from. Shown as a person would say it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettingSource {
    /// Nobody said anything.
    Default,
    /// `ship.json` says so.
    ShipJson {
        /// The line, from 1.
        line: usize,
    },
    /// A variable of `.env` says so.
    DotEnv {
        /// The variable.
        name: String,
        /// The line, from 1.
        line: usize,
    },
    /// A variable of the environment says so.
    Environment {
        /// The variable.
        name: String,
    },
}

impl fmt::Display for SettingSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::ShipJson { line } => write!(f, "ship.json line {line}"),
            Self::DotEnv { name, line } => write!(f, "{name} in .env line {line}"),
            Self::Environment { name } => write!(f, "{name} in the environment"),
        }
    }
}
