//! Carries out a plan: asks the model for a summary, and replaces the log.

use std::sync::Arc;

use ship_context::compact::{
    CompactionMethod, Cut, Summary, extract, split_off_summary, summary_message, transcript_entry,
};
use ship_message::UiMessage;
use ship_message::json::{Json, Object};
use ship_store::{LogPiece, NewMetadata, Rotation, SealedName, Seq, View};

use super::agent_compact::Compaction;
use super::continuation::ChatRequest;
use super::make_room::{CompactionOutcome, CompactionReason};
use super::plan::{CompactionPlan, CompactionStep, half_of};
use super::summarise::{SummaryResult, SummarySource, summarise};
use super::{meta_file, purge_originals};
use crate::blocking_work::in_place;
use crate::chat::{
    COMPACTED, DEFERRED, DEFERRED_GENERATION, DEFERRED_TOKENS, PRUNED, SEALED_GENERATION, WARNED,
    carry_last_operation, head_after_events,
};
use crate::engine::ActiveRun;
use crate::error::RunError;
use crate::request::{PreparedRequest, log_not_recorded};
use crate::run_log::{RunLogEntry, RunLogKind};
use crate::run_notice::{compacted_notice, notice};

impl CompactionPlan {
    /// Carries out the plan with the first method that is enough.
    pub(super) async fn carry_out(
        self,
        work: &Arc<ActiveRun>,
        request: &PreparedRequest,
        so_far: Option<&UiMessage>,
        why: &CompactionReason,
    ) -> Result<CompactionOutcome, RunError> {
        let before = self.load.total();
        let is_full = work.log_is_full().await;
        if !is_full && self.is_deferred(why) {
            return Ok(CompactionOutcome::Enough(before));
        }
        let step = self.method(&work.locked.engine.rules, is_full, why);
        let is_worthwhile = is_full || self.is_worthwhile(&step, why);
        let cut = match step {
            CompactionStep::Nothing => return Ok(CompactionOutcome::Enough(before)),
            _ if !is_worthwhile => {
                self.defer(work, before).await;
                return Ok(CompactionOutcome::Enough(before));
            }
            CompactionStep::Prune => return self.prune(work, before).await,
            CompactionStep::Summarise(cut) => cut,
        };
        // Without this, a summary would be paid again and again on a disk that takes no sealed log.
        work.locked.lane.check_seal().await?;
        notify_started(work, &cut);
        let older = self.messages_at(&cut.older);
        let wishes = match why {
            CompactionReason::Person { wishes } => wishes.as_deref(),
            CompactionReason::Trigger | CompactionReason::Overflow { .. } => None,
        };
        let chat = ChatRequest {
            request,
            so_far,
            tokens: before,
            older: &older,
            older_tokens: self.tokens_of(&cut.older),
        };
        let older = SummarySource {
            messages: &older,
            all: &self.messages,
            chat,
            is_refused: matches!(why, CompactionReason::Overflow { .. }),
            wishes,
            view: &self.view,
        };
        let summed = summarise(work, &self.goal, &self.state, older).await;
        let is_asked = matches!(why, CompactionReason::Person { .. });
        self.rotate(work, cut, summed, before, is_asked).await
    }

    /// Remembers that a compaction would gain too little, so that it is not tried again for every message. A log
    /// without events has no place for that, and then only the gain decides.
    async fn defer(&self, work: &ActiveRun, before: u64) {
        if !work.locked.chat.log().features().holds_events {
            return;
        }
        let generation = self.view.position.generation.get();
        let data = Object::from([(DEFERRED_TOKENS, before), (DEFERRED_GENERATION, generation)]);
        let event = work.locked.engine.new_event(DEFERRED, data);
        if let Err(error) = work.append(vec![event.into()]).await {
            log_not_recorded(work, &error);
        }
    }

    /// Leaves old outputs out. The log only gets an event: nothing is sealed.
    async fn prune(self, work: &ActiveRun, before: u64) -> Result<CompactionOutcome, RunError> {
        let warned = self.warned_with(work);
        let compacted = Compaction {
            method: CompactionMethod::Prune,
            tokens_before: before,
            tokens_after: self.after_pruning(),
            messages: 0,
            outputs: self.pruned.len(),
            purged: false,
        };
        let mut data = compacted.to_object();
        data.set(PRUNED, self.pruned.to_json());
        data.set_or_remove(WARNED, warned.map(Json::from));
        work.append(vec![work.locked.engine.new_event(COMPACTED, data).into()]).await?;
        work.read_again().await?;
        log_compaction(work, &compacted);
        Ok(CompactionOutcome::Made(compacted))
    }

