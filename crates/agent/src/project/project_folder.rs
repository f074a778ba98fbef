//! The folder of a project as the engine sees it: texts, skills and logs.

use std::path::{Path, PathBuf};

use ship_message::json::Json;
use ship_project::{
    FileError, Level, LogEntry, LogWriter, Project, SkillState as Found, read_system_texts,
    scan_skills,
};
use ship_store::{ChatKey, chat_folder};

use crate::project_source::{ProjectSource, SkillState, SkillText, Texts};
use crate::run_log::{RunLog, RunLogEntry};

/// The texts and skills of a project folder, read on each request of the engine.
pub(super) struct ProjectFolder {
    pub(super) project: Project,
}

impl ProjectSource for ProjectFolder {
    fn project_root(&self) -> String {
        self.project.root().display().to_string()
    }

    fn texts(&self, chat: &ChatKey) -> Texts {
        let folder: PathBuf = self.project.root().join(chat_folder(chat));
        let texts = read_system_texts(self.project.root(), Some(&folder));
        Texts {
            profile_primary: texts.profile_primary,
            profile_other: texts.profile_other,
            memory: texts.memory,
            agent: Some(texts.role),
            problems: texts.problems.iter().map(FileError::told).collect(),
        }
    }

    fn skills(&self) -> Vec<SkillText> {
        let root = self.project.root();
        let read = |skill: ship_project::Skill| {
            let near =
                |folder: &Path| folder.strip_prefix(root).unwrap_or(folder).display().to_string();
            SkillText {
                state: match skill.state {
                    Found::Usable { body } => SkillState::Usable(body),
                    Found::Unusable { reason } => SkillState::Unusable(reason),
                    Found::Shadowed { by } => SkillState::Unusable(format!(
                        "the one in {} is not used, because one of the same name is in {}; rename it to have both",
                        near(&skill.folder),
                        near(&by)
                    )),
                },
                name: skill.name,
                description: skill.description,
                allowed_tools: skill.allowed_tools,
            }
        };
        scan_skills(root, &self.project.settings().skills).into_iter().map(read).collect()
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
        let level = match note.kind {
            "error" => Level::Error,
            "repair" | "overflow" | "warning" => Level::Warn,
            _ => Level::Info,
        };
        let mut entry = LogEntry::new(level, note.kind).chat(chat);
        if !note.request_id.is_empty() {
            entry = entry.request(note.request_id).run(note.run_id);
        }
        for (name, value) in note.fields {
            entry = entry.plain(name, value);
        }
        for (name, value) in note.texts {
            entry = entry.message(name, value);
        }
        if let Some(body) = note.payload.filter(|_| self.logs.options().payload) {
            entry = entry.payload("body", Json::parse(&body).unwrap_or_else(|_| body.into()));
        }
        self.logs.write(entry);
    }
}
