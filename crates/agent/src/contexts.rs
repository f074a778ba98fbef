//! Contexts: leaving one, coming back to it, branching off.
//!
//! A chat works in one context at a time; the others are archived. A model and a person have the same operations:
//! the whole log is sealed and another takes its place, in one write that is durable when it returns. Sealed logs
//! are the truth. The lists and search texts are written after that, and again if they are missing.
//!
//! - `operate` performs an operation: `target_origin` finds what it continues with, `target_log` makes the log of that,
//!   `publish` publishes it.
//! - `archive` keeps the list of archived contexts, `list` shows them, `recall` shows one for reference and
//!   `recall_message` a message with its neighbours.
//! - `log_place` finds a checkpoint or a message in any log.
//! - `rename_and_checkpoint` has the operations that leave no context, `fork_to_chat` copies to another chat, and
//!   `undo_in_place` undoes operations that did not leave the context. `undo_preview` tells what an undo would do,
//!   and `last_exchanges` what a person takes back when it would undo nothing.
//! - `tool_calls` answers a model's calls, `search_call` those that search, `switch_request` is the switch that one asks for, and `queued_operation`
//!   performs a person's operation in a chat at rest.
//! - `lost_messages` finds what a damaged log has lost and the snapshot of its context still tells.
//! - `restored_log` gives a log that was replaced by an older copy a context of its own.
//! - `talk_before_first` is the beginning of a chat's first context.

mod archive;
mod fork_to_chat;
mod last_exchanges;
mod list;
mod log_place;
mod lost_messages;
mod operate;
mod publish;
mod queued_operation;
mod recall;
mod recall_message;
mod rename_and_checkpoint;
mod restored_log;
mod search_call;
mod switch_request;
mod talk_before_first;
mod target_log;
mod target_origin;
mod tool_calls;
mod undo_in_place;
mod undo_preview;

pub use last_exchanges::LastExchanges;
pub use list::ContextList;
pub use undo_preview::UndoPreview;

pub(crate) use archive::refresh_archive;
pub(crate) use list::active_context;
pub(crate) use operate::{move_cursor, operate_from_ledger, plan};
pub(crate) use queued_operation::{announce_outcome, operate_idle};
pub(crate) use restored_log::separate_restored_log;
pub(crate) use switch_request::SwitchRequest;
pub(crate) use talk_before_first::reference_to_earlier_talk;
pub(crate) use target_origin::OperationPlan;
pub(crate) use tool_calls::{RunSwitches, answer_call};
pub(crate) use undo_in_place::undo_stays;
