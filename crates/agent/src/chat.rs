//! Reads what the logs of a chat say: pure functions of views, heads and ledger lines.
//!
//! Nothing here writes, waits for a model or knows the engine. All rooms above read a chat through these modules.

mod activation;
mod compacted_log;
mod compaction_state;
mod head_after_events;
mod last_operation;
mod ledger;
mod ledger_pages;
pub(crate) mod loaded_skills;
mod log_size;
mod message_ids;
mod open_request;
mod pending_switch;
mod shown_messages;
pub(crate) mod skill_changes;
mod view_messages;

pub use activation::Activation;
pub use message_ids::inbound_message_id;

pub(crate) use compacted_log::{is_summary_line, sealed_by, sealed_by_last_compaction};
pub(crate) use compaction_state::{
    COMPACTED, CompactionState, DEFERRED, DEFERRED_GENERATION, DEFERRED_TOKENS, PRUNED,
    SEALED_GENERATION, WARNED, is_undoable, pruned_by_head, pruned_outputs,
};
pub(crate) use head_after_events::{
    CHECKPOINT, OF, RENAMED, context_title, gives_title, head_after_events, predecessor,
    sealed_head_after_events,
};
pub(crate) use last_operation::{
    AT, CheckpointChange, LastOperation, OPERATED, Places, UNSHOWN, WAS, carry_last_operation,
    is_just_compacted, is_switch, last_operation, messages_since_operation, place_to_json,
};
pub(crate) use ledger::{is_message, lines_up_to, message_lines, promoted_messages};
pub(crate) use ledger_pages::{EarlierPages, LEDGER_PAGE, LaterPages};
pub(crate) use log_size::LogSize;
pub(crate) use message_ids::{LedgerMessageIds, MessageIds, inbound_id_in};
pub(crate) use open_request::{OpenRequest, has_content, messages_left_behind, open_request_ids};
pub(crate) use pending_switch::{last_step, switching_call};
pub(crate) use ship_store::carry::{ENTERED, SWITCHED};
pub(crate) use shown_messages::show_messages;
pub(crate) use view_messages::view_messages;
