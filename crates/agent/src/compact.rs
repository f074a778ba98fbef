//! Making room: a context that has grown too large is compacted before the next step.
//!
//! What is left out and what takes its place is decided in `ship_context::compact`; here the model is asked
//! for a summary, and the log is rotated. The whole old log is sealed, so nothing is lost and everything can
//! be brought back. Finished steps of the run stay as they are: no tool runs again because of a compaction.

mod asked;
mod carried;
mod draft;
mod meta;
mod size;
mod summarise;
mod undo;

use std::sync::Arc;

use ship_context::compact::{
    Budget, Cut, Goal, Pruned, Rung, Summary, Weighed, cut, is_summary, open_request, prunable,
    summary_message,
};
use ship_context::contexts::is_reference;
use ship_context::input_budget;
use ship_message::json::{Json, Object};
use ship_message::{Role, UiMessage, UiPart};
use ship_store::{Body, NewEvent, OnDamage, Piece, RotateError, Rotation, Seq, View};

pub use asked::{Compacted, Planned};
pub(crate) use carried::{Carried, pruned};
pub(crate) use draft::Drafts;
pub(crate) use size::LogSize;
pub use undo::Undone;

use self::summarise::{Older, Summed, summarise};
use crate::contexts::folded;
use crate::request::Prepared;
use crate::run::{Inner, RunError};
use crate::scales::Load;
use crate::step::notice;
use crate::work::Work;
use crate::{Rules, RunNote};

/// The event that tells of a compaction.
pub(crate) const COMPACTED: &str = "compacted";

/// In that event: the generation of the log that was sealed.
const SEALED_GENERATION: &str = "sealedGen";
/// Whether an event tells of a compaction that can be undone where its sealed log is.
pub(crate) fn is_undoable(event: &NewEvent) -> bool {
    event.event == COMPACTED && event.data.get(SEALED_GENERATION).is_some()
}

/// What a message takes beside its text.
const SUMMARY_MARGIN: u64 = 16;
const OUTGROWN: &str = "what I have done for this request no longer fits the model.";

/// Why room is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// The request may be too large.
    Trigger,
    /// The provider says that it was, and perhaps how large it may be.
    Overflow {
        /// What it takes.
        limit: Option<u64>,
    },
    /// A person asks for it, and perhaps for something in particular.
    Person {
        /// What the summary should heed.
        wishes: Option<String>,
    },
}

/// What came of it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Room {
    /// There is room enough: the request takes so many tokens.
    Enough(u64),
    /// There is now.
    Made(Compacted),
    /// The run takes the room by itself: so many parts of its message are to be settled first.
    Settle(usize),
    /// There cannot be, for this reason.
    None(String),
}

/// What is known before anything is done.
struct Plan {
    said: Arc<[Arc<UiMessage>]>,
    open: Vec<bool>,
    load: Load,
    goal: Goal,
    /// Outputs to leave out, and what the messages weigh then.
    pruned: Pruned,
    weights: Vec<u64>,
    carried: Carried,
    view: View,
}

/// What can be done.
enum Planning {
    Plan(Box<Plan>),
    /// First, so many parts of the run's message are to be settled.
    Settle(usize),
    /// Nothing, for this reason.
    No(String),
}

/// How often a compaction begins again because the log was replaced meanwhile.
const MOVES_MAX: usize = 2;

/// Makes room for a request, if it needs any, and gives the request that is then to be sent. `so_far` is what
/// the run has said.
pub(crate) async fn make_room(
    work: &Arc<Work>,
    so_far: Option<&UiMessage>,
    mut request: Prepared,
    why: &Why,
) -> Result<(Room, Prepared), RunError> {
    let mut moves = 0;
    loop {
        match once(work, &request, why).await {
            // A repair has replaced the log. What it holds may be the same, and then so is the summary.
            Err(RunError::Rotate(RotateError::Moved { .. })) if moves < MOVES_MAX => {
                moves += 1;
                work.read_again().await?;
                request = prepared(work, so_far).await;
            }
            Ok(room @ Room::Made(_)) => return Ok((room, prepared(work, so_far).await)),
            room => return Ok((room?, request)),
        }
    }
}

/// What the model would be sent now.
pub(crate) async fn prepared(work: &Work, so_far: Option<&UiMessage>) -> Prepared {
    let (said, pruned) = (work.context().await, work.pruned().await);
    Prepared::new(&work.agent, work.blocks().await, &said, so_far, &pruned)
}

