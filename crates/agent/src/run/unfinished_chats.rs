//! Finds the chats with unfinished work: a message that waits, an interrupted run, or an undelivered answer.
//!
//! A process asks once, when it starts. A chat whose logs have the sizes at which it was last seen idle costs one look at
//! these sizes. Each other one is opened, and recovery decides from its logs, as it does for a run. Nothing is run here.

use std::collections::VecDeque;
use std::sync::Arc;

use ship_context::{Journal, Recovery, recover};
use ship_store::{Chat, ChatCursor, ChatKey, ChatLook, ReadError, StorageError};

use super::recorded_answers::{is_recorded, unrecorded_run};
use crate::chat::LEDGER_PAGE;
use crate::engine::{Agent, Engine};
use crate::inbox::{has_input, has_operation, last_read};

/// The number of chats that may have work and are listed at once.
const PAGE: usize = 100;

/// The chats in which something is left to do, found one after the other.
pub struct UnfinishedChats {
    engine: Arc<Engine>,
    /// The chats of the page that were not opened yet.
    looked_at: VecDeque<ChatLook>,
    after: Option<ChatCursor>,
    is_last_page: bool,
}

impl Agent {
    /// Finds the chats in which something is left to do, those with the newest activity first. A server asks once, when
    /// it starts, and gives each to [`Agent::run`].
    ///
    /// ```
    /// # tokio::runtime::Runtime::new()?.block_on(async {
    /// use ship_agent::{Agent, Inbound, Outcome, Stop};
    ///
    /// let (agent, chat) = (Agent::builder().build(), "http:main".parse()?);
    /// agent.accept(&chat, Inbound::from("hello")).await?;
    /// let mut unfinished = agent.unfinished_chats();
    /// while let Some(chat) = unfinished.next().await? {
    ///     let outcome = agent.run(&chat, &Stop::default()).await?;
    ///     assert_eq!(outcome, Some(Outcome::Done));
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn unfinished_chats(&self) -> UnfinishedChats {
        let engine = Arc::clone(&self.engine);
        // From here on changes are noted, so that no chat that is not listed is missed.
        engine.store.moment();
        UnfinishedChats { engine, looked_at: VecDeque::new(), after: None, is_last_page: false }
    }
}

impl UnfinishedChats {
    /// Returns the next chat; `None` if no other is left. A chat that cannot be read is among them: its run repairs it,
    /// or tells what is wrong.
    ///
    /// # Errors
    /// Fails if the chats cannot be listed.
    pub async fn next(&mut self) -> Result<Option<ChatKey>, StorageError> {
        loop {
            while let Some(look) = self.looked_at.pop_front() {
                // A folder that names no chat cannot be run; a verification reports it.
                let Ok(key) = look.key else { continue };
                if self.engine.is_unfinished(&key).await {
                    return Ok(Some(key));
                }
            }
            if self.is_last_page {
                return Ok(None);
            }
            let page = self.engine.store.chats_with_work(self.after.take(), PAGE).await?;
            (self.looked_at, self.after) = (page.chats.into(), page.next);
            self.is_last_page = self.after.is_none();
        }
    }
}

impl Engine {
    /// Whether something is left to do in a chat, or it cannot be read. A chat without work is noted as idle.
    async fn is_unfinished(&self, key: &ChatKey) -> bool {
        let Ok(Some(chat)) = self.store.open(key).await else { return true };
        let Ok(sizes) = chat.sizes().await else { return true };
        let is_unfinished = self.has_work(&*chat).await.unwrap_or(true);
        // Without the lane, only sizes that are still the same are those of the logs that were read.
        if !is_unfinished
            && chat.sizes().await.is_ok_and(|now| now == sizes)
            && let Err(error) = chat.note_idle(sizes).await
        {
            self.log_error(&*chat, &error);
        }
        is_unfinished
    }

    /// Decides whether a run would find something to do.
    async fn has_work(&self, chat: &dyn Chat) -> Result<bool, ReadError> {
        let state = chat.state(LEDGER_PAGE).await?;
        let (view, journal) = (state.view.as_ref(), Journal::read(&state.journal));
        let inbox = last_read(chat, view).await?;
        if unrecorded_run(chat, &state).await?.is_some() {
            return Ok(true);
        }
        let last = journal.as_ref().map(|journal| &journal.start);
        let is_delivered = is_recorded(chat, view, last).await?;
        match recover(view, &[], journal, |_| is_delivered, self) {
            Recovery::Idle => has_input(self, chat, inbox).await,
            Recovery::Parked(journal) => {
                let waits_since = journal.waits_since.max(inbox);
                Ok(self.goes_on_undecided(chat, waits_since).await?
                    || has_operation(self, chat, inbox).await?)
            }
            Recovery::Deliver(_)
            | Recovery::Continue(_)
            | Recovery::Settled(_)
            | Recovery::RunPending => Ok(true),
        }
    }
}
