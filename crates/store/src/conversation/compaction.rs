//! Decides which messages a compaction covers, without writing anything.
//!
//! A range that separates a tool call from its result is refused and not widened: the summary covers only the range
//! that the caller asked for, and messages outside of it must stay.

use std::collections::HashMap;
use std::ops::RangeInclusive;

use super::state::{ConversationState, call_ids};
use super::{CompactError, EntryRole, MessageEntry};

/// Returns the messages from `from` to `to` that are not compacted yet, in the order in which a
/// model is shown them.
pub(super) fn messages_between<'a>(
    state: &'a ConversationState,
    from: &str,
    to: &str,
) -> Result<Vec<&'a MessageEntry>, CompactError> {
    let position =
        |id: &str| state.position(id).ok_or_else(|| CompactError::Unknown { id: id.to_owned() });
    let range = position(from)?..=position(to)?;
    if range.is_empty() {
        return Err(CompactError::Backwards { from: from.to_owned(), to: to.to_owned() });
    }
    check_calls_stay_whole(state, &range)?;
    let inside =
        state.visible_entries().filter(|(at, _)| range.contains(at)).map(|(_, message)| message);
    let covered: Vec<_> = inside.filter(|message| !message.compacted).collect();
    // A system message is shown even with the mark, so marks on these alone would change nothing.
    if covered.iter().all(|message| message.role == EntryRole::System) {
        return Err(CompactError::Nothing { from: from.to_owned(), to: to.to_owned() });
    }
    Ok(covered)
}

fn check_calls_stay_whole(
    state: &ConversationState,
    range: &RangeInclusive<usize>,
) -> Result<(), CompactError> {
    let mut open: HashMap<&str, (usize, &MessageEntry)> = HashMap::new();
    for (at, message) in state.visible_entries() {
        match message.role {
            EntryRole::Tool => {
                let call_id = message.tool_call_id.as_deref().unwrap_or_default();
                // A result without its call belongs to no pair that the range could separate.
                let Some((called_at, call)) = open.remove(call_id) else { continue };
                if range.contains(&called_at) != range.contains(&at) {
                    return Err(CompactError::PartsToolCall {
                        call_id: call_id.to_owned(),
                        call: call.id.clone(),
                        result: message.id.clone(),
                    });
                }
            }
            // The next message by any other role ends the wait for results: open calls stay without one.
            EntryRole::Assistant | EntryRole::User | EntryRole::System | EntryRole::Developer => {
                open.clear();
                open.extend(call_ids(message).map(|id| (id, (at, message))));
            }
        }
    }
    match open.into_iter().find(|(_, (at, _))| range.contains(at)) {
        None => Ok(()),
        Some((call_id, (_, call))) => {
            Err(CompactError::OpenToolCall { call_id: call_id.to_owned(), call: call.id.clone() })
        }
    }
}
