//! Gives ids to the messages of a context; the owner of the context decides on them.

use ship_store::{Head, LedgerSeq, View};

/// Gives ids to the messages of a context.
pub(crate) trait MessageIds: Send + Sync {
    /// Returns the id of an incoming message at `seq` in the ledger, the `nth` that goes into the context now.
    fn inbound_id(&self, seq: LedgerSeq, nth: usize) -> String;

    /// Returns the id of the message of a run that begins now.
    fn answer_id(&self, run: u64) -> String;
}

/// Returns the id of an incoming message in the chat of a head.
pub(crate) fn inbound_id_in(
    names: &dyn MessageIds,
    head: &Head,
    seq: LedgerSeq,
    nth: usize,
) -> String {
    let name = names.inbound_id(seq, nth);
    match head.carry.salt() {
        Some(salt) => format!("{name}_{salt}"),
        None => name,
    }
}

/// The ids in a chat. The id of a message follows from its ledger position, so that the same entry can only
/// become the same message.
pub(crate) struct LedgerMessageIds;

impl MessageIds for LedgerMessageIds {
    fn inbound_id(&self, seq: LedgerSeq, _nth: usize) -> String {
        format!("u_{seq}")
    }

    fn answer_id(&self, run: u64) -> String {
        format!("a_{run:016x}")
    }
}

/// Returns the id of a ledger message in the contexts of its chat.
pub fn inbound_message_id(view: &View, seq: LedgerSeq) -> String {
    inbound_id_in(&LedgerMessageIds, &view.head, seq, 0)
}
