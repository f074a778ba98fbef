//! Named contexts inside one chat: leaving one, coming back to it, and looking into it.
//!
//! A sealed log is the truth about a context that was left. Everything here is made from it or about it, and
//! everything is pure: who calls it rotates the log, writes the files and runs the model.
//!
//! - [`Snapshot`] is what is written down of a context, [`Index`] the list of them, [`Utterance`] one thing that
//!   was said to somebody.
//! - [`title_of`] names a context that nobody named.
//! - [`find`] says which context somebody means.
//! - [`recalled`], [`from_history`] and [`before_the_first`] show something of the past, for reference only;
//!   [`place_references`] says where in a request it stands.
//! - [`message_left_behind`] is what a run leaves when it switches, [`may_switch`] keeps it from switching for
//!   ever, and [`calls_in_order`] makes calls that switch the last of their step.

mod find;
mod frame;
mod history;
mod index;
mod place;
mod reference;
mod rules;
mod snapshot;
mod story;
mod switch;
mod text;
mod title;
mod told;
mod turn;

pub use find::{Candidate, ContextMatch, find};
pub use frame::{ReferenceBudget, ReferenceTooLarge};
pub use history::{
    HistoryPosition, HistoryQuery, LOADED_A_RUN_MAX, LOADED_AT_ONCE_MAX, NotLoaded, VisibleEntries,
    before_the_first, from_history,
};
pub use index::{Index, IndexItem, LISTED_MAX, listing};
pub use place::{is_reference, is_reference_line, is_referenced, place_references};
pub use reference::{LoadMode, RecallMode, Reference, ReferenceOrigin, recalled};
pub use rules::{
    SWITCHES_A_RUN_MAX, Switch, SwitchRefusal, anything_said, calls_in_order, may_switch, switch_of,
};
pub use snapshot::{
    ArchiveNote, CheckpointMessage, ContextFacts, Snapshot, SnapshotLimits, Status, view_messages,
};
pub use switch::{MOVED, current_messages, message_left_behind, own_messages};
pub use title::{clean_title, title_of};
pub use told::{switch_line, switch_output};
pub use turn::{Speaker, Utterance, UtteranceLimits, newest, turns};
