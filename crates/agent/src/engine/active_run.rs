//! A run at work: the locked chat, and the state of its context.

use std::sync::Arc;

use ship_context::compact::PrunedOutputs;
use ship_context::contexts::FetchedReferences;
use ship_context::{Journal, SystemBlock};
use ship_message::UiMessage;
use ship_message::json::{Json, Object};
use ship_store::conversation::SkillChange;
use ship_store::{
    About, AcceptError, AppendError, LedgerEntry, LedgerLine, LedgerSeq, Metadata, Moment, NewLine,
    Position, StorageError, View,
};
use tokio::sync::Mutex;

use super::locked_chat::LockedChat;
use super::system_sources::{ChatLocation, ChatMemory, SystemSources};
use crate::chat::{LogSize, loaded_skills, pruned_outputs, skill_changes, view_messages};
use crate::error::RunError;
use crate::events::RunEvent;
use crate::outbound::DeliveredCalls;
use crate::run_log::RunLogEntry;

/// A run in a chat whose lane is held, so that no other process changes the context.
pub(crate) struct ActiveRun {
    pub(crate) locked: LockedChat,
    pub(crate) run_id: String,
    pub(crate) request_id: String,
    pub(crate) place: ChatLocation,
    pub(crate) state: Mutex<RunState>,
    /// The moment of the last look at the ledger.
    pub(crate) looked_at: parking_lot::Mutex<Moment>,
}

/// The known state of the log, updated with every write, so that the log is read once in a run.
pub(crate) struct RunState {
    pub(crate) position: Position,
    /// The last ledger entry that was read.
    inbox: Option<LedgerSeq>,
    messages: Arc<[UiMessage]>,
    pub(crate) loaded: Vec<String>,
    /// The skills that this run has changed in a conversation.
    pub(crate) skill_changes: Vec<SkillChange>,
    /// The tool outputs that are no longer shown.
    pruned: PrunedOutputs,
    /// The size of the log when it was read.
    size: LogSize,
    pub(crate) sources: SystemSources,
    /// The answered calls of `chat_send` in this run.
    pub(crate) delivered_calls: DeliveredCalls,
    /// The references that this run has fetched in the present context.
    pub(crate) fetched: FetchedReferences,
}

impl RunState {
    /// Returns the loaded skills whose text is in no message.
    fn skills_in_blocks(&self) -> Vec<String> {
        let is_in_block = |skill: &&String| !self.is_prompted(skill);
        self.loaded.iter().filter(is_in_block).cloned().collect()
    }

    /// Whether the text of a skill is in a message.
    pub(crate) fn is_prompted(&self, skill: &str) -> bool {
        skill_changes::is_prompted(skill, self.messages.iter(), &self.skill_changes)
    }

    /// Takes over the state of the log from a view of it.
    fn take_over(&mut self, view: &View) {
        self.position = view.position;
        self.inbox = view.inbox;
        self.messages = view_messages(view).into();
        self.pruned = pruned_outputs(view);
        self.size = LogSize::of(view);
    }
}

impl ActiveRun {
    /// Prepares a run, or the continuation of one. Problems with its sources are logged.
    pub(crate) async fn begin(
        locked: LockedChat,
        about: About,
        view: &View,
        journal: &Journal,
        looked_at: Moment,
    ) -> Self {
        let (engine, key) = (&locked.engine, locked.chat.key());
        let messages: Arc<[_]> = view_messages(view).into();
        let memory = ChatMemory::read(engine, key).await;
        let texts = engine.project_texts(key).await;
        let sources = SystemSources::new(engine, about, &messages, texts, memory);
        engine.warn(key, &sources.problems()).await;
        let place = sources.place().clone();
        let state = RunState {
            position: view.position,
            inbox: view.inbox,
            messages,
            loaded: loaded_skills::loaded_names(view),
            skill_changes: skill_changes::unwritten_changes(view),
            pruned: pruned_outputs(view),
            size: LogSize::of(view),
            sources,
            delivered_calls: DeliveredCalls::from_journal(journal),
            fetched: fetched_in_run(view, journal),
        };
        let (run_id, request_id) = (journal.start.run_id.clone(), journal.start.request_id.clone());
        let (state, looked_at) = (Mutex::new(state), parking_lot::Mutex::new(looked_at));
        Self { locked, run_id, request_id, place, state, looked_at }
    }

    /// Returns the present system blocks of this run.
    pub(crate) async fn blocks(&self) -> Vec<SystemBlock> {
        let state = self.state.lock().await;
        state.sources.blocks(&self.locked.engine, self.locked.chat.key(), &state.skills_in_blocks())
    }

