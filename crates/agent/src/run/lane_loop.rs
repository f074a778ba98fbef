//! The work on a chat while its lane is held: one action after the other, until none is left.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use ship_context::{Journal, Recovery, RunStart, SettledWork, recover};
use ship_message::UiMessage;
use ship_message::json::{Json, Object};
use ship_store::{
    About, ChatState, ContextEvent, ContextId, Head, LedgerLine, LedgerSeq, LogPiece, Metadata,
    Moment, Rotation, Synced, View,
};

use super::finish::{self, finish};
use super::recorded_answers::{has_answer_of, is_recorded, unrecorded_run};
use super::run_progress::RunProgress;
use super::switch_context::{ends_run, make_switch, operate_during_run};
use super::undecided::end_undecided;
use crate::chat::{Activation, LEDGER_PAGE, lines_up_to, message_lines};
use crate::context_operation::ContextOperation;
use crate::contexts::{operate_idle, reference_to_earlier_talk};
use crate::engine::{ActiveRun, LockedChat};
use crate::error::RunError;
use crate::inbox::{MissedAnswers, NextInput, UnreadLedger, missed_answers};
use crate::records::{first_difference, journal_digests};
use crate::reply::Outcome;
use crate::run_log::{RunLogEntry, RunLogKind};
use crate::stop::Stop;

/// The cause of a first context that no operation has begun.
const FIRST_MESSAGE: &str = "first message";

/// Works on a chat while its lane is held.
pub(crate) struct LaneLoop {
    locked: LockedChat,
    /// The view of the log for the first look, if it was read since the lane is held.
    first_view: Mutex<Option<View>>,
    /// Whether the context was compared with the answers in the ledger. Once is enough, because only the holder of
    /// the lane writes contexts and answers.
    is_compared: AtomicBool,
    /// Whether the answer of the last run was looked up in the ledger.
    is_checked: AtomicBool,
    /// The moment of the last look at the ledger.
    looked_at: Mutex<Moment>,
}

/// The outcome of the last run, and how far the ledger was read.
pub(crate) struct LaneResult {
    pub(crate) outcome: Option<Outcome>,
    pub(crate) inbox: Option<LedgerSeq>,
}

impl LaneLoop {
    pub(crate) fn new(locked: LockedChat, first_view: Option<View>) -> Self {
        let first_view = Mutex::new(first_view);
        let looked_at = Mutex::new(locked.chat.moment());
        let (is_compared, is_checked) = (AtomicBool::new(false), AtomicBool::new(false));
        Self { locked, first_view, is_compared, is_checked, looked_at }
    }

    /// Works until nothing is left to do, the run is parked, or the message that is `wanted` is answered. The chat is
    /// read once for each run: after a run, only messages that arrived meanwhile can be left.
    pub(crate) async fn run_until_idle(
        &self,
        stop: &Stop,
        wanted: Option<LedgerSeq>,
    ) -> Result<LaneResult, RunError> {
        self.locked.engine.recall_host(self.locked.chat.key()).await;
        let mut last = None;
        loop {
            let done = self.run_next(stop).await?;
            let ended = matches!(done.outcome, None | Some(Outcome::Parked | Outcome::Left));
            last = done.outcome.or(last);
            if ended
                || stop.is_stopped()
                || wanted.is_some() && done.inbox >= wanted
                || self
                    .locked
                    .engine
                    .has_pending_input(&*self.locked.chat, done.inbox, last.as_ref())
                    .await?
                    != Some(true)
            {
                return Ok(LaneResult { outcome: last, inbox: done.inbox });
            }
        }
    }

