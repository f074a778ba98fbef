//! What a model was sent once: each request on record, written again and compared with its digest.

use ship_context::SystemBlock;
use ship_context::compact::PrunedOutputs;
use ship_message::UiMessage;
use ship_message::json::Json;
use ship_provider::ToolSpec;
use ship_store::{Chat, ChatKey, Store, Timestamp};

use crate::engine::Agent;
use crate::error::RunError;
use crate::records::{RebuiltRequest, RecordedRequest, rebuild, recorded};
use crate::tokens::{PieceTokens, RequestPieces, TokenMeter};

/// A request that was made.
#[derive(Clone, Debug)]
pub struct PastRequest {
    /// What is on record of it.
    pub call: RecordedRequest,
    /// The ids of the other requests that were made for the same message of a person, in order.
    pub others: Vec<String>,
    /// The system blocks.
    pub blocks: Vec<SystemBlock>,
    /// The messages as they were shown.
    pub messages: Vec<UiMessage>,
    /// The tools.
    pub tools: Vec<ToolSpec>,
    /// The tool outputs that were left out.
    pub pruned: PrunedOutputs,
    /// The compactions that the log told of at that time: when, and what the event says.
    pub compactions: Vec<(Timestamp, Json)>,
    /// The body, written again; none if something is missing for it.
    pub body: Option<String>,
    /// Whether the body is the one that went out, byte for byte.
    pub is_equal: bool,
    /// What could not be found any more, a sentence each.
    pub missing: Vec<String>,
}

impl Agent {
    /// The requests of a chat that are on record, the last `limit` of them, the oldest first.
    ///
    /// # Errors
    /// When the chat cannot be read.
    pub async fn requests(
        &self,
        chat: &ChatKey,
        limit: usize,
    ) -> Result<Vec<RecordedRequest>, RunError> {
        let Some(chat) = self.inner.store.open(chat).await? else { return Ok(Vec::new()) };
        // Each has a line of its own and one for its answer.
        let mut calls =
            recorded(&*self.inner.store, &*chat, limit.saturating_mul(2).saturating_add(1)).await?;
        calls.drain(..calls.len().saturating_sub(limit));
        Ok(calls)
    }

    /// A request that was made, by its own id, or the last one that was made for a person's message, by that
    /// one's request id. None if there is no such request on record.
    ///
    /// # Errors
    /// When the chat cannot be read.
    pub async fn past_request(
        &self,
        chat: &ChatKey,
        id: &str,
    ) -> Result<Option<PastRequest>, RunError> {
        let Some(chat) = self.inner.store.open(chat).await? else { return Ok(None) };
        let Some((call, others)) = find(&*self.inner.store, &*chat, id).await? else {
            return Ok(None);
        };
        let rebuilt = rebuild(&*self.inner.store, &*chat, &call.record).await;
        let RebuiltRequest { blocks, shown, tools, pruned, compactions, body, is_equal, missing } =
            rebuilt;
        Ok(Some(PastRequest {
            call,
            others,
            blocks,
            messages: shown,
            tools,
            pruned,
            compactions,
            body,
            is_equal,
            missing,
        }))
    }

    /// What the pieces of a request take, in proportion to what the vocabulary of the model that was asked
    /// gives. They add up to what is on record: that is what was decided by, whatever was learnt since.
    pub fn weigh(&self, past: &PastRequest) -> PieceTokens {
        let (inner, record) = (&*self.inner, &past.call.record);
        let pieces =
            RequestPieces { blocks: &past.blocks, messages: &past.messages, tools: &past.tools };
        let model = &record.recipe.model;
        let weighed = match model == inner.provider.model() {
            _ if record.tokens.is_rough => pieces.rough(),
            true => inner.scales.counted(pieces),
            false => TokenMeter::new(model).counted(pieces),
        };
        weighed.adding_up_to(&record.tokens)
    }
}

/// How many lines are read at first; most who look for a request look for a late one.
const LINES: usize = 256;

/// The request of an id, and the others for the same message of a person.
async fn find(
    store: &dyn Store,
    chat: &dyn Chat,
    id: &str,
) -> Result<Option<(RecordedRequest, Vec<String>)>, RunError> {
    for lines in [LINES, usize::MAX] {
        let calls = recorded(store, chat, lines).await?;
        let is_it = |call: &&RecordedRequest| call.record.id == id || call.record.request_id == id;
        let Some(found) = calls.iter().rev().find(is_it).cloned() else { continue };
        let is_other = |call: &&RecordedRequest| {
            call.record.request_id == found.record.request_id && call.record.id != found.record.id
        };
        let others = calls.iter().filter(is_other).map(|call| call.record.id.clone()).collect();
        // Some of the others may be further back.
        let may_be_cut = |first: &RecordedRequest| is_other(&first) || first.record == found.record;
        if lines == usize::MAX || !calls.first().is_some_and(may_be_cut) {
            return Ok(Some((found, others)));
        }
    }
    Ok(None)
}
