//! Finds a message again by its id, with what was said before and after it.

use ship_context::search::MessageIndex;
use ship_message::json::{Json, Object};
use ship_message::{UiMessage, UiPart};
use ship_store::{Chat, ChatKey, ContextId, Metadata, ReadError, Timestamp};

use super::hit_reader::HitReader;
use super::index_reader::IndexReader;
use super::message_search::MessageSearch;
use crate::error::RunError;

/// A message in the order in which the messages of its chat were said.
#[derive(Clone, Debug, PartialEq)]
pub struct NeighbourMessage {
    /// The message as it is stored.
    pub message: UiMessage,
    /// The context in which it stands first; `None` if it is in the ledger alone.
    pub context: Option<ContextId>,
    /// Whether it is the message that was asked for.
    pub is_asked_for: bool,
}

impl NeighbourMessage {
    /// Returns the original as a model reads it.
    pub(crate) fn to_json(&self) -> Json {
        let mut original = Object::from([("id", self.message.id().unwrap_or_default())]);
        original.set("role", self.message.role().name().map_or(Json::Null, Json::from));
        let ts = Metadata::of(&self.message).ts();
        original.set("ts", ts.map_or(Json::Null, Timestamp::to_json));
        let parts = self.message.parts().iter().cloned();
        let parts: Vec<Json> = parts.map(UiPart::into_json).collect();
        original.set("parts", parts);
        original.into()
    }
}

impl MessageSearch {
    /// Returns a message of a chat, with up to `before` messages before it and `after` behind it; `None` if there is no
    /// such chat or message.
    ///
    /// # Errors
    /// Fails if the chat cannot be read.
    pub async fn around(
        &self,
        chat: &ChatKey,
        id: &str,
        before: usize,
        after: usize,
    ) -> Result<Option<Vec<NeighbourMessage>>, RunError> {
        let Some(chat) = self.store.open(chat).await? else { return Ok(None) };
        Ok(self.around_in(&*chat, id, before, after).await?)
    }

    /// Returns messages of an open chat.
    pub(crate) async fn around_in(
        &self,
        chat: &dyn Chat,
        id: &str,
        before: usize,
        after: usize,
    ) -> Result<Option<Vec<NeighbourMessage>>, ReadError> {
        let whole = self.whole_index(chat, "").await?;
        let found = messages_around(chat, whole.read(), id, before, after).await;
        whole.give_back();
        found
    }
}

async fn messages_around(
    chat: &dyn Chat,
    read: &IndexReader,
    id: &str,
    before: usize,
    after: usize,
) -> Result<Option<Vec<NeighbourMessage>>, ReadError> {
    let Some(asked) = read.index.find(id) else { return Ok(None) };
    let purge = read.place.lines.map_or(0, |cursor| cursor.purge);
    let reader = HitReader::new(chat, purge).await?;
    let mut found = Vec::new();
    for number in range_around(&read.index, asked, before, after) {
        let Some(indexed) = read.index.message(number) else { continue };
        let Some(message) = reader.message(&indexed).await? else { continue };
        let is_asked_for = number == asked;
        found.push(NeighbourMessage { message, context: indexed.context, is_asked_for });
    }
    Ok(Some(found))
}

fn range_around(
    index: &MessageIndex,
    asked: u32,
    before: usize,
    after: usize,
) -> std::ops::Range<u32> {
    let steps = |steps: usize| u32::try_from(steps).unwrap_or(u32::MAX);
    let end = asked.saturating_add(1).saturating_add(steps(after));
    let count = u32::try_from(index.message_count()).unwrap_or(u32::MAX);
    asked.saturating_sub(steps(before))..end.min(count)
}