    /// Performs the next action. The result has no outcome if there is none.
    async fn run_next(&self, stop: &Stop) -> Result<LaneResult, RunError> {
        let (state, unread) = self.do_operations().await?;
        let ChatState { about, view, journal, .. } = state;
        let UnreadLedger { mut inbox, queue: NextInput { lines, .. } } = unread;
        let journal = Journal::read(&journal);
        let blocks_before = journal.as_ref().map(|journal| journal.start.blocks.clone());
        let open = journal.as_ref().filter(|journal| !journal.has_ended).map(|it| it.start.clone());
        let last = journal.as_ref().map(|journal| journal.start.clone());
        // A run that ended has delivered its answer, unless the ledger has lost it since.
        let holds_metadata = self.locked.chat.log().features().holds_metadata;
        let is_first_look = holds_metadata && !self.is_checked.swap(true, Ordering::Relaxed);
        let looked_up = if is_first_look { last.as_ref() } else { open.as_ref() };
        // The answer mostly stands right behind the cursor, and then no other line of the ledger is read for it.
        let delivered = looked_up.is_some_and(|start| has_answer_of(&lines, view.as_ref(), start))
            || is_recorded(&*self.locked.chat, view.as_ref(), looked_up).await?;
        // `recover` does not wait for files, and asks only about the run of the journal, so the answer is known here.
        let outcome =
            match recover(view.as_ref(), &lines, journal, |_| delivered, &*self.locked.engine) {
                Recovery::Idle => {
                    if open.is_some() {
                        finish::end_journal(&*self.locked.lane).await?;
                    }
                    None
                }
                Recovery::Parked(journal) => {
                    let waits_since = journal.waits_since.max(inbox);
                    let (engine, chat) = (&self.locked.engine, &*self.locked.chat);
                    match view {
                        Some(view) if engine.goes_on_undecided(chat, waits_since).await? => {
                            let work = self.active_run(about, &view, &journal).await;
                            Some(end_undecided(&work, journal).await?)
                        }
                        _ => {
                            // A message from before the question decides nothing, so the caller looks for later ones.
                            inbox = waits_since;
                            Some(Outcome::Parked)
                        }
                    }
                }
                Recovery::Deliver(message) => {
                    if let (Some(start), Some(view)) = (last, view) {
                        self.close_run(about, &view, start, &message).await?;
                    }
                    Some(Outcome::Done)
                }
                Recovery::Continue(journal) => {
                    let mut view = self.first_context(view, inbox, &[], FIRST_MESSAGE).await?;
                    if inbox < journal.start.inbox {
                        // The log or its end is gone, but the ledger still has the messages that the run answers.
                        let read =
                            lines_up_to(&*self.locked.chat, inbox, journal.start.inbox).await?;
                        view = self.locked.promote(view, &read).await?;
                    }
                    inbox = view.inbox;
                    let work = self.active_run(about, &view, &journal).await;
                    Some(super::step::run(&work, journal, stop).await?)
                }
                Recovery::Settled(journal) => {
                    let view = self.first_context(view, inbox, &[], FIRST_MESSAGE).await?;
                    let work = self.active_run(about, &view, &journal).await;
                    self.locked.lane.begin_journal(journal.start.to_object(), Synced::Now).await?;
                    Some(super::step::run(&work, journal, stop).await?)
                }
                Recovery::RunPending => {
                    let view = self.first_context(view, inbox, &lines, FIRST_MESSAGE).await?;
                    let view = self.locked.promote(view, &lines).await?;
                    inbox = view.inbox;
                    let journal = Journal::begin(self.start_run(&view));
                    let work = self.active_run(about, &view, &journal).await;
                    self.locked.engine.request_cache.begin_run(&work.run_id);
                    let journal = self.begin_journal(&work, journal, blocks_before).await?;
                    Some(super::step::run(&work, journal, stop).await?)
                }
            };
        Ok(LaneResult { outcome, inbox })
    }

    /// Reads the chat and its unread ledger, after adding answers that the context lacks. The log is not read again if
    /// its view is known.
    async fn read(&self, known: Option<View>) -> Result<(ChatState, UnreadLedger), RunError> {
        let chat = &*self.locked.chat;
        // What arrives from here on is news to the run that begins with this look.
        *self.looked_at.lock() = chat.moment();
        // Where people talk with each other, the first page is talk that was read before.
        let knows_talk = self.locked.engine.observed_talk.knows_much(chat.key());
        let mut state = match known {
            None if knows_talk => chat.state(0).await?,
            None => chat.state(LEDGER_PAGE).await?,
            Some(view) => ChatState {
                about: chat.about().await?,
                new_lines: match knows_talk {
                    true => Vec::new(),
                    false => chat.ledger().after(view.inbox, LEDGER_PAGE).await?,
                },
                journal: chat.runs().journal().await?,
                view: Some(view),
            },
        };
        if !self.is_compared.load(Ordering::Relaxed) {
            self.record_lost_answer(&state).await?;
        }
        let view = state.view.as_ref().filter(|_| !self.is_compared.load(Ordering::Relaxed));
        if let Some(view) = view
            && self.add_missed_answers(view).await?
        {
            state = chat.state(if knows_talk { 0 } else { LEDGER_PAGE }).await?;
        }
        // The comparison may have read the talk.
        let knows_talk = self.locked.engine.observed_talk.knows_much(chat.key());
        let first = (!knows_talk).then(|| std::mem::take(&mut state.new_lines));
        let unread = UnreadLedger::find(&self.locked.engine, chat, &state, first).await?;
        Ok((state, unread))
    }

