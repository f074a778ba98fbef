//! The inbox of a chat: what waits in its ledger, and what of that comes next.

mod next_input;
mod operation_entry;
mod unread_ledger;

pub(crate) use next_input::NextInput;
pub(crate) use operation_entry::{COMMAND, outcome_key, outcome_of};
pub(crate) use unread_ledger::{MissedAnswers, UnreadLedger, answer_key, missed};
