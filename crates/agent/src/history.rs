//! The history of a chat: its messages in all contexts, in the order in which they were said, each once.
//!
//! Copies of a message count once, wherever a compaction, a fork, a switch or an undo has put them. A summary or a
//! reference was never said, so it is no history; what a summary covers comes from the sealed logs. Messages that wait
//! in the ledger stand at the end.
//!
//! A page costs the logs that have its messages, and not the age of the chat: the live log, and the sealed ones from
//! the place of the cursor on.

mod found_messages;
mod history_cursor;
mod history_page;
mod history_reader;
#[cfg(test)]
mod tests;

pub use history_cursor::{HistoryCursor, HistoryCursorError};
pub use history_page::{HistoryMessage, HistoryPage, HistoryQuery};
pub use history_reader::HistoryReader;
