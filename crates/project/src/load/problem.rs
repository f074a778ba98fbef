//! What can be wrong with what a project says, in words that help.

use std::fmt;
use std::io;
use std::path::PathBuf;

use super::dotenv::DotEnvProblem;

/// Why a project could not be loaded: everything that is wrong, in the order of the files.
#[derive(Debug)]
pub struct LoadProjectError {
    problems: Vec<ProjectProblem>,
}

impl LoadProjectError {
    pub(super) fn new(problems: Vec<ProjectProblem>) -> Self {
        debug_assert!(!problems.is_empty(), "an error says what is wrong");
        Self { problems }
    }

    /// Returns everything that is wrong; at least one thing.
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

/// One thing that is wrong. [`hint`](Self::hint) says what to do about it.
#[derive(Debug)]
pub struct ProjectProblem {
    /// The file.
    pub file: PathBuf,
    /// The line, from 1, where there is one.
    pub line: Option<usize>,
    /// What is wrong.
    pub kind: ProjectProblemKind,
}

/// What is wrong. Secrets in it are masked already.
#[derive(Debug)]
#[non_exhaustive]
pub enum ProjectProblemKind {
    /// The system does not give the file.
    Unreadable(io::Error),
    /// The file is not UTF-8.
    NotText,
    /// The file is larger than anything anyone writes.
    TooLarge,
    /// A line of `.env` is not one.
    DotEnv(DotEnvProblem),
    /// `ship.json` is not JSON.
    Syntax {
        /// The column, from 1.
        column: usize,
        /// What the parser says.
        what: String,
    },
    /// A value is not what its key needs.
    Value {
        /// The key.
        key: String,
        /// What is there, described.
        found: String,
        /// What it must be, as a phrase behind "must be".
        expected: String,
    },
    /// `${NAME}` names a variable that nobody set.
    Unset {
        /// The key.
        key: String,
        /// The variable.
        variable: String,
    },
    /// `${` is not followed by a name and `}`.
    NotAVariable {
        /// The key.
        key: String,
    },
}

impl ProjectProblem {
    /// Returns what to do about it, in a sentence.
    pub fn hint(&self) -> String {
        match &self.kind {
            ProjectProblemKind::Unreadable(_) => "make it readable for you, or move it away".to_owned(),
            ProjectProblemKind::NotText => "save it as UTF-8".to_owned(),
            ProjectProblemKind::TooLarge => "move away what does not belong there".to_owned(),
            ProjectProblemKind::DotEnv(_) => {
                "write NAME=value, with quotes around a value that has spaces, and # before a comment".to_owned()
            }
            ProjectProblemKind::Syntax { .. } => {
                "look there, and at the lines around it, for a missing comma, quote or bracket".to_owned()
            }
            ProjectProblemKind::Value { key, .. } if key.is_empty() => {
                "begin with { and end with }; `ship init` in an empty folder writes an example".to_owned()
            }
            ProjectProblemKind::Value { key, expected, .. } => {
                format!("set `{key}` to {expected}, or remove the line to have the default")
            }
            ProjectProblemKind::Unset { variable, .. } => {
                format!("put {variable}=… into .env, or set it in the environment")
            }
            ProjectProblemKind::NotAVariable { .. } => {
                "write ${NAME} for a variable, or $${ for a plain ${".to_owned()
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
        match &self.kind {
            ProjectProblemKind::Unreadable(_) => f.write_str(" cannot be read"),
            ProjectProblemKind::NotText => f.write_str(": this is not UTF-8 text"),
            ProjectProblemKind::TooLarge => f.write_str(" is too large to be meant"),
            ProjectProblemKind::DotEnv(problem) => write!(f, ": {problem}"),
            ProjectProblemKind::Syntax { column, what } => write!(f, ":{column}: {what}"),
            ProjectProblemKind::Value { key, found, expected } if key.is_empty() => {
                write!(f, ": the file must be {expected}, but is {found}")
            }
            ProjectProblemKind::Value { key, found, expected } => {
                write!(f, ": `{key}` must be {expected}, but is {found}")
            }
            ProjectProblemKind::Unset { key, variable } => {
                write!(f, ": `{key}` needs the variable {variable}, which is not set")
            }
            ProjectProblemKind::NotAVariable { key } => {
                write!(f, ": `{key}` has a `${{` that is not the beginning of a variable")
            }
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

/// Something that looks wrong and stops nobody.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// The file.
    pub file: PathBuf,
    /// The line, from 1, where there is one.
    pub line: Option<usize>,
    /// What looks wrong.
    pub kind: WarningKind,
}

/// What looks wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum WarningKind {
    /// No such key is known.
    UnknownKey {
        /// The key.
        key: String,
        /// The known one that was perhaps meant.
        nearest: Option<&'static str>,
    },
    /// A key is there twice; the later one counts.
    Twice {
        /// The key.
        key: String,
    },
    /// Everybody on the machine can change the file.
    WritableByAll,
    /// It is a folder.
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
                write!(f, ": `{key}` is not known and has no effect; did you mean `{nearest}`?")
            }
            WarningKind::UnknownKey { key, nearest: None } => {
                write!(f, ": `{key}` is not known and has no effect")
            }
            WarningKind::Twice { key } => {
                write!(f, ": `{key}` is set a second time; this one counts")
            }
            WarningKind::Folder => {
                write!(f, " is a folder, so nothing is set; put a file there")
            }
            WarningKind::WritableByAll => {
                write!(f, " can be changed by everybody on this machine; `chmod 600` it")
            }
        }
    }
}