    /// Records the answer of a run whose journal a power cut has taken, if the ledger does not have it either.
    async fn record_lost_answer(&self, state: &ChatState) -> Result<(), RunError> {
        let Some(start) = unrecorded_run(&*self.locked.chat, state).await? else { return Ok(()) };
        let Some(view) = &state.view else { return Ok(()) };
        let Some(message) = view.messages().next_back() else { return Ok(()) };
        let work = self.active_run(state.about.clone(), view, &Journal::begin(start)).await;
        finish::record_answer(&work, message, &SettledWork::default()).await
    }

    /// Adds to an older context the answers that only the ledger has. Returns whether there were any.
    async fn add_missed_answers(&self, view: &View) -> Result<bool, RunError> {
        self.is_compared.store(true, Ordering::Relaxed);
        // Metadata alone tells which message answers which entry.
        if !self.locked.chat.log().features().holds_metadata {
            return Ok(false);
        }
        let MissedAnswers { messages, answered } =
            missed_answers(&self.locked.engine, &*self.locked.chat, view).await?;
        let count = messages.len() as u64;
        let mut lines = message_lines(messages);
        if answered.is_some() {
            // The event moves the cursor behind an answered message whose line was lost.
            let event = self.locked.engine.new_event("answered", Object::new());
            lines.push(ContextEvent { inbox: answered, ..event }.into());
        }
        if lines.is_empty() {
            return Ok(false);
        }
        let message =
            "the context lacks messages that the ledger lists as answered; it continues after them";
        let fields = vec![("message", Json::from(message)), ("messages", count.into())];
        self.locked.lane.append(lines, view.position).await?;
        let note = RunLogEntry { kind: RunLogKind::Repair, fields, ..RunLogEntry::default() };
        self.locked.engine.log.write(self.locked.chat.key(), note);
        Ok(true)
    }

    /// Performs the queued operations in order, until the next entry of the ledger is a message for a run. Returns the
    /// chat and its unread ledger after that.
    pub(crate) async fn do_operations(&self) -> Result<(ChatState, UnreadLedger), RunError> {
        let mut known = self.first_view.lock().take();
        loop {
            let (mut state, mut unread) = self.read(known).await?;
            let Some((request_line, operation)) = unread.queue.operation.take() else {
                return Ok((state, unread));
            };
            let (view, lines) = (state.view.take(), &unread.queue.lines);
            let view = self.first_context(view, unread.inbox, lines, operation.name()).await?;
            let view = self.locked.promote(view, &unread.queue.lines).await?;
            let journal = Journal::read(&state.journal);
            known =
                self.do_operation(state.about, view, journal, &request_line, &operation).await?;
        }
    }

    /// Ends a run that was stopped and that no process works on, with what it has said.
    pub(crate) async fn end_stopped_run(&self, run_id: &str) -> Result<(), RunError> {
        let first_view = self.first_view.lock().take();
        let (state, _) = self.read(first_view).await?;
        let Some(view) = state.view else { return Ok(()) };
        let journal = Journal::read(&state.journal).filter(|it| it.start.run_id == run_id);
        let open = journal.as_ref().filter(|it| !it.has_ended).map(|it| it.start.clone());
        let delivered = is_recorded(&*self.locked.chat, Some(&view), open.as_ref()).await?;
        match recover(Some(&view), &[], journal, |_| delivered, &*self.locked.engine) {
            Recovery::Continue(journal)
            | Recovery::Parked(journal)
            | Recovery::Settled(journal) => {
                let work = self.active_run(state.about, &view, &journal).await;
                let progress = RunProgress::new(&work, journal).await;
                finish(&work, progress, Outcome::Stopped).await?;
            }
            Recovery::Deliver(message) => {
                if let Some(start) = open {
                    self.close_run(state.about, &view, start, &message).await?;
                }
            }
            Recovery::Idle | Recovery::RunPending => {
                if open.is_some() {
                    finish::end_journal(&*self.locked.lane).await?;
                }
            }
        }
        Ok(())
    }

