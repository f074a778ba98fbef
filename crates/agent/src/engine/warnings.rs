//! Reports problems that do not stop an agent: once to the person, and to the log.

use ship_message::json::Json;
use ship_project::nearest_name;
use ship_store::{ChatKey, FileError};

use super::Engine;
use super::agent::Agent;
use super::system_sources::ChatMemory;
use crate::recent_map::RecentMap;
use crate::run_log::{RunLogEntry, RunLogKind};

impl Agent {
    /// Returns the problems, a sentence each: texts that exist and cannot be read, and settings that name unknown
    /// tools. Problems from loading the project are not among them.
    pub async fn warnings(&self, chat: &ChatKey) -> Vec<String> {
        let agent = &*self.engine;
        let mut warnings = agent.unknown_tools();
        let (texts, _) = agent.project_texts(chat).await;
        warnings.extend(texts.problems.iter().map(FileError::text_for_user));
        warnings.extend(ChatMemory::read(agent, chat).await.problem);
        warnings.iter().map(|warning| agent.project.mask(warning)).collect()
    }
}

impl Engine {
    /// Writes problems to the log, each once.
    pub(crate) async fn warn(&self, chat: &ChatKey, problems: &[String]) {
        let mut warned = self.warned.lock().await;
        if warned.is_empty() {
            for warning in self.project.warnings().into_iter().chain(self.unknown_tools()) {
                self.warn_once(&mut warned, chat, warning);
            }
            // This empty entry, which is no real warning, marks that the step was done.
            warned.insert(String::new(), ());
        }
        for problem in problems {
            self.warn_once(&mut warned, chat, problem.clone());
        }
    }

    fn warn_once(&self, warned: &mut RecentMap<String, ()>, chat: &ChatKey, warning: String) {
        let message = self.project.mask(&warning);
        if warned.insert(warning, ()) {
            let fields = vec![("message", Json::from(message))];
            self.log.write(
                chat,
                RunLogEntry { kind: RunLogKind::Warning, fields, ..RunLogEntry::default() },
            );
        }
    }

    /// Returns warnings about tools that the settings name and that do not exist.
    fn unknown_tools(&self) -> Vec<String> {
        let named =
            [("tools.approval", &self.rules.approval), ("tools.client", &self.rules.client)];
        let mut warnings = Vec::new();
        for (key, names) in named {
            for name in names.iter().filter(|name| !self.tools.contains_key(*name)) {
                let tools = self.tools.keys().map(String::as_str);
                warnings.push(match nearest_name(name, tools) {
                    Some(near) => format!(
                        "`{key}` names `{name}`, but there is no such tool; did you mean `{near}`?"
                    ),
                    None => format!("`{key}` names `{name}`, but there is no such tool"),
                });
            }
        }
        warnings
    }
}
