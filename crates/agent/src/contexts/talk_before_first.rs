//! The beginning of a chat's first context: the talk among people before the first message to the agent.

use ship_context::contexts::{ReferenceBudget, ReferenceOrigin, earlier_talk_reference};
use ship_store::{Head, LedgerBody, LedgerLine, NewLine};

use super::recall::SHARE;
use crate::blocking_work::in_place;
use crate::chat::{inbound_id_in, is_message};
use crate::engine::Engine;
use crate::inbound::promoted_message;

/// Makes a reference to the lines of the ledger before the first message to the agent; `None` if there are none or
/// if they do not fit.
pub(crate) fn reference_to_earlier_talk(
    engine: &Engine,
    head: &Head,
    lines: &[LedgerLine],
) -> Option<NewLine> {
    let first = lines.iter().position(is_message).filter(|first| *first > 0)?;
    let count = |text: &str| engine.token_meter.count(text);
    let room = ReferenceBudget { tokens: engine.budget_tokens() / SHARE, count: &count };
    // The reference is only a help, and a context without room for it begins without it.
    let reference = in_place(|| earlier_talk_reference(&lines[..first], room)).ok()??;
    let for_message = inbound_id_in(&*engine.message_ids, head, lines[first].seq, 0);
    let id = format!("r_{:016x}", engine.ids.next());
    let at = engine.clock.now();
    let LedgerBody::Entry(entry) = &lines[first].body else { return None };
    let question = promoted_message(entry, for_message.clone(), None);
    let fetched =
        ReferenceOrigin { id: &id, for_message: &for_message, at, place: Some(&question) };
    Some(reference.into_message(fetched).into())
}
