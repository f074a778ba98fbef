//! When a request is too large, and how large it may be afterwards.

/// What a request may take, in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// `context.history.maxInputTokensApprox`, or what it is by itself.
    pub tokens: u64,
    /// What the model can see at once, if that is known.
    pub window: Option<u64>,
    /// Whether the window is a guess: the provider refused more, and did not say what it takes.
    pub is_guess: bool,
    /// `llm.maxTokens`
    pub answer: u64,
}

impl Budget {
    /// What the model can be sent at all, with room for an answer.
    pub fn wall(&self) -> Option<u64> {
        self.window.map(|window| window - self.answer.min(window / 4))
    }
}

/// What a compaction aims at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Goal {
    /// What cannot shrink: system, tools, the open request.
    pub floor: u64,
    /// A larger request is compacted.
    pub trigger: u64,
    /// A compacted request is not larger than this.
    pub target: u64,
    /// What a request for a summary may take, the summary included.
    pub reading: u64,
    /// Whether the floor alone is over the budget, which then holds for the other messages alone.
    pub floor_is_over_budget: bool,
}

/// The open request does not fit the model's window with nothing else but the system and the tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "your message alone takes about {open} tokens, and the system and the tools {fixed}; the model takes {wall} with room for an answer"
)]
pub struct TooBig {
    /// What the open request takes.
    pub open: u64,
    /// What system and tools take.
    pub fixed: u64,
    /// What the model takes.
    pub wall: u64,
}

impl Goal {
    /// Finds the goal for a request whose system and tools take `fixed` and whose open request takes `open`.
    ///
    /// # Errors
    /// When even the floor does not fit the model's window: no compaction can help.
    pub fn new(fixed: u64, open: u64, budget: &Budget) -> Result<Self, TooBig> {
        let floor = fixed + open;
        let wall = budget.wall();
        // A guess may be wrong: then everything that can go goes, and the provider has the last word.
        if let Some(wall) = wall.filter(|wall| floor > *wall && !budget.is_guess) {
            return Err(TooBig { open, fixed, wall });
        }
        let floor_is_over_budget = floor >= budget.tokens;
        let trigger = if floor_is_over_budget { floor + budget.tokens } else { budget.tokens };
        let trigger = wall.map_or(trigger, |wall| trigger.min(wall)).max(floor);
        let target = floor + (trigger - floor) / 2;
        let reading = budget.window.unwrap_or(trigger.max(READING_TOKENS_MIN));
        Ok(Self { floor, trigger, target, reading, floor_is_over_budget })
    }

    /// Room for everything that is not the floor, after a compaction.
    pub fn room(&self) -> u64 {
        self.target - self.floor
    }

    /// What of that room a summary may take.
    pub fn summary_room(&self) -> u64 {
        (self.room() / 3).min(SUMMARY_TOKENS_MAX)
    }
}

/// What any model can be asked to sum up whose window nobody knows.
const READING_TOKENS_MIN: u64 = 12_000;
/// A summary that is longer is read by nobody.
const SUMMARY_TOKENS_MAX: u64 = 4_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_target_is_halfway_between_the_floor_and_the_trigger() {
        let goal = Goal::new(
            1_500,
            500,
            &Budget { tokens: 12_000, window: None, is_guess: false, answer: 8_192 },
        )
        .unwrap();
        assert_eq!((goal.floor, goal.trigger, goal.target), (2_000, 12_000, 7_000));
    }

    #[test]
    fn a_budget_below_the_floor_holds_for_the_other_messages() {
        let budget = Budget { tokens: 500, window: None, is_guess: false, answer: 8_192 };
        let goal = Goal::new(1_500, 100, &budget).unwrap();
        assert!(goal.floor_is_over_budget);
        assert_eq!((goal.trigger, goal.target), (2_100, 1_850));
    }

    #[test]
    fn a_floor_over_the_window_is_told_and_nothing_else() {
        let budget = Budget { tokens: 5_400, window: Some(8_000), is_guess: false, answer: 8_192 };
        let too_big = Goal::new(1_500, 9_000, &budget).unwrap_err();
        assert_eq!(
            too_big.to_string(),
            "your message alone takes about 9000 tokens, and the system and the tools 1500; \
             the model takes 6000 with room for an answer"
        );
        let goal = Goal::new(1_500, 4_400, &budget).unwrap();
        assert!(
            goal.trigger <= 6_000 && goal.target <= goal.trigger,
            "never over the wall: {goal:?}"
        );
    }

    #[test]
    fn a_guess_of_the_window_makes_all_the_room_there_is_and_refuses_nothing() {
        let budget = Budget { tokens: 4_000, window: Some(6_000), is_guess: true, answer: 8_192 };
        let goal = Goal::new(1_500, 9_000, &budget).unwrap();
        assert_eq!((goal.trigger, goal.target, goal.room()), (10_500, 10_500, 0));
    }
}
