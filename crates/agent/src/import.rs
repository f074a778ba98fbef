//! Imports the conversations of a file into a chat.
//!
//! Each conversation becomes a context. In a chat where something was said, it is an archived one; in an empty chat, the
//! last conversation of the file is the active context, with its newest messages behind an extract of the others. An import is
//! all or nothing, because the store publishes it in one step.
//!
//! - `survey` reads the file once: what is in it, and what cannot be represented.
//! - `known_imports` finds the earlier imports of a chat, and `decision` compares them with the file.
//! - `adapted_message` makes a message one of this chat.
//! - `log_division` divides a long context into logs, as compactions would have, and `pieces` gives them to the store.
//! - `agent_import` does it all, and `report` tells what was done.

mod adapted_message;
mod agent_import;
mod decision;
mod known_imports;
mod log_division;
mod pieces;
mod report;
mod survey;

pub use agent_import::{ImportFailure, ImportWishes};
pub use report::{ContextFate, ImportReport, ImportedContext};
pub use survey::read_conversations;
