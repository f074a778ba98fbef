//! Repair: the first time that an agent writes a chat, it sets aside what a crash left half written.

use ship_store::{Chat, Lane};

use crate::compact::finish_purge;
use crate::contexts::ContextArchive;
use crate::engine::Engine;
use crate::error::RunError;

impl Engine {
    /// Sets aside what a crash left half written, the first time this agent writes a chat. No repair is silent:
    /// each is a line in the log.
    pub(crate) async fn repair_once(
        &self,
        chat: &dyn Chat,
        lane: &dyn Lane,
    ) -> Result<(), RunError> {
        let new = self.repaired.lock().await.insert(chat.key().clone());
        if !new {
            return Ok(());
        }
        self.note_repairs(chat.key(), chat.repair().await?);
        // What is known of archived contexts is made again if it is missing.
        if let Some(view) = chat.view().await? {
            ContextArchive::open(self, chat, &view).await?;
        }
        finish_purge(chat, lane).await
    }
}
