//! Plans a compaction: how much is too much, what can be left out, and what stays.

use std::sync::Arc;

use ship_context::compact::{
    CompactionGoal, Cut, FloorTooBig, PrunedOutputs, SUMMARY_TOKENS_MIN, TokenLimits,
    WeighedMessage, cut, is_summary, prunable_outputs,
};
use ship_context::open_request;
use ship_message::{UiMessage, UiPart};
use ship_store::{Explanation, View};

use super::make_room::CompactionReason;
use crate::blocking_work::in_place_if;
use crate::chat::{CompactionState, LogSize};
use crate::engine::{ActiveRun, Engine};
use crate::error::RunError;
use crate::request::{PreparedRequest, log_not_recorded};
use crate::rules::Rules;
use crate::tokens::RequestLoad;

/// The tokens of a message besides its text.
const SUMMARY_MARGIN: u64 = 16;

/// Everything that is known before a compaction.
pub(super) struct CompactionPlan {
    pub(super) messages: Arc<[UiMessage]>,
    pub(super) open: Vec<bool>,
    pub(super) load: RequestLoad,
    pub(super) goal: CompactionGoal,
    /// A sentence about the system and the tools, if they and the open request fill the budget.
    pub(super) budget_warning: Option<String>,
    /// The outputs to leave out, and the tokens of the messages without them.
    pub(super) pruned: PrunedOutputs,
    pub(super) weights: Vec<u64>,
    pub(super) state: CompactionState,
    pub(super) view: View,
}

/// The method of a compaction.
pub(super) enum CompactionStep {
    /// There is nothing to leave out.
    Nothing,
    /// Old outputs of tools are left out.
    Prune,
    /// The older messages become a summary.
    Summarise(Cut),
}

/// The result of planning.
pub(super) enum PlanResult {
    Plan(Box<CompactionPlan>),
    /// So many parts of the run's message must be settled first.
    Settle(usize),
    /// A compaction is impossible, for this reason.
    No(Explanation),
}

pub(super) async fn plan(
    work: &ActiveRun,
    request: &PreparedRequest,
    why: &CompactionReason,
) -> Result<PlanResult, RunError> {
    let engine = &work.locked.engine;
    let Some(view) = work.locked.chat.log().view().await? else {
        return Ok(PlanResult::No(Explanation::new("there is nothing to compact")));
    };
    let carried = CompactionState::read(&view);
    // The counts of earlier calls only make the estimate better.
    if let Err(error) = engine.remember_counts(&*work.locked.chat, &carried.tokens).await {
        log_not_recorded(work, &error);
    }
    let load = engine.token_meter.load_of(request.pieces());
    let context_messages = work.messages().await;
    let mut open = vec![false; context_messages.len()];
    for at in open_request(&context_messages, &work.run_id, view.head.carry.answered()) {
        open[at] = true;
    }
    let weigh = |at: usize| load.messages.get(at).copied().unwrap_or_default();
    let open_tokens: u64 = (0..context_messages.len()).filter(|at| open[*at]).map(weigh).sum();
    let floor = load.fixed + open_tokens;
    let budget = token_limits(engine, &carried, why, load.total(), floor);
    let goal = match CompactionGoal::new(load.fixed, open_tokens, &budget) {
        Ok(goal) => goal,
        Err(too_big) => return Ok(PlanResult::No(too_big_for_user(engine, request, &too_big))),
    };
    // A request shows the messages of the context first, and then the run's own.
    let so_far = request.shown.get(context_messages.len());
    let needs_room = *why != CompactionReason::Trigger || load.total() > goal.trigger;
    let goal = match so_far.filter(|_| needs_room) {
        None => goal,
        Some(so_far) => {
            let tokens: u64 = load.messages.iter().skip(context_messages.len()).sum();
            let with_run = CompactionGoal::new(load.fixed, open_tokens + tokens, &budget);
            // A person that makes room while a run waits leaves the run unchanged.
            let may_settle = !matches!(why, CompactionReason::Person { .. });
            match (parts_to_settle(so_far, tokens, &goal, with_run.is_ok()), with_run) {
                (Some(parts), _) if may_settle => return Ok(PlanResult::Settle(parts)),
                (_, Ok(goal)) => goal,
                (_, Err(too_big)) => {
                    return Ok(PlanResult::No(too_big_for_user(engine, request, &too_big)));
                }
            }
        }
    };
    let mut weights: Vec<u64> = (0..context_messages.len()).map(weigh).collect();
    let messages: Vec<&UiMessage> = context_messages.iter().collect();
    // An event among the messages records what is pruned.
    let pruned = match work.locked.chat.log().features().holds_events {
        true => {
            // The newest half of the room is what the model works with, and keeps its outputs.
            prunable_outputs(&messages, first_protected(&weights, goal.room() / 2), &carried.pruned)
        }
        false => PrunedOutputs::default(),
    };
    weigh_pruned(engine, request, &pruned, &mut weights);
    // A refusal of the provider says nothing about the settings.
    let is_overflow = matches!(why, CompactionReason::Overflow { .. });
    let filled_by = (goal.floor_fills_budget && !is_overflow).then(|| {
        let weights =
            engine.token_meter.estimate_pieces(&engine.token_meter.count_pieces(request.pieces()));
        engine.describe_filled_budget(request.pieces(), &weights, &goal)
    });
    Ok(PlanResult::Plan(Box::new(CompactionPlan {
        messages: context_messages,
        open,
        load,
        goal,
        budget_warning: filled_by,
        pruned,
        weights,
        state: carried,
        view,
    })))
}

