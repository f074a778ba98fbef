//! The log of an agent, for a test to read.

use std::sync::Mutex;

use ship_agent::{RunLog, RunLogEntry};
use ship_store::ChatKey;

/// A log that is kept to be looked at.
#[derive(Default)]
pub(crate) struct KeptLog(Mutex<Vec<(ChatKey, RunLogEntry)>>);

impl RunLog for KeptLog {
    fn write(&self, chat: &ChatKey, note: RunLogEntry) {
        self.0.lock().unwrap().push((chat.clone(), note));
    }
}

impl KeptLog {
    /// The lines of a kind, each with its fields and texts.
    pub(crate) fn of(&self, kind: &str) -> Vec<String> {
        self.each(kind, |_, note| {
            let fields = note.fields.iter().chain(&note.texts);
            fields.map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
        })
    }

    /// The chats and requests that the lines of a kind are about.
    pub(crate) fn requests_of(&self, kind: &str) -> Vec<String> {
        self.each(kind, |chat, note| format!("{chat} {}", note.request_id))
    }

    fn each(&self, kind: &str, line: impl Fn(&ChatKey, &RunLogEntry) -> String) -> Vec<String> {
        let notes = self.0.lock().unwrap();
        let of_kind = notes.iter().filter(|(_, note)| note.kind.as_str() == kind);
        of_kind.map(|(chat, note)| line(chat, note)).collect()
    }
}
