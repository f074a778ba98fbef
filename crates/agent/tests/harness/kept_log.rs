//! The log of an agent, for a test to read.

use std::sync::Mutex;

use ship_agent::{RunLog, RunLogEntry};
use ship_store::ChatKey;

/// A log that is kept to be looked at.
#[derive(Default)]
pub(crate) struct KeptLog(Mutex<Vec<RunLogEntry>>);

impl RunLog for KeptLog {
    fn write(&self, _: &ChatKey, note: RunLogEntry) {
        self.0.lock().unwrap().push(note);
    }
}

impl KeptLog {
    /// The lines of a kind, each with its fields and texts.
    pub(crate) fn of(&self, kind: &str) -> Vec<String> {
        let notes = self.0.lock().unwrap();
        let line = |note: &RunLogEntry| {
            let fields = note.fields.iter().chain(&note.texts);
            fields.map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
        };
        notes.iter().filter(|note| note.kind.as_str() == kind).map(line).collect()
    }
}