/// Returns the number of parts of the run's message that must be settled; `None` if the run may stay as it is. It takes
/// so many tokens, and `fits` tells whether a goal holds the run beside the open request.
fn parts_to_settle(
    so_far: &UiMessage,
    tokens: u64,
    goal: &CompactionGoal,
    fits: bool,
) -> Option<usize> {
    let earlier = earlier_parts(so_far);
    // A run that takes more than half of the room would leave too little for a summary and the messages.
    if earlier > 0 && tokens > goal.room() / 2 {
        return Some(earlier);
    }
    // Not even the last step fits beside the open request.
    (!fits).then(|| so_far.parts().len())
}

/// Counts the messages again of which outputs are left out.
fn weigh_pruned(
    engine: &Engine,
    request: &PreparedRequest,
    pruned: &PrunedOutputs,
    weights: &mut [u64],
) {
    // Mostly nothing is left out, and then copies of all messages would be wasted.
    in_place_if(!pruned.is_empty(), || {
        for (at, weight) in weights.iter_mut().enumerate() {
            if pruned.has_output_of(&request.shown[at]) {
                let mut shown = request.shown[at].clone();
                pruned.apply(&mut shown);
                *weight = engine.token_meter.message_tokens(&shown);
            }
        }
    });
}

/// Explains what is too big.
fn too_big_for_user(
    engine: &Engine,
    request: &PreparedRequest,
    too_big: &FloorTooBig,
) -> Explanation {
    let FloorTooBig { open, fixed, largest_request: wall } = *too_big;
    let takes = format!("the limit is {wall}, to leave room for an answer");
    if open > fixed {
        let problem = format!(
            "your message alone takes about {open} tokens, and the system and the tools {fixed}; {takes}"
        );
        return Explanation::new(problem)
            .with_remedy("send it in pieces, or use a model with a larger window");
    }
    let weights =
        engine.token_meter.estimate_pieces(&engine.token_meter.count_pieces(request.pieces()));
    let system: u64 = weights.system.iter().sum();
    let tools: u64 = weights.tools.iter().sum();
    let named = request.blocks.iter().map(|block| block.name.as_str()).zip(&weights.system);
    let (largest, tokens) = named.max_by_key(|(_, tokens)| **tokens).unwrap_or(("none", &0));
    let what = match (system >= wall, too_big.is_without_request()) {
        (true, _) => {
            format!("the system blocks alone take about {system} tokens ({largest} {tokens})")
        }
        (false, true) => format!(
            "the system blocks take about {system} tokens ({largest} {tokens}), and the tools {tools}"
        ),
        (false, false) => format!(
            "the system blocks take about {system} tokens ({largest} {tokens}), the tools {tools}, and the open \
             request {open}"
        ),
    };
    let shorten = match tools > system {
        true => "leave some tools out".to_owned(),
        false => format!("shorten {largest}"),
    };
    Explanation::new(format!("{what}; {takes}"))
        .with_remedy(format!("{shorten}, or use a model with a larger window"))
}

