//! Summarises the older messages: asks a model and, if that fails, makes an extract.
//!
//! The number of calls is limited for any history: messages that are older than they can read are extracted. So are
//! the messages after a call that fails; the summary before it was paid for and is used. A model that fails is not
//! asked for a while, longer each time, and that survives a restart.

use ship_context::compact::{
    CompactionGoal, CompactionMethod, SUMMARY_TOKENS_MIN, SourceText, SummaryRejection, extract,
    split_off_summary, transcript_entry,
};
use ship_message::UiMessage;
use ship_message::json::Json;
use ship_store::{Timestamp, View};

use super::continuation::ChatRequest;
use super::saved_draft;
use super::summariser::{Summariser, SummaryFailure};
use crate::blocking_work::in_place;
use crate::chat::CompactionState;
use crate::engine::{ActiveRun, SummaryCost, SummaryDraft, SummaryRange};
use crate::run_log::{RunLogEntry, RunLogKind};

/// The seconds for which a failed model is not asked: the first time, the second, and every further time.
const COOL_DOWN_S: [i64; 3] = [60, 300, 900];

/// The text that takes the place of the older part.
pub(super) struct SummaryResult {
    pub(super) prose: String,
    pub(super) method: CompactionMethod,
    pub(super) failures: u64,
    pub(super) cool_until: Option<Timestamp>,
    pub(super) cost: SummaryCost,
}

/// The messages that are summarised.
#[derive(Clone, Copy)]
pub(super) struct SummarySource<'a> {
    pub(super) messages: &'a [&'a UiMessage],
    /// All messages of the context.
    pub(super) all: &'a [UiMessage],
    /// The chat as a request.
    pub(super) chat: ChatRequest<'a>,
    /// Whether the provider has just refused that request for its size.
    pub(super) is_refused: bool,
    /// The instructions of the person.
    pub(super) wishes: Option<&'a str>,
    pub(super) view: &'a View,
}

impl SummarySource<'_> {
    /// Returns everything that the model may take identifiers from. A request shows more than the messages have, as
    /// the names and times beside them, and less, where outputs are left out.
    fn texts(&self) -> SourceText {
        let blocks = self.chat.request.blocks.iter().map(|block| block.text.as_str());
        let mut texts = SourceText::of_texts(blocks.chain(self.wishes));
        self.all.iter().for_each(|message| texts.add_message(message));
        self.chat.request.shown.iter().for_each(|message| texts.add_message(message));
        texts
    }
}

/// Summarises the older messages. This cannot fail.
pub(super) async fn summarise(
    work: &ActiveRun,
    goal: &CompactionGoal,
    carried: &CompactionState,
    older: SummarySource<'_>,
) -> SummaryResult {
    let meter = &work.locked.engine.token_meter;
    let count = |text: &str| meter.count(text);
    let (previous, rest) = split_off_summary(older.messages);
    let source = || rest.iter().map(|message| transcript_entry(message));
    let room = goal.summary_room();
    let range = SummaryRange::new(older.view, older.messages, older.wishes);
    if let Some(draft) =
        saved_draft::find_draft(work, &range).await.filter(|it| count(&it.prose) <= room)
    {
        let SummaryDraft { prose, method, cost, .. } = draft;
        let (failures, cool_until) = (0, None);
        return SummaryResult { prose, method, failures, cool_until, cost };
    }
    let mut cost = SummaryCost::default();
    let now = work.locked.engine.clock.now();
    let may_ask = carried.cool_until.is_none_or(|until| cooldown_is_over(until, now));
    let (mut failures, mut cool_until) = (carried.failures, carried.cool_until);
    let texts = || previous.iter().cloned().chain(source());
    let size = in_place(|| tokens_up_to(texts(), room, &count));
    // Four headings alone take more than a few short messages.
    let is_worth_a_call = goal.has_room_for_summary() && size >= SUMMARY_TOKENS_MIN;
    let has_source = source().any(|piece| !piece.is_empty());
    let mut so_far = (previous.clone(), 0);
    if may_ask && work.locked.engine.provider.can_summarise() && has_source && is_worth_a_call {
        let source = &in_place(|| older.texts());
        let summariser = Summariser { work, goal, wishes: older.wishes, source, count: &count };
        let chat = Some(older.chat).filter(|_| !older.is_refused);
        let read = summariser.summarise(chat, &rest, previous.as_deref(), &mut cost).await;
        match (read.failed, read.prose) {
            (None, Some(prose)) => {
                let method = read.method;
                let draft = SummaryDraft { range, prose: prose.clone(), method, cost };
                saved_draft::save_draft(work, older.view, draft).await;
                let (failures, cool_until) = (0, None);
                return SummaryResult { prose, method, failures, cool_until, cost };
            }
            (failed, prose) => {
                let failed = failed.unwrap_or(SummaryFailure::Rejected(SummaryRejection::Empty));
                // So little cannot be summarised any shorter: the model is not at fault.
                if !(failed.is_for_length() && size < room) {
                    // The last wait is for every further failure.
                    let last = COOL_DOWN_S.len() - 1;
                    let wait = COOL_DOWN_S[usize::try_from(failures).unwrap_or(last).min(last)];
                    failures += 1;
                    cool_until = Some(Timestamp::from_millis(now.millis() + wait * 1000));
                }
                let reason = work.locked.engine.project.mask(&failed.to_string());
                let texts = vec![("reason", Json::from(reason))];
                let fields = vec![("failures", Json::from(failures))];
                work.log(RunLogEntry {
                    kind: RunLogKind::Warning,
                    fields,
                    texts,
                    ..RunLogEntry::default()
                });
                if prose.is_some() {
                    so_far = (prose, read.messages);
                }
            }
        }
    }
    let (so_far, read) = so_far;
    let prose = in_place(|| extract(so_far.as_deref(), &rest[read..], room, &count));
    SummaryResult { prose, method: CompactionMethod::Extract, failures, cool_until, cost }
}

/// Whether a model may be asked again. If the wait ends later than the longest one could, the clock was set back
/// since; then it is over, or the model would not be asked until the clock shows that time again.
fn cooldown_is_over(until: Timestamp, now: Timestamp) -> bool {
    let left_ms = until.millis().saturating_sub(now.millis());
    left_ms <= 0 || left_ms > COOL_DOWN_S[COOL_DOWN_S.len() - 1] * 1000
}

/// Returns the tokens of texts, or `enough` if they take more.
fn tokens_up_to(
    texts: impl Iterator<Item = String>,
    enough: u64,
    count: &dyn Fn(&str) -> u64,
) -> u64 {
    let mut tokens = 0;
    for text in texts.filter(|text| !text.is_empty()) {
        tokens += count(&text);
        if tokens >= enough {
            return enough;
        }
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cooldown_ends_at_its_time_and_when_the_clock_was_set_back() {
        let at = Timestamp::from_millis;
        let (now, year_ms) = (1_770_286_500_000, 365 * 24 * 60 * 60 * 1000);
        assert!(!cooldown_is_over(at(now + 60_000), at(now)));
        assert!(!cooldown_is_over(at(now + 900_000), at(now)));
        assert!(cooldown_is_over(at(now + 60_000), at(now + 60_000)));
        assert!(cooldown_is_over(at(now + 60_000), at(now + year_ms)));
        assert!(cooldown_is_over(at(now + 60_000), at(now - year_ms)), "not off for a year");
    }
}
