//! The log of a run: what the engine writes to a project's logs.

use ship_message::json::Json;
use ship_store::ChatKey;

/// A line of the log about a run.
#[derive(Clone, Debug, Default)]
pub struct RunLogEntry {
    /// The kind of line: `llm_request`, `llm_response`, `system_changed`, `repair`, `warning` or `error`.
    pub kind: &'static str,
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

/// Receives the log lines of runs.
pub trait RunLog: Send + Sync {
    /// Writes one line.
    fn write(&self, chat: &ChatKey, note: RunLogEntry);
}

/// A log that writes nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoLog;

impl RunLog for NoLog {
    fn write(&self, _: &ChatKey, _: RunLogEntry) {}
}
