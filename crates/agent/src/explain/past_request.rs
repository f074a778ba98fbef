//! Shows an earlier request: rebuilds a recorded one and compares it with its digest.

use ship_context::SystemBlock;
use ship_context::compact::PrunedOutputs;
use ship_message::UiMessage;
use ship_message::json::Json;
use ship_provider::ToolSpec;
use ship_store::{Chat, ChatKey, Store, Timestamp};

use crate::engine::Agent;
use crate::error::RunError;
use crate::records::{RebuiltRequest, RecordedRequest, read_records, rebuild};
use crate::tokens::{OfferedTools, PieceTokens, RequestPieces, TokenMeter};

/// An earlier request, rebuilt from its record.
#[derive(Clone, Debug)]
pub struct PastRequest {
    /// The record of the request.
    pub call: RecordedRequest,
    /// The ids of the other requests for the same message of a person, in order.
    pub others: Vec<String>,
    /// The system blocks.
    pub blocks: Vec<SystemBlock>,
    /// The messages as they were shown.
    pub messages: Vec<UiMessage>,
    /// The tools that the model could call.
    pub tools: Vec<ToolSpec>,
    /// The tool outputs that were left out.
    pub pruned: PrunedOutputs,
    /// The compactions in the log at that time: the time, and the data of the event.
    pub compactions: Vec<(Timestamp, Json)>,
    /// The rebuilt body; `None` if something is missing for it.
    pub body: Option<String>,
    /// Whether the body equals the one that was sent, byte for byte.
    pub is_equal: bool,
    /// The missing pieces, a sentence each.
    pub missing: Vec<String>,
}

impl Agent {
    /// Returns the last `limit` recorded requests of a chat, the oldest first.
    ///
    /// # Errors
    /// Fails if the chat cannot be read.
    pub async fn requests(
        &self,
        chat: &ChatKey,
        limit: usize,
    ) -> Result<Vec<RecordedRequest>, RunError> {
        let Some(chat) = self.engine.store.open(chat).await? else { return Ok(Vec::new()) };
        // Each call has a line of its own and one for its answer.
        let mut calls =
            read_records(&*self.engine.store, &*chat, limit.saturating_mul(2).saturating_add(1))
                .await?;
        calls.drain(..calls.len().saturating_sub(limit));
        Ok(calls)
    }

    /// Returns a request by its own id, or the last request for a person's message by the request id of that
    /// message. Returns `None` if there is no such record.
    ///
    /// # Errors
    /// Fails if the chat cannot be read.
    pub async fn past_request(
        &self,
        chat: &ChatKey,
        id: &str,
    ) -> Result<Option<PastRequest>, RunError> {
        let Some(chat) = self.engine.store.open(chat).await? else { return Ok(None) };
        let Some((call, others)) = find(&*self.engine.store, &*chat, id).await? else {
            return Ok(None);
        };
        let rebuilt = rebuild(&*self.engine.store, &*chat, &call.record).await;
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

    /// Returns the tokens of a request's pieces, in proportion to the count by the model's vocabulary. They add up
    /// to the recorded numbers, on which the decisions of that time were based.
    pub fn piece_tokens(&self, past: &PastRequest) -> PieceTokens {
        let (inner, record) = (&*self.engine, &past.call.record);
        let tools = OfferedTools::new(past.tools.clone());
        let pieces =
            RequestPieces { blocks: &past.blocks, messages: &past.messages, tools: &tools };
        let model = &record.recipe.model;
        let weighed = match model == inner.provider.model() {
            _ if record.tokens.is_rough => pieces.rough_tokens(),
            true => inner.token_meter.count_pieces(pieces),
            false => TokenMeter::new(model).count_pieces(pieces),
        };
        weighed.scale_to(&record.tokens)
    }
}

/// The number of lines that are read first; most callers look for a recent request.
const LINES: usize = 256;

/// Finds a request by its id, and the others for the same message of a person.
async fn find(
    store: &dyn Store,
    chat: &dyn Chat,
    id: &str,
) -> Result<Option<(RecordedRequest, Vec<String>)>, RunError> {
    // A request is mostly looked at soon after it was made, and then the last lines suffice.
    for lines in [LINES, usize::MAX] {
        let calls = read_records(store, chat, lines).await?;
        let is_it = |call: &&RecordedRequest| call.record.id == id || call.record.request_id == id;
        let Some(found) = calls.iter().rev().find(is_it).cloned() else { continue };
        let is_other = |call: &&RecordedRequest| {
            call.record.request_id == found.record.request_id && call.record.id != found.record.id
        };
        let others = calls.iter().filter(is_other).map(|call| call.record.id.clone()).collect();
        // Some of the other requests may be further back.
        let may_be_cut = |first: &RecordedRequest| is_other(&first) || first.record == found.record;
        if lines == usize::MAX || !calls.first().is_some_and(may_be_cut) {
            return Ok(Some((found, others)));
        }
    }
    Ok(None)
}
