//! Limits the size of a request before its context is compacted, for runs, `inspect` and `compact --dry-run` alike.

use ship_context::compact::{CompactionGoal, TokenLimits};
use ship_context::input_budget;
use ship_message::json::Object;
use ship_store::{Chat, ReadError};

use super::Engine;
use crate::records::{RECENT_LINES, read_records};
use crate::tokens::{PieceTokens, RequestPieces};

impl Engine {
    /// Returns the number of tokens that the model takes, if it is known: from the settings, or else from the
    /// provider. A lower limit that the host has shown by refusing counts instead.
    pub(crate) fn window_tokens(&self) -> Option<u64> {
        let shown = self.token_meter.limits().window();
        self.configured_window().into_iter().chain(shown).min()
    }

    /// Returns the number of tokens that the model takes by the settings, or else by its name.
    pub(super) fn configured_window(&self) -> Option<u64> {
        self.rules.window.or_else(|| self.provider.window_tokens())
    }

    /// Learns, in a new process, how the provider counts: from the recorded requests of the chat, and from the data
    /// that its log carries.
    pub(crate) async fn remember_counts(
        &self,
        chat: &dyn Chat,
        carried: &Object,
    ) -> Result<(), ReadError> {
        if self.token_meter.wants_records() {
            self.token_meter.learn_from(&read_records(&*self.store, chat, RECENT_LINES).await?);
        }
        self.token_meter.merge_calibration(carried);
        Ok(())
    }
}

/// The budget of a model without any known limit: a quarter of the range, so that sums with it do not overflow.
pub(crate) const UNLIMITED: u64 = u64::MAX / 4;

/// The condition for an automatic compaction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompactionTrigger {
    /// The size of the largest request that is not compacted; `None` if only the provider's refusal shows that
    /// one is too large.
    pub tokens: Option<u64>,
    /// A sentence for the person if the system and the tools alone fill the budget.
    pub warning: Option<String>,
}

impl Engine {
    /// Returns the budget of a request, from the settings and the model's window.
    pub(crate) fn budget_tokens(&self) -> u64 {
        self.budget_within(self.window_tokens())
    }

    /// Returns the budget for a window that the provider has just named.
    pub(crate) fn budget_within(&self, window: Option<u64>) -> u64 {
        input_budget(self.rules.input_tokens_max, window, self.rules.max_tokens)
    }

    /// Returns the limits of a request. `is_raised` is set if a person has undone a compaction: then the whole
    /// window may be used.
    pub(crate) fn token_limits(&self, is_raised: bool) -> TokenLimits {
        let window = self.window_tokens();
        let tokens = match is_raised {
            true => window.unwrap_or(UNLIMITED),
            false => self.budget_tokens(),
        };
        TokenLimits { tokens, window, is_guess: false, answer: self.rules.max_tokens }
    }

    /// Returns the tokens that waiting messages may take beside these pieces: half of the rest.
    pub(crate) fn input_room(&self, request: RequestPieces<'_>) -> u64 {
        let fixed = self.token_meter.load_of(request).fixed;
        CompactionGoal::new(fixed, 0, &self.token_limits(false)).map_or(0, |goal| goal.room())
    }

    /// Returns the condition for an automatic compaction, without an open request.
    pub(crate) fn compaction_trigger(
        &self,
        is_raised: bool,
        request: RequestPieces<'_>,
    ) -> CompactionTrigger {
        let weights = self.token_meter.estimate_pieces(&self.token_meter.count_pieces(request));
        let fixed = weights.system.iter().chain(&weights.tools).sum();
        let budget = self.token_limits(is_raised);
        match CompactionGoal::new(fixed, 0, &budget) {
            Ok(goal) => CompactionTrigger {
                tokens: (budget.tokens != UNLIMITED).then_some(goal.trigger),
                warning: goal
                    .floor_fills_budget
                    .then(|| self.describe_filled_budget(request, &weights, &goal)),
            },
            // No request fits the window; every attempt to make one reports this error.
            Err(too_big) => {
                CompactionTrigger { tokens: Some(too_big.largest_request), warning: None }
            }
        }
    }

    /// Describes what fills the budget, and the consequence.
    pub(crate) fn describe_filled_budget(
        &self,
        request: RequestPieces<'_>,
        weights: &PieceTokens,
        goal: &CompactionGoal,
    ) -> String {
        let system: u64 = weights.system.iter().sum();
        let tools: u64 = weights.tools.iter().sum();
        let named = request.blocks.iter().map(|block| block.name.as_str()).zip(&weights.system);
        let largest = named.max_by_key(|(_, tokens)| **tokens);
        let largest =
            largest.map_or(String::new(), |(name, tokens)| format!("; {name} alone {tokens}"));
        let and_the_rest = match goal.floor.saturating_sub(system + tools) {
            0 => format!(" and the tools ({tools})"),
            open => format!(", the tools ({tools}) and the new message ({open})"),
        };
        let (whose, remedy) = match (self.rules.input_tokens_max, self.window_tokens()) {
            (Some(_), _) => {
                ("`context.history.maxInputTokensApprox` allows", "raise it, or shorten them")
            }
            (None, Some(_)) => ("the model's window leaves", "shorten them"),
            (None, None) => {
                ("are assumed for a model whose window is not known", "set `llm.window`")
            }
        };
        format!(
            "the system ({system} tokens{largest}){and_the_rest} fill the {} tokens that {whose}; {remedy}. \
             Until then, older messages become a summary once a request has more than {} tokens",
            self.budget_tokens(),
            goal.trigger
        )
    }
}
