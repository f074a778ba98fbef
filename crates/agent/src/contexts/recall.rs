//! Recall: an archived context is shown in the active one, for reference.

use ship_context::contexts::{
    RecallMode, Reference, ReferenceBudget, ReferenceOrigin, ReferenceTooLarge, Snapshot,
    is_reference_to, is_referenced, recall_reference, view_messages,
};
use ship_store::{LedgerSeq, NewMessage, View};

use super::archive::ContextArchive;
use super::list::active_snapshot;
use crate::chat::OpenRequest;
use crate::context_operation::{ContextChange, ContextName, OperationOutcome, OperationRefusal};
use crate::engine::{Engine, LockedChat};
use crate::error::RunError;

/// A reference may use one part in this many of a request's budget.
pub(super) const SHARE: u64 = 4;

/// Makes a reference to a context, within its share of a request's budget.
pub(super) fn reference(
    agent: &Engine,
    snapshot: &Snapshot,
    mode: RecallMode,
) -> Result<Reference, ReferenceTooLarge> {
    let rules = &agent.rules;
    let count = |text: &str| agent.token_meter.count(text);
    recall_reference(
        snapshot,
        mode,
        rules.contexts.active,
        ReferenceBudget { tokens: agent.budget_tokens() / SHARE, count: &count },
    )
}

/// Puts a reference to an archived context into the active one, for the open request or the next message.
pub(super) async fn recall(
    locked: &LockedChat,
    view: &View,
    which: &str,
    mode: RecallMode,
    moving: &OpenRequest,
) -> Result<OperationOutcome, RunError> {
    let shelf = ContextArchive::open(&locked.engine, &*locked.chat, view).await?;
    let snapshot = match shelf.find(which).await? {
        Ok(snapshot) => snapshot,
        Err(refused) => return Ok(OperationOutcome::NotDone(refused)),
    };
    let shown = ReferenceSite { view, run_id: None, current: &moving.current };
    match append_reference(locked, &shown, &snapshot, mode, moving).await? {
        Err(not_done) => Ok(OperationOutcome::NotDone(not_done)),
        Ok(()) => Ok(OperationOutcome::Done(ContextChange {
            operation: "recall".to_owned(),
            left: None,
            active: ContextName::from(&active_snapshot(&locked.engine, view)),
            chat: None,
            line: format!("“{}” is shown here, for reference.", snapshot.title()),
        })),
    }
}

/// The place of a reference: the context, and the run and the messages that it is for.
pub(super) struct ReferenceSite<'a> {
    pub(super) view: &'a View,
    pub(super) run_id: Option<&'a str>,
    pub(super) current: &'a [String],
}

/// Appends a reference, unless the same one is shown already or there is no room for it.
pub(super) async fn append_reference(
    locked: &LockedChat,
    shown: &ReferenceSite<'_>,
    snapshot: &Snapshot,
    mode: RecallMode,
    moving: &OpenRequest,
) -> Result<Result<(), OperationRefusal>, RunError> {
    let messages = view_messages(shown.view);
    let is_there = match shown.run_id {
        Some(run_id) => is_referenced(&messages, run_id, snapshot.context(), mode),
        // A person may ask for the same context again later, but directly after it, it would only repeat.
        None => messages.last().is_some_and(|last| is_reference_to(last, snapshot.context(), mode)),
    };
    if is_there {
        return Ok(Err(OperationRefusal::new("It is shown above already.")));
    }
    let Ok(reference) = reference(&locked.engine, snapshot, mode) else {
        return Ok(Err(OperationRefusal::new("There is no room to show it.")));
    };
    append_message(locked, shown, reference, moving.inbox).await?;
    Ok(Ok(()))
}

/// Appends the message of a reference.
pub(super) async fn append_message(
    locked: &LockedChat,
    shown: &ReferenceSite<'_>,
    reference: Reference,
    inbox: Option<LedgerSeq>,
) -> Result<(), RunError> {
    let id = format!("r_{:016x}", locked.engine.ids.next());
    let fetched = ReferenceOrigin {
        id: &id,
        for_message: shown.current.last().map_or("", String::as_str),
        run_id: shown.run_id,
        at: locked.engine.clock.now(),
    };
    let message = reference.into_message(fetched).into_object();
    let entry = NewMessage { message, rev: 0, inbox };
    locked.lane.append(vec![entry.into()], shown.view.position).await?;
    Ok(())
}
