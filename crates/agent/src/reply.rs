//! What the agent said to a message, and how its run ended.

use ship_message::UiMessage;
use ship_provider::Usage;
use ship_store::ContextId;

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It said what it had to say.
    Done,
    /// The person stopped it; what was said is kept.
    Stopped,
    /// It failed. The person was told this sentence.
    Failed(String),
    /// It waits for a person's word or for a tool of the client.
    Parked,
}

/// What the agent said to a message.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// How the run ended.
    pub outcome: Outcome,
    /// The messages, with all their steps, in order. The last one is the answer; those before it were said before
    /// the run outgrew its window or went on in another context. Of a run that is parked, the last one is what it
    /// has said so far, with the calls that wait for an answer.
    pub messages: Vec<UiMessage>,
    /// The tokens that the provider counted for the run.
    pub usage: Usage,
    /// The context in which the message was answered, when the chat is in another one by now.
    pub left_context: Option<ContextId>,
    /// Whether this agent ran the answer, so that its listeners were told of it. Another process did otherwise.
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

    /// Whether nothing was said because the person stopped waiting: the message is kept, and the next run answers it.
    pub fn is_left(&self) -> bool {
        self.messages.is_empty() && self.outcome == Outcome::Stopped
    }

    /// The reply to a message that is kept and was not answered.
    pub(crate) fn without_answer(outcome: Option<Outcome>) -> Self {
        let outcome = outcome.unwrap_or(Outcome::Stopped);
        Self {
            outcome,
            messages: Vec::new(),
            usage: Usage::default(),
            left_context: None,
            is_from_here: true,
        }
    }
}
