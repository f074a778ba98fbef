//! Named contexts inside one chat: leaving one, coming back to it, and looking into it.
//!
//! A sealed log is the truth about a context that was left, and everything here is derived from it. Everything is
//! pure: the caller rotates the log, writes the files and runs the model.
//!
//! - [`Snapshot`] describes a context, [`Index`] lists them, and [`Utterance`] is one message to or
//!   from the person.
//! - [`title_of`] makes a title for a context without one.
//! - [`find`] finds the context that a query means.
//! - [`recalled`], [`from_history`] and [`before_the_first`] show a part of the past, for reference only;
//!   [`place_references`] decides where it stands in a request.
//! - [`message_left_behind`] is the message that a run leaves when it switches, [`may_switch`] limits the switches
//!   of a run, and [`calls_in_order`] makes switching calls the last of their step.

mod context_search;
mod frame;
mod history;
mod index;
mod moved_messages;
mod placed_references;
mod plain_text;
mod reference;
mod snapshot;
mod story;
mod switch_output;
mod switch_rules;
mod title;
mod utterance;

pub use context_search::{Candidate, ContextMatch, find};
pub use frame::{ReferenceBudget, ReferenceTooLarge};
pub use history::{
    HistoryPosition, HistoryQuery, LOADED_A_RUN_MAX, LOADED_AT_ONCE_MAX, NotLoaded, VisibleEntries,
    before_the_first, from_history,
};
pub use index::{Index, IndexItem, LISTED_MAX, listing};
pub use moved_messages::{MOVED, message_left_behind, own_messages};
pub use placed_references::{is_reference, is_referenced, place_references};
pub use reference::{LoadMode, RecallMode, Reference, ReferenceOrigin, recalled};
pub use snapshot::{
    ArchiveNote, CheckpointMessage, ContextFacts, Snapshot, SnapshotLimits, Status, view_messages,
};
pub use switch_output::{switch_line, switch_output};
pub use switch_rules::{
    SWITCHES_A_RUN_MAX, Switch, SwitchRefusal, anything_said, calls_in_order, may_switch, switch_of,
};
pub use title::{clean_title, made_title, title_of};
pub use utterance::{Speaker, Utterance, UtteranceLimits, newest, turns};
