//! Asks for a summary as a continuation of the chat.

use ship_context::compact::continuation_instruction;
use ship_message::{Role, UiMessage, UiPart};

use super::summariser::{Summariser, SummaryFailure};
use crate::engine::SummaryCost;
use crate::request::{ModelCall, PreparedRequest};

/// The chat as a request, which a request for a summary can continue.
#[derive(Clone, Copy)]
pub(super) struct ChatRequest<'a> {
    pub(super) request: &'a PreparedRequest,
    /// The message that the run is writing.
    pub(super) so_far: Option<&'a UiMessage>,
    /// The tokens of the request.
    pub(super) tokens: u64,
    /// The messages that are summarised, and their tokens.
    pub(super) older: &'a [&'a UiMessage],
    pub(super) older_tokens: u64,
}

impl Summariser<'_> {
    /// Asks for a summary as the chat's next answer. The request is the chat's own with an instruction behind it, so
    /// the provider has most of it in its cache. `None` if that does not surely fit the model's window.
    pub(super) async fn continue_chat(
        &self,
        chat: ChatRequest<'_>,
        cost: &mut SummaryCost,
    ) -> Option<Result<String, SummaryFailure>> {
        let room = self.goal.summary_room();
        let instruction = continuation_instruction(self.wishes, room, chat.older);
        let tokens = chat.tokens + (self.count)(&instruction);
        // Our estimate may be wrong by a few percent.
        let most = tokens + tokens / 16 + 64 + room;
        self.work.locked.engine.window_tokens().filter(|window| most <= *window)?;
        let parts = vec![UiPart::text(instruction)];
        let request = chat.request.continued(UiMessage::new("summary-request", Role::User, parts));
        Some(self.answer_continuation(&request, chat, cost).await)
    }

    async fn answer_continuation(
        &self,
        request: &PreparedRequest,
        chat: ChatRequest<'_>,
        cost: &mut SummaryCost,
    ) -> Result<String, SummaryFailure> {
        let written =
            request.compile(&self.work.locked.engine, self.goal.summary_room(), None).await?;
        let asking = ModelCall::for_continuation(self.work, request, &written, chat.so_far).await?;
        let answer = self.answer(asking, cost).await?;
        self.accept(&answer, chat.older_tokens)
    }
}
