//! What the messages of a context are called, which whoever keeps the context decides.

use ship_store::{ChatKey, Head, LedgerSeq, View};

/// What the messages of a context are called.
pub(crate) trait Names: Send + Sync {
    /// The name of a message that came in, at `seq` in the ledger: the `nth` that is put into the context now.
    fn question(&self, seq: LedgerSeq, nth: usize) -> String;

    /// The name of what a run says, which begins now.
    fn answer(&self, run: u64) -> String;

    /// Whether a message that was put into the context is read back as it was handed in.
    fn keeps_messages_whole(&self) -> bool {
        true
    }
}

/// The names in a chat. A message's follows from its place in the ledger, so that the same entry can only
/// ever become the same message.
pub(crate) struct ByPlace;

impl Names for ByPlace {
    fn question(&self, seq: LedgerSeq, _nth: usize) -> String {
        format!("u_{seq}")
    }

    fn answer(&self, run: u64) -> String {
        format!("a_{run:016x}")
    }
}

/// What the heads of a chat carry that began as a copy of another: its messages have names by their places in the
/// other's ledger, and its own ledger begins at one, too.
const COPY: &str = "copy";

/// Marks the first log of a chat that begins as a copy.
pub(crate) fn mark_copy(head: &mut Head, chat: &ChatKey) {
    let tag: String = crate::digest(chat.as_str().as_bytes()).chars().take(8).collect();
    head.carry.set(COPY, tag);
}

/// A chat that began as a copy stays one in every context.
pub(crate) fn keep_mark(from: &Head, head: &mut Head) {
    head.carry.set_or_remove(COPY, from.carry.get(COPY).cloned());
}

/// The name of a message that came in, in the chat that has this head.
pub(crate) fn question(names: &dyn Names, head: &Head, seq: LedgerSeq, nth: usize) -> String {
    let name = names.question(seq, nth);
    match head.carry.str(COPY) {
        Some(tag) => format!("{name}_{tag}"),
        None => name,
    }
}

/// The id that a message of the ledger has in the contexts of its chat.
pub fn question_id(view: &View, seq: LedgerSeq) -> String {
    question(&ByPlace, &view.head, seq, 0)
}
