//! Compaction: makes room in a context that has grown too large, before the next step.
//!
//! `ship_context::compact` decides what is left out and what takes its place. Here the model is asked for a
//! summary, and the log is rotated. The whole old log is sealed, so nothing is lost and everything can be restored.
//! Finished steps of the run stay: no tool runs again because of a compaction.
//!
//! - `make_room` is the entry for a run, `agent_compact` for a person; `plan` decides, `carry_out` acts.
//! - `summarise` makes a summary or an extract, `summariser` asks the model, `continuation` in the chat itself, and
//!   `saved_draft` avoids paying twice.
//! - `meta_file` writes `messages/meta.json`, `purge_originals` removes originals that are not to be kept, and
//!   `undo_compaction` restores the originals.

mod agent_compact;
mod carry_out;
mod continuation;
mod make_room;
mod meta_file;
mod plan;
mod purge_originals;
mod saved_draft;
mod summarise;
mod summariser;
mod undo_compaction;

pub use agent_compact::{Compaction, CompactionPreview};
pub use undo_compaction::CompactionUndo;

pub(crate) use make_room::{CompactionOutcome, CompactionReason, make_room, prepare_current};
pub(crate) use purge_originals::finish_purge;
