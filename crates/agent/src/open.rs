//! An agent from a project folder: one constructor, and everything works with no configuration at all.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ship_context::OutputRules;
use ship_message::json::Json;
use ship_project::{
    Level, LogEntry, Logs, Project, ProviderName, SkillState as Found, read_system_texts,
    scan_skills,
};
use ship_provider::{Offline, Provider};
use ship_store::{ChatKey, Clock, FileStore, OpenError, Options, Store, chat_folder};

use crate::{
    Agent, AgentParts, RandomIds, Rules, RunLog, RunNote, SkillState, SkillText, Surroundings,
    Texts, built_in_tools,
};

/// Why an agent cannot be made of a project.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenAgentError {
    /// The project's folder cannot be opened.
    #[error(transparent)]
    Store(#[from] OpenError),
    /// The provider that is named is not in this program.
    #[error(
        "`llm.provider` is `{0}`, and this version of ship has only the offline model; set it to `offline`"
    )]
    NoProvider(&'static str),
    /// The store that is named is not in this program.
    #[error(
        "`store` names a database, and this version of ship keeps chats in files; leave it out"
    )]
    NoDatabase,
}

impl Agent {
    /// Makes the agent of a project: its store, its model, its tools, its texts and its logs.
    ///
    /// # Errors
    /// When the project asks for something that this program does not have, or its folder cannot be opened.
    pub fn open(project: &Project, clock: Arc<dyn Clock>) -> Result<Self, OpenAgentError> {
        let store = Self::store(project, Arc::clone(&clock))?;
        Ok(Self::from_parts(AgentParts {
            store,
            provider: provider(project)?,
            tools: built_in_tools(),
            surroundings: Arc::new(OfProject { project: project.clone() }),
            rules: rules(project),
            log: Arc::new(OfLogs { logs: Logs::new(project, Arc::clone(&clock)) }),
            clock,
            ids: Arc::new(RandomIds::default()),
        }))
    }

    /// Opens the store of a project alone.
    ///
    /// # Errors
    /// When the project names another store, or its folder cannot be opened.
    pub fn store(
        project: &Project,
        clock: Arc<dyn Clock>,
    ) -> Result<Arc<dyn Store>, OpenAgentError> {
        let settings = project.settings();
        if settings.storage.url.is_some() {
            return Err(OpenAgentError::NoDatabase);
        }
        let options = Options {
            durability: settings.storage.durability,
            lock_wait_ms: settings.lock.wait_ms,
            message_bytes_max: usize::try_from(settings.limits.message_bytes).unwrap_or(usize::MAX),
            clock,
        };
        Ok(Arc::new(FileStore::new(project.root(), options)?))
    }
}

/// The offline model answers unless another one is asked for by name, which this program does not have.
fn provider(project: &Project) -> Result<Arc<dyn Provider>, OpenAgentError> {
    match project.settings().llm.provider {
        None | Some(ProviderName::Offline) => Ok(Arc::new(Offline)),
        Some(other) => Err(OpenAgentError::NoProvider(other.as_str())),
    }
}

fn rules(project: &Project) -> Rules {
    let settings = project.settings();
    let run = &settings.context.run;
    let size = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    Rules {
        max_steps: size(run.max_steps),
        run_deadline: Duration::from_millis(run.deadline_ms),
        tool_deadline: Duration::from_millis(run.tool_deadline_ms),
        tool_output_chars: size(settings.limits.tool_output_chars),
        max_tokens: settings.llm.max_tokens,
        chat_sends_max: size(settings.context.chat_egress.chat_send_max_calls_per_run),
        approval: settings.tools.approval.iter().cloned().collect(),
        client: settings.tools.client.iter().cloned().collect(),
        output_rules: OutputRules::Streamed,
    }
}

/// The texts and skills of a project folder, read whenever they are asked for.
struct OfProject {
    project: Project,
}

impl Surroundings for OfProject {
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
        }
    }

    fn skills(&self) -> Vec<SkillText> {
        let read = |skill: ship_project::Skill| SkillText {
            name: skill.name,
            description: skill.description,
            state: match skill.state {
                Found::Usable { body } => SkillState::Usable(body),
                Found::Unusable { reason } => SkillState::Unusable(reason),
                Found::Shadowed { by } => {
                    SkillState::Unusable(format!("another one of this name is in {}", by.display()))
                }
            },
        };
        let skills = scan_skills(self.project.root(), &self.project.settings().skills);
        // One that is shadowed would only be a second line of the same name.
        let shown =
            skills.into_iter().filter(|skill| !matches!(skill.state, Found::Shadowed { .. }));
        shown.map(read).collect()
    }
}

/// The project's logs.
struct OfLogs {
    logs: Logs,
}

impl RunLog for OfLogs {
    fn write(&self, chat: &ChatKey, note: RunNote) {
        let level = match note.kind {
            "error" => Level::Error,
            "repair" => Level::Warn,
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
