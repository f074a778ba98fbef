//! Finds the reply to a message by the message's ledger entry.
//!
//! The answer may be in the active context or in one that was left since, and another process may have written it.

use std::collections::HashSet;

use ship_context::compact::is_summary;
use ship_context::contexts::is_reference;
use ship_context::is_later_message;
use ship_message::{Role, UiMessage};
use ship_provider::Usage;
use ship_store::{Chat, ContextId, Metadata, View};

use crate::engine::Engine;
use crate::error::RunError;
use crate::inbound::AcceptedMessage;
use crate::records::{model_of_run, usage_of_run};
use crate::reply::Outcome;
use crate::reply::Reply;

/// The number of newest sealed logs that are searched; a message that was just answered is in one of them.
const LOGS_SEARCHED: usize = 4;

/// The number of records of model calls that are searched for those of one run.
const RECORDS_SEARCHED: usize = 1_000;

/// Finds the reply to a message in the logs of a chat; `None` if it is not answered yet.
pub(super) async fn find_reply(
    engine: &Engine,
    chat: &dyn Chat,
    to: &AcceptedMessage,
) -> Result<Option<Reply>, RunError> {
    let Some(live) = chat.log().view().await? else { return Ok(None) };
    let Some((answer, context)) = find_answer(chat, &live, to).await? else { return Ok(None) };
    let (usage, model) = match Metadata::of(&answer).run_id() {
        Some(run_id) => match engine.request_cache.calls_of_run(run_id) {
            Some(calls) => (calls.usage(), calls.model),
            None => {
                let records = chat.runs().requests(RECORDS_SEARCHED).await?;
                let model = model_of_run(&*engine.store, &records, run_id).await;
                (usage_of_run(&records, run_id), model)
            }
        },
        None => (None, None),
    };
    let outcome = outcome_of(&answer);
    let mut messages = find_earlier(chat, &live, to, &answer).await?;
    messages.push(answer);
    // A compaction replaces the log of a context, but the context continues.
    let left_context = Some(context).filter(|context| *context != live.head.context);
    Ok(Some(Reply { outcome, messages, usage, model, left_context, is_from_here: false }))
}

/// Returns the tokens that the provider counted for a run.
pub(super) async fn find_usage(
    engine: &Engine,
    chat: &dyn Chat,
    run_id: &str,
) -> Result<Option<Usage>, RunError> {
    if let Some(calls) = engine.request_cache.calls_of_run(run_id) {
        return Ok(calls.usage());
    }
    Ok(usage_of_run(&chat.runs().requests(RECORDS_SEARCHED).await?, run_id))
}

/// Returns the outcome of a run, from the metadata of its answer.
fn outcome_of(answer: &UiMessage) -> Outcome {
    let metadata = Metadata::of(answer);
    match metadata.error() {
        Some(sentence) => Outcome::Failed(sentence.to_owned()),
        None if metadata.is_interrupted() => Outcome::Stopped,
        None => Outcome::Done,
    }
}

/// Finds the first answer after the message, and its context. The newest answer may belong to a later message.
async fn find_answer(
    chat: &dyn Chat,
    live: &View,
    to: &AcceptedMessage,
) -> Result<Option<(UiMessage, ContextId)>, RunError> {
    let answer_in = |view: &View, at: usize| {
        answer_after(view, at).map(|answer| (answer, view.head.context.clone()))
    };
    if let Some(at) = place_in(live, to) {
        return Ok(answer_in(live, at));
    }
    // A message that was not read from the ledger yet is in no context.
    if live.inbox < Some(to.seq) {
        return Ok(None);
    }
    for log in chat.log().sealed_logs(None, LOGS_SEARCHED).await? {
        if let Some(view) = chat.log().sealed_view_if_readable(&log.name).await?
            && let Some(at) = place_in(&view, to)
        {
            return Ok(answer_in(&view, at));
        }
    }
    Ok(None)
}

/// Finds the messages of the run before its answer, in order: those that it settled when it outgrew the window, and
/// those that it left behind in another context.
async fn find_earlier(
    chat: &dyn Chat,
    live: &View,
    to: &AcceptedMessage,
    answer: &UiMessage,
) -> Result<Vec<UiMessage>, RunError> {
    // Most runs write one message, and the logs that were left may be long.
    let is_later = answer.id().is_some_and(is_later_message);
    let Some(run_id) = Metadata::of(answer).run_id().filter(|_| is_later) else {
        return Ok(Vec::new());
    };
    let is_earlier = |message: &&UiMessage| {
        message.role() == Role::Assistant
            && Metadata::of(message).run_id() == Some(run_id)
            && message.id() != answer.id()
            && !is_summary(message)
            && !is_reference(message)
    };
    let mut earlier: Vec<UiMessage> = Vec::new();
    // The sealed logs cannot contain a message that was read from the ledger after them.
    if live.head.inbox >= Some(to.seq) {
        for log in chat.log().sealed_logs(None, LOGS_SEARCHED).await?.iter().rev() {
            if let Some(view) = chat.log().sealed_view_if_readable(&log.name).await? {
                earlier.extend(view.messages().filter(is_earlier).cloned());
            }
        }
    }
    earlier.extend(live.messages().filter(is_earlier).cloned());
    let mut ids = HashSet::new();
    earlier.retain(|message| ids.insert(message.id().map(str::to_owned)));
    Ok(earlier)
}

/// Returns the place of the message in a context, if it is there.
fn place_in(view: &View, to: &AcceptedMessage) -> Option<usize> {
    view.lines.iter().position(|line| {
        let Some(message) = line.message() else { return false };
        // A copied line may lack its ledger position; then the request alone decides.
        line.inbox.is_none_or(|seq| seq == to.seq)
            && message.role() == Role::User
            && Metadata::of(message).request_id() == Some(&to.request_id)
    })
}

fn answer_after(view: &View, at: usize) -> Option<UiMessage> {
    let mut messages = view.lines[at + 1..].iter().filter_map(|line| line.message());
    messages.find(|message| is_answer(message)).cloned()
}

/// Whether a message is the answer of a run. A reference is not, and neither is a message that the run settled
/// or that it left behind.
fn is_answer(message: &UiMessage) -> bool {
    let metadata = Metadata::of(message);
    message.role() == Role::Assistant
        && !is_reference(message)
        && metadata.moved().is_none()
        && metadata.settled_parts().is_none()
}
