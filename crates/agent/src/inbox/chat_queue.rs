//! Tells what waits in a chat, and which run is open there, for people and programs that ask.

use ship_context::{Journal, ends_with_question, is_waiting_call};
use ship_message::{Role, ToolPart, UiMessage, UiPart};
use ship_store::{
    Chat, ChatKey, LaneHolder, LedgerBody, LedgerEntry, LedgerLine, LedgerSeq, Metadata, ReadError,
    Timestamp, View,
};

use super::next_input::due_operation;
use super::unread_ledger::last_read;
use crate::chat::{LaterPages, is_message};
use crate::context_operation::ContextOperation;
use crate::engine::{Agent, Engine};
use crate::error::RunError;

/// The work of a chat that is not done.
#[derive(Clone, Debug, PartialEq)]
pub struct ChatQueue {
    /// The run that has not ended; `None` if there is none.
    pub run: Option<OpenRun>,
    /// The last message of the person in the context, if it has no answer yet. The open run may be at work on it.
    pub unanswered: Option<UiMessage>,
    /// The first entries that wait in the ledger, in order. What was said to others waits for nothing.
    pub waiting: Vec<WaitingEntry>,
    /// Whether no more entries wait than these.
    pub is_whole: bool,
}

/// An entry of the ledger that waits for a run.
#[derive(Clone, Debug, PartialEq)]
pub struct WaitingEntry {
    /// The number of the entry.
    pub seq: LedgerSeq,
    /// The time at which it was accepted.
    pub since: Option<Timestamp>,
    /// The operation on contexts that it asks for; `None` for a message.
    pub operation: Option<ContextOperation>,
    /// The text of the person.
    pub text: String,
    /// The channel on which it came.
    pub channel: Option<String>,
    /// The name of the author.
    pub username: Option<String>,
    /// The id of the request in logs.
    pub request_id: Option<String>,
    /// The id that the client gave the message.
    pub client_id: Option<String>,
}

/// A run that has not ended.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenRun {
    /// The id of the run.
    pub run_id: String,
    /// The id of the message that it writes.
    pub message_id: String,
    /// The id of the request that it answers.
    pub request_id: String,
    /// The time at which it began. Unknown in older journals.
    pub since: Option<Timestamp>,
    /// The calls that wait for a person or the client; see [`CallAnswer`](crate::CallAnswer).
    pub waiting_calls: Vec<ToolPart>,
    /// The process that last noted that it works in the chat, if the store knows processes. If it is gone, or the run
    /// was told to leave, the next run of the chat continues this one.
    pub process: Option<LaneHolder>,
    /// Whether that process is known to make no progress.
    pub is_frozen: bool,
}

impl ChatQueue {
    /// Returns the texts of the messages without an answer, in order.
    pub fn questions(&self) -> impl Iterator<Item = String> {
        let waiting = self.waiting.iter().filter(|entry| entry.operation.is_none());
        let unanswered = self.unanswered.iter().map(UiMessage::text);
        unanswered.chain(waiting.map(|entry| entry.text.clone()))
    }

    /// Returns the calls that wait for a person or the client.
    pub fn waiting_calls(&self) -> &[ToolPart] {
        self.run.as_ref().map_or(&[], |run| &run.waiting_calls)
    }
}

impl OpenRun {
    /// Whether the run waits for a person or the client, and no process works on it.
    pub fn is_parked(&self) -> bool {
        !self.waiting_calls.is_empty()
    }
}