    /// Performs one operation. An interrupted or parked run moves along with it, or ends here. Returns the view after
    /// it, unless the log must be read again.
    async fn do_operation(
        &self,
        about: About,
        view: View,
        journal: Option<Journal>,
        request_line: &LedgerLine,
        operation: &ContextOperation,
    ) -> Result<Option<View>, RunError> {
        let open = journal.as_ref().filter(|journal| !journal.has_ended).map(|it| it.start.clone());
        let delivered = is_recorded(&*self.locked.chat, Some(&view), open.as_ref()).await?;
        match recover(Some(&view), &[], journal, |_| delivered, &*self.locked.engine) {
            Recovery::Settled(journal) => {
                // The journal is begun here, so that the next look finds a run to continue.
                self.locked.lane.begin_journal(journal.start.to_object(), Synced::Now).await?;
                return Ok(None);
            }
            Recovery::Continue(journal) | Recovery::Parked(journal) => {
                let work = self.active_run(about, &view, &journal).await;
                let mut progress = RunProgress::new(&work, journal).await;
                if let Some(call) = progress.promised_switch(&work) {
                    // The switch was promised earlier, so it comes first; the caller tries this operation again.
                    make_switch(&work, &mut progress, &call).await?;
                    return Ok(None);
                }
                if !ends_run(&work, &view, operation).await? {
                    operate_during_run(&work, &mut progress, view, request_line, operation).await?;
                    return Ok(None);
                }
                finish(&work, progress, Outcome::Stopped).await?;
            }
            Recovery::Deliver(message) => {
                if let Some(start) = open {
                    self.close_run(about, &view, start, &message).await?;
                }
            }
            Recovery::Idle | Recovery::RunPending => {
                if open.is_some() {
                    finish::end_journal(&*self.locked.lane).await?;
                }
                return operate_idle(&self.locked, &view, request_line, operation).await;
            }
        }
        // The run that ended here has written to the log.
        let view = self.locked.read_view().await?;
        operate_idle(&self.locked, &view, request_line, operation).await
    }

    /// Closes a run whose message is in the log already.
    async fn close_run(
        &self,
        about: About,
        view: &View,
        start: RunStart,
        message: &UiMessage,
    ) -> Result<(), RunError> {
        let earlier = start.earlier.clone();
        let work = self.active_run(about, view, &Journal::begin(start)).await;
        finish::close_run(&work, message, &earlier).await
    }

    async fn active_run(&self, about: About, view: &View, journal: &Journal) -> Arc<ActiveRun> {
        let looked_at = *self.looked_at.lock();
        Arc::new(ActiveRun::begin(self.locked.clone(), about, view, journal, looked_at).await)
    }

    /// Begins the journal of a run. If the system blocks differ from those of the last run, the log says which.
    async fn begin_journal(
        &self,
        work: &ActiveRun,
        mut journal: Journal,
        before: Option<Object>,
    ) -> Result<Journal, RunError> {
        journal.start.blocks = journal_digests(&work.blocks().await);
        // Its first synced part makes it durable: a run without one does nothing that must not happen twice.
        self.locked.lane.begin_journal(journal.start.to_object(), Synced::Later).await?;
        // The journal of an older program has no digests of the blocks.
        let before = before.filter(|before| !before.is_empty());
        let note = before.and_then(|before| first_difference(&before, &journal.start.blocks));
        if let Some(note) = note {
            work.log(note);
        }
        Ok(journal)
    }

    /// Makes the first context of a chat, if it has none. It begins with the first unanswered message, behind the
    /// answers of a context that is gone. The `lines` before that message are shown in it for reference.
    async fn first_context(
        &self,
        view: Option<View>,
        inbox: Option<LedgerSeq>,
        lines: &[LedgerLine],
        cause: &str,
    ) -> Result<View, RunError> {
        if let Some(view) = view {
            return Ok(view);
        }
        // With a cursor but no log, the earlier lines were already part of the lost context.
        let lines = if inbox.is_none() { lines } else { &[] };
        let now = self.locked.engine.clock.now();
        let mut head = Head::new(ContextId::new(now, self.locked.engine.ids.next()));
        head.inbox = inbox;
        Activation::write_to_head(&mut head, cause, now);
        let before = reference_to_earlier_talk(&self.locked.engine, &head, lines);
        let pieces = before.into_iter().map(LogPiece::New).collect();
        let rotation = Rotation { expected: None, head, pieces };
        self.locked.lane.rotate(rotation).await?;
        self.locked.read_view().await
    }

    fn start_run(&self, view: &View) -> RunStart {
        let id = self.locked.engine.ids.next();
        let last = view.messages().next_back();
        let request_id = last.and_then(|message| Metadata::of(message).request_id());
        RunStart {
            run_id: format!("run_{id:016x}"),
            message_id: self.locked.engine.message_ids.answer_id(id),
            request_id: request_id.map_or_else(|| format!("req_{id:016x}"), str::to_owned),
            inbox: view.inbox,
            started_at: Some(self.locked.engine.clock.now()),
            ..RunStart::default()
        }
    }
}
