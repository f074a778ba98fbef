//! What went wrong, for people and for programs.

use std::io::Write;

use ship_agent::{OpenAgentError, RunError};
use ship_message::json::{Json, Object};
use ship_project::Secrets;
use ship_store::AcceptError;

use crate::output;
use crate::style::Style;

/// Why a command did not do what it was asked: a stable code, a sentence, and what to do about it.
#[derive(Debug)]
pub(crate) struct Failure {
    code: &'static str,
    message: String,
    hint: Option<String>,
}

impl Failure {
    pub(crate) fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), hint: None }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// An error with all that caused it, on one line.
    pub(crate) fn from_error(
        code: &'static str,
        error: &(dyn std::error::Error + 'static),
    ) -> Self {
        let mut message = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            let text = error.to_string();
            if !message.contains(&text) {
                message = format!("{message}: {text}");
            }
            cause = error.source();
        }
        Self::new(code, message)
    }

    /// The same failure without the project's secrets: a path or an answer from outside may quote one.
    pub(crate) fn without(mut self, secrets: &Secrets) -> Self {
        self.message = secrets.mask(&self.message).into_owned();
        self.hint = self.hint.map(|hint| secrets.mask(&hint).into_owned());
        self
    }

    /// Whether what was handed in is at fault, and everything else works.
    pub(crate) fn is_refusal(&self) -> bool {
        self.code == REFUSED
    }

    /// Whether nothing failed but that nobody reads the output any more.
    pub(crate) fn is_reader_gone(&self) -> bool {
        self.code == READER_GONE
    }

    /// Prints the failure: JSON on standard output, or words on standard error.
    pub(crate) fn print(&self, json: bool) {
        if json {
            let mut error = Object::from([("code", self.code), ("message", &self.message)]);
            error.set("hint", self.hint.as_deref().map_or(Json::Null, Json::from));
            let error = Json::Object(Object::from([("error", error)]));
            // Nobody is left to be told when standard output is gone.
            let _ = writeln!(std::io::stdout(), "{error}");
            return;
        }
        let style = Style::of_stderr();
        let mut out = std::io::stderr();
        let _ = writeln!(out, "{} {}", style.red("ship:"), output::visible(&self.message));
        if let Some(hint) = &self.hint {
            let _ = writeln!(out, "{} {}", style.dim("hint:"), output::visible(hint));
        }
    }
}

/// Standard output that is gone ends a command; it is no failure worth a sentence of its own.
const READER_GONE: &str = "reader_gone";

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        let gone = error.kind() == std::io::ErrorKind::BrokenPipe;
        Self::from_error(if gone { READER_GONE } else { "io" }, &error)
    }
}

macro_rules! from_errors {
    ($($error:ty => $code:literal)*) => {$(
        impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Self::from_error($code, &error)
            }
        }
    )*};
}

/// A message that cannot be accepted, because it is too long for example.
const REFUSED: &str = "refused";

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        let refused = matches!(error, RunError::Accept(AcceptError::Refused(_)));
        Self::from_error(if refused { REFUSED } else { "run" }, &error)
    }
}

impl From<OpenAgentError> for Failure {
    fn from(error: OpenAgentError) -> Self {
        if let OpenAgentError::NoProvider(name) = error {
            let message =
                format!("`llm.provider` is \"{name}\", which this version cannot use yet");
            return Self::new("agent", message)
                .hint("set it to \"offline\", or leave it out, to have the offline model");
        }
        Self::from_error("agent", &error)
    }
}

from_errors! {
    ship_store::ListError => "storage"
    ship_store::OpenError => "storage"
    ship_store::ReadError => "storage"
    ship_store::ChatKeyError => "chat_key"
    ship_project::InitError => "init"
}

impl From<ship_project::LoadError> for Failure {
    fn from(error: ship_project::LoadError) -> Self {
        let mut lines = Vec::new();
        let mut hint = None;
        for problem in error.problems() {
            lines.push(problem.to_string());
            hint.get_or_insert_with(|| problem.hint());
        }
        Self { code: "config", message: lines.join("\n      "), hint }
    }
}
