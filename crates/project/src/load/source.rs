//! Describes the source of a setting.

use std::fmt;
use std::path::PathBuf;

/// The source of a value. Its `Display` is meant for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettingSource {
    /// The default, because no file and no variable sets the value.
    Default,
    /// The value is set in `ship.json`.
    ShipJson {
        /// The number of the line, counted from 1.
        line: usize,
    },
    /// The value is set in the user-wide `ship.json`.
    UserShipJson {
        /// The path of the file.
        file: PathBuf,
        /// The number of the line, counted from 1.
        line: usize,
    },
    /// The value comes from a variable in `.env`.
    DotEnv {
        /// The name of the variable.
        name: String,
        /// The number of the line, counted from 1.
        line: usize,
    },
    /// The value comes from a variable of the environment.
    Environment {
        /// The name of the variable.
        name: String,
    },
}

impl fmt::Display for SettingSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::ShipJson { line } => write!(f, "ship.json:{line}"),
            Self::UserShipJson { line, .. } => write!(f, "user-wide ship.json:{line}"),
            Self::DotEnv { name, line } => write!(f, "{name} in .env:{line}"),
            Self::Environment { name } => write!(f, "{name} in the environment"),
        }
    }
}
