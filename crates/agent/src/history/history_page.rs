//! A page of the history, for a program that shows a chat from its end and pages back.

use ship_message::UiMessage;
use ship_store::{ChatKey, ContextId, SealedName};

use super::history_cursor::HistoryCursor;
use super::history_reader::HistoryReader;
use crate::engine::Agent;
use crate::error::RunError;

/// Says which messages of a history are wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryQuery {
    /// The place before which the messages stand; `None` for the newest ones.
    pub before: Option<HistoryCursor>,
    /// The maximal number of messages, at least one.
    pub limit: usize,
}

/// Some messages of a history.
#[derive(Clone, Debug, PartialEq)]
pub struct HistoryPage {
    /// The messages, oldest first.
    pub messages: Vec<HistoryMessage>,
    /// The place of the page before this one, which may be empty; `None` if this page has the first message.
    pub before: Option<HistoryCursor>,
}

/// A message of the history.
#[derive(Clone, Debug, PartialEq)]
pub struct HistoryMessage {
    /// The message as it is stored.
    pub message: UiMessage,
    /// The context in which it stands; `None` if it waits.
    pub context: Option<ContextId>,
    /// The sealed log that has it; `None` for the live log, and if it waits.
    pub log: Option<SealedName>,
    /// Whether it waits in the ledger, and is in no context yet.
    pub is_queued: bool,
}

impl HistoryMessage {
    /// Makes the message of an entry that waits.
    pub(super) fn waiting(message: UiMessage) -> Self {
        Self { message, context: None, log: None, is_queued: true }
    }
}

impl Agent {
    /// Returns a page of the history of a chat; `None` if there is no such chat.
    ///
    /// ```
    /// # tokio::runtime::Runtime::new()?.block_on(async {
    /// use ship_agent::{Agent, HistoryQuery};
    ///
    /// let (agent, chat) = (Agent::builder().build(), "api:main".parse()?);
    /// for text in ["one", "two", "three"] {
    ///     agent.send(&chat, text).await?;
    /// }
    /// let newest = HistoryQuery { before: None, limit: 2 };
    /// let newest = agent.history(&chat, &newest).await?.ok_or("no chat")?;
    /// let earlier = HistoryQuery { before: newest.before.clone(), limit: 2 };
    /// let earlier = agent.history(&chat, &earlier).await?.ok_or("no chat")?;
    /// let questions = [earlier, newest].map(|page| page.messages[0].message.text());
    /// assert_eq!(questions, ["two", "three"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Fails if the chat cannot be read.
    pub async fn history(
        &self,
        chat: &ChatKey,
        query: &HistoryQuery,
    ) -> Result<Option<HistoryPage>, RunError> {
        let Some(chat) = self.engine.store.open(chat).await? else { return Ok(None) };
        let mut reader =
            HistoryReader::open_before(chat, query.before.as_ref(), query.limit.max(1)).await?;
        let mut messages = Vec::with_capacity(reader.len());
        for nth in 0..reader.len() {
            messages.extend(reader.message(nth).await?);
        }
        Ok(Some(HistoryPage { messages, before: reader.older() }))
    }
}