/// Returns the number of parts before the last step of a run's message. The last step stays, because the model has
/// not seen its results yet.
fn earlier_parts(so_far: &UiMessage) -> usize {
    let is_step = |part: &UiPart| matches!(part, UiPart::StepStart(_));
    so_far.parts().iter().rposition(is_step).unwrap_or_default()
}

/// Returns the limits of a request. A person that has undone a compaction wants the whole window,
/// until it overflows. If a provider refuses a request of `total` tokens without naming its limit, a
/// lower number is assumed. At least half of what can shrink stays, so that there is room for a summary.
fn token_limits(
    engine: &Engine,
    carried: &CompactionState,
    why: &CompactionReason,
    total: u64,
    floor: u64,
) -> TokenLimits {
    let CompactionReason::Overflow { limit } = why else {
        return engine.token_limits(carried.is_raised && *why == CompactionReason::Trigger);
    };
    let known = engine.window_tokens();
    // There are few attempts, so each takes a quarter off; a larger step would leave out more than is necessary.
    let guess = (total / 4 * 3).max(floor + total.saturating_sub(floor) / 2);
    if limit.is_none() && known.is_none_or(|known| guess < known) {
        // The answer was made shorter too, so nothing is reserved for it.
        return TokenLimits { tokens: guess, window: Some(guess), is_guess: true, answer: 0 };
    }
    let window = limit.iter().copied().chain(known).min().unwrap_or(guess);
    TokenLimits {
        tokens: engine.budget_within(Some(window)),
        window: Some(window),
        is_guess: false,
        answer: engine.rules.max_tokens,
    }
}

/// Returns the index from which the messages take at most `room` tokens.
fn first_protected(weights: &[u64], room: u64) -> usize {
    let mut left = room;
    for (at, weight) in weights.iter().enumerate().rev() {
        match left.checked_sub(*weight) {
            Some(rest) => left = rest,
            None => return at + 1,
        }
    }
    0
}

impl CompactionPlan {
    /// Whether nothing needs to be done.
    pub(super) fn meets_target(&self, why: &CompactionReason) -> bool {
        *why == CompactionReason::Trigger && self.load.total() <= self.goal.trigger
    }

    pub(super) fn after_pruning(&self) -> u64 {
        let so_far: u64 = self.load.messages.iter().skip(self.messages.len()).sum();
        self.load.fixed + so_far + self.weights.iter().sum::<u64>()
    }

    /// Chooses the messages that stay.
    pub(super) fn cut(&self, keep_last: usize) -> Cut {
        let weighed: Vec<WeighedMessage<'_>> = (0..self.messages.len())
            .map(|at| WeighedMessage {
                message: &self.messages[at],
                tokens: self.weights[at],
                is_open: self.open[at],
            })
            .collect();
        cut(&weighed, keep_last, self.goal.room() - self.goal.summary_room())
    }

    fn is_pruning_enough(&self) -> bool {
        !self.pruned.is_empty() && self.after_pruning() <= self.goal.target
    }

    /// Chooses the messages that stay, by their number. In a full log fewer stay, until they are half of its limit;
    /// otherwise it would be full again at once.
    fn cut_for(&self, rules: &Rules, is_full: bool) -> Cut {
        let mut keep_last = rules.keep_last_messages;
        let mut cut = self.cut(keep_last);
        while is_full && keep_last > 0 && !self.size_of(&cut.kept).is_half_of(rules) {
            keep_last /= 2;
            cut = self.cut(keep_last);
        }
        cut
    }

    pub(super) fn size_of(&self, kept: &[usize]) -> LogSize {
        LogSize::of_messages(kept.iter().map(|at| &self.messages[*at]))
    }

    /// Chooses the first method that is enough. A preview and the compaction itself both ask here.
    pub(super) fn method(
        &self,
        rules: &Rules,
        is_full: bool,
        why: &CompactionReason,
    ) -> CompactionStep {
        if !is_full && self.is_pruning_enough() {
            return CompactionStep::Prune;
        }
        let cut = self.cut_for(rules, is_full);
        match (self.shrinks_request(&cut, why), self.pruned.is_empty()) {
            (true, _) => CompactionStep::Summarise(cut),
            (false, false) => CompactionStep::Prune,
            (false, true) => CompactionStep::Nothing,
        }
    }