    /// Puts the summary in the place of the messages that it covers.
    async fn rotate(
        self,
        work: &ActiveRun,
        cut: Cut,
        summed: SummaryResult,
        before: u64,
        is_asked: bool,
    ) -> Result<CompactionOutcome, RunError> {
        let meter = &work.locked.engine.token_meter;
        let mut message = self.summary(work, &cut, summed.prose, self.goal.summary_room());
        let mut method = match (summed.method, cut.is_smaller) {
            (CompactionMethod::Summary, true) => CompactionMethod::SmallerTail,
            (method, _) => method,
        };
        // The load also has the run's own message, behind those of the context.
        let so_far: u64 = self.load.messages.iter().skip(self.messages.len()).sum();
        let others = self.load.fixed + so_far + self.tokens_of(&cut.kept);
        if is_asked && others + meter.message_tokens(&message) >= before {
            message = self.short_extract(work, &cut);
            method = CompactionMethod::Extract;
        }
        let mut compacted = Compaction {
            method,
            tokens_before: before,
            tokens_after: others + meter.message_tokens(&message),
            messages: cut.older.len(),
            outputs: 0,
            purged: false,
        };
        let warned = self.warned_with(work);
        let mut carried = self.state;
        carried.warned_settings = warned;
        carried.tokens = meter.to_object();
        // The raised limit was for the originals that a person has restored. They are summarised again.
        carried.is_raised = false;
        carried.pruned.extend(self.pruned);
        // The marks of messages that the summary replaces are not needed any more.
        let stays = cut.kept.iter().map(|at| &self.messages[*at]);
        carried.pruned = carried.pruned.retain_messages(stays);
        carried.failures = summed.failures;
        carried.cool_until = summed.cool_until;
        let mut head = head_after_events(&self.view);
        carried.write_to(&mut head, &work.loaded_skills().await);
        // The summary is one more message.
        carry_last_operation(&mut head, &self.view, cut.kept.len() + 1);
        let mut data = compacted.to_object();
        data.set("cost", summed.cost.to_object());
        data.set(SEALED_GENERATION, self.view.position.generation.get());
        let mut pieces = vec![
            LogPiece::New(message.into()),
            LogPiece::New(work.locked.engine.new_event(COMPACTED, data).into()),
        ];
        pieces.extend(pieces_that_stay(&self.view, &cut, &self.messages));
        // The head marks the purge as due, so that the next process does it after a crash before the purge.
        head.carry.set_purge_due(!work.locked.engine.rules.archive_on_compact);
        let rotated = work
            .locked
            .lane
            .rotate(Rotation { expected: Some(self.view.position.generation), head, pieces })
            .await?;
        work.locked.engine.drafts.forget(work.locked.chat.key());
        compacted.purged = purge_originals(work, rotated.sealed.as_ref()).await?;
        work.read_again().await?;
        if let Some(view) = work.locked.chat.log().view().await? {
            meta_file::write(work, &view, None).await;
        }
        log_compaction(work, &compacted);
        notify_done(work, &compacted);
        Ok(CompactionOutcome::Made(compacted))
    }
}

impl CompactionPlan {
    /// Makes the message of a summary: its prose, and what else fits the room.
    fn summary(&self, work: &ActiveRun, cut: &Cut, prose: String, room: u64) -> UiMessage {
        let engine = &work.locked.engine;
        let older = self.messages_at(&cut.older);
        let (previous, others) = split_off_summary(&older);
        let source = others.iter().map(|message| transcript_entry(message));
        let summary = Summary::new(prose, source, previous.as_deref());
        let text = in_place(|| summary.text(room, &|text| engine.token_meter.count(text)));
        let id = format!("s_{:016x}", engine.ids.next());
        let mut message = summary_message(id, text, &older, engine.clock.now());
        // The messages may be copies from another chat, but the summary is of this one.
        NewMetadata::edit(&mut message, |metadata| {
            work.place.write_to_metadata(work.locked.chat.key(), metadata);
        });
        message
    }

    /// Makes an extract that takes half of the tokens of its messages. A person that asks for room gets some, as the
    /// preview says, even if the summary is as long as the messages.
    fn short_extract(&self, work: &ActiveRun, cut: &Cut) -> UiMessage {
        let room = half_of(self.tokens_of(&cut.older)).min(self.goal.summary_room());
        let older = self.messages_at(&cut.older);
        let (previous, others) = split_off_summary(&older);
        let count = |text: &str| work.locked.engine.token_meter.count(text);
        let prose = in_place(|| extract(previous.as_deref(), &others, room, &count));
        self.summary(work, cut, prose, room)
    }

