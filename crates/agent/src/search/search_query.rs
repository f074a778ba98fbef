//! What a search asks for.

use ship_context::search::{IndexedMessage, MessageIndex};
use ship_message::Role;
use ship_store::{ContextId, Timestamp};

/// The number of hits that are returned if a caller names none.
const HITS: usize = 10;

/// What a search asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchQuery {
    /// The words of the question.
    pub words: String,
    /// Only messages of this role.
    pub role: Option<Role>,
    /// Only messages that stand in this context.
    pub context: Option<ContextId>,
    /// Only messages of this time or later.
    pub since: Option<Timestamp>,
    /// Only messages of before this time.
    pub until: Option<Timestamp>,
    /// The number of hits at most.
    pub limit: usize,
}

impl SearchQuery {
    /// Asks for words, wherever they were said.
    pub fn new(words: impl Into<String>) -> Self {
        Self {
            words: words.into(),
            role: None,
            context: None,
            since: None,
            until: None,
            limit: HITS,
        }
    }

    /// Whether a message has the wanted role and time.
    pub(super) fn is_wanted(&self, index: &MessageIndex, number: u32) -> bool {
        let is_open = self.role.is_none() && self.since.is_none() && self.until.is_none();
        is_open
            || index.author_and_time(number).is_some_and(|(role, ts)| {
                self.role.is_none_or(|wanted| role == wanted)
                    && self.since.is_none_or(|since| ts.is_some_and(|ts| ts >= since))
                    && self.until.is_none_or(|until| ts.is_some_and(|ts| ts < until))
            })
    }
}

/// A message that the index has found.
pub(super) struct RankedMessage {
    pub(super) message: IndexedMessage,
    pub(super) score: f64,
}
