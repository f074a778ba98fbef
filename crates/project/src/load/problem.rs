//! The problems that a project's files can have, with messages for a person.

use std::fmt;
use std::io;
use std::path::PathBuf;

use super::dotenv::DotEnvProblem;

/// The reason why a project could not be loaded: every problem, in the order of the files.
#[derive(Debug)]
pub struct LoadProjectError {
    problems: Vec<ProjectProblem>,
}

impl LoadProjectError {
    pub(crate) fn new(problems: Vec<ProjectProblem>) -> Self {
        debug_assert!(!problems.is_empty(), "an error says what is wrong");
        Self { problems }
    }

    pub(crate) fn into_problems(self) -> Vec<ProjectProblem> {
        self.problems
    }

    /// Returns every problem; there is at least one.
    pub fn problems(&self) -> &[ProjectProblem] {
        &self.problems
    }
}

impl fmt::Display for LoadProjectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((first, rest)) = self.problems.split_first() else { return Ok(()) };
        first.fmt(f)?;
        if rest.is_empty() { Ok(()) } else { write!(f, " (and {} more)", rest.len()) }
    }
}

impl std::error::Error for LoadProjectError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.problems.first().and_then(std::error::Error::source)
    }
}

/// One problem. [`hint`](Self::hint) returns its remedy.
#[derive(Debug)]
pub struct ProjectProblem {
    /// The file with the problem.
    pub file: PathBuf,
    /// The number of the line, counted from 1, if there is one.
    pub line: Option<usize>,
    /// The kind of problem, with its details.
    pub kind: ProjectProblemKind,
}

/// The kind of a problem. Secrets in it are already masked.
#[derive(Debug)]
#[non_exhaustive]
pub enum ProjectProblemKind {
    /// The system refuses to read the file.
    Unreadable(io::Error),
    /// The file is not UTF-8.
    NotText,
    /// The file is larger than any that people write.
    TooLarge,
    /// A line of `.env` is invalid.
    DotEnv(DotEnvProblem),
    /// `ship.json` is not valid JSON.
    Syntax {
        /// The column, counted from 1.
        column: usize,
        /// The message of the parser.
        what: String,
    },
    /// A value does not fit its key.
    Value {
        /// The full name of the key.
        key: String,
        /// A description of the value.
        found: String,
        /// A description of valid values, as a phrase after "must be".
        expected: String,
    },
    /// `${NAME}` names a variable that is not set.
    Unset {
        /// The full name of the key.
        key: String,
        /// The name of the variable.
        variable: String,
    },
    /// A `${` is not followed by a name and `}`.
    NotAVariable {
        /// The full name of the key.
        key: String,
    },
}

impl ProjectProblem {
    /// Whether two problems are the same wrong value, perhaps in another line.
    pub(crate) fn is_same_value(&self, other: &Self) -> bool {
        use ProjectProblemKind::{NotAVariable, Unset, Value};
        let is_value = matches!(self.kind, Value { .. } | Unset { .. } | NotAVariable { .. });
        let is_same = || format!("{:?}", self.kind) == format!("{:?}", other.kind);
        is_value && self.file == other.file && is_same()
    }

    /// Describes a wrong value without its place in the file.
    pub(crate) fn value_problem(&self) -> Option<String> {
        match &self.kind {
            ProjectProblemKind::Value { key, .. } if key.is_empty() => None,
            ProjectProblemKind::Value { key, found, expected } => {
                Some(format!("`{key}` must be {expected}, but is {found}"))
            }
            ProjectProblemKind::Unset { key, variable } => {
                Some(format!("`{key}` uses the variable {variable}, which is not set"))
            }
            ProjectProblemKind::NotAVariable { key } => {
                Some(format!("`{key}` has a `${{` without a variable's name and `}}`"))
            }
            _ => None,
        }
    }

