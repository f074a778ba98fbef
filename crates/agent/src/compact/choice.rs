//! Which of the ways to make room is worth it.

use ship_context::compact::{Cut, is_summary};
use ship_message::json::Json;

use super::{LogSize, Plan};
use crate::Rules;

/// What a message takes beside its text.
const MESSAGE_TOKENS: u64 = 16;

impl Plan {
    /// Whether leaving outputs out meets the target.
    pub(super) fn is_pruning_enough(&self) -> bool {
        !self.pruned.is_empty() && self.after_pruning() <= self.goal.target
    }

    /// Which messages stay, by their number; in a log that is full fewer, until they are half of what it may be,
    /// because otherwise it would be full again at once.
    pub(super) fn cut_for(&self, rules: &Rules, is_full: bool) -> Cut {
        let mut keep_last = rules.keep_last_messages;
        let mut cut = self.cut(keep_last);
        while is_full && keep_last > 0 && !self.size_of(&cut.kept).is_half_of(rules) {
            keep_last /= 2;
            cut = self.cut(keep_last);
        }
        cut
    }

    fn size_of(&self, kept: &[usize]) -> LogSize {
        let messages: Vec<Json> = kept.iter().map(|at| self.said[*at].to_json()).collect();
        LogSize::of_messages(messages.iter().filter_map(Json::as_object))
    }

    /// Whether a cut makes the request any smaller: a summary alone is not summed up again, unless it is larger
    /// than there is room for.
    pub(super) fn is_worth(&self, cut: &Cut) -> bool {
        let is_new = |at: &usize| !is_summary(&self.said[*at]);
        let tokens: u64 = cut.older.iter().map(|at| self.weights[*at]).sum();
        cut.older.iter().any(is_new) || tokens > self.goal.summary_room() + MESSAGE_TOKENS
    }
}
