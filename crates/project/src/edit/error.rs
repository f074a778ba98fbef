//! The reasons why a setting is not changed.

use std::io;
use std::path::PathBuf;

use ship_record::{Explain, Explanation};

use crate::{LoadProjectError, ProjectProblem, ProjectProblemKind};

/// The reason why a setting was not changed.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.explain())]
#[non_exhaustive]
pub enum EditSettingsError {
    /// There is no such key.
    UnknownKey {
        /// The name that was given.
        key: String,
        /// The known key that was perhaps meant.
        nearest: Option<&'static str>,
    },
    /// The name is that of a group, which has no value of its own.
    Group {
        /// The name of the group.
        name: String,
    },
    /// The key belongs to one project, and the file counts for all.
    ProjectOnly {
        /// The full name of the key.
        key: &'static str,
    },
    /// The value is a secret, and the file may be published.
    PlainSecret {
        /// The full name of the key.
        key: &'static str,
    },
    /// The key to remove is not in the file.
    NotSet {
        /// The full name of the key.
        key: &'static str,
        /// The path of the file.
        file: PathBuf,
    },
    /// The place of the user-wide file is unknown.
    NoUserFile,
    /// The value does not fit the key.
    Value(ProjectProblem),
    /// The settings would be wrong.
    Settings(#[from] LoadProjectError),
    /// The file cannot be written.
    File {
        /// The path of the file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

impl Explain for EditSettingsError {
    fn explain(&self) -> Explanation {
        match self {
            Self::UnknownKey { key, nearest } => {
                let remedy = match nearest {
                    Some(nearest) => format!("did you mean `{nearest}`?"),
                    None => "`ship config` lists all settings".to_owned(),
                };
                Explanation::new(format!("there is no setting `{key}`")).with_remedy(remedy)
            }
            Self::Group { name } => Explanation::new(format!("`{name}` is a group of settings"))
                .with_remedy(format!("`ship config {name}` lists them; name one of them")),
            Self::ProjectOnly { key } => {
                Explanation::new(format!("`{key}` can only be set for one project"))
                    .with_remedy("leave out --user, and run this in the project's folder")
            }
            Self::PlainSecret { key } => Explanation::new(format!(
                "`{key}` is a secret, and ship.json is meant to be committed"
            ))
            .with_remedy("put NAME=… into .env and set this to '${NAME}', or use --user"),
            Self::NotSet { key, file } => {
                Explanation::new(format!("`{key}` is not set in {}", file.display()))
            }
            Self::NoUserFile => Explanation::new("there is no folder for user-wide settings")
                .with_remedy("set HOME or XDG_CONFIG_HOME"),
            Self::Value(problem) => {
                let text = problem.value_problem().unwrap_or_else(|| problem.to_string());
                let explanation = Explanation::new(text);
                match problem.kind {
                    ProjectProblemKind::Value { .. } => explanation,
                    _ => explanation.with_remedy(problem.hint()),
                }
            }
            Self::Settings(error) => Explanation::new(error.to_string()),
            Self::File { path, .. } => {
                Explanation::new(format!("{} cannot be written", path.display()))
                    .with_remedy("check the folder's permissions and the free space")
            }
        }
    }
}
