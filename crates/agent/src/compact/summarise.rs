//! Summing up: a model is asked, and when it cannot, an extract is made.
//!
//! The number of calls is bounded, whatever the history: what is older than they can read is extracted. So is
//! what comes behind a call that fails; what was summed up before it was paid for and is used. A model that
//! fails is left alone for a while, longer each time, and that outlives a restart.

use std::time::Duration;

use ship_context::SystemBlock;
use ship_context::compact::{
    CompactionGoal, CompactionMethod, SUMMARY_TOKENS_MIN, SummaryRejection, TranscriptChunks,
    accept, chunks, extract, instructions, previous_summary, transcript, unbroken,
};
use ship_message::json::Json;
use ship_message::{Chunk, Role, UiMessage, UiPart};
use ship_provider::ProviderError;
use ship_store::{Timestamp, View};

use super::saved_draft;
use crate::chat::CompactionState;
use crate::engine::{ActiveRun, SummaryCost, SummaryDraft, SummaryRange};
use crate::error::RunError;
use crate::events::{RunEvent, notice};
use crate::request::{ModelCall, PreparedRequest};
use crate::run_log::RunLogEntry;

/// At most so many calls for one compaction.
const CALLS_MAX: usize = 8;
/// How often a provider may say that a call for a summary was too large.
const OVERFLOWS_MAX: usize = 2;
/// A smaller piece is not worth a call.
const PIECE_TOKENS_MIN: u64 = 500;
/// How long a model that failed is left alone: the first time, the second, and every further time.
const COOL_DOWN_S: [i64; 3] = [60, 300, 900];
/// Tokens of a request for a summary that are not the transcript: the instructions, and a margin.
const OVERHEAD: u64 = 1_000;
/// How long one summary may take.
const DEADLINE: Duration = Duration::from_secs(180);

/// What takes the place of the older part.
pub(super) struct SummaryResult {
    pub(super) prose: String,
    pub(super) rung: CompactionMethod,
    /// What it was made from.
    pub(super) source: Vec<String>,
    pub(super) previous: Option<String>,
    pub(super) failures: u64,
    pub(super) cool_until: Option<Timestamp>,
    pub(super) cost: SummaryCost,
}

/// What is to be summed up.
#[derive(Clone, Copy)]
pub(super) struct SummarySource<'a> {
    pub(super) messages: &'a [&'a UiMessage],
    /// What the person asks for in particular.
    pub(super) wishes: Option<&'a str>,
    pub(super) view: &'a View,
}

