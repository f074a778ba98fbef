//! Brings the indexes of chats on in the background. Nothing waits for that, and nothing fails by it.

use std::sync::Arc;

use ship_store::{Chat, ChatKey, ReadError};

use super::{Agent, Engine};
use crate::error::RunError;
use crate::search::{SearchQuery, SearchResult, SearchedBy};

/// The pages that are read at once, so that a search need not wait long for the index.
const PAGES_AT_ONCE: usize = 2;

impl Agent {
    /// Searches in a chat, as [`MessageSearch`](crate::MessageSearch) does, and shares the index with the runs of this
    /// agent; `None` if there is no such chat.
    ///
    /// ```
    /// # tokio::runtime::Runtime::new()?.block_on(async {
    /// use ship_agent::{Agent, SearchQuery};
    ///
    /// let (agent, chat) = (Agent::builder().build(), "api:main".parse()?);
    /// agent.send(&chat, "The boat is painted red").await?;
    /// agent.send(&chat, "What else?").await?;
    /// let query = SearchQuery::new("which colour did we paint the boat?");
    /// let found = agent.search(&chat, &query).await?.ok_or("no chat")?;
    /// assert_eq!(found.hits[0].snippet, "The boat is painted red");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Fails if the chat cannot be read.
    pub async fn search(
        &self,
        chat: &ChatKey,
        query: &SearchQuery,
    ) -> Result<Option<SearchResult>, RunError> {
        let Some(chat) = self.engine.store.open(chat).await? else { return Ok(None) };
        Ok(Some(self.engine.search_in(&*chat, query).await?))
    }
}

impl Engine {
    /// Searches in an open chat. If its index is not whole yet, it is made in the background.
    pub(crate) async fn search_in(
        &self,
        chat: &dyn Chat,
        query: &SearchQuery,
    ) -> Result<SearchResult, ReadError> {
        let found = self.search.search_in(chat, query).await?;
        if found.from == SearchedBy::Scan {
            self.index_in_background(chat.key());
        }
        Ok(found)
    }

    /// Brings the index of a chat on after a commit, if it is in memory. Without a search in the chat, its index is free.
    pub(crate) fn index_after_commit(&self, chat: &ChatKey) {
        if self.search.is_loaded(chat) {
            self.index_in_background(chat);
        }
    }

    fn index_in_background(&self, chat: &ChatKey) {
        let (search, chat) = (Arc::clone(&self.search), chat.clone());
        tokio::spawn(async move {
            // The next search tells what is wrong with a chat that cannot be read.
            while let Ok(false) = search.index(&chat, PAGES_AT_ONCE).await {}
        });
    }
}
