//! Recall: an archived context is shown in the active one, for reference.

use ship_context::contexts::{
    RecallMode, Reference, ReferenceBudget, ReferenceOrigin, ReferenceTooLarge, Snapshot,
    is_reference_to, recall_reference,
};
use ship_message::{Role, UiMessage};
use ship_store::{LedgerBody, Metadata, NewMessage, NewMetadata, View};

use super::archive::{ContextArchive, FoundContext};
use super::list::active_snapshot;
use crate::blocking_work::in_place;
use crate::chat::{LEDGER_PAGE, OpenRequest, is_message};
use crate::context_operation::{ContextChange, ContextName, OperationOutcome, OperationRefusal};
use crate::engine::{Engine, LockedChat};
use crate::error::RunError;

/// A reference may use one part in this many of a request's budget. The active context keeps most of it, even beside
/// a second reference.
pub(super) const SHARE: u64 = 4;

/// Makes a reference to a context, within its share of a request's budget.
pub(super) fn reference(
    engine: &Engine,
    snapshot: &Snapshot,
    mode: RecallMode,
) -> Result<Reference, ReferenceTooLarge> {
    let rules = &engine.rules;
    let count = |text: &str| engine.token_meter.count(text);
    let budget = ReferenceBudget { tokens: engine.budget_tokens() / SHARE, count: &count };
    // The whole archived context may be counted.
    in_place(|| recall_reference(snapshot, mode, rules.contexts.active, budget))
}

/// Puts a reference to an archived context into the active one: a message, which the model is shown with the
/// person's next one.
pub(super) async fn recall(
    locked: &LockedChat,
    view: &View,
    which: &str,
    mode: RecallMode,
    moving: &OpenRequest,
) -> Result<OperationOutcome, RunError> {
    let archive = ContextArchive::open(&locked.engine, &*locked.chat, view).await?;
    let active = ContextName::from(&active_snapshot(&locked.engine, view));
    let refused = |why| Ok(OperationOutcome::NotDone(why));
    let snapshot = match archive.find_any(which, &active).await? {
        Ok(FoundContext::Active) => {
            let line = format!("The model sees “{}” already: you are in it.", active.title);
            return refused(OperationRefusal::new(line));
        }
        Ok(FoundContext::Archived(snapshot)) => snapshot,
        Err(why) => return refused(why),
    };
    let last = view.messages().next_back();
    if last.is_some_and(|last| is_reference_to(last, snapshot.context(), mode.name())) {
        let line = format!("“{}” is already shown in this context.", snapshot.title());
        return refused(OperationRefusal::new(line));
    }
    let Ok(reference) = reference(&locked.engine, &snapshot, mode) else {
        return refused(OperationRefusal::new(NO_ROOM));
    };
    append_reference(locked, view, reference, moving).await?;
    Ok(OperationOutcome::Done(ContextChange {
        operation: "recall".to_owned(),
        left: None,
        active,
        chat: None,
        line: format!("“{}” is shown here, for reference.", snapshot.title()),
        way_back: None,
    }))
}

/// Appends the message of a reference.
pub(super) async fn append_reference(
    locked: &LockedChat,
    view: &View,
    reference: Reference,
    moving: &OpenRequest,
) -> Result<(), RunError> {
    let id = format!("r_{:016x}", locked.engine.ids.next());
    let for_message = moving.current.last().map_or("", String::as_str);
    let at = locked.engine.clock.now();
    let key = Some(locked.chat.key().as_str());
    let said_here = view.messages().rfind(|message| Metadata::of(message).chat_key() == key);
    let place = match said_here {
        Some(message) => message.clone(),
        None => empty_message_at(locked).await?,
    };
    let origin = ReferenceOrigin { id: &id, for_message, at, place: Some(&place) };
    let message = reference.into_message(origin).into_object();
    let entry = NewMessage { message, rev: 0, inbox: moving.inbox };
    locked.lane.append(vec![entry.into()], view.position).await?;
    Ok(())
}

/// Makes a message that says nothing but where it is: where the newest entry of the ledger was said.
async fn empty_message_at(locked: &LockedChat) -> Result<UiMessage, RunError> {
    let mut message = UiMessage::new("", Role::User, Vec::new());
    let about = locked.chat.about().await?;
    let lines = locked.chat.ledger().before(None, LEDGER_PAGE).await?;
    let said = lines.iter().rev().find(|line| is_message(line));
    let text = |key: &str| match &said?.body {
        LedgerBody::Entry(entry) => entry.entry.str(key),
        LedgerBody::Delivery(_) => None,
    };
    NewMetadata::edit(&mut message, |metadata| {
        metadata.set_chat_key(Some(locked.chat.key().as_str()));
        metadata.set_channel(text("channel").or(about.channel.as_deref()));
        metadata.set_chat_id(text("chatId"));
        metadata.set_thread_id(text("messageThreadId"));
        metadata.set_chat_type(text("chatType"));
    });
    Ok(message)
}

/// The refusal of a reference that does not fit the request.
pub(super) const NO_ROOM: &str = "There is no room to show it.";
