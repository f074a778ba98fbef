//! The inbox of a chat: the entries that wait in its ledger, and which come next.

mod chat_queue;
mod input_room;
mod next_input;
mod operation_entry;
mod stop_entry;
mod unread_ledger;
mod unread_lines;
mod waiting;

pub use chat_queue::{ChatQueue, OpenRun, WaitingEntry};

pub(crate) use next_input::{NextInput, has_input, has_operation, has_question};
pub(crate) use operation_entry::{COMMAND, outcome_key, outcome_of};
pub(crate) use stop_entry::{is_stopped, stop_entry};
pub(crate) use unread_ledger::{
    MissedAnswers, UnreadLedger, answer_key, last_read, missed_answers,
};
pub(crate) use waiting::{newest_waiting, queued_message};
