//! Opens an agent in a project folder; everything works without any configuration.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ship_context::contexts::{SnapshotLimits, UtteranceLimits};
use ship_project::{LogWriter, Project, TokenBudget};
use ship_store::{Clock, FileStore, Store, StoreOptions, SystemClock};

use super::error::OpenAgentError;
use super::project_folder::{ProjectFolder, ProjectRunLog};
use super::provider_choice::provider;
use crate::built_in_tools::{built_in_tools, context_tools};
use crate::engine::{Agent, AgentParts};
use crate::id_source::RandomIds;
use crate::rules::{ContextRules, Rules};

impl Agent {
    /// Opens the agent of the project in a folder, with its `ship.json` and `.env`. Without them
    /// everything has its default.
    ///
    /// The environment of the process is not read. A caller that wants it passes it to [`Project::load`], and
    /// the project to [`Agent::open`].
    ///
    /// ```
    /// # tokio::runtime::Runtime::new()?.block_on(async {
    /// # let folder = tempfile::tempdir()?;
    /// use ship_agent::{Agent, Inbound, Outcome, Stop};
    ///
    /// let agent = Agent::of_project(folder.path())?;
    /// let chat = "terminal:main".parse()?;
    /// let hello = Inbound { key: "1".into(), text: "hello".into(), ..Inbound::default() };
    /// agent.accept(&chat, hello).await?;
    /// assert_eq!(agent.run(&chat, &Stop::default()).await?, Some(Outcome::Done));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Fails if the project's files have invalid values, and like [`Agent::open`].
    pub fn of_project(folder: impl Into<PathBuf>) -> Result<Self, OpenAgentError> {
        Self::open(&Project::load(folder, [])?, Arc::new(SystemClock))
    }

    /// Opens the agent of a loaded project: its store, its model, its tools, its texts and its logs.
    ///
    /// # Errors
    /// Fails if the project needs something that this program does not have, or if its folder cannot be opened.
    pub fn open(project: &Project, clock: Arc<dyn Clock>) -> Result<Self, OpenAgentError> {
        Ok(Self::from_parts(AgentParts::of_project(project, clock)?))
    }

    /// Opens only the store of a project.
    ///
    /// # Errors
    /// Fails if the project names another store, or if its folder cannot be opened.
    pub fn store(
        project: &Project,
        clock: Arc<dyn Clock>,
    ) -> Result<Arc<dyn Store>, OpenAgentError> {
        let settings = project.settings();
        if settings.storage.url.is_some() {
            return Err(OpenAgentError::NoDatabase);
        }
        let options = StoreOptions {
            durability: settings.storage.durability,
            lock_wait_ms: settings.lock.wait_ms,
            message_bytes_max: line_bytes_max(size(settings.limits.message_bytes)),
            clock,
        };
        Ok(Arc::new(FileStore::new(project.root(), options)?))
    }
}

impl AgentParts {
    /// Returns the parts of a project's agent, for a caller that wants another model or more tools.
    ///
    /// # Errors
    /// Fails like [`Agent::open`].
    pub fn of_project(project: &Project, clock: Arc<dyn Clock>) -> Result<Self, OpenAgentError> {
        let rules = rules(project);
        let mut tools = built_in_tools();
        if rules.contexts.enabled {
            tools.extend(context_tools());
        }
        Ok(Self {
            store: Agent::store(project, Arc::clone(&clock))?,
            provider: provider(project)?,
            tools,
            surroundings: Arc::new(ProjectFolder { project: project.clone() }),
            rules,
            log: Arc::new(ProjectRunLog { logs: LogWriter::new(project, Arc::clone(&clock)) }),
            clock,
            ids: Arc::new(RandomIds),
        })
    }
}

fn size(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// Returns the maximal size of a stored message for a text of so many bytes. JSON may write a byte as six, an
/// answer may quote the question, and the fields around a text do not count against the person.
fn line_bytes_max(text_bytes: usize) -> usize {
    text_bytes.saturating_mul(8).saturating_add(65_536)
}

fn rules(project: &Project) -> Rules {
    let settings = project.settings();
    let run = &settings.context.run;
    Rules {
        max_steps: size(run.max_steps),
        run_deadline: Duration::from_millis(run.deadline_ms),
        tool_deadline: Duration::from_millis(run.tool_deadline_ms),
        message_bytes: size(settings.limits.message_bytes),
        tool_output_chars: size(settings.limits.tool_output_chars),
        max_tokens: settings.llm.max_tokens,
        retries: settings.llm.retries,
        archive_on_compact: settings.context.history.archive_on_compact,
        keep_last_messages: size(settings.context.history.keep_last_messages),
        window: settings.llm.window,
        input_tokens_max: match settings.context.history.max_input_tokens_approx {
            TokenBudget::Auto => None,
            TokenBudget::Tokens(tokens) => Some(tokens),
        },
        request_id_in_system: settings.llm.request_id_in_system,
        chat_sends_max: size(settings.context.chat_egress.chat_send_max_calls_per_run),
        chat_send_once: settings.context.chat_egress.chat_send_idempotency,
        contexts: contexts(&settings.context.contexts),
        operation_wait: Duration::from_millis(settings.lock.wait_ms),
        approval: settings.tools.approval.iter().cloned().collect(),
        client: settings.tools.client.iter().cloned().collect(),
        ..Rules::default()
    }
}

fn contexts(settings: &ship_project::ArchiveSettings) -> ContextRules {
    ContextRules {
        enabled: settings.enabled,
        active: UtteranceLimits {
            turns_max: size(settings.active_max_messages),
            chars_max: size(settings.active_max_chars),
        },
        snapshot: SnapshotLimits {
            turns: UtteranceLimits {
                turns_max: size(settings.max_turns),
                chars_max: size(settings.max_chars),
            },
            search_text_chars_max: size(settings.search_text_max_chars),
        },
    }
}
