//! Answers a model's search in the messages of its own chat. There is no way to name another chat.

use ship_message::Role;
use ship_message::json::{Array, Json, Object};

use super::recall::{NO_ROOM, SHARE};
use crate::context_tool_input::{HITS_MAX, SearchHistory, SearchedRole};
use crate::engine::LockedChat;
use crate::error::RunError;
use crate::search::{DayEdge, NeighbourMessage, SearchQuery, SearchResult, read_moment};

/// The messages that are shown before and behind one.
const NEIGHBOURS: usize = 4;

const NO_TIME: &str =
    "must be a date, such as `2026-02-05`, or a time, such as `2026-02-05T10:15:00Z`";

/// Answers a call. An inner error is a text for the model.
pub(super) async fn search_call(
    locked: &LockedChat,
    input: SearchHistory,
) -> Result<Result<Json, String>, RunError> {
    if let Some(id) = &input.around {
        return originals(locked, id.trim_start_matches('#')).await;
    }
    let query = match read_query(input) {
        Ok(query) => query,
        Err(refused) => return Ok(Err(refused)),
    };
    let found = locked.engine.search_in(&*locked.chat, &query).await?;
    Ok(Ok(with_note(&found)))
}

fn read_query(input: SearchHistory) -> Result<SearchQuery, String> {
    let words = input.query.ok_or("the input needs `query`")?;
    let moment = |name: &str, text: Option<String>, edge| match text {
        None => Ok(None),
        Some(text) => match read_moment(&text, edge) {
            Some(moment) => Ok(Some(moment)),
            None => Err(format!("`{name}` {NO_TIME}")),
        },
    };
    let mut query = SearchQuery::new(words);
    query.since = moment("since", input.since, DayEdge::Begin)?;
    query.until = moment("until", input.until, DayEdge::End)?;
    query.role = input.role.map(|role| match role {
        SearchedRole::User => Role::User,
        SearchedRole::Assistant => Role::Assistant,
    });
    let limit = input.limit.and_then(|limit| usize::try_from(limit).ok());
    query.limit = limit.unwrap_or(query.limit).clamp(1, HITS_MAX as usize);
    Ok(query)
}

/// Returns the hits, with a note on what the model should know of them.
fn with_note(found: &SearchResult) -> Json {
    let mut output = found.to_json();
    let note = match found {
        SearchResult { is_cut: true, .. } => {
            "The query was too long; only its beginning was searched for."
        }
        SearchResult { is_complete: false, .. } => {
            "A part of this chat cannot be read, and was not searched."
        }
        SearchResult { hits, .. } if hits.is_empty() => {
            "Nothing was found. Try other words, or fewer conditions; do not invent what was said."
        }
        _ => return output,
    };
    if let Some(output) = output.as_object_mut() {
        output.set("note", note);
    }
    output
}

/// Returns the original messages around one, as many as there is room for.
async fn originals(locked: &LockedChat, id: &str) -> Result<Result<Json, String>, RunError> {
    let engine = &locked.engine;
    let found = engine.search.around_in(&*locked.chat, id, NEIGHBOURS, NEIGHBOURS).await?;
    let Some(mut messages) = found.filter(|found| !found.is_empty()) else {
        return Ok(Err(format!("there is no message `{id}` in this chat; hits tell ids")));
    };
    let room = engine.budget_tokens() / SHARE;
    loop {
        let output = to_output(&messages);
        if engine.token_meter.count(&output.to_string()) <= room {
            return Ok(Ok(output));
        }
        if messages.len() < 2 {
            return Ok(Err(NO_ROOM.to_owned()));
        }
        drop_farthest(&mut messages);
    }
}

fn to_output(messages: &[NeighbourMessage]) -> Json {
    let originals: Array = messages.iter().map(NeighbourMessage::to_json).collect();
    Object::from([("messages", Json::from(originals))]).into()
}

/// Drops the message at the end that is farther from the one that was asked for.
fn drop_farthest(messages: &mut Vec<NeighbourMessage>) {
    let asked = messages.iter().position(|found| found.is_asked_for).unwrap_or(0);
    if asked > messages.len() - 1 - asked {
        messages.remove(0);
    } else {
        messages.pop();
    }
}