    /// Whether a cut makes the request smaller: a single summary is not summarised again, unless
    /// it exceeds the room. A person that asks for room wants some, and a few short messages take less than
    /// any summary of them.
    fn shrinks_request(&self, cut: &Cut, why: &CompactionReason) -> bool {
        let is_new = |at: &usize| !is_summary(&self.messages[*at]);
        let tokens = self.tokens_of(&cut.older);
        let is_asked = matches!(why, CompactionReason::Person { .. });
        let is_enough = !is_asked || half_of(tokens) >= SUMMARY_TOKENS_MIN;
        let is_large = tokens > self.goal.summary_room() + SUMMARY_MARGIN;
        is_enough && (cut.older.iter().any(is_new) || is_large)
    }

    /// Whether a step is worth that the provider must read everything again: without need, it must gain a tenth.
    pub(super) fn is_worthwhile(&self, step: &CompactionStep, why: &CompactionReason) -> bool {
        !self.is_optional(why) || self.gained_by(step) * 10 >= self.load.total()
    }

    /// Whether a compaction was not worthwhile before, and less than a tenth was added since.
    pub(super) fn is_deferred(&self, why: &CompactionReason) -> bool {
        let waits = |tokens| self.load.total() * 10 < tokens * 11;
        self.is_optional(why) && self.state.deferred_at.is_some_and(waits)
    }

    /// Whether only the trigger asks for room, and the model takes the request as it is.
    fn is_optional(&self, why: &CompactionReason) -> bool {
        let fits = |largest| self.load.total() <= largest;
        *why == CompactionReason::Trigger && self.goal.largest_request.is_none_or(fits)
    }

    /// Returns the tokens that a step saves, if a summary takes all of its room.
    fn gained_by(&self, step: &CompactionStep) -> u64 {
        let after = match step {
            CompactionStep::Nothing => return 0,
            CompactionStep::Prune => self.after_pruning(),
            CompactionStep::Summarise(cut) => {
                let older = self.tokens_of(&cut.older);
                let summary = self.goal.summary_room().min(half_of(older));
                self.after_pruning() - older + summary
            }
        };
        self.load.total().saturating_sub(after)
    }

    pub(super) fn tokens_of(&self, messages: &[usize]) -> u64 {
        messages.iter().map(|at| self.weights[*at]).sum()
    }
}

/// Returns the room for a summary that takes half of the tokens of its messages.
pub(super) fn half_of(tokens: u64) -> u64 {
    (tokens / 2).saturating_sub(SUMMARY_MARGIN)
}

#[cfg(test)]
mod tests {
    use ship_message::Role;
    use ship_store::{ContextId, Gen, Head, Position, Seq, Timestamp};

    use super::*;

    /// A plan for messages of these tokens with a floor of 100 and a trigger of 1,100, so that 500 are left.
    fn plan(weights: &[u64]) -> CompactionPlan {
        let message = |at| UiMessage::new(format!("m{at}"), Role::User, vec![UiPart::text("ahoy")]);
        let messages = (0..weights.len()).map(message).collect();
        let limits = TokenLimits { tokens: 1_100, window: None, is_guess: false, answer: 100 };
        CompactionPlan {
            messages,
            open: vec![false; weights.len()],
            load: RequestLoad { fixed: 100, messages: weights.to_vec() },
            goal: CompactionGoal::new(100, 0, &limits).unwrap(),
            budget_warning: None,
            pruned: PrunedOutputs::default(),
            weights: weights.to_vec(),
            state: CompactionState::default(),
            view: View {
                head: Head::new(ContextId::new(Timestamp::from_millis(0), 1)),
                position: Position { generation: Gen::new(0), seq: Seq::FIRST },
                crc: 0,
                inbox: None,
                lines: Vec::new(),
                problems: Vec::new(),
            },
        }
    }

