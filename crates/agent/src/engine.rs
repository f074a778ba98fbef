//! The engine: what all rooms above it share.
//!
//! `agent` is the handle that programs have, `locked_chat` a chat whose lane is held, `active_run` a run in it.
//! `system_sources` makes the system blocks, `budget` says how large a request may be, `warnings` what looks wrong, and
//! `summary_drafts` remembers summaries that are not in force yet.

mod active_run;
mod agent;
mod budget;
mod locked_chat;
mod summary_drafts;
mod system_sources;
mod warnings;

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, PoisonError};

use ship_context::KnownTools;
use ship_message::json::Json;
use ship_provider::Provider;
use ship_store::{ChatKey, Clock, StorageProblem, Store};
use tokio::sync::Mutex;

pub use agent::Agent;
pub use budget::CompactionTrigger;

pub(crate) use active_run::ActiveRun;
pub(crate) use agent::{ActiveConversation, CurrentConversation};
pub(crate) use locked_chat::LockedChat;
pub(crate) use summary_drafts::{SummaryCost, SummaryDraft, SummaryRange};
pub(crate) use system_sources::{ChatLocation, SystemSources, last_of};

use crate::chat::{MessageCache, MessageIds};
use crate::events::EventHub;
use crate::id_source::IdSource;
use crate::project_source::ProjectSource;
use crate::records::RequestCache;
use crate::rules::Rules;
use crate::run_log::{RunLog, RunLogEntry};
use crate::tokens::TokenMeter;
use crate::tool::Tool;
use summary_drafts::SummaryDrafts;

/// What an agent is made of.
pub struct AgentParts {
    /// What keeps its chats.
    pub store: Arc<dyn Store>,
    /// What answers its requests.
    pub provider: Arc<dyn Provider>,
    /// What it can have done.
    pub tools: Vec<Tool>,
    /// Its project.
    pub surroundings: Arc<dyn ProjectSource>,
    /// Its limits and habits.
    pub rules: Rules,
    /// Its clock.
    pub clock: Arc<dyn Clock>,
    /// Where its ids come from.
    pub ids: Arc<dyn IdSource>,
    /// Where it tells what it does.
    pub log: Arc<dyn RunLog>,
}

#[derive(Clone)]
pub(crate) struct Engine {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) tools: BTreeMap<String, Tool>,
    pub(crate) surroundings: Arc<dyn ProjectSource>,
    pub(crate) rules: Rules,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ids: Arc<dyn IdSource>,
    pub(crate) log: Arc<dyn RunLog>,
    pub(crate) names: Arc<dyn MessageIds>,
    pub(crate) hub: Arc<EventHub>,
    pub(crate) said: Arc<MessageCache>,
    pub(crate) scales: Arc<TokenMeter>,
    /// Summaries that are not in force yet.
    pub(crate) drafts: Arc<SummaryDrafts>,
    pub(crate) recorded: Arc<RequestCache>,
    /// The chats that this agent has looked after once.
    pub(crate) repaired: Arc<Mutex<HashSet<ChatKey>>>,
    /// What was repaired or found damaged, until the edge asks.
    pub(crate) repairs: Arc<std::sync::Mutex<Vec<StorageProblem>>>,
    /// The warnings that the log has.
    pub(crate) warned: Arc<Mutex<HashSet<String>>>,
}

impl KnownTools for Engine {
    fn is_safe_to_repeat(&self, name: &str) -> bool {
        self.tools.get(name).is_some_and(Tool::is_safe_to_repeat)
    }

    fn runs_on_client(&self, name: &str) -> bool {
        self.rules.client.contains(name)
    }
}

impl Engine {
    /// Tells the log what was repaired or found damaged, and keeps it for the edge.
    pub(crate) fn note_repairs(&self, chat: &ChatKey, problems: Vec<StorageProblem>) {
        for problem in &problems {
            let fields = vec![
                ("file", Json::from(problem.file.as_str())),
                ("offset", problem.offset.into()),
                ("problem", problem.kind.as_str().into()),
                ("message", problem.message.as_str().into()),
                ("remedy", problem.remedy.as_str().into()),
            ];
            self.log.write(chat, RunLogEntry { kind: "repair", fields, ..RunLogEntry::default() });
        }
        self.repairs.lock().unwrap_or_else(PoisonError::into_inner).extend(problems);
    }
}
