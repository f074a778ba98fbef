//! The reply of an agent to a message, and the outcome of its run.

use ship_message::{FinishReason, UiMessage};
use ship_provider::Usage;
use ship_store::{ContextId, Metadata};

/// The outcome of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The run ended with its answer.
    Done,
    /// The person stopped the run; what it said until then is kept.
    Stopped,
    /// The run failed. The person was told this sentence.
    Failed(String),
    /// The run waits for a person's approval or for a tool of the client.
    Parked,
}

/// The reply of an agent to a message.
#[derive(Clone, Debug, PartialEq)]
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

    /// Returns the answer: the last message, if there is one.
    pub fn answer(&self) -> Option<&UiMessage> {
        self.messages.last()
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
