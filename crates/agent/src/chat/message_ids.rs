//! What the messages of a context are called, which whoever keeps the context decides.

use ship_store::{Head, LedgerSeq, View};

/// What the head of a log carries in a chat that began as a copy: what tells the messages that come in there from
/// the copied ones, which are named after the ledger of another chat.
pub(crate) const SALT: &str = "names";

/// What the messages of a context are called.
pub(crate) trait MessageIds: Send + Sync {
    /// The name of a message that came in, at `seq` in the ledger: the `nth` that is put into the context now.
    fn question(&self, seq: LedgerSeq, nth: usize) -> String;

    /// The name of what a run says, which begins now.
    fn answer(&self, run: u64) -> String;

    /// Whether a message that was put into the context is read back as it was handed in.
    fn keeps_messages_whole(&self) -> bool {
        true
    }
}

/// The name of a message that came in, in the chat that a head is of.
pub(crate) fn question_in(
    names: &dyn MessageIds,
    head: &Head,
    seq: LedgerSeq,
    nth: usize,
) -> String {
    let name = names.question(seq, nth);
    match head.carry.str(SALT) {
        Some(salt) => format!("{name}_{salt}"),
        None => name,
    }
}

/// The names in a chat. A message's follows from its place in the ledger, so that the same entry can only
/// ever become the same message.
pub(crate) struct LedgerMessageIds;

impl MessageIds for LedgerMessageIds {
    fn question(&self, seq: LedgerSeq, _nth: usize) -> String {
        format!("u_{seq}")
    }

    fn answer(&self, run: u64) -> String {
        format!("a_{run:016x}")
    }
}

/// The id that a message of the ledger has in the contexts of its chat.
pub fn question_id(view: &View, seq: LedgerSeq) -> String {
    question_in(&LedgerMessageIds, &view.head, seq, 0)
}
