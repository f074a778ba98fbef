//! News of a chat: what its ledger gets, whichever process puts it there.
//!
//! A [`Listener`] follows the runs of this process word by word. The ledger has the finished work of every process. So
//! a program that serves a chat beside others follows both. [`Agent::find_reply`] gives it the answer of another process.

use std::sync::Arc;

use ship_context::is_question;
use ship_message::Chunk;
use ship_store::{
    AnsweredEntries, Chat, ChatKey, LedgerBody, LedgerLine, LedgerSeq, Moment, ReadError, Store,
};

use crate::chat::LaterPages;
use crate::engine::Agent;
use crate::error::RunError;
use crate::events::{Listener, RunEvent};
use crate::inbound::AcceptedMessage;
use crate::run_notice::{ContextNotice, RunNotice};

/// Something that has happened in a chat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChatNewsItem {
    /// A message was accepted.
    Accepted(AcceptedMessage),
    /// A run has answered this message, and those before it that had no answer. [`Agent::find_reply`] has the answer.
    Answered(AcceptedMessage),
    /// The contexts have changed, and the listeners of this agent were not told.
    Context(ContextNotice),
}

/// What happens in a chat from a certain time on; see [`Agent::news`].
pub struct ChatNews {
    store: Arc<dyn Store>,
    chat: ChatKey,
    /// Receives the events of this agent.
    listener: Listener,
    /// The changes of contexts that the listeners of this agent were told of.
    reported: Vec<String>,
    answered: AnsweredEntries,
    /// The last ledger line that was read.
    last_seen: Option<LedgerSeq>,
    /// The moment of the last look at the ledger.
    looked_at: Moment,
}

impl std::fmt::Debug for ChatNews {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChatNews").field("chat", &self.chat).finish_non_exhaustive()
    }
}

impl Agent {
    /// Follows what happens in a chat from now on, in any process. The chat need not exist yet.
    ///
    /// ```
    /// # tokio::runtime::Runtime::new()?.block_on(async {
    /// use ship_agent::{Agent, ChatNewsItem};
    ///
    /// let (agent, chat) = (Agent::builder().build(), "api:main".parse()?);
    /// let mut news = agent.news(&chat).await?;
    /// let reply = agent.send(&chat, "hello").await?;
    /// news.changed().await;
    /// let items = news.read().await?;
    /// let Some(ChatNewsItem::Answered(message)) = items.last() else { return Err("no answer".into()) };
    /// let answer = agent.find_reply(&chat, message).await?.ok_or("no reply")?;
    /// assert_eq!(answer.text(), reply.text());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Fails if the chat cannot be read.
    pub async fn news(&self, chat: &ChatKey) -> Result<ChatNews, RunError> {
        let (store, listener) = (Arc::clone(&self.engine.store), self.listen(chat));
        let looked_at = store.moment();
        let last_seen = match store.open(chat).await? {
            Some(chat) => chat.ledger().before(None, 1).await?.last().map(|line| line.seq),
            None => None,
        };
        let (reported, answered) = (Vec::new(), AnsweredEntries::default());
        Ok(ChatNews {
            store,
            chat: chat.clone(),
            listener,
            reported,
            answered,
            last_seen,
            looked_at,
        })
    }
}

impl ChatNews {
    /// Waits until something may be new since the last [`ChatNews::read`].
    pub async fn changed(&self) {
        self.store.changed(self.looked_at).await;
    }

    /// Returns what has happened since the last call, in order.
    ///
    /// # Errors
    /// Fails if the chat cannot be read.
    pub async fn read(&mut self) -> Result<Vec<ChatNewsItem>, RunError> {
        self.note_reported();
        self.looked_at = self.store.moment();
        let Some(chat) = self.store.open(&self.chat).await? else { return Ok(Vec::new()) };
        let lines = self.unseen_lines(&*chat).await?;
        Ok(lines.iter().filter_map(|line| self.item(line)).collect())
    }

    /// Notes the changes of contexts that this agent has told its listeners.
    fn note_reported(&mut self) {
        while let Some(event) = self.listener.try_next() {
            if let RunEvent::Chunk(Chunk::Data(part)) = &*event
                && let Some(RunNotice::Context(notice)) = RunNotice::read(part)
            {
                self.reported.push(notice.line);
            }
        }
    }

    async fn unseen_lines(&mut self, chat: &dyn Chat) -> Result<Vec<LedgerLine>, ReadError> {
        let (mut lines, mut pages) = (Vec::new(), LaterPages::new(chat, self.last_seen));
        while let Some(page) = pages.next().await? {
            lines.extend(page);
            self.last_seen = pages.read_up_to();
        }
        Ok(lines)
    }

    fn item(&mut self, line: &LedgerLine) -> Option<ChatNewsItem> {
        let answered = self.answered.take(line);
        let LedgerBody::Entry(entry) = &line.body else { return None };
        let message = |seq, is_new| {
            let request_id = entry.entry.str("requestId").unwrap_or_default().to_owned();
            AcceptedMessage { seq, request_id, is_new }
        };
        if let Some(seq) = answered {
            return Some(ChatNewsItem::Answered(message(seq, false)));
        }
        if is_question(line) {
            return Some(ChatNewsItem::Accepted(message(line.seq, true)));
        }
        let notice = context_notice(line)?;
        match self.reported.iter().position(|reported| *reported == notice.line) {
            Some(at) => {
                self.reported.remove(at);
                None
            }
            None => Some(ChatNewsItem::Context(notice)),
        }
    }
}

/// Returns the notice of an entry about contexts. A refused operation concerns only the person that asked for it.
fn context_notice(line: &LedgerLine) -> Option<ContextNotice> {
    let LedgerBody::Entry(entry) = &line.body else { return None };
    let change = match entry.via()? {
        "switch" => entry.entry.get("meta")?,
        "operation" => entry.entry.get("meta")?.get("operated")?,
        _ => return None,
    };
    let is_done = change.get("notDone").is_none();
    let text = entry.entry.str("text").filter(|_| is_done)?;
    Some(ContextNotice::new(text, change.get("wayBack")))
}
