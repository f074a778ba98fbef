//! An operation in the middle of a run: the parts so far stay in the context that the run leaves, and the run
//! continues in the other with only the open request and the call that switched.
//!
//! The plan of a switch is made when its call is answered, and carried out here. The logs alone hold its state: the
//! answer of the call is in the journal, the message left behind lists the messages that were taken along, and the head
//! of the next log names the message left behind. After a crash, the process that continues the run reads from these
//! what is left to do.

use std::sync::Arc;

use ship_context::Journal;
use ship_context::contexts::message_left_behind;
use ship_message::{Chunk, Role, StepStartPart, ToolChunk, ToolPart, UiMessage, UiPart};
use ship_store::carry::SettledRun;
use ship_store::{ContextBody, ContextLine, LedgerLine, Synced, View};

use super::finish;
use super::run_progress::RunProgress;
use crate::chat::{OpenRequest, open_request_ids};
use crate::context_operation::{ContextOperation, OperationOutcome, WayBack};
use crate::contexts::{
    OperationPlan, SwitchRequest, announce_outcome, move_cursor, operate_from_ledger, plan,
    undo_stays,
};
use crate::engine::ActiveRun;
use crate::error::RunError;
use crate::events::RunEvent;
use crate::inbox::{NextInput, is_stopped};
use crate::reply::Outcome;
use crate::run_notice::context_notice;

/// Makes the switch that a call has promised.
pub(crate) async fn make_switch(
    work: &Arc<ActiveRun>,
    progress: &mut RunProgress,
    call: &ToolPart,
) -> Result<(), RunError> {
    // The promise must be on disk before the log that the run leaves is sealed.
    progress.journal_switch(work, call.call_id()).await?;
    let Some(mut plan) = promised_plan(work, progress, call).await? else {
        return refuse_switch(work, progress, call).await;
    };
    let call_id = Some(call.call_id());
    leave_context(work, progress, call_id, &mut plan).await?;
    let operated = plan.carry_out(&work.locked).await?;
    enter_context(work, progress, call_id, operated.view).await?;
    if operated.outcome == OperationOutcome::Queued {
        return Ok(());
    }
    let line = operated.outcome.line();
    let way_back = operated.outcome.way_back().map(WayBack::to_json);
    work.notify(RunEvent::Chunk(context_notice(&line, way_back.clone())));
    let key = format!("switch:{}:{}", work.run_id, call.call_id());
    let mut meta = ship_message::json::Object::from([("via", "switch")]);
    meta.set_or_remove("wayBack", way_back);
    work.record_outgoing(key, &line, Some(meta)).await?;
    Ok(())
}

/// Returns the plan that was made when a call was answered. After a crash or a pause, the switch is planned again from
/// the journaled call; `None` if it became impossible.
async fn promised_plan(
    work: &ActiveRun,
    progress: &mut RunProgress,
    call: &ToolPart,
) -> Result<Option<OperationPlan>, RunError> {
    let position = work.position().await;
    if let Some((call_id, plan)) = progress.promised.take()
        && call_id == call.call_id()
        && plan.view.position == position
    {
        return Ok(Some(plan));
    }
    let Some(request) = SwitchRequest::of_answered_call(call) else { return Ok(None) };
    let view = work.locked.read_view().await?;
    let SwitchRequest { operation, title, promised, .. } = request;
    let moving = OpenRequest { title, promised, ..messages_to_move(work, &view) };
    plan(&work.locked, view, operation, moving).await
}

/// Turns the answer of a call into an error, because the promised switch became impossible while the run did not
/// hold the lane.
async fn refuse_switch(
    work: &Arc<ActiveRun>,
    progress: &mut RunProgress,
    call: &ToolPart,
) -> Result<(), RunError> {
    let tool = ToolChunk { call_id: call.call_id().to_owned(), ..ToolChunk::default() };
    let error_text = "this cannot be done any more; answer the person here".to_owned();
    progress.push(work, Chunk::ToolOutputError { tool, error_text });
    progress.journal_switch(work, call.call_id()).await
}

/// Returns the messages that move along, before the run leaves anything behind.
fn messages_to_move(work: &ActiveRun, view: &View) -> OpenRequest {
    OpenRequest { current: open_request_ids(view, &work.run_id), ..OpenRequest::default() }
}

/// Whether a run in the context with this view must end before an operation. An operation that would change nothing
/// ends no run.
pub(crate) async fn ends_run(
    work: &ActiveRun,
    view: &View,
    operation: &ContextOperation,
) -> Result<bool, RunError> {
    match operation {
        // The question stays behind with the run that answers it, so there is always something to leave, even if
        // nothing was said before that question.
        ContextOperation::Clear => return Ok(true),
        operation if !operation.ends_run() => return Ok(false),
        _ => {}
    }
    // An undo may concern the context of the run itself.
    if *operation == ContextOperation::Undo && undo_stays(&work.locked.engine, view) {
        return Ok(false);
    }
    let moving = messages_to_move(work, view);
    Ok(plan(&work.locked, view.clone(), operation.clone(), moving).await?.is_some())
}

