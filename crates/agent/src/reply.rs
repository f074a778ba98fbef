//! The reply of an agent to a message, and the outcome of its run.

use serde::Serialize;
use ship_message::{FinishReason, ToolPart, ToolState, UiMessage, UiPart};
use ship_provider::Usage;
use ship_store::{ContextId, Metadata};

/// The outcome of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Outcome {
    /// The run ended with its answer.
    Done,
    /// The person stopped the run; what it said until then is kept.
    Stopped,
    /// The run failed. The person was told this sentence.
    Failed(String),
    /// The run waits for a person's approval or for a tool of the client.
    Parked,
    /// The run was told to leave ([`Stop::leave`](crate::Stop::leave)). It stays in its journal, and the next run of the
    /// chat continues it.
    Left,
}

/// The reply of an agent to a message.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Reply {
    /// The outcome of the run.
    pub outcome: Outcome,
    /// The messages, with all their steps, in order. The last one is the answer; the run wrote those before it until
    /// it outgrew its window or moved to another context. If the run is parked, the last one is its unfinished
    /// message, with the calls that wait for an answer.
    pub messages: Vec<UiMessage>,
    /// The tokens that the provider counted for the run, with those of summaries on the way. `None` if it has answered
    /// a call without a count.
    pub usage: Option<Usage>,
    /// The model that was asked, if it is known.
    pub model: Option<String>,
    /// The context in which the message was answered, if the chat is in another one now.
    pub left_context: Option<ContextId>,
    /// Whether this agent made the answer, so that its listeners have seen it. Otherwise another process made it.
    pub is_from_here: bool,
}

impl Reply {
    /// Returns the text that a person reads.
    pub fn text(&self) -> String {
        let texts = self.messages.iter().map(UiMessage::text).filter(|text| !text.is_empty());
        texts.collect::<Vec<_>>().join("\n\n")
    }

    /// Returns the reply if the run ended with its answer, which may be [cut](Self::is_cut).
    ///
    /// ```
    /// # tokio::runtime::Runtime::new()?.block_on(async {
    /// # let agent = ship_agent::Agent::builder().build();
    /// let reply = agent.send(&"api:main".parse()?, "hello").await?;
    /// println!("The answer: {}", reply.into_result()?.text());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Fails if the run failed, was stopped, or waits. The error says which, and has the reply.
    pub fn into_result(self) -> Result<Self, UnfinishedReply> {
        match self.outcome {
            Outcome::Done => Ok(self),
            Outcome::Stopped | Outcome::Failed(_) | Outcome::Parked | Outcome::Left => {
                Err(UnfinishedReply(Box::new(self)))
            }
        }
    }

    /// Returns the answer: the last message, if there is one.
    pub fn answer(&self) -> Option<&UiMessage> {
        self.messages.last()
    }

    /// Iterates over the calls of a parked run that wait for an answer; see [`CallAnswer`](crate::CallAnswer).
    pub fn waiting_calls(&self) -> impl Iterator<Item = &ToolPart> {
        let parked = self.answer().filter(|_| self.outcome == Outcome::Parked);
        parked.into_iter().flat_map(UiMessage::parts).filter_map(|part| match part {
            UiPart::Tool(call) if is_waiting(call.state()) => Some(call),
            _ => None,
        })
    }

    /// Whether the answer reached the limit of its length, so that its end is missing.
    pub fn is_cut(&self) -> bool {
        let reason = self.answer().and_then(|answer| Metadata::of(answer).finish_reason());
        self.outcome == Outcome::Done && reason == Some(FinishReason::Length)
    }

    /// Whether the person stopped waiting before an answer. The message is kept, and the next run answers it.
    pub fn is_left(&self) -> bool {
        self.messages.is_empty() && self.outcome == Outcome::Stopped
    }

    /// Makes the reply to a message that is kept and was not answered.
    pub(crate) fn without_answer(outcome: Option<Outcome>) -> Self {
        let outcome = outcome.unwrap_or(Outcome::Stopped);
        Self {
            outcome,
            messages: Vec::new(),
            usage: None,
            model: None,
            left_context: None,
            is_from_here: true,
        }
    }
}

/// Whether a call of a parked run waits. All calls of the agent's own tools have run by then, so one that is only
/// available is the client's.
fn is_waiting(state: ToolState) -> bool {
    matches!(state, ToolState::ApprovalRequested | ToolState::InputAvailable)
}

/// The reply of a run that did not end with its answer.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{}", problem(&self.0.outcome))]
pub struct UnfinishedReply(pub Box<Reply>);

fn problem(outcome: &Outcome) -> &str {
    match outcome {
        Outcome::Done => "the run has ended",
        Outcome::Stopped => "the run was stopped before the end of its answer",
        Outcome::Failed(sentence) => sentence,
        Outcome::Left => "the run was left, and the next one continues it",
        Outcome::Parked => "the run waits for an approval, or for the output of a client's tool",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_is_written_as_json_for_programs() {
        let message = UiMessage::new("m1".to_owned(), ship_message::Role::Assistant, vec![]);
        let usage = Some(Usage { input: 9, cached: 4, output: 2 });
        let outcome = Some(Outcome::Failed("no".to_owned()));
        let reply = Reply { messages: vec![message], usage, ..Reply::without_answer(outcome) };
        assert_eq!(
            serde_json::to_string(&reply).unwrap(),
            r#"{"outcome":{"failed":"no"},"messages":[{"id":"m1","role":"assistant","parts":[]}],"#
                .to_owned()
                + r#""usage":{"input":9,"cached":4,"output":2},"model":null,"leftContext":null,"isFromHere":true}"#
        );
        assert_eq!(serde_json::to_string(&Outcome::Parked).unwrap(), r#""parked""#);
    }

    #[test]
    fn only_a_run_with_its_answer_is_a_result() {
        let result = |outcome| Reply::without_answer(Some(outcome)).into_result();
        assert!(result(Outcome::Done).is_ok());
        let failed = result(Outcome::Failed("I could not answer.".to_owned())).unwrap_err();
        assert_eq!(failed.to_string(), "I could not answer.");
        assert!(result(Outcome::Stopped).is_err() && result(Outcome::Parked).is_err());
    }
}
