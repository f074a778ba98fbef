//! What a model would be sent now: the same code that makes a request, and nothing that changes the chat.

use std::sync::Arc;

use ship_context::compact::Pruned;
use ship_context::contexts::place_references;
use ship_context::{Journal, Recovery, SystemBlock, input_budget, recover};
use ship_message::UiMessage;
use ship_provider::ToolSpec;
use ship_store::{Chat, ChatKey, ChatState, LedgerBody};

use crate::began::Began;
use crate::compact::pruned;
use crate::inbound::message_of;
use crate::lost::Unread;
use crate::names::question_in;
use crate::request::Prepared;
use crate::run::{Inner, LEDGER_PAGE, RunError, is_message};
use crate::said::messages;
use crate::sources::{Place, Sources, last_of};
use crate::{Agent, skills};

/// What a model would be sent now.
#[derive(Clone, Debug)]
pub struct NextRequest {
    /// The system blocks.
    pub blocks: Vec<SystemBlock>,
    /// The messages as shown: those of the context, then what a run that has not ended has said so far, then
    /// those that wait to be answered.
    pub messages: Vec<UiMessage>,
    /// How many of the messages, at their end, wait to be answered.
    pub queued: usize,
    /// Whether a run waits for a person's word or for the client; its message is the one before the queued.
    pub parked: bool,
    /// The tools.
    pub tools: Vec<ToolSpec>,
    /// What each of them takes, in tokens.
    pub tokens: PieceTokens,
    /// How many tokens of a request are too many, so that the history is summarised.
    pub budget_tokens: u64,
    /// How many tokens the model takes, if that is known.
    pub window_tokens: Option<u64>,
    /// How the active context began; none before the first message.
    pub began: Option<Began>,
}

/// What each piece of a request takes, as the provider will count it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PieceTokens {
    /// Each system block.
    pub system: Vec<u64>,
    /// Each message.
    pub messages: Vec<u64>,
    /// Each tool.
    pub tools: Vec<u64>,
}

impl Agent {
    /// What a model would be sent now: the system blocks, the messages as shown, and the tools.
    ///
    /// # Errors
    /// When the chat cannot be read.
    pub async fn inspect(&self, chat: &ChatKey) -> Result<NextRequest, RunError> {
        let agent = &*self.inner;
        let found = match agent.store.open(chat).await? {
            Some(chat) => Found::read(agent, &*chat).await?,
            None => Found::default(),
        };
        let said: Vec<Arc<UiMessage>> = found.said.iter().chain(&found.queued).cloned().collect();
        let place =
            Place { channel: found.channel, chat_id: last_of(&said, "chatId").map(str::to_owned) };
        let sources = Sources::at(agent, chat, place);
        let blocks = sources.blocks(agent, chat, last_of(&said, "requestId"), &found.loaded);
        let Prepared { blocks, shown: mut messages, tools, .. } =
            Prepared::new(agent, blocks, &found.said, found.so_far.as_ref(), &found.pruned);
        messages.extend(Prepared::new(agent, Vec::new(), &found.queued, None, &found.pruned).shown);
        let window_tokens = agent.window_tokens();
        let rules = &agent.rules;
        let scales = &agent.scales;
        let tokens = PieceTokens {
            system: blocks.iter().map(|block| scales.count(&block.text)).collect(),
            messages: messages.iter().map(|message| scales.message(message)).collect(),
            tools: tools.iter().map(|tool| scales.count(&tool.to_json().to_string())).collect(),
        };
        Ok(NextRequest {
            tokens,
            blocks,
            messages,
            queued: found.queued.len(),
            parked: found.parked,
            tools,
            budget_tokens: input_budget(rules.input_tokens_max, window_tokens, rules.max_tokens),
            window_tokens,
            began: found.began,
        })
    }
}

impl Inner {
    /// How many tokens the model takes, if that is known: the settings say it, or else the provider.
    pub(crate) fn window_tokens(&self) -> Option<u64> {
        self.rules.window.or_else(|| self.provider.window_tokens())
    }
}

/// What a chat holds for the next request.
#[derive(Default)]
struct Found {
    said: Vec<Arc<UiMessage>>,
    so_far: Option<UiMessage>,
    queued: Vec<Arc<UiMessage>>,
    loaded: Vec<String>,
    channel: Option<String>,
    began: Option<Began>,
    parked: bool,
    pruned: Pruned,
}

impl Found {
    async fn read(agent: &Inner, chat: &dyn Chat) -> Result<Self, RunError> {
        let ChatState { about, view, new_lines, journal } = chat.state(LEDGER_PAGE).await?;
        let lines = Unread::of(chat, view.as_ref(), new_lines).await?.lines;
        let journal = Journal::read(&journal);
        let waiting = lines.iter().filter(|line| is_message(line));
        let queued = waiting.enumerate().filter_map(|(nth, line)| match &line.body {
            LedgerBody::Entry(entry) => {
                let id = match &view {
                    Some(view) => question_in(&*agent.names, &view.head, line.seq, nth),
                    None => agent.names.question(line.seq, nth),
                };
                Some(Arc::new(message_of(entry, id)))
            }
            LedgerBody::Delivery(_) => None,
        });
        let queued = queued.collect();
        // Whether the ledger knows of an answer matters only to who delivers it.
        let (so_far, parked) = match recover(view.as_ref(), &lines, journal, |_| false, agent) {
            Recovery::Parked(journal) => (Some(journal.message), true),
            Recovery::Continue(journal) | Recovery::Settled(journal) => {
                (Some(journal.message), false)
            }
            Recovery::Idle | Recovery::Deliver(_) | Recovery::RunPending => (None, false),
        };
        Ok(Self {
            said: view.as_ref().map(messages).map(place_references).unwrap_or_default(),
            so_far,
            queued,
            loaded: view.as_ref().map(skills::loaded_names).unwrap_or_default(),
            channel: about.channel,
            began: view.as_ref().map(|view| crate::contexts::began(agent, view)),
            parked,
            pruned: view.as_ref().map(pruned).unwrap_or_default(),
        })
    }
}