    /// Returns the remedy as a sentence.
    pub fn hint(&self) -> String {
        match &self.kind {
            ProjectProblemKind::Unreadable(_) => "make it readable, or move it away".to_owned(),
            ProjectProblemKind::NotText => "save it as UTF-8".to_owned(),
            ProjectProblemKind::TooLarge => "move it away, or remove what does not belong in it".to_owned(),
            ProjectProblemKind::DotEnv(_) => {
                "write NAME=value; quote a value with spaces, and start a comment with #".to_owned()
            }
            ProjectProblemKind::Syntax { .. } => {
                "look nearby for a missing comma, quote or bracket".to_owned()
            }
            ProjectProblemKind::Value { key, .. } if key.is_empty() => {
                "start it with { and end it with }; `ship init` in an empty folder writes an example".to_owned()
            }
            ProjectProblemKind::Value { .. } => "remove the line to use the default".to_owned(),
            ProjectProblemKind::Unset { variable, .. } => {
                format!("put {variable}=… into .env, or set it in the environment")
            }
            ProjectProblemKind::NotAVariable { .. } => {
                "write ${NAME} for a variable, or $${ for a literal ${".to_owned()
            }
        }
    }
}

impl fmt::Display for ProjectProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if let Some(problem) = self.value_problem() {
            return write!(f, ": {problem}");
        }
        match &self.kind {
            ProjectProblemKind::Unreadable(_) => f.write_str(" cannot be read"),
            ProjectProblemKind::NotText => f.write_str(": not UTF-8 text"),
            ProjectProblemKind::TooLarge => f.write_str(" is too large for a settings file"),
            ProjectProblemKind::DotEnv(problem) => write!(f, ": {problem}"),
            ProjectProblemKind::Syntax { column, what } => write!(f, ":{column}: {what}"),
            ProjectProblemKind::Value { found, expected, .. } => {
                write!(f, ": the file must be {expected}, but is {found}")
            }
            ProjectProblemKind::Unset { .. } | ProjectProblemKind::NotAVariable { .. } => Ok(()),
        }
    }
}

impl std::error::Error for ProjectProblem {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.kind {
            ProjectProblemKind::Unreadable(source) => Some(source),
            _ => None,
        }
    }
}

/// A problem that does not stop the program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// The file with the problem.
    pub file: PathBuf,
    /// The number of the line, counted from 1, if there is one.
    pub line: Option<usize>,
    /// The kind of warning, with its details.
    pub kind: WarningKind,
}

/// The kind of a warning.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum WarningKind {
    /// The key is unknown to this program.
    UnknownKey {
        /// The full name of the key.
        key: String,
        /// The known key that was perhaps meant.
        nearest: Option<&'static str>,
    },
    /// Another key has replaced this one, which is still read.
    Replaced {
        /// The full name of the key.
        key: &'static str,
        /// The full name of its successor.
        by: &'static str,
    },
    /// Nothing in this version obeys the key.
    NoEffect {
        /// The full name of the key.
        key: &'static str,
    },
    /// The key belongs to one project, and the file counts for all.
    ProjectOnly {
        /// The full name of the key.
        key: &'static str,
    },
    /// A key occurs twice; the later value counts.
    Twice {
        /// The full name of the key.
        key: String,
    },
    /// Every account on the machine can change the file.
    WritableByAll,
    /// The path is that of a folder.
    Folder,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        match &self.kind {
            WarningKind::UnknownKey { key, nearest: Some(nearest) } => {
                write!(f, ": there is no setting `{key}`; did you mean `{nearest}`?")
            }
            WarningKind::UnknownKey { key, nearest: None } => {
                write!(f, ": there is no setting `{key}`, so it has no effect")
            }
            WarningKind::Replaced { key, by } => {
                write!(f, ": `{key}` is now `{by}`; `true` is read as \"system\"")
            }
            WarningKind::NoEffect { key } => {
                write!(f, ": `{key}` has no effect in this version")
            }
            WarningKind::ProjectOnly { key } => {
                write!(f, ": `{key}` has no effect here; set it in a project's ship.json")
            }
            WarningKind::Twice { key } => {
                write!(f, ": `{key}` is set twice; this one counts")
            }
            WarningKind::Folder => {
                write!(f, " is a folder, so it is ignored; put a file there")
            }
            WarningKind::WritableByAll => {
                write!(f, " can be changed by anyone on this machine; run `chmod 600` on it")
            }
        }
    }
}
