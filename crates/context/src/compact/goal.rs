//! Decides when a request is too large, and how large it may be afterwards.

use crate::budget::room_beside_answer;

/// The limits of a request, in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenLimits {
    /// `context.history.maxInputTokensApprox`, or its automatic value.
    pub tokens: u64,
    /// The window of the model, if it is known.
    pub window: Option<u64>,
    /// Whether the window is a guess, because the provider refused a request without naming its limit.
    pub is_guess: bool,
    /// `llm.maxTokens`: the tokens that are reserved for the answer.
    pub answer: u64,
}

impl TokenLimits {
    /// Returns the size of the largest request that the model takes with room for an answer.
    pub fn largest_request(&self) -> Option<u64> {
        self.window.map(|window| room_beside_answer(window, self.answer))
    }
}

/// The goal of a compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompactionGoal {
    /// The part that cannot shrink: system, tools, the open request.
    pub floor: u64,
    /// The size above which a request is compacted.
    pub trigger: u64,
    /// The size that a compacted request does not exceed.
    pub target: u64,
    /// The size of the largest request that the model takes with room for an answer, if it is known.
    pub largest_request: Option<u64>,
    /// The size of a request for a summary, with the summary.
    pub reading: u64,
    /// Whether the floor alone fills the budget, which then applies to the other messages alone.
    pub floor_fills_budget: bool,
}

/// The part that cannot shrink does not fit the model's window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the system, the tools and the open request take about {} tokens; the limit is {largest_request}, to leave room for an answer",
    fixed + open
)]
pub struct FloorTooBig {
    /// The tokens of the open request.
    pub open: u64,
    /// The tokens of the system and the tools.
    pub fixed: u64,
    /// The tokens that the model takes.
    pub largest_request: u64,
}

impl FloorTooBig {
    /// Whether no message at all fits beside the system and the tools.
    pub fn is_without_request(&self) -> bool {
        self.fixed >= self.largest_request
    }
}

impl CompactionGoal {
    /// Finds the goal for a request with `fixed` tokens of system and tools and `open` tokens of the open request.
    ///
    /// # Errors
    /// Fails if even the floor does not fit the model's window: no compaction can help.
    pub fn new(fixed: u64, open: u64, budget: &TokenLimits) -> Result<Self, FloorTooBig> {
        let floor = fixed + open;
        let largest_request = budget.largest_request();
        // A guess may be wrong: then everything that can be left out is, and the provider decides.
        if let Some(largest_request) =
            largest_request.filter(|largest_request| floor > *largest_request && !budget.is_guess)
        {
            return Err(FloorTooBig { open, fixed, largest_request });
        }
        // If the floor left almost nothing of the budget, every turn would be compacted.
        let floor_fills_budget = floor + budget.tokens / LEFT_MIN >= budget.tokens;
        let trigger = if floor_fills_budget { floor + budget.tokens } else { budget.tokens };
        // A guessed window may be smaller than the floor.
        let trigger = largest_request
            .map_or(trigger, |largest_request| trigger.min(largest_request))
            .max(floor);
        let target = floor + (trigger - floor) / 2;
        let reading = budget.window.unwrap_or(trigger.max(READING_TOKENS_MIN));
        Ok(Self { floor, trigger, target, largest_request, reading, floor_fills_budget })
    }

    /// Returns the room for everything above the floor after a compaction.
    pub fn room(&self) -> u64 {
        self.target - self.floor
    }

    /// Returns the part of that room that a summary may take.
    pub fn summary_room(&self) -> u64 {
        // The other two thirds are for the newest messages, which the model needs word for word.
        (self.room() / 3).min(SUMMARY_TOKENS_MAX)
    }

    /// Whether that is enough for a summary by a model.
    pub fn has_room_for_summary(&self) -> bool {
        self.summary_room() >= SUMMARY_TOKENS_MIN
    }
}

/// The tokens that a model with an unknown window can be asked to summarise.
const READING_TOKENS_MIN: u64 = 12_000;
/// The part of the budget, an eighth, that the floor must leave to the other messages; otherwise
/// it fills the budget.
const LEFT_MIN: u64 = 8;
/// The tokens of the four headings, with a line for each.
pub const SUMMARY_TOKENS_MIN: u64 = 64;
/// The maximal length of a summary; readers would skip a longer one.
const SUMMARY_TOKENS_MAX: u64 = 4_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_target_is_halfway_between_the_floor_and_the_trigger() {
        let goal = CompactionGoal::new(
            1_500,
            500,
            &TokenLimits { tokens: 12_000, window: None, is_guess: false, answer: 8_192 },
        )
        .unwrap();
        assert_eq!((goal.floor, goal.trigger, goal.target), (2_000, 12_000, 7_000));
    }

    #[test]
    fn a_budget_below_the_floor_holds_for_the_other_messages() {
        let budget = TokenLimits { tokens: 500, window: None, is_guess: false, answer: 8_192 };
        let goal = CompactionGoal::new(1_500, 100, &budget).unwrap();
        assert!(goal.floor_fills_budget);
        assert_eq!((goal.trigger, goal.target), (2_100, 1_850));
    }

    #[test]
    fn a_floor_just_below_the_budget_leaves_as_much_room_as_one_above_it() {
        let budget = |window| TokenLimits { tokens: 2_000, window, is_guess: false, answer: 1_000 };
        let goal = CompactionGoal::new(1_900, 50, &budget(None)).unwrap();
        assert!(goal.floor_fills_budget && goal.has_room_for_summary());
        assert_eq!((goal.trigger, goal.room()), (3_950, 1_000));
        let walled = CompactionGoal::new(1_900, 50, &budget(Some(3_000))).unwrap();
        assert_eq!(walled.trigger, 2_250, "the wall holds");
        assert!(!walled.has_room_for_summary());
        let roomy = CompactionGoal::new(1_700, 40, &budget(None)).unwrap();
        assert_eq!((roomy.trigger, roomy.floor_fills_budget), (2_000, false));
    }

    #[test]
    fn a_floor_over_the_window_is_told_and_nothing_else() {
        let budget =
            TokenLimits { tokens: 5_400, window: Some(8_000), is_guess: false, answer: 8_192 };
        let too_big = CompactionGoal::new(1_500, 9_000, &budget).unwrap_err();
        assert_eq!(
            too_big.to_string(),
            "the system, the tools and the open request take about 10500 tokens; \
             the limit is 6000, to leave room for an answer"
        );
        assert!(!too_big.is_without_request());
        assert!(CompactionGoal::new(7_000, 0, &budget).unwrap_err().is_without_request());
        let goal = CompactionGoal::new(1_500, 4_400, &budget).unwrap();
        assert!(
            goal.trigger <= 6_000 && goal.target <= goal.trigger,
            "never over the wall: {goal:?}"
        );
    }

    #[test]
    fn a_guess_of_the_window_makes_all_the_room_there_is_and_refuses_nothing() {
        let budget =
            TokenLimits { tokens: 4_000, window: Some(6_000), is_guess: true, answer: 8_192 };
        let goal = CompactionGoal::new(1_500, 9_000, &budget).unwrap();
        assert_eq!((goal.trigger, goal.target, goal.room()), (10_500, 10_500, 0));
    }
}
