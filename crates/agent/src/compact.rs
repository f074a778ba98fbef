//! Compaction: a context that has grown too large makes room before the next step.
//!
//! What is left out and what takes its place is decided in `ship_context::compact`; here the model is asked
//! for a summary, and the log is rotated. The whole old log is sealed, so nothing is lost and everything can
//! be brought back. Finished steps of the run stay as they are: no tool runs again because of a compaction.
//!
//! - `make_room` is the way in for a run, `agent_compact` for a person; `plan` decides, `carry_out` does it.
//! - `summarise` gets a summary or an extract, `summariser` asks the model, `saved_draft` pays for no summary twice.
//! - `meta_file` writes `messages/meta.json`, `purge_originals` removes what is not to be kept, and
//!   `undo_compaction` brings the originals back.

mod agent_compact;
mod carry_out;
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

pub(crate) use make_room::{CompactionOutcome, CompactionReason, make_room, prepared};
pub(crate) use purge_originals::finish_purge;
