//! The state that a compaction leaves for the next one in the head of the log, where it
//! survives rotations and restarts.

use ship_context::compact::PrunedOutputs;
use ship_message::json::{Json, Object};
use ship_store::carry::CompactionData;
use ship_store::{ContextBody, ContextEvent, Head, Timestamp, View};

/// The event of a compaction.
pub(crate) const COMPACTED: &str = "compacted";

/// The event of a compaction that was not made, because it would have gained too little.
pub(crate) const DEFERRED: &str = "compaction_deferred";

/// The field in that event with the tokens of the request.
pub(crate) const DEFERRED_TOKENS: &str = "tokens";
/// The field in that event with the generation of its log: behind a compaction it is not valid any more.
pub(crate) const DEFERRED_GENERATION: &str = "gen";

/// The field in the event of a compaction with the generation of the sealed log.
pub(crate) const SEALED_GENERATION: &str = "sealedGen";

/// Whether an event belongs to a compaction that can be undone if its sealed log exists.
pub(crate) fn is_undoable(event: &ContextEvent) -> bool {
    event.event == COMPACTED && event.data.get(SEALED_GENERATION).is_some()
}

pub(crate) const PRUNED: &str = "pruned";
pub(crate) const WARNED: &str = "warned";

/// The state that is carried from log to log.
#[derive(Clone, Debug, Default)]
pub(crate) struct CompactionState {
    /// The outputs that are left out.
    pub(crate) pruned: PrunedOutputs,
    /// The learnt rates of the provider's counts to ours.
    pub(crate) tokens: Object,
    /// The number of summaries in a row that failed with every model.
    pub(crate) failures: u64,
    /// The time until which no model is asked again.
    pub(crate) cool_until: Option<Timestamp>,
    /// Whether a person has undone a compaction: then the trigger is the window, until it overflows.
    pub(crate) is_raised: bool,
    /// The tokens of a request for which a compaction would have gained too little.
    pub(crate) deferred_at: Option<u64>,
    /// The settings for which the warning that the floor fills the budget was logged.
    pub(crate) warned_settings: Option<String>,
}

impl CompactionState {
    pub(crate) fn read(view: &View) -> Self {
        let carry = &view.head.carry;
        let state = carry.compaction(CompactionData::State);
        let field = |key: &str| state.and_then(|state| state.get(key));
        Self {
            pruned: pruned_outputs(view),
            tokens: carry.tokens(),
            failures: field("failures").and_then(Json::as_u64).unwrap_or_default(),
            cool_until: field("coolUntil").and_then(Timestamp::from_json),
            is_raised: field("raised").and_then(Json::as_bool).unwrap_or_default(),
            deferred_at: deferred_at(view),
            warned_settings: warned_by_event(view)
                .or_else(|| field(WARNED)?.as_str())
                .map(str::to_owned),
        }
    }

    pub(crate) fn write_to(&self, head: &mut Head, loaded: &[String]) {
        let mut state = Object::from([("failures", Json::from(self.failures))]);
        state.set_or_remove("coolUntil", self.cool_until.map(Timestamp::to_json));
        state.set_or_remove("raised", self.is_raised.then(|| Json::from(true)));
        state.set_or_remove(WARNED, self.warned_settings.as_deref().map(Json::from));
        head.carry.set_compaction(CompactionData::State, Some(state.into()));
        head.carry.set_compaction(CompactionData::Pruned, Some(self.pruned.to_json()));
        head.carry.set_tokens(self.tokens.clone());
        head.carry.set_skills(loaded.iter().map(String::as_str));
    }
}

/// Returns the outputs that a view leaves out: those that its head carries, and those of later compactions.
pub(crate) fn pruned_outputs(view: &View) -> PrunedOutputs {
    let mut pruned = pruned_by_head(&view.head);
    for line in &view.lines {
        if let ContextBody::Event(event) = &line.body
            && event.event == COMPACTED
            && let Some(more) = event.data.get(PRUNED)
        {
            pruned.extend(PrunedOutputs::from_json(more));
        }
    }
    pruned
}

/// Returns the tokens of the request whose compaction was deferred last, if there was no compaction since.
fn deferred_at(view: &View) -> Option<u64> {
    let number = |event: &ContextEvent, key| event.data.get(key).and_then(Json::as_u64);
    let last = view.lines.iter().rev().find_map(|line| match &line.body {
        ContextBody::Event(event) if [COMPACTED, DEFERRED].contains(&&*event.event) => Some(event),
        ContextBody::Event(_) | ContextBody::Message(_) => None,
    });
    let last = last.filter(|event| event.event == DEFERRED)?;
    let is_of_this_log = number(last, DEFERRED_GENERATION) == Some(view.position.generation.get());
    number(last, DEFERRED_TOKENS).filter(|_| is_of_this_log)
}

/// Returns the settings of the warning, if it came with a compaction since the head was written.
fn warned_by_event(view: &View) -> Option<&str> {
    view.lines.iter().rev().find_map(|line| match &line.body {
        ContextBody::Event(event) if event.event == COMPACTED => event.data.get(WARNED)?.as_str(),
        ContextBody::Event(_) | ContextBody::Message(_) => None,
    })
}

/// Returns the outputs that a head leaves out.
pub(crate) fn pruned_by_head(head: &Head) -> PrunedOutputs {
    head.carry.compaction(CompactionData::Pruned).map(PrunedOutputs::from_json).unwrap_or_default()
}
