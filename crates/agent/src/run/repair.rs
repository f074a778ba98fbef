//! Repairs a chat when an agent writes to it for the first time.

use ship_store::{Chat, Lane};

use crate::compact::finish_purge;
use crate::contexts::separate_restored_log;
use crate::engine::Engine;
use crate::error::RunError;

impl Engine {
    /// Sets aside files that a crash left half written, once for each chat of this agent. No repair is silent:
    /// each is a line in the log.
    pub(crate) async fn repair_once(
        &self,
        chat: &dyn Chat,
        lane: &dyn Lane,
    ) -> Result<(), RunError> {
        let new = self.repaired_chats.lock().await.insert(chat.key().clone());
        if !new {
            return Ok(());
        }
        self.note_repairs(chat.key(), chat.repair().await?);
        // This opens the archive, which writes missing files about archived contexts again.
        if let Some(view) = chat.log().view().await? {
            separate_restored_log(self, chat, lane, &view).await?;
        }
        finish_purge(chat, lane).await
    }
}