/// Waits until a person stops this run or asks for an operation that ends it. Neither waits for the answer.
pub(crate) async fn until_ended_by_operation(work: &ActiveRun) {
    let mut seen = None;
    loop {
        let looked_at = *work.looked_at.lock();
        let moment = work.locked.chat.changed(looked_at).await;
        // A wait ends from time to time without a change, and a thousand chats may wait for their models.
        let ledger_bytes = work.locked.chat.sizes().await.ok().map(|sizes| sizes.ledger_bytes);
        if ledger_bytes.is_some() && ledger_bytes == seen {
            *work.looked_at.lock() = moment;
            continue;
        }
        seen = ledger_bytes;
        // After a read error, the ledger is read again, here or at the end of the step.
        if is_stopped(work).await.unwrap_or_default() {
            return;
        }
        if let Ok(NextInput { operation: Some((_, operation)), .. }) =
            NextInput::read_during(work).await
            && operation.ends_run()
            && let Ok(view) = work.locked.read_view().await
            && ends_run(work, &view, &operation).await.unwrap_or_default()
        {
            return;
        }
        *work.looked_at.lock() = moment;
    }
}

/// Performs a person's operation in the middle of a run, in whose context the log has this view.
pub(crate) async fn operate_during_run(
    work: &Arc<ActiveRun>,
    progress: &mut RunProgress,
    view: View,
    request_line: &LedgerLine,
    operation: &ContextOperation,
) -> Result<(), RunError> {
    let leaves = match operation {
        ContextOperation::New { .. } => true,
        ContextOperation::Fork { to, .. } => {
            to.as_ref().is_none_or(|to| to == work.locked.chat.key())
        }
        _ => false,
    };
    let here = OpenRequest { inbox: Some(request_line.seq), ..messages_to_move(work, &view) };
    let plan = match leaves {
        true => plan(&work.locked, view.clone(), operation.clone(), here.clone()).await?,
        false => None,
    };
    // An operation that would be refused goes this way too, and gets its refusal.
    let Some(mut plan) = plan else {
        let operated = operate_from_ledger(&work.locked, &view, operation, &here).await?;
        work.reload_context(operated.view).await?;
        return announce_outcome(&work.locked, request_line, &operated.outcome).await;
    };
    leave_context(work, progress, None, &mut plan).await?;
    let operated = plan.carry_out(&work.locked).await;
    let operated = move_cursor(&work.locked, operation, &here, operated).await?;
    enter_context(work, progress, None, operated.view).await?;
    announce_outcome(&work.locked, request_line, &operated.outcome).await
}

/// Writes the run's parts so far into the log that it leaves, unless they are there already, and into the plan.
async fn leave_context(
    work: &ActiveRun,
    progress: &mut RunProgress,
    call_id: Option<&str>,
    plan: &mut OperationPlan,
) -> Result<(), RunError> {
    let so_far = progress.assembler.message().clone();
    let messages = work.messages().await;
    let is_current = |message: &&UiMessage| {
        message.id().is_some_and(|id| plan.moving.current.iter().any(|known| known == id))
    };
    let is_there = messages.iter().any(|message| message.id() == so_far.id());
    if !is_there {
        // The message left behind means nothing without the journal of its run.
        work.locked.lane.journal(Vec::new(), Synced::Now).await?;
        let moved: Vec<&str> =
            messages.iter().filter(is_current).filter_map(|it| it.id()).collect();
        let metadata = finish::answer_metadata(work, &Outcome::Done, None);
        let mut left = message_left_behind(&so_far, metadata, &moved);
        // The message also lists what was taken along, so it is needed even if the run has said nothing since it
        // was settled.
        let ends_with_question = || messages.last().is_some_and(|last| last.role() == Role::User);
        if left.parts().is_empty() && !ends_with_question() {
            left.parts_mut().push(UiPart::StepStart(StepStartPart::new()));
        }
        if !left.parts().is_empty() {
            work.append(vec![left.clone().into()]).await?;
            plan.view.position = work.position().await;
            let (seq, body) = (plan.view.position.seq, ContextBody::Message(left));
            plan.view.lines.push(Arc::new(ContextLine { seq, rev: 0, inbox: None, body }));
        }
    }
    let message = progress.start.message_id.clone();
    plan.moving.settled = Some(SettledRun { message, call: call_id.map(str::to_owned) });
    Ok(())
}

/// Continues the run in the context that is active now; `view` is its view, if it was read.
async fn enter_context(
    work: &ActiveRun,
    progress: &mut RunProgress,
    call_id: Option<&str>,
    view: Option<View>,
) -> Result<(), RunError> {
    let journal = Journal {
        message: progress.assembler.message().clone(),
        worked_ms: progress.time.millis(),
        ..Journal::begin(progress.start.clone())
    };
    let next = journal.after_switching(call_id);
    work.locked.lane.begin_journal(next.start.to_object(), Synced::Now).await?;
    progress.continue_with(work, next);
    work.reload_context(view).await
}

impl RunProgress {
    /// Journals the answer of a call, and returns when it is on disk.
    async fn journal_switch(&mut self, work: &ActiveRun, call_id: &str) -> Result<(), RunError> {
        let is_it = |part: &UiPart| matches!(part, UiPart::Tool(tool) if tool.call_id() == call_id);
        match self.assembler.message().parts().iter().position(is_it) {
            Some(at) => self.journal_part(work, at, Synced::Now).await,
            None => Ok(()),
        }
    }
}
