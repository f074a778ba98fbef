//! A conversation in one file: messages and events, a line for each.

mod entry;

pub use entry::{ContextEntry, EntryError, EntryRole, EventEntry, MessageEntry};
