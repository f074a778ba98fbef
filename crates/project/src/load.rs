//! Loads the settings of a project: `.env`, then the user-wide `ship.json`, then that of the project, then overrides
//! of the environment.
//!
//! All mistakes are found in one pass and reported together, each with file, line, key and remedy. An unknown key
//! is only a warning, so that an older program can read a newer file.

mod did_you_mean;
mod document;
mod dotenv;
mod expand;
mod problem;
mod settings_files;
mod settings_reader;
mod source;
mod variables;

pub(crate) use did_you_mean::nearest_key;
pub use did_you_mean::nearest_name;
pub(crate) use document::FORGIVING;
pub use dotenv::DotEnvProblem;
pub(crate) use dotenv::parse as parse_dotenv;
pub use problem::{LoadProjectError, ProjectProblem, ProjectProblemKind, Warning, WarningKind};
pub use settings_files::SettingScope;
pub(crate) use settings_files::{SettingsFiles, read_settings_text};
pub(crate) use settings_reader::{Loaded, Sources, load};
pub use source::SettingSource;
pub(crate) use variables::Variables;
