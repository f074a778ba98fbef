//! What an error says to a person: the problem, and the remedy.

use std::fmt;

/// The problem of an error, and its remedy if there is one. Its text is "problem; remedy".
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// What is wrong.
    pub problem: String,
    /// What to do about it.
    pub remedy: Option<String>,
}

impl Explanation {
    /// Explains a problem without a remedy.
    pub fn new(problem: impl Into<String>) -> Self {
        Self { problem: problem.into(), remedy: None }
    }

    /// Adds the remedy.
    pub fn with_remedy(self, remedy: impl Into<String>) -> Self {
        Self { remedy: Some(remedy.into()), ..self }
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.problem)?;
        match &self.remedy {
            Some(remedy) => write!(f, "; {remedy}"),
            None => Ok(()),
        }
    }
}

/// An error that names its remedy apart from the problem.
pub trait Explain {
    /// Explains the error.
    fn explain(&self) -> Explanation;
}