/// Sums the older messages up. This cannot fail.
pub(super) async fn summarise(
    work: &ActiveRun,
    goal: &CompactionGoal,
    carried: &CompactionState,
    older: SummarySource<'_>,
) -> SummaryResult {
    let scales = &work.locked.engine.scales;
    let count = |text: &str| scales.count(text);
    let previous = previous_summary(older.messages);
    let rest: Vec<&UiMessage> = older
        .messages
        .iter()
        .enumerate()
        .filter(|(at, _)| previous.as_ref().is_none_or(|(summary, _)| at != summary))
        .map(|(_, message)| *message)
        .collect();
    let previous = previous.map(|(_, text)| text);
    let source = transcript(rest.iter().copied());
    let room = goal.summary_room();
    let range = SummaryRange::of(older.view, older.messages, older.wishes);
    if let Some(draft) = saved_draft::find(work, &range).await.filter(|it| count(&it.prose) <= room)
    {
        let SummaryDraft { prose, rung, cost, .. } = draft;
        let (failures, cool_until) = (0, None);
        return SummaryResult { prose, rung, source, previous, failures, cool_until, cost };
    }
    let mut cost = SummaryCost::default();
    let now = work.locked.engine.clock.now();
    let may_ask = carried.cool_until.is_none_or(|until| cooldown_is_over(until, now));
    let (mut failures, mut cool_until) = (carried.failures, carried.cool_until);
    let size = tokens_up_to(previous.iter().chain(&source), room, &count);
    // Four headings alone take more than a few short messages do.
    let is_worth_a_call = goal.has_room_for_summary() && size >= SUMMARY_TOKENS_MIN;
    let has_source = source.iter().any(|piece| !piece.is_empty());
    let mut so_far = (previous.clone(), 0);
    if may_ask && work.locked.engine.provider.can_summarise() && has_source && is_worth_a_call {
        let asked = Summariser { work, goal, wishes: older.wishes, count: &count };
        let read = asked.all(&rest, &source, previous.as_deref(), &mut cost).await;
        match (read.failed, read.prose) {
            (None, Some(prose)) => {
                let rung = read.rung;
                let draft = SummaryDraft { range, prose: prose.clone(), rung, cost };
                saved_draft::keep(work, older.view, draft).await;
                let (failures, cool_until) = (0, None);
                return SummaryResult { prose, rung, source, previous, failures, cool_until, cost };
            }
            (failed, prose) => {
                let failed = failed.unwrap_or(SummaryFailure::Rejected(SummaryRejection::Empty));
                // Of little there is nothing to sum up: the model is not to blame.
                if !(failed.is_for_length() && size < room) {
                    let wait = COOL_DOWN_S[usize::try_from(failures).unwrap_or(2).min(2)];
                    failures += 1;
                    cool_until = Some(Timestamp::from_millis(now.millis() + wait * 1000));
                }
                let reason = work.locked.engine.surroundings.mask(&failed.to_string());
                let texts = vec![("reason", Json::from(reason))];
                let fields = vec![("failures", Json::from(failures))];
                work.note(RunLogEntry { kind: "warning", fields, texts, ..RunLogEntry::default() });
                if prose.is_some() {
                    so_far = (prose, read.messages);
                }
            }
        }
    }
    let (so_far, read) = so_far;
    let prose = extract(so_far.as_deref(), &rest[read..], room, &count);
    SummaryResult {
        prose,
        rung: CompactionMethod::Extract,
        source,
        previous,
        failures,
        cool_until,
        cost,
    }
}

/// Whether a model may be asked again. A cool-down that ends later than the longest one could was begun before
/// the clock was set back: it is over, or the model would be left alone until the clock shows that time again.
fn cooldown_is_over(until: Timestamp, now: Timestamp) -> bool {
    let left_ms = until.millis().saturating_sub(now.millis());
    left_ms <= 0 || left_ms > COOL_DOWN_S[COOL_DOWN_S.len() - 1] * 1000
}

/// What texts take, or `enough` when they take more than that.
fn tokens_up_to<'t>(
    texts: impl Iterator<Item = &'t String>,
    enough: u64,
    count: &dyn Fn(&str) -> u64,
) -> u64 {
    let mut tokens = 0;
    for text in texts.filter(|text| !text.is_empty()) {
        tokens += count(text);
        if tokens >= enough {
            return enough;
        }
    }
    tokens
}