async fn once(work: &Arc<Work>, request: &Prepared, why: &Why) -> Result<Room, RunError> {
    let plan = match plan(work, request, why).await? {
        Planning::Plan(plan) => plan,
        // The file of a conversation has no place for half an answer.
        Planning::Settle(_) if !work.agent.names.keeps_messages_whole() => {
            return Ok(Room::None(format!("{OUTGROWN} It is kept; tell me to go on.")));
        }
        Planning::Settle(count) => return Ok(Room::Settle(count)),
        Planning::No(sentence) => return Ok(Room::None(sentence)),
    };
    if plan.is_content(why) && !work.log_is_full().await {
        return Ok(Room::Enough(plan.load.total()));
    }
    plan.carry_out(work, why).await
}

async fn plan(work: &Work, request: &Prepared, why: &Why) -> Result<Planning, RunError> {
    let agent = &work.agent;
    let Some(view) = work.chat.view().await? else {
        return Ok(Planning::No("there is nothing to make room in".to_owned()));
    };
    let carried = Carried::of(&view);
    agent.scales.carry_over(&carried.tokens);
    let load = agent.scales.load(request);
    let said = work.context().await;
    let open = open_messages(&said, &work.run_id);
    let weigh = |at: usize| load.messages.get(at).copied().unwrap_or_default();
    let open_tokens: u64 = (0..said.len()).filter(|at| open[*at]).map(weigh).sum();
    let budget = budget(agent, &carried, why, load.total());
    let goal = match Goal::new(load.fixed, open_tokens, &budget) {
        Ok(goal) => goal,
        Err(too_big) => {
            return Ok(Planning::No(format!("{too_big}. Send it in pieces, or as a file.")));
        }
    };
    let so_far = request.shown.get(said.len());
    let needs_room = *why != Why::Trigger || load.total() > goal.trigger;
    let goal = match so_far.filter(|_| needs_room) {
        None => goal,
        Some(so_far) => {
            let tokens = weigh(said.len());
            let earlier = earlier_parts(so_far);
            if earlier > 0 && tokens > goal.room() / 2 {
                return Ok(Planning::Settle(earlier));
            }
            match Goal::new(load.fixed, open_tokens + tokens, &budget) {
                Ok(goal) => goal,
                Err(_) => return Ok(Planning::Settle(so_far.parts().len())),
            }
        }
    };
    let mut weights: Vec<u64> = (0..said.len()).map(weigh).collect();
    let messages: Vec<&UiMessage> = said.iter().map(Arc::as_ref).collect();
    // What is pruned is told by an event with the messages; a conversation's file has no such thing.
    let pruned = match agent.names.keeps_messages_whole() {
        true => prunable(&messages, protected(&weights, goal.room() / 2), &carried.pruned),
        false => Pruned::default(),
    };
    for (at, weight) in weights.iter_mut().enumerate() {
        let mut shown = request.shown[at].clone();
        if pruned.apply(&mut shown) {
            *weight = agent.scales.message(&shown);
        }
    }
    Ok(Planning::Plan(Box::new(Plan { said, open, load, goal, pruned, weights, carried, view })))
}

/// How many parts of a run's message come before its last step. That one stays: the model has not seen its
/// results yet.
fn earlier_parts(so_far: &UiMessage) -> usize {
    let is_step = |part: &UiPart| matches!(part, UiPart::StepStart(_));
    so_far.parts().iter().rposition(is_step).unwrap_or_default()
}

/// What a request may take. A person who has undone a compaction wants the whole window, until it overflows.
/// A provider that refuses what weighs `total` and does not say what it takes is taken at less than that.
fn budget(agent: &Inner, carried: &Carried, why: &Why, total: u64) -> Budget {
    let mut window = agent.window_tokens();
    let mut is_guess = false;
    if let Why::Overflow { limit } = why {
        let takes = limit.unwrap_or(total / 4 * 3);
        is_guess = limit.is_none() && window.is_none_or(|window| takes < window);
        window = Some(window.map_or(takes, |window| window.min(takes)));
    }
    let answer = agent.rules.max_tokens;
    let tokens = match (carried.raised, why) {
        (true, Why::Trigger) => window.unwrap_or(u64::MAX / 4),
        _ => input_budget(agent.rules.input_tokens_max, window, answer),
    };
    Budget { tokens, window, is_guess, answer }
}

/// The messages of the open request: what people said since the last answer that ended.
fn open_messages(said: &[Arc<UiMessage>], run_id: &str) -> Vec<bool> {
    let of_this_run = |message: &UiMessage| {
        message.metadata().and_then(|metadata| metadata.get("runId")?.as_str()) == Some(run_id)
    };
    let mut open = vec![false; said.len()];
    for (at, message) in said.iter().enumerate().rev() {
        let kind = message.metadata().and_then(|metadata| metadata.get("kind")?.as_str());
        match message.role() {
            // In a conversation it stands in the person's place.
            Role::User if kind == Some("summary") => break,
            Role::User => open[at] = true,
            // What was fetched for the request stays with it.
            Role::Assistant if of_this_run(message) => open[at] = is_reference(message),
            Role::Assistant | Role::System | Role::Unknown => break,
        }
    }
    open
}