impl Agent {
    /// Returns what waits in a chat, with at most `limit` entries of its ledger, and which run is open; `None` if there
    /// is no such chat. Nothing is changed, and no lane is taken.
    ///
    /// ```
    /// # tokio::runtime::Runtime::new()?.block_on(async {
    /// let (agent, chat) = (ship_agent::Agent::builder().build(), "api:main".parse()?);
    /// agent.accept(&chat, "hello".into()).await?;
    /// let queue = agent.queue(&chat, 10).await?.ok_or("no chat")?;
    /// assert_eq!(queue.waiting[0].text, "hello");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Fails if the chat cannot be read.
    pub async fn queue(&self, chat: &ChatKey, limit: usize) -> Result<Option<ChatQueue>, RunError> {
        let Some(chat) = self.engine.store.open(chat).await? else { return Ok(None) };
        let view = chat.log().view().await?;
        let inbox = last_read(&*chat, view.as_ref()).await?;
        let (waiting, is_whole) = waiting_entries(&*chat, inbox, limit).await?;
        let run = open_run(&self.engine, &*chat, view.as_ref()).await?;
        let unanswered = view.as_ref().and_then(unanswered_message).cloned();
        Ok(Some(ChatQueue { run, unanswered, waiting, is_whole }))
    }
}

/// Returns the first entries that wait, and whether these are all.
async fn waiting_entries(
    chat: &dyn Chat,
    inbox: Option<LedgerSeq>,
    limit: usize,
) -> Result<(Vec<WaitingEntry>, bool), ReadError> {
    let (mut waiting, mut pages) = (Vec::new(), LaterPages::new(chat, inbox));
    while let Some(page) = pages.next().await? {
        for line in &page {
            let operation = due_operation(chat, line).await?;
            if !is_message(line) && operation.is_none() {
                continue;
            }
            if waiting.len() == limit {
                return Ok((waiting, false));
            }
            waiting.extend(WaitingEntry::new(line, operation));
        }
    }
    Ok((waiting, true))
}

impl WaitingEntry {
    fn new(line: &LedgerLine, operation: Option<ContextOperation>) -> Option<Self> {
        let LedgerBody::Entry(LedgerEntry { entry, .. }) = &line.body else { return None };
        let text = |key: &str| entry.str(key).map(str::to_owned);
        Some(Self {
            seq: line.seq,
            since: entry.get("ts").and_then(Timestamp::from_json),
            operation,
            text: text("text").unwrap_or_default(),
            channel: text("channel"),
            username: text("username"),
            request_id: text("requestId"),
            client_id: text("clientId"),
        })
    }
}

/// Returns the last message of the person in a context, if it has no answer.
fn unanswered_message(view: &View) -> Option<&UiMessage> {
    let is_person = |message: &&UiMessage| message.role() == Role::User;
    view.messages().rfind(is_person).filter(|_| ends_with_question(Some(view)))
}

async fn open_run(
    engine: &Engine,
    chat: &dyn Chat,
    view: Option<&View>,
) -> Result<Option<OpenRun>, ReadError> {
    let journal = Journal::read(&chat.runs().journal().await?);
    let is_open = |journal: &Journal| !journal.has_ended && !has_final_message(view, journal);
    let Some(Journal { start, message, .. }) = journal.filter(is_open) else { return Ok(None) };
    let calls = message.parts().iter().filter_map(|part| match part {
        UiPart::Tool(tool) if is_waiting_call(tool, engine) => Some(tool.clone()),
        _ => None,
    });
    let process = chat.lane_holder().await?;
    Ok(Some(OpenRun {
        run_id: start.run_id,
        message_id: start.message_id,
        request_id: start.request_id,
        since: start.started_at,
        waiting_calls: calls.collect(),
        is_frozen: process.as_ref().is_some_and(|process| engine.is_frozen(process)),
        process,
    }))
}

/// Whether the message of a run is in the log. A message that the run has left behind in a context is not its last.
fn has_final_message(view: Option<&View>, journal: &Journal) -> bool {
    let Some(mut messages) = view.map(View::messages) else { return false };
    let id = journal.start.message_id.as_str();
    messages.any(|message| {
        let metadata = Metadata::of(message);
        message.id() == Some(id) && metadata.moved().is_none() && metadata.settled_parts().is_none()
    })
}
