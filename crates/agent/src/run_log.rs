//! The log of a run: what the engine writes to a project's logs.

use ship_message::json::Json;
use ship_project::Level;
use ship_store::ChatKey;

/// A line of the log about a run.
#[derive(Clone, Debug, Default)]
pub struct RunLogEntry {
    /// The kind of the entry.
    pub kind: RunLogKind,
    /// The id of the request; empty if the line concerns none.
    pub request_id: String,
    /// The id of the run; empty if the line concerns none.
    pub run_id: String,
    /// Sizes, names and counts.
    pub fields: Vec<(&'static str, Json)>,
    /// The texts of people and models. The writer of the log leaves them out if the settings say so.
    pub texts: Vec<(&'static str, Json)>,
    /// The raw body of a request, as JSON text, which is written only on demand.
    pub payload: Option<String>,
}

/// The kind of an entry in the log of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RunLogKind {
    /// A model was asked.
    LlmRequest,
    /// A model has answered.
    LlmResponse,
    /// The system blocks differ from those of the run before.
    SystemChanged,
    /// A context was compacted.
    Compacted,
    /// A request was too long for the provider.
    Overflow,
    /// Files of the chat were repaired.
    Repair,
    /// Something looks wrong and stops nothing.
    #[default]
    Warning,
    /// A run or a call has failed.
    Error,
}

impl RunLogKind {
    /// Returns the word that stands in the log.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::LlmRequest => "llm_request",
            Self::LlmResponse => "llm_response",
            Self::SystemChanged => "system_changed",
            Self::Compacted => "compacted",
            Self::Overflow => "overflow",
            Self::Repair => "repair",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }

    /// Returns the level of such entries.
    pub fn level(self) -> Level {
        match self {
            Self::LlmRequest | Self::LlmResponse | Self::SystemChanged | Self::Compacted => {
                Level::Info
            }
            Self::Overflow | Self::Repair | Self::Warning => Level::Warn,
            Self::Error => Level::Error,
        }
    }
}

/// Receives the log lines of runs.
pub trait RunLog: Send + Sync {
    /// Writes one line.
    fn write(&self, chat: &ChatKey, note: RunLogEntry);

    /// Whether the bodies of requests are written. They are as large as the window, so they are not copied for nothing.
    fn wants_payload(&self) -> bool {
        true
    }

    /// Waits until everything is written that was taken before.
    fn flush(&self) {}
}

/// A log that writes nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoLog;

impl RunLog for NoLog {
    fn write(&self, _: &ChatKey, _: RunLogEntry) {}

    fn wants_payload(&self) -> bool {
        false
    }
}