    /// The messages that stay, or why none are chosen.
    fn kept(plan: &CompactionPlan, why: &CompactionReason) -> Result<Vec<usize>, &'static str> {
        let rules = Rules { keep_last_messages: 2, ..Rules::default() };
        match plan.method(&rules, false, why) {
            CompactionStep::Nothing => Err("nothing"),
            CompactionStep::Prune => Err("prune"),
            CompactionStep::Summarise(cut) => Ok(cut.kept),
        }
    }

    const PERSON: CompactionReason = CompactionReason::Person { wishes: None };

    fn pruned() -> PrunedOutputs {
        let json = ship_message::json::Json::parse(r#"{"m0":["call"]}"#).unwrap();
        PrunedOutputs::from_json(&json)
    }

    #[test]
    fn a_request_meets_its_target_up_to_the_trigger_unless_room_is_asked_for() {
        assert!(plan(&[400, 600]).meets_target(&CompactionReason::Trigger));
        assert!(!plan(&[400, 601]).meets_target(&CompactionReason::Trigger));
        assert!(!plan(&[400, 600]).meets_target(&PERSON));
    }

    #[test]
    fn older_messages_are_summarised_and_the_newest_stay() {
        assert_eq!(kept(&plan(&[400, 400, 100, 100]), &CompactionReason::Trigger), Ok(vec![2, 3]));
        assert_eq!(kept(&plan(&[100, 100]), &CompactionReason::Trigger), Err("nothing"));
    }

    #[test]
    fn outputs_are_left_out_first_when_that_is_enough() {
        let mut plan = plan(&[900, 100, 100, 100]);
        plan.pruned = pruned();
        plan.weights[0] = 100;
        assert_eq!(plan.after_pruning(), 500);
        assert_eq!(kept(&plan, &CompactionReason::Trigger), Err("prune"));
        plan.weights[0] = 600;
        assert_eq!(kept(&plan, &CompactionReason::Trigger), Ok(vec![2, 3]));
    }

    #[test]
    fn a_person_gets_no_summary_that_is_longer_than_its_messages() {
        assert_eq!(kept(&plan(&[50, 50, 50, 50]), &PERSON), Err("nothing"));
        assert_eq!(kept(&plan(&[80, 80, 50, 50]), &PERSON), Ok(vec![2, 3]));
    }

    #[test]
    fn a_single_summary_is_not_summarised_again_unless_it_exceeds_its_room() {
        let summary = r#"{"id":"s_1","role":"assistant","metadata":{"kind":"summary"},"parts":[{"type":"text","text":"x"}]}"#;
        let with_summary = |tokens: u64| {
            let mut plan = plan(&[tokens, 100, 100]);
            let mut messages = plan.messages.to_vec();
            messages[0] = UiMessage::parse(summary).unwrap();
            plan.messages = messages.into();
            plan
        };
        assert_eq!(kept(&with_summary(150), &CompactionReason::Trigger), Err("nothing"));
        assert_eq!(kept(&with_summary(400), &CompactionReason::Trigger), Ok(vec![1, 2]));
    }

    #[test]
    fn a_compaction_by_the_trigger_alone_must_gain_a_tenth() {
        // 1,300 tokens, of which the summary takes half of what is older.
        let gains = |older: u64| {
            let plan = plan(&[older, 1_200 - older]);
            let cut = Cut { older: vec![0], kept: vec![1], is_smaller: false };
            plan.is_worthwhile(&CompactionStep::Summarise(cut), &CompactionReason::Trigger)
        };
        assert!(!gains(220) && gains(300), "a half, and sixteen tokens for the message");
        let mut small = plan(&[1_200]);
        let nothing = &CompactionStep::Nothing;
        assert!(!small.is_worthwhile(nothing, &CompactionReason::Trigger));
        assert!(small.is_worthwhile(nothing, &PERSON), "a person asks for it");
        assert!(small.is_worthwhile(nothing, &CompactionReason::Overflow { limit: None }));
        small.goal.largest_request = Some(1_299);
        assert!(small.is_worthwhile(nothing, &CompactionReason::Trigger), "the model wants it");
    }

    #[test]
    fn a_deferred_compaction_waits_until_a_tenth_was_added() {
        let is_deferred = |tokens: u64| {
            let mut plan = plan(&[tokens - 100]);
            plan.state.deferred_at = Some(2_000);
            plan.is_deferred(&CompactionReason::Trigger)
        };
        assert!(is_deferred(2_199) && !is_deferred(2_200));
        assert!(!plan(&[2_000]).is_deferred(&CompactionReason::Trigger));
    }

    #[test]
    fn what_is_protected_begins_where_the_room_ends() {
        assert_eq!(first_protected(&[5, 5, 5], 10), 1);
        assert_eq!(first_protected(&[5, 5, 5], 15), 0);
        assert_eq!(first_protected(&[5, 5, 5], 4), 3);
    }
}
