//! Shows what a model would be sent now, with the code that makes a request and without changing the chat.

use ship_context::compact::PrunedOutputs;
use ship_context::{Journal, Recovery, SystemBlock, note_about_last_answer, recover};
use ship_message::UiMessage;
use ship_message::json::Object;
use ship_provider::ToolSpec;
use ship_store::{Chat, ChatKey, ChatState, LedgerBody, NewMetadata};

use crate::chat::{
    Activation, CompactionState, LEDGER_PAGE, inbound_id_in, is_message, loaded_skills,
    pruned_outputs, view_messages,
};
use crate::engine::{
    Agent, ChatMemory, CompactionTrigger, Engine, SystemSources, last_question_metadata,
};
use crate::error::RunError;
use crate::inbound::promoted_message;
use crate::inbox::UnreadLedger;
use crate::records::{
    OutgoingRequest, RECENT_LINES, RequestTokens, SharedPrefix, block_digests,
    last_context_request, read_records,
};
use crate::request::{PreparedRequest, count_unsent};
use crate::tokens::PieceTokens;

/// The request that would be sent now.
#[derive(Clone, Debug)]
pub struct NextRequest {
    /// The system blocks.
    pub blocks: Vec<SystemBlock>,
    /// The messages as they are shown: those of the context, then those of an unfinished run, then those that
    /// wait for an answer.
    pub messages: Vec<UiMessage>,
    /// The number of messages at the end that wait for an answer.
    pub queued: usize,
    /// Whether a run waits for a person's approval or for the client; its message is the one
    /// before the waiting ones.
    pub parked: bool,
    /// The tools that the model may call.
    pub tools: Vec<ToolSpec>,
    /// The tokens of each piece.
    pub tokens: PieceTokens,
    /// The condition for an automatic compaction.
    pub trigger: CompactionTrigger,
    /// The number of tokens that the model takes, if it is known.
    pub window_tokens: Option<u64>,
    /// What is known of the host that answers: its address, the sizes that it has shown, and how it counts. `None`
    /// for a model without a host.
    pub host: Option<Object>,
    /// The activation of the active context; `None` before the first message.
    pub activation: Option<Activation>,
    /// The part that it shares with the last request.
    pub shared_prefix: SharedPrefix,
}

impl Agent {
    /// Returns what a model would be sent now: the system blocks, the messages as they are shown, and the tools.
    ///
    /// # Errors
    /// Fails if the chat cannot be read.
    pub async fn inspect(&self, chat: &ChatKey) -> Result<NextRequest, RunError> {
        let engine = &*self.engine;
        engine.recall_host(chat).await;
        let open = engine.store.open(chat).await?;
        let found = match &open {
            Some(open) => RequestInputs::read(engine, &**open).await?,
            None => RequestInputs::default(),
        };
        let messages: Vec<UiMessage> =
            found.messages.iter().chain(&found.queued).cloned().collect();
        let question = last_question_metadata(&messages);
        let memory = ChatMemory::read(engine, chat).await;
        let texts = engine.project_texts(chat).await;
        let sources = SystemSources::for_question(engine, found.channel, question, texts, memory);
        let blocks = sources.blocks(engine, chat, &found.loaded);
        // What a run in progress has said stands before the messages that wait for it.
        let (messages, queued) = match &found.so_far {
            None => (&messages, &[][..]),
            Some(_) => (&found.messages, found.queued.as_slice()),
        };
        let mut request =
            PreparedRequest::new(engine, blocks, messages, found.so_far.as_ref(), &found.pruned);
        let queued = PreparedRequest::new(engine, Vec::new(), queued, None, &found.pruned);
        request.add_shown(queued.shown);
        if let (Some(open), Some(carried)) = (&open, &found.carry) {
            engine.remember_counts(&**open, carried).await?;
        }
        count_unsent(engine, &request).await;
        let tokens =
            engine.token_meter.estimate_pieces(&engine.token_meter.count_pieces(request.pieces()));
        let stable = match &open {
            Some(open) => engine.compare_unsent(&**open, &request, &tokens, &found.pruned).await?,
            None => SharedPrefix::for_first_request(),
        };
        let trigger = engine.compaction_trigger(found.is_raised, request.pieces());
        let PreparedRequest { blocks, shown: messages, tools, .. } = request;
        Ok(NextRequest {
            tokens,
            blocks,
            messages,
            queued: found.queued.len(),
            parked: found.parked,
            tools: tools.specs().to_vec(),
            trigger,
            window_tokens: engine.window_tokens(),
            host: engine.describe_host(),
            activation: found.activation,
            shared_prefix: stable,
        })
    }
}

