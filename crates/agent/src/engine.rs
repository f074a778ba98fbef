//! The engine, which all rooms above it share.
//!
//! `agent` is the handle for programs, `locked_chat` a chat whose lane is held, and `active_run` a run in it.
//! `heartbeat` shows other processes that the holder of a lane is at work. `system_sources` makes the system blocks,
//! `budget` limits the size of requests, `host_memory` shares `host_facts` with other processes, `warnings` reports
//! configuration problems, `notice_buffer` holds what a caller may take, `observed_talk` remembers talk between
//! people, and `summary_drafts` keeps summaries that are not published yet. `index_work` brings search indexes on,
//! `recall_hint` searches for what a message is about, and `work_clock` tells for how long the process was stopped.

mod active_run;
mod agent;
mod budget;
mod builder;
mod heartbeat;
mod host_facts;
mod host_memory;
mod hosts_record;
mod index_work;
mod locked_chat;
mod notice_buffer;
mod observed_talk;
mod recall_hint;
mod summary_drafts;
mod system_sources;
mod warnings;
mod work_clock;

use std::collections::BTreeMap;
use std::sync::Arc;

use ship_context::KnownTools;
use ship_message::json::{Json, Object};
use ship_provider::{HostForm, Provider};
use ship_store::{ChatKey, Clock, ContextEvent, LaneHolder, StorageProblem, Store};
use tokio::sync::Mutex;

pub use agent::Agent;
pub use budget::CompactionTrigger;
pub use builder::AgentBuilder;

pub(crate) use active_run::ActiveRun;
pub(crate) use agent::{ActiveConversation, CurrentConversation};
pub(crate) use locked_chat::LockedChat;
pub(crate) use observed_talk::ReadStretch;
pub(crate) use summary_drafts::{SummaryCost, SummaryDraft, SummaryRange};
pub(crate) use system_sources::{ChatMemory, SystemSources, last_question_metadata};
pub(crate) use work_clock::WorkClock;

use crate::chat::MessageIds;
use crate::events::EventHub;
use crate::id_source::IdSource;
use crate::memory_budget::MemoryBudget;
use crate::project_source::ProjectSource;
use crate::recent_map::RecentMap;
use crate::records::RequestCache;
use crate::rules::Rules;
use crate::run_log::{RunLog, RunLogEntry, RunLogKind};
use crate::search::MessageSearch;
use crate::tokens::{OfferedTools, TokenMeter};
use crate::tool::Tool;
use host_memory::HostMemory;
use notice_buffer::NoticeBuffer;
use observed_talk::ObservedTalk;
use summary_drafts::SummaryDrafts;

#[derive(Clone)]
pub(crate) struct Engine {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) tools: BTreeMap<String, Tool>,
    /// The same tools as a model is offered them.
    pub(crate) offered: OfferedTools,
    pub(crate) project: Arc<dyn ProjectSource>,
    /// The role that takes the place of the project's.
    pub(crate) role: Option<String>,
    pub(crate) rules: Rules,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) work_clock: Arc<WorkClock>,
    pub(crate) ids: Arc<dyn IdSource>,
    pub(crate) log: Arc<dyn RunLog>,
    pub(crate) message_ids: Arc<dyn MessageIds>,
    pub(crate) hub: Arc<EventHub>,
    pub(crate) token_meter: Arc<TokenMeter>,
    pub(crate) host_memory: Arc<HostMemory>,
    /// The memory of `hub`, `drafts`, `request_cache` and `observed_talk`.
    pub(crate) memory: MemoryBudget,
    /// The summaries that are not published yet.
    pub(crate) drafts: Arc<SummaryDrafts>,
    pub(crate) request_cache: Arc<RequestCache>,
    pub(crate) observed_talk: Arc<ObservedTalk>,
    pub(crate) search: Arc<MessageSearch>,
    /// The chats that this agent has already repaired, as far as it remembers. To repair one again changes nothing.
    pub(crate) repaired_chats: Arc<Mutex<RecentMap<ChatKey, ()>>>,
    /// The problems that were repaired or found, until the caller takes them.
    pub(crate) repairs: Arc<NoticeBuffer<StorageProblem>>,
    /// The warnings about the budget, until the caller takes them.
    pub(crate) budget_warnings: Arc<NoticeBuffer<String>>,
    /// The warnings that are already in the log, as far as this agent remembers.
    pub(crate) warned: Arc<Mutex<RecentMap<String, ()>>>,
}

/// Returns tools as a model is offered them.
pub(crate) fn offered_tools(tools: &BTreeMap<String, Tool>) -> OfferedTools {
    OfferedTools::new(tools.values().map(|tool| tool.spec().clone()).collect())
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
    /// Returns the tools that the model is offered: none, if its host takes none.
    pub(crate) fn offered_tools(&self) -> OfferedTools {
        match self.provider.recipe().forms.has(HostForm::NoTools) {
            true => OfferedTools::default(),
            false => self.offered.clone(),
        }
    }

    /// Whether the holder of a lane makes no progress: its process is stopped, or has not touched the chat for longer than
    /// a tool may take.
    pub(crate) fn is_frozen(&self, holder: &LaneHolder) -> bool {
        let deadline_ms = self.rules.tool_deadline.as_millis();
        holder.is_frozen(self.clock.now(), u64::try_from(deadline_ms).unwrap_or(u64::MAX))
    }

    /// Makes an event about no message and no ledger entry.
    pub(crate) fn new_event(&self, event: &str, data: Object) -> ContextEvent {
        ContextEvent {
            id: format!("e_{:016x}", self.ids.next()),
            ts: self.clock.now(),
            event: event.to_owned(),
            data: data.into(),
            ref_msg_id: None,
            inbox: None,
        }
    }

    /// Logs what was repaired or found damaged, and keeps it for the caller. What is known was told before.
    pub(crate) fn note_repairs(&self, chat: &ChatKey, mut problems: Vec<StorageProblem>) {
        problems.retain(|problem| !problem.is_reported);
        for problem in &problems {
            let fields = vec![
                ("file", Json::from(problem.place.as_str())),
                ("offset", problem.offset.into()),
                ("problem", problem.kind.name().into()),
                ("message", problem.message.as_str().into()),
                ("remedy", problem.remedy.as_str().into()),
            ];
            self.log.write(
                chat,
                RunLogEntry { kind: RunLogKind::Repair, fields, ..RunLogEntry::default() },
            );
        }
        problems.into_iter().for_each(|problem| self.repairs.push(problem));
    }
}
