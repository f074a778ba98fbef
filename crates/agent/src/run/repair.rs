//! Repairs a chat when an agent writes to it for the first time.

use ship_store::{Chat, Lane, View};

use crate::compact::finish_purge;
use crate::contexts::separate_restored_log;
use crate::engine::Engine;
use crate::error::RunError;

impl Engine {
    /// Sets aside files that a crash left half written, once for each chat as far as this agent remembers. No repair is
    /// silent: each is a line in the log. Returns the view of the log, unless it must be read.
    pub(crate) async fn repair_once(
        &self,
        chat: &dyn Chat,
        lane: &dyn Lane,
    ) -> Result<Option<View>, RunError> {
        let new = self.repaired_chats.lock().await.insert(chat.key().clone(), ());
        if !new {
            return Ok(None);
        }
        self.note_repairs(chat.key(), chat.repair().await?);
        let Some(mut view) = chat.log().view().await? else { return Ok(None) };
        // This opens the archive, which writes missing files about archived contexts again.
        if separate_restored_log(self, chat, lane, &view).await? {
            let separated = chat.log().view().await?;
            view = separated.ok_or_else(|| RunError::Vanished { chat: chat.key().clone() })?;
        }
        finish_purge(lane, &view).await?;
        Ok(Some(view))
    }
}
