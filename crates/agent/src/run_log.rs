//! The log of a run: what the engine tells a project's logs.

use ship_message::json::Json;
use ship_store::ChatKey;

/// Something for the log about a run.
#[derive(Clone, Debug, Default)]
pub struct RunLogEntry {
    /// What kind of line it is: `llm_request`, `llm_response`, `system_changed`,
    /// `repair`, `warning` or `error`.
    pub kind: &'static str,
    /// The request; empty when the line is about none.
    pub request_id: String,
    /// The run; empty when the line is about none.
    pub run_id: String,
    /// Sizes, names and counts.
    pub fields: Vec<(&'static str, Json)>,
    /// What people and models wrote. Whoever writes the line leaves it out when told to.
    pub texts: Vec<(&'static str, Json)>,
    /// The raw body of a request, as JSON text. Written only when asked for.
    pub payload: Option<String>,
}

/// Where a run tells what it does, for the log.
pub trait RunLog: Send + Sync {
    /// Writes one line.
    fn write(&self, chat: &ChatKey, note: RunLogEntry);
}

/// No log.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoLog;

impl RunLog for NoLog {
    fn write(&self, _: &ChatKey, _: RunLogEntry) {}
}