/// Why a call gave no summary.
#[derive(Debug, thiserror::Error)]
enum SummaryFailure {
    #[error(transparent)]
    Rejected(#[from] SummaryRejection),
    #[error(transparent)]
    Provider(#[from] ProviderError),
    #[error(transparent)]
    Record(#[from] RunError),
    #[error("the summary took too long")]
    Late,
}

impl SummaryFailure {
    fn is_for_length(&self) -> bool {
        matches!(self, Self::Rejected(SummaryRejection::LongerThanSource))
    }
}

/// What models have summed up.
struct SummaryProgress {
    /// The summary of the first `messages`; none when there was no answer.
    prose: Option<String>,
    messages: usize,
    rung: CompactionMethod,
    /// Why the others are not in it.
    failed: Option<SummaryFailure>,
}

struct Summariser<'a> {
    work: &'a ActiveRun,
    goal: &'a CompactionGoal,
    wishes: Option<&'a str>,
    count: &'a (dyn Fn(&str) -> u64 + Sync),
}

impl Summariser<'_> {
    /// Asks for one summary of everything, or piece by piece, each bringing the one before up to date. What is
    /// older than the calls can read is extracted, and that extract is the summary that the first one is given.
    /// When a piece is larger than the provider takes, the rest is parted anew.
    async fn all(
        &self,
        messages: &[&UiMessage],
        source: &[String],
        previous: Option<&str>,
        cost: &mut SummaryCost,
    ) -> SummaryProgress {
        let summary_room = self.goal.summary_room();
        let is_long = |text: &str| (self.count)(text) > summary_room;
        let mut room = self.room_of(self.goal.reading);
        let mut read = SummaryProgress {
            prose: None,
            messages: 0,
            rung: CompactionMethod::Summary,
            failed: None,
        };
        let (mut calls, mut overflows) = (0, 0);
        'parted: loop {
            let from = read.messages;
            let TranscriptChunks { texts, starts, unread } =
                chunks(&source[from..], room, CALLS_MAX - calls, self.count);
            if texts.len() > 1 || unread > 0 || from > 0 || overflows > 0 {
                read.rung = CompactionMethod::Chunks;
            }
            let known = read.prose.as_deref().or(previous);
            let mut so_far = match known {
                Some(text) if unread == 0 && !is_long(text) => Some(text.to_owned()),
                None if unread == 0 => None,
                known => {
                    let unread = &messages[from..from + unread];
                    Some(extract(known, unread, summary_room, self.count))
                }
            };
            for (nth, piece) in texts.iter().enumerate() {
                if texts.len() > 1 {
                    self.tell(nth + 1, texts.len());
                }
                calls += 1;
                match self.once(piece, so_far.as_deref(), cost).await {
                    Ok(prose) => {
                        so_far = Some(prose.clone());
                        read.prose = Some(prose);
                        read.messages = starts.get(nth + 1).map_or(source.len(), |at| from + at);
                    }
                    Err(SummaryFailure::Provider(ProviderError::Overflow { limit, .. }))
                        if overflows < OVERFLOWS_MAX
                            && calls < CALLS_MAX
                            && room > PIECE_TOKENS_MIN =>
                    {
                        overflows += 1;
                        let takes = limit.map_or(u64::MAX, |limit| self.room_of(limit));
                        room = takes.min(room / 2).max(PIECE_TOKENS_MIN);
                        continue 'parted;
                    }
                    Err(failed) => {
                        read.failed = Some(failed);
                        return read;
                    }
                }
            }
            return read;
        }
    }

    /// What a piece may take for a model that takes so much.
    fn room_of(&self, takes: u64) -> u64 {
        takes.saturating_sub(2 * self.goal.summary_room() + OVERHEAD).max(PIECE_TOKENS_MIN)
    }

    fn tell(&self, nth: usize, of: usize) {
        let text = format!("Making room: part {nth} of {of} is summed up");
        self.work.tell(&RunEvent::Chunk(notice("compacting", &text)));
    }

    /// Asks for a summary of one piece, which must pass the gate.
    async fn once(
        &self,
        piece: &str,
        previous: Option<&str>,
        cost: &mut SummaryCost,
    ) -> Result<String, SummaryFailure> {
        let room = self.goal.summary_room();
        let rules = instructions(self.wishes, room);
        let block = SystemBlock { name: "summary".to_owned(), text: rules };
        let mut text = String::new();
        if let Some(previous) = previous {
            text.push_str(&format!("The summary so far:\n\n{previous}\n\n"));
        }
        text.push_str(&format!("The part of the chat to sum up:\n\n<chat>\n{piece}\n</chat>"));
        let said = UiMessage::new("summary-request", Role::User, vec![UiPart::text(text)]);
        let request = PreparedRequest::apart(block, said);
        let written = request.written(&self.work.locked.engine, room)?;
        let asking = ModelCall::for_summary(self.work, &request, &written).await?;
        let mut said = String::new();
        let mut called = false;
        let answered = {
            let sink = Box::new(|chunk: Chunk| match chunk {
                Chunk::TextDelta(_, delta) => said.push_str(&delta),
                Chunk::ToolInputAvailable { .. } | Chunk::ToolInputError { .. } => called = true,
                _ => {}
            });
            let answering = asking.answer(self.work, sink);
            tokio::time::timeout(DEADLINE, answering).await
        };
        let answered = answered.map_err(|_| SummaryFailure::Late)??;
        cost.add(answered.usage);
        if called {
            return Err(SummaryRejection::ToolCall.into());
        }
        let whole = unbroken(&said, answered.finish_reason)?;
        let given = previous.map_or(0, |text| (self.count)(text));
        Ok(accept(whole, (self.count)(piece) + given, room, self.count)?)
    }
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
