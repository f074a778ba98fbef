//! Joins the events of an answer, so that a list of them grows with the message and not with its deltas.
//!
//! What was joined leads to the same message. Joined are:
//! - the deltas of one text, reasoning or input;
//! - a preliminary output and a later output of the same call;
//! - data with the same type and id, of which the last counts.
//!
//! Events that change no message are few beside its parts, except those about the moment: of the notices that are not
//! stored, and of those about waiting, only the newest [`NOTICES_KEPT`] are kept.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use ship_message::json::Json;
use ship_message::{Chunk, ToolChunk};

use super::RunEvent;
use super::chat_events::PlacedEvent;

/// The number of notices that are kept for a reader that does not read.
pub(super) const NOTICES_KEPT: usize = 64;

/// The part of a message that an event changes: its kind, and the ids that name it.
type PartKey = (&'static str, String, String);

/// Joins events. None is joined across the places of `readers`, and none with an event before the `answer`, since a
/// late reader begins there.
pub(super) fn join(
    events: VecDeque<PlacedEvent>,
    readers: &BTreeSet<u64>,
    answer: Option<u64>,
) -> VecDeque<PlacedEvent> {
    let mut joined = Joined::default();
    let mut cuts = readers.iter().copied().chain(answer).collect::<Vec<_>>();
    cuts.sort_unstable_by(|one, other| other.cmp(one));
    for placed in events {
        while cuts.last().is_some_and(|cut| *cut <= placed.place) {
            cuts.pop();
            joined.cut();
        }
        // All readers have read it, and later ones get only what is of the answer.
        let is_read = readers.first().is_none_or(|first| *first > placed.place);
        if is_of_answer(&placed.event) || !is_read {
            joined.add(placed);
        }
    }
    joined.events.into_iter().flatten().collect()
}

/// Whether an event is a chunk of an answer, which changes its message or ends it.
pub(super) fn is_of_answer(event: &RunEvent) -> bool {
    match event {
        RunEvent::Chunk(chunk) | RunEvent::Repeated(chunk) => !is_transient(chunk),
        _ => false,
    }
}

fn is_transient(chunk: &Chunk) -> bool {
    match chunk {
        Chunk::Data(data) => data.get("transient").and_then(Json::as_bool) == Some(true),
        _ => false,
    }
}

#[derive(Default)]
struct Joined {
    /// The events; `None` in the place of one that was not kept.
    events: Vec<Option<PlacedEvent>>,
    /// The indexes of the events that the next one for the same part can be joined with.
    open: HashMap<PartKey, usize>,
    /// The indexes of the notices.
    notices: VecDeque<usize>,
}

impl Joined {
    /// Begins a new piece: nothing behind it is joined with anything before.
    fn cut(&mut self) {
        self.open.clear();
        self.notices.clear();
    }

    fn add(&mut self, placed: PlacedEvent) {
        let (RunEvent::Chunk(chunk) | RunEvent::Repeated(chunk)) = &*placed.event else {
            if matches!(&*placed.event, RunEvent::Waiting(_)) {
                self.note();
            }
            return self.events.push(Some(placed));
        };
        if is_transient(chunk) {
            self.note();
        } else if let Some(key) = joined_part(chunk) {
            let first = self.open.get(&key).and_then(|at| self.events.get_mut(*at)?.as_mut());
            if first.is_some_and(|first| grow(&mut first.event, &placed.event)) {
                return;
            }
            self.open.insert(key, self.events.len());
        } else {
            self.close_parts(chunk);
        }
        self.events.push(Some(placed));
    }

    /// Counts a notice that is about to be added, and drops the oldest that is too much.
    fn note(&mut self) {
        self.notices.push_back(self.events.len());
        if self.notices.len() > NOTICES_KEPT
            && let Some(oldest) = self.notices.pop_front()
            && let Some(event) = self.events.get_mut(oldest)
        {
            *event = None;
        }
    }

    /// Keeps chunks apart between which this one stands.
    fn close_parts(&mut self, chunk: &Chunk) {
        let (kinds, id) = match chunk {
            Chunk::TextStart(text) | Chunk::TextEnd(text) => (["text"].as_slice(), &text.id),
            Chunk::ReasoningStart(text) | Chunk::ReasoningEnd(text) => {
                (["reasoning"].as_slice(), &text.id)
            }
            Chunk::ToolInputStart { tool, .. }
            | Chunk::ToolInputAvailable { tool, .. }
            | Chunk::ToolInputError { tool, .. }
            | Chunk::ToolOutputError { tool, .. } => {
                (["input", "output"].as_slice(), &tool.call_id)
            }
            Chunk::ToolOutputDenied { call_id } | Chunk::ToolApprovalRequest { call_id, .. } => {
                (["input", "output"].as_slice(), call_id)
            }
            Chunk::File { .. } | Chunk::SourceUrl { .. } | Chunk::SourceDocument { .. } => return,
            // Another step or message begins or ends.
            _ => return self.open.clear(),
        };
        for kind in kinds {
            self.open.remove(&(*kind, id.clone(), String::new()));
        }
    }
}

/// Returns the part that a chunk grows or replaces, if that can be joined.
fn joined_part(chunk: &Chunk) -> Option<PartKey> {
    let (kind, id) = match chunk {
        Chunk::TextDelta(text, _) => ("text", &text.id),
        Chunk::ReasoningDelta(text, _) => ("reasoning", &text.id),
        Chunk::ToolInputDelta { call_id, .. } => ("input", call_id),
        Chunk::ToolOutputAvailable { tool, .. } => ("output", &tool.call_id),
        Chunk::Data(data) => {
            return Some(("data", data.str("type")?.to_owned(), data.str("id")?.to_owned()));
        }
        _ => return None,
    };
    Some((kind, id.clone(), String::new()))
}

/// Joins the next event for a part with the first, if they are of the same kind.
fn grow(first: &mut Arc<RunEvent>, next: &RunEvent) -> bool {
    if std::mem::discriminant(&**first) != std::mem::discriminant(next) {
        return false;
    }
    // Only a reader that holds the event itself makes a copy necessary.
    let (RunEvent::Chunk(first) | RunEvent::Repeated(first)) = Arc::make_mut(first) else {
        return false;
    };
    let (RunEvent::Chunk(next) | RunEvent::Repeated(next)) = next else { return false };
    match (first, next) {
        (Chunk::TextDelta(text, delta), Chunk::TextDelta(next, more))
        | (Chunk::ReasoningDelta(text, delta), Chunk::ReasoningDelta(next, more)) => {
            delta.push(more);
            replace(&mut text.provider_metadata, &next.provider_metadata);
        }
        (Chunk::ToolInputDelta { delta, .. }, Chunk::ToolInputDelta { delta: more, .. }) => {
            delta.push(more);
        }
        (
            Chunk::ToolOutputAvailable { tool, output, preliminary },
            Chunk::ToolOutputAvailable { tool: next, output: newer, preliminary: is_still },
        ) => {
            replace_tool(tool, next);
            (*output, *preliminary) = (newer.clone(), *is_still);
        }
        (Chunk::Data(data), Chunk::Data(next)) => {
            data.set("data", next.get("data").cloned().unwrap_or_default());
        }
        _ => return false,
    }
    true
}

/// Takes over what a later chunk about a call says. What it does not say stays.
fn replace_tool(tool: &mut ToolChunk, next: &ToolChunk) {
    replace(&mut tool.provider_executed, &next.provider_executed);
    replace(&mut tool.provider_metadata, &next.provider_metadata);
    replace(&mut tool.tool_metadata, &next.tool_metadata);
    replace(&mut tool.dynamic, &next.dynamic);
    replace(&mut tool.title, &next.title);
}

fn replace<T: Clone>(value: &mut Option<T>, next: &Option<T>) {
    if next.is_some() {
        value.clone_from(next);
    }
}
