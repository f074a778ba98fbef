//! Builds an agent: every part has a default, and each can be replaced.

use std::collections::BTreeMap;
use std::sync::Arc;

use ship_provider::{Offline, Provider};
use ship_store::{Clock, FileStore, Store, StoreOptions, SystemClock};
use tokio::sync::Mutex;

use super::observed_talk::ObservedTalk;
use super::summary_drafts::SummaryDrafts;
use super::{Agent, Engine, offered_tools};
use crate::built_in_tools::{built_in_tools, context_tools};
use crate::chat::LedgerMessageIds;
use crate::events::EventHub;
use crate::id_source::{IdSource, RandomIds};
use crate::memory_budget::MemoryBudget;
use crate::project_source::{NoProject, ProjectSource};
use crate::recent_map::RecentMap;
use crate::records::RequestCache;
use crate::rules::Rules;
use crate::run_log::{NoLog, RunLog};
use crate::search::MessageSearch;
use crate::tokens::TokenMeter;
use crate::tool::Tool;

/// The chats of which an agent at least remembers that it has repaired them: a few megabytes.
const CHATS_KEPT: usize = 16_384;
/// The warnings of which an agent at least remembers that they are in the log.
const WARNINGS_KEPT: usize = 1_024;

/// Builds an [`Agent`]; see [`Agent::builder`].
pub struct AgentBuilder {
    store: Option<Arc<dyn Store>>,
    provider: Arc<dyn Provider>,
    tools: Vec<Tool>,
    has_built_in_tools: bool,
    project: Arc<dyn ProjectSource>,
    role: Option<String>,
    rules: Rules,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdSource>,
    log: Arc<dyn RunLog>,
}

impl Agent {
    /// Begins to build an agent that needs no project. By default, it keeps its chats in memory, answers with the
    /// offline model, has the built-in tools and keeps no log.
    ///
    /// ```
    /// use ship_agent::{Agent, Offline, Rules};
    ///
    /// let rules = Rules { max_steps: 4, ..Rules::default() };
    /// let agent = Agent::builder().provider(Offline).rules(rules).build();
    /// ```
    pub fn builder() -> AgentBuilder {
        AgentBuilder {
            store: None,
            provider: Arc::new(Offline),
            tools: Vec::new(),
            has_built_in_tools: true,
            project: Arc::new(NoProject),
            role: None,
            rules: Rules::default(),
            clock: Arc::new(SystemClock),
            ids: Arc::new(RandomIds),
            log: Arc::new(NoLog),
        }
    }
}

impl AgentBuilder {
    /// Sets the store of the chats.
    #[must_use]
    pub fn store(self, store: impl Store + 'static) -> Self {
        self.shared_store(Arc::new(store))
    }

    /// Sets a store that the agent shares with others.
    #[must_use]
    pub fn shared_store(self, store: Arc<dyn Store>) -> Self {
        Self { store: Some(store), ..self }
    }

    /// Sets the provider that answers the requests.
    #[must_use]
    pub fn provider(self, provider: impl Provider + 'static) -> Self {
        self.shared_provider(Arc::new(provider))
    }

    /// Sets a provider that the agent shares with others.
    #[must_use]
    pub fn shared_provider(self, provider: Arc<dyn Provider>) -> Self {
        Self { provider, ..self }
    }

    /// Adds a tool. It replaces a tool with the same name, even a built-in one.
    #[must_use]
    pub fn tool(mut self, tool: Tool) -> Self {
        self.tools.push(tool);
        self
    }

    /// Leaves out the built-in tools.
    #[must_use]
    pub fn without_built_in_tools(self) -> Self {
        Self { has_built_in_tools: false, ..self }
    }

    /// Sets the role of the agent: the instructions that a project has in `Agent.md`. It replaces the project's.
    ///
    /// ```
    /// let cook = ship_agent::Agent::builder().role("You are a ship's cook. You know every soup.").build();
    /// ```
    #[must_use]
    pub fn role(self, role: impl Into<String>) -> Self {
        Self { role: Some(role.into()), ..self }
    }

    /// Sets the limits and habits of runs.
    #[must_use]
    pub fn rules(self, rules: Rules) -> Self {
        Self { rules, ..self }
    }

    /// Sets the source of the texts and skills of a project.
    #[must_use]
    pub fn project_source(self, project: Arc<dyn ProjectSource>) -> Self {
        Self { project, ..self }
    }

    /// Sets the clock that the agent reads.
    #[must_use]
    pub fn clock(self, clock: Arc<dyn Clock>) -> Self {
        Self { clock, ..self }
    }

    /// Sets the source of new ids.
    #[must_use]
    pub fn ids(self, ids: Arc<dyn IdSource>) -> Self {
        Self { ids, ..self }
    }

    /// Sets the log of the runs.
    #[must_use]
    pub fn log(self, log: Arc<dyn RunLog>) -> Self {
        Self { log, ..self }
    }

    /// Builds the agent.
    pub fn build(self) -> Agent {
        let in_memory = || {
            let options =
                StoreOptions { clock: Arc::clone(&self.clock), ..StoreOptions::default() };
            Arc::new(FileStore::in_memory(options)) as Arc<dyn Store>
        };
        let mut tools = Vec::new();
        if self.has_built_in_tools {
            tools.extend(built_in_tools());
            let is_allowed = |tool: &Tool| {
                // Earlier messages of the one context can be loaded and found in any case.
                let is_of_history = matches!(
                    tool.spec().name.as_str(),
                    "chat_load_history" | "chat_history_search"
                );
                self.rules.contexts.enabled || is_of_history
            };
            tools.extend(context_tools().into_iter().filter(is_allowed));
        }
        // Last, because the later of two tools with one name stays in the map.
        tools.extend(self.tools);
        let store = self.store.unwrap_or_else(in_memory);
        let tools: BTreeMap<String, Tool> =
            tools.into_iter().map(|tool| (tool.spec().name.clone(), tool)).collect();
        let memory = MemoryBudget::new(self.rules.memory_bytes);
        let search_memory = MemoryBudget::new(self.rules.search_bytes);
        Agent::from_engine(Engine {
            search: Arc::new(MessageSearch::within(&search_memory, Arc::clone(&store))),
            store,
            token_meter: Arc::new(TokenMeter::new(self.provider.model())),
            provider: self.provider,
            offered: offered_tools(&tools),
            tools,
            project: self.project,
            role: self.role,
            rules: self.rules,
            clock: self.clock,
            work_clock: Arc::default(),
            ids: self.ids,
            log: self.log,
            message_ids: Arc::new(LedgerMessageIds),
            hub: Arc::new(EventHub::within(&memory)),
            host_memory: Arc::default(),
            drafts: Arc::new(SummaryDrafts::within(&memory)),
            request_cache: Arc::new(RequestCache::within(&memory)),
            observed_talk: Arc::new(ObservedTalk::within(&memory)),
            memory,
            repaired_chats: Arc::new(Mutex::new(RecentMap::new(CHATS_KEPT))),
            repairs: Arc::default(),
            budget_warnings: Arc::default(),
            warned: Arc::new(Mutex::new(RecentMap::new(WARNINGS_KEPT))),
        })
    }
}