    fn messages_at(&self, places: &[usize]) -> Vec<&UiMessage> {
        places.iter().map(|at| &self.messages[*at]).collect()
    }

    /// Warns that the floor fills the budget: the caller once for a chat, and the log once until the settings change,
    /// as far as compactions and this process remember.
    pub(super) async fn warn_once(&self, work: &ActiveRun) {
        let Some(warning) = self.budget_warning.as_ref() else { return };
        let settings = self.warned_with(work);
        let engine = &work.locked.engine;
        let is_logged = self.state.warned_settings == settings;
        let once = format!("{} {}", work.locked.chat.key(), settings.unwrap_or_default());
        if !engine.warned.lock().await.insert(once, ()) {
            return;
        }
        let warning = engine.project.mask(warning);
        engine.budget_warnings.push(warning.clone());
        if !is_logged {
            let fields = vec![("message", Json::from(warning))];
            work.log(RunLogEntry { kind: RunLogKind::Warning, fields, ..RunLogEntry::default() });
        }
    }

    /// Returns the settings for which this was logged, to be remembered.
    fn warned_with(&self, work: &ActiveRun) -> Option<String> {
        if self.budget_warning.is_none() {
            return self.state.warned_settings.clone();
        }
        let rules = &work.locked.engine.rules;
        let or_none = |tokens: Option<u64>| tokens.map_or("auto".to_owned(), |it| it.to_string());
        let (set, window) =
            (or_none(rules.input_tokens_max), or_none(work.locked.engine.window_tokens()));
        Some(format!("{set} {window} {}", rules.max_tokens))
    }
}

/// Purges the log that was just sealed, if the settings want no originals. Returns whether it did.
async fn purge_originals(work: &ActiveRun, sealed: Option<&SealedName>) -> Result<bool, RunError> {
    let Some(sealed) = sealed.filter(|_| !work.locked.engine.rules.archive_on_compact) else {
        return Ok(false);
    };
    work.locked.lane.purge(sealed, purge_originals::BY).await?;
    Ok(true)
}

/// Returns the lines that stay: ranges of the old log. The last range is open, so that lines that
/// come meanwhile stay too.
fn pieces_that_stay(view: &View, cut: &Cut, messages: &[UiMessage]) -> Vec<LogPiece> {
    let ids: Vec<Option<&str>> = cut.kept.iter().map(|at| messages[*at].id()).collect();
    let stays = |message: &UiMessage| ids.contains(&message.id());
    let mut pieces: Vec<LogPiece> = Vec::new();
    let lines: Vec<(Seq, bool)> =
        view.lines.iter().map(|line| (line.seq, line.message().is_some_and(stays))).collect();
    let tail = lines.iter().rposition(|(_, stays)| !stays).map_or(0, |at| at + 1);
    for (seq, _) in lines[..tail].iter().filter(|(_, stays)| *stays) {
        pieces.push(LogPiece::Keep(*seq, *seq));
    }
    // If no line stays at the end, the range begins behind the log and takes only what comes meanwhile.
    let open = lines.get(tail).map(|(seq, _)| *seq);
    pieces.push(LogPiece::KeepFrom(open.unwrap_or(Seq::new(view.position.seq.get() + 1))));
    pieces
}

fn notify_started(work: &ActiveRun, cut: &Cut) {
    let what = match cut.older.len() {
        1 => "summarising 1 older message".to_owned(),
        count => format!("summarising {count} older messages"),
    };
    let text = format!("Making room: {what}");
    work.notify(crate::events::RunEvent::Chunk(notice("compacting", &text)));
}

fn notify_done(work: &ActiveRun, compacted: &Compaction) {
    let (before, after) = (compacted.tokens_before, compacted.tokens_after);
    let gone = match compacted.purged {
        true => {
            "; the originals are deleted (`context.history.archiveOnCompact` is false), and the ledger \
             keeps the conversation"
        }
        false => "",
    };
    let text = format!("Made room: about {before} tokens became {after}{gone}");
    work.notify(crate::events::RunEvent::Chunk(compacted_notice(&text, compacted.purged)));
}

fn log_compaction(work: &ActiveRun, compacted: &Compaction) {
    let fields = vec![
        ("rung", Json::from(compacted.method.name())),
        ("tokensBefore", compacted.tokens_before.into()),
        ("tokensAfter", compacted.tokens_after.into()),
        ("messages", (compacted.messages as u64).into()),
        ("outputs", (compacted.outputs as u64).into()),
        ("purged", compacted.purged.into()),
    ];
    work.log(RunLogEntry { kind: RunLogKind::Compacted, fields, ..RunLogEntry::default() });
}
