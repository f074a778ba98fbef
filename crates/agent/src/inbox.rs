//! The inbox of a chat: the entries that wait in its ledger, and which come next.

mod input_room;
mod next_input;
mod operation_entry;
mod stop_entry;
mod unread_ledger;

pub(crate) use next_input::{NextInput, has_input, has_question};
pub(crate) use operation_entry::{COMMAND, outcome_key, outcome_of};
pub(crate) use stop_entry::{is_stopped, stop_entry};
pub(crate) use unread_ledger::{MissedAnswers, UnreadLedger, answer_key, missed_answers};