impl Engine {
    /// Compares a request that is not sent with the last one that was.
    async fn compare_unsent(
        &self,
        chat: &dyn Chat,
        request: &PreparedRequest,
        tokens: &PieceTokens,
        pruned: &PrunedOutputs,
    ) -> Result<SharedPrefix, RunError> {
        // A request that cannot be compiled is reported when it is needed.
        let Ok(written) = request.compile(self, self.rules.max_tokens, None).await else {
            return Ok(SharedPrefix::unknown());
        };
        let sums = RequestTokens {
            system: tokens.system.iter().sum(),
            tools: tokens.tools.iter().sum(),
            messages: tokens.messages.iter().sum(),
            ..RequestTokens::default()
        };
        let last = last_context_request(read_records(&*self.store, chat, RECENT_LINES).await?);
        let now = OutgoingRequest {
            recipe: &written.recipe,
            system: &block_digests(&request.blocks),
            system_tokens: &tokens.system,
            tools: request.tools.sha256(),
            tokens: &sums,
            body: &written.body,
            position: chat.log().view().await?.map(|view| view.position),
            shown: &request.shown,
            pruned,
        };
        Ok(now.compare(&*self.store, chat, last.as_deref()).await)
    }
}

/// The inputs of the next request in a chat.
#[derive(Default)]
struct RequestInputs {
    messages: Vec<UiMessage>,
    so_far: Option<UiMessage>,
    queued: Vec<UiMessage>,
    loaded: Vec<String>,
    channel: Option<String>,
    activation: Option<Activation>,
    parked: bool,
    pruned: PrunedOutputs,
    /// The data in the log's head about the provider's counts.
    carry: Option<Object>,
    /// Whether a person has undone a compaction, so that the whole window may be used.
    is_raised: bool,
}

impl RequestInputs {
    async fn read(engine: &Engine, chat: &dyn Chat) -> Result<Self, RunError> {
        let mut state = chat.state(LEDGER_PAGE).await?;
        let first = Some(std::mem::take(&mut state.new_lines));
        let lines = UnreadLedger::find(engine, chat, &state, first).await?.queue.lines;
        let ChatState { about, view, journal, .. } = state;
        let journal = Journal::read(&journal);
        let waiting = lines.iter().filter(|line| is_message(line));
        let note = view.as_ref().and_then(|view| note_about_last_answer(view.messages()));
        let queued = waiting.enumerate().filter_map(|(nth, line)| match &line.body {
            LedgerBody::Entry(entry) => {
                let id = match &view {
                    Some(view) => inbound_id_in(&*engine.message_ids, &view.head, line.seq, nth),
                    None => engine.message_ids.inbound_id(line.seq, nth),
                };
                let note = note.filter(|_| nth == 0);
                Some(promoted_message(entry, id, note))
            }
            LedgerBody::Delivery(_) => None,
        });
        let mut queued: Vec<UiMessage> = queued.collect();
        if let Some(view) = &view
            && let Some(hint) = engine.recall_hint(chat, view, &queued).await
            && let Some(newest) = queued.last_mut()
        {
            NewMetadata::edit(newest, |metadata| metadata.set_recall_hint(hint.as_str()));
        }
        // Whether the ledger has an answer matters only for its delivery.
        let (so_far, parked) = match recover(view.as_ref(), &lines, journal, |_| false, engine) {
            Recovery::Parked(journal) => (Some(journal.message), true),
            Recovery::Continue(journal) | Recovery::Settled(journal) => {
                (Some(journal.message), false)
            }
            Recovery::Idle | Recovery::Deliver(_) | Recovery::RunPending => (None, false),
        };
        Ok(Self {
            messages: view.as_ref().map(view_messages).unwrap_or_default(),
            so_far,
            queued,
            loaded: view.as_ref().map(loaded_skills::loaded_names).unwrap_or_default(),
            channel: about.channel,
            activation: view.as_ref().map(|view| crate::contexts::active_context(engine, view)),
            parked,
            pruned: view.as_ref().map(pruned_outputs).unwrap_or_default(),
            is_raised: view.as_ref().is_some_and(|view| CompactionState::read(view).is_raised),
            carry: view.as_ref().map(|view| CompactionState::read(view).tokens),
        })
    }
}
