//! The folder of a project as the engine sees it: texts, skills and logs.

use std::sync::Arc;

use ship_message::json::Json;
use ship_project::{LogEntry, LogWriter, Project, TextCache, TextsAndSkills};
use ship_store::{ChatKey, Clock};

use crate::project_source::ProjectSource;
use crate::run_log::{RunLog, RunLogEntry};

/// The texts and skills of a project folder, read again when they have changed.
pub(super) struct ProjectFolder {
    project: Project,
    cache: TextCache,
    clock: Arc<dyn Clock>,
}

impl ProjectFolder {
    pub(super) fn new(project: &Project, clock: Arc<dyn Clock>) -> Self {
        let cache = TextCache::new(project.root(), &project.settings().skills);
        Self { project: project.clone(), cache, clock }
    }
}

impl ProjectSource for ProjectFolder {
    fn project_root(&self) -> String {
        self.project.root().display().to_string()
    }

    fn unchanged(&self, _chat: &ChatKey) -> Option<TextsAndSkills> {
        self.cache.unchanged()
    }

    fn read(&self, _chat: &ChatKey) -> TextsAndSkills {
        self.cache.read(self.clock.now())
    }

    fn warnings(&self) -> Vec<String> {
        self.project.warnings().iter().map(ToString::to_string).collect()
    }

    fn mask(&self, text: &str) -> String {
        self.project.secrets().mask(text).into_owned()
    }
}

/// Writes the run log to the project's logs.
pub(super) struct ProjectRunLog {
    pub(super) logs: LogWriter,
}

impl RunLog for ProjectRunLog {
    fn write(&self, chat: &ChatKey, note: RunLogEntry) {
        let mut entry = LogEntry::new(note.kind.level(), note.kind.as_str()).chat(chat);
        if !note.request_id.is_empty() {
            entry = entry.request(note.request_id).run(note.run_id);
        }
        for (name, value) in note.fields {
            entry = entry.plain(name, value);
        }
        for (name, value) in note.texts {
            entry = entry.message(name, value);
        }
        if let Some(body) = note.payload.filter(|_| self.wants_payload()) {
            entry = entry.payload("body", Json::parse(&body).unwrap_or_else(|_| body.into()));
        }
        self.logs.write(entry);
    }

    fn wants_payload(&self) -> bool {
        self.logs.options().payload
    }

    fn flush(&self) {
        self.logs.flush();
    }
}