    /// Returns the messages before this run, and the run's own so far as a model is shown it.
    pub(crate) async fn messages_with(&self, so_far: Option<&UiMessage>) -> Vec<UiMessage> {
        let state = self.state.lock().await;
        let so_far = so_far.filter(|message| !message.parts().is_empty());
        let own = so_far.map(|so_far| skill_changes::with_prompts(so_far, &state.skill_changes));
        let own = own.into_iter().flatten();
        state.messages.iter().cloned().chain(own).collect()
    }

    /// Returns the messages before this run.
    pub(crate) async fn messages(&self) -> Arc<[UiMessage]> {
        Arc::clone(&self.state.lock().await.messages)
    }

    /// Returns the end of the log.
    pub(crate) async fn position(&self) -> Position {
        self.state.lock().await.position
    }

    /// Returns the tool outputs that are no longer shown.
    pub(crate) async fn pruned(&self) -> PrunedOutputs {
        self.state.lock().await.pruned.clone()
    }

    /// Whether the log is so long that it is compacted regardless of the request's size.
    pub(crate) async fn log_is_full(&self) -> bool {
        let can_shrink = self.locked.chat.log().features().shrinks;
        can_shrink && self.state.lock().await.size.is_over(&self.locked.engine.rules)
    }

    /// Returns the names of the loaded skills.
    pub(crate) async fn loaded_skills(&self) -> Vec<String> {
        self.state.lock().await.loaded.clone()
    }

    /// Reads the context again after it was rewritten.
    pub(crate) async fn read_again(&self) -> Result<(), RunError> {
        let view = self.locked.read_view().await?;
        self.state.lock().await.take_over(&view);
        Ok(())
    }

    /// Continues in the context that is now active, with its loaded skills. It is read unless its view is given.
    pub(crate) async fn reload_context(&self, view: Option<View>) -> Result<(), RunError> {
        let view = match view {
            Some(view) => view,
            None => self.locked.read_view().await?,
        };
        let mut state = self.state.lock().await;
        state.take_over(&view);
        state.loaded = loaded_skills::loaded_names(&view);
        // What was fetched before stays in the context that was left.
        state.fetched = FetchedReferences::default();
        Ok(())
    }

    /// Returns the last ledger entry that was read.
    pub(crate) async fn inbox(&self) -> Option<LedgerSeq> {
        self.state.lock().await.inbox
    }

    /// Puts messages of the ledger into the context, which has this view. Returns its view after that.
    pub(crate) async fn promote(&self, view: View, lines: &[LedgerLine]) -> Result<View, RunError> {
        let before = view.position;
        let view = self.locked.promote(view, lines).await?;
        if view.position != before {
            self.state.lock().await.take_over(&view);
        }
        Ok(view)
    }

    /// Appends lines to the context log.
    pub(crate) async fn append(&self, batch: Vec<NewLine>) -> Result<(), AppendError> {
        let mut state = self.state.lock().await;
        // The state stays locked during the write, so that no other append expects the same position.
        state.position = self.locked.lane.append(batch, state.position).await?;
        Ok(())
    }

    /// Writes a line to the log.
    pub(crate) fn log(&self, note: RunLogEntry) {
        let (request_id, run_id) = (self.request_id.clone(), self.run_id.clone());
        self.locked
            .engine
            .log
            .write(self.locked.chat.key(), RunLogEntry { request_id, run_id, ..note });
    }

    pub(crate) fn notify(&self, event: RunEvent) {
        self.locked.engine.hub.send(self.locked.chat.key(), event);
    }

    /// Records in the ledger what the person was told, once for each key.
    pub(crate) async fn record_outgoing(
        &self,
        key: String,
        text: &str,
        meta: Option<Object>,
    ) -> Result<bool, AcceptError> {
        let mut entry = Object::from([
            ("v", Json::from(1u64)),
            ("ts", self.locked.engine.clock.now().to_json()),
            ("role", "assistant".into()),
            ("text", text.into()),
            ("chatKey", self.locked.chat.key().as_str().into()),
        ]);
        self.place.write_to(&mut entry);
        entry.set("requestId", self.request_id.as_str());
        entry.set_or_remove("meta", meta.map(Json::from));
        let entry = LedgerEntry { key, entry };
        match self.locked.lane.record(entry.clone()).await {
            // The key makes a second attempt harmless, and a success tells that the entry is there.
            Err(AcceptError::Storage(StorageError::Unavailable {
                may_have_happened: true,
                ..
            })) => self.locked.lane.record(entry).await.map(|_| true),
            recorded => Ok(recorded?.new),
        }
    }
}

/// Collects the references that a run has fetched: in messages that it settled, and in its unfinished one.
fn fetched_in_run(view: &View, journal: &Journal) -> FetchedReferences {
    let run_id = Some(journal.start.run_id.as_str());
    let settled = view.messages().filter(|message| Metadata::of(message).run_id() == run_id);
    FetchedReferences::in_messages(settled.chain([&journal.message]))
}