/// The place from which on messages weigh at most `room`.
fn protected(weights: &[u64], room: u64) -> usize {
    let mut left = room;
    for (at, weight) in weights.iter().enumerate().rev() {
        match left.checked_sub(*weight) {
            Some(rest) => left = rest,
            None => return at + 1,
        }
    }
    0
}

impl Plan {
    /// Whether nothing need be done.
    fn is_content(&self, why: &Why) -> bool {
        *why == Why::Trigger && self.load.total() <= self.goal.trigger
    }

    fn after_pruning(&self) -> u64 {
        let so_far: u64 = self.load.messages.iter().skip(self.said.len()).sum();
        self.load.fixed + so_far + self.weights.iter().sum::<u64>()
    }

    /// Which messages stay.
    fn cut(&self, keep_last: usize) -> Cut {
        let weighed: Vec<Weighed<'_>> = (0..self.said.len())
            .map(|at| Weighed {
                message: &self.said[at],
                tokens: self.weights[at],
                is_open: self.open[at],
            })
            .collect();
        cut(&weighed, keep_last, self.goal.room() - self.goal.summary_room())
    }

    fn is_pruning_enough(&self) -> bool {
        !self.pruned.is_empty() && self.after_pruning() <= self.goal.target
    }

    /// Which messages stay, by their number; in a log that is full fewer, until they are half of what it may be,
    /// because otherwise it would be full again at once.
    fn cut_for(&self, rules: &Rules, is_full: bool) -> Cut {
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
    fn is_worth(&self, cut: &Cut) -> bool {
        let is_new = |at: &usize| !is_summary(&self.said[*at]);
        let tokens: u64 = cut.older.iter().map(|at| self.weights[*at]).sum();
        cut.older.iter().any(is_new) || tokens > self.goal.summary_room() + SUMMARY_MARGIN
    }

    /// Does it: the first rung that is enough.
    async fn carry_out(self, work: &Arc<Work>, why: &Why) -> Result<Room, RunError> {
        let before = self.load.total();
        if self.goal.floor_is_over_budget {
            warn_once(work).await;
        }
        let is_full = work.log_is_full().await;
        if !is_full && self.is_pruning_enough() {
            return self.prune(work, before).await;
        }
        let cut = self.cut_for(&work.agent.rules, is_full);
        if !self.is_worth(&cut) {
            return match self.pruned.is_empty() {
                true => Ok(Room::Enough(before)),
                false => self.prune(work, before).await,
            };
        }
        tell(work, &cut);
        let older: Vec<&UiMessage> = cut.older.iter().map(|at| &*self.said[*at]).collect();
        let wishes = match why {
            Why::Person { wishes } => wishes.as_deref(),
            Why::Trigger | Why::Overflow { .. } => None,
        };
        let older = Older { messages: &older, wishes, view: &self.view };
        let summed = summarise(work, &self.goal, &self.carried, older).await;
        self.rotate(work, cut, summed, before).await
    }

    /// Leaves old outputs out. The log only gains an event: there is nothing to seal.
    async fn prune(self, work: &Work, before: u64) -> Result<Room, RunError> {
        let compacted = Compacted {
            rung: Rung::Prune,
            tokens_before: before,
            tokens_after: self.after_pruning(),
            messages: 0,
            outputs: self.pruned.len(),
        };
        let mut data = compacted.to_object();
        data.set("pruned", self.pruned.to_json());
        work.append(vec![event(work, data).into()]).await?;
        work.read_again().await?;
        log(work, &compacted);
        Ok(Room::Made(compacted))
    }

    /// Puts the summary in place of what it sums up.
    async fn rotate(
        self,
        work: &Work,
        cut: Cut,
        summed: Summed,
        before: u64,
    ) -> Result<Room, RunError> {
        let scales = &work.agent.scales;
        let count = |text: &str| scales.count(text);
        let older: Vec<&UiMessage> = cut.older.iter().map(|at| &*self.said[*at]).collect();
        let open = open_request(self.said.iter().map(Arc::as_ref));
        let summary = Summary::new(summed.prose, &summed.source, summed.previous.as_deref(), open);
        let text = summary.text(self.goal.summary_room(), &count);
        let now = work.agent.clock.now();
        let id = format!("s_{:016x}", work.agent.ids.next());
        let message = summary_message(id, text, &older, now);
        let kept: u64 = cut.kept.iter().map(|at| self.weights[*at]).sum();
        let so_far: u64 = self.load.messages.iter().skip(self.said.len()).sum();
        let rung = match (summed.rung, cut.is_smaller) {
            (Rung::Summary, true) => Rung::SmallerTail,
            (rung, _) => rung,
        };
        let compacted = Compacted {
            rung,
            tokens_before: before,
            tokens_after: self.load.fixed + so_far + kept + scales.message(&message),
            messages: older.len(),
            outputs: 0,
        };
        let mut carried = self.carried;
        carried.tokens = scales.to_object();
        carried.raised = false;
        carried.pruned.extend(self.pruned);
        let stays = cut.kept.iter().map(|at| &*self.said[*at]);
        carried.pruned = carried.pruned.of(stays);
        carried.failures = summed.failures;
        carried.cool_until = summed.cool_until;
        let mut head = folded(&self.view);
        carried.write_to(&mut head, &work.loaded_skills().await);
        let entry = message.to_json().as_object().cloned().unwrap_or_default();
        let mut data = compacted.to_object();
        data.set("cost", summed.cost.to_object());
        data.set(SEALED_GENERATION, self.view.position.generation.get());
        let mut pieces = vec![Piece::New(entry.into()), Piece::New(event(work, data).into())];
        pieces.extend(kept_pieces(&self.view, &cut, &self.said));
        work.lane
            .rotate(Rotation {
                expected: Some(self.view.position.generation),
                head,
                pieces,
                damage: OnDamage::Refuse,
            })
            .await?;
        work.agent.drafts.forget(work.chat.key());
        work.read_again().await?;
        if let Some(view) = work.chat.view().await? {
            meta::write(work, &view, None).await;
        }
        log(work, &compacted);
        tell_done(work, &compacted);
        Ok(Room::Made(compacted))
    }
}

/// The lines that stay: ranges of the old log, the last one open, so that what comes meanwhile stays too.
fn kept_pieces(view: &View, cut: &Cut, said: &[Arc<UiMessage>]) -> Vec<Piece> {
    let ids: Vec<Option<&str>> = cut.kept.iter().map(|at| said[*at].id()).collect();
    let stays = |body: &Body| match body {
        Body::Message(message) => ids.contains(&message.str("id")),
        Body::Event(_) => false,
    };
    let mut pieces: Vec<Piece> = Vec::new();
    let lines: Vec<(Seq, bool)> =
        view.lines.iter().map(|line| (line.seq, stays(&line.body))).collect();
    let tail = lines.iter().rposition(|(_, stays)| !stays).map_or(0, |at| at + 1);
    for (seq, _) in lines[..tail].iter().filter(|(_, stays)| *stays) {
        pieces.push(Piece::Keep(*seq, *seq));
    }
    let open = lines.get(tail).map(|(seq, _)| *seq);
    pieces.push(Piece::KeepFrom(open.unwrap_or(Seq::new(view.position.seq.get() + 1))));
    pieces
}

fn event(work: &Work, data: Object) -> NewEvent {
    NewEvent {
        id: format!("e_{:016x}", work.agent.ids.next()),
        ts: work.agent.clock.now(),
        event: COMPACTED.to_owned(),
        data: data.into(),
        ref_msg_id: None,
        inbox: None,
    }
}

fn tell(work: &Work, cut: &Cut) {
    let count = cut.older.len();
    let what =
        if count == 1 { "1 older message".to_owned() } else { format!("{count} older messages") };
    let text = format!("Making room: {what} become a summary");
    work.tell(&crate::RunEvent::Chunk(notice("compacting", &text)));
}

fn tell_done(work: &Work, compacted: &Compacted) {
    let (before, after) = (compacted.tokens_before, compacted.tokens_after);
    let text = format!("Made room: about {before} tokens are about {after} now");
    work.tell(&crate::RunEvent::Chunk(notice("compacted", &text)));
}

fn log(work: &Work, compacted: &Compacted) {
    let fields = vec![
        ("rung", Json::from(compacted.rung.name())),
        ("tokensBefore", compacted.tokens_before.into()),
        ("tokensAfter", compacted.tokens_after.into()),
        ("messages", (compacted.messages as u64).into()),
        ("outputs", (compacted.outputs as u64).into()),
    ];
    work.note(RunNote { kind: COMPACTED, fields, ..RunNote::default() });
}

/// The budget is smaller than what cannot shrink: the log says so once.
async fn warn_once(work: &Work) {
    let warning = "system, tools and the open request alone take more than \
                   `context.history.maxInputTokensApprox` allows; it is held against the other messages";
    work.agent.warn(work.chat.key(), &[warning.to_owned()]).await;
}
