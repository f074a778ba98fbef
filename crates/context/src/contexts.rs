//! Named contexts inside one chat: leaving one, coming back to it, and looking into it.
//!
//! A sealed log is the truth about a context that was left, and everything here is derived from it. Everything is
//! pure: the caller rotates the log, writes the files and runs the model.
//!
//! - [`Snapshot`] describes a context, [`Index`] lists them, and [`Utterance`] is one message to or
//!   from the person.
//! - [`title_of_utterances`] makes a title for a context without one.
//! - [`find_context`] finds the context that a query means.
//! - [`recall_reference`], [`message_reference`], [`history_reference`] and [`earlier_talk_reference`] show a part of the
//!   past, for reference only; [`FetchedReferences`] tells what a model has fetched.
//! - [`message_left_behind`] is the message that a run leaves when it switches, [`check_switch`] limits the switches
//!   of a run, and [`calls_in_order`] makes switching calls the last of their step.

mod context_search;
mod frame;
mod history;
mod index;
mod message_reference;
mod moved_messages;
mod plain_text;
mod reference;
mod snapshot;
mod story;
mod switch_output;
mod switch_rules;
mod title;
mod utterance;

pub use crate::shown_references::{
    FetchedReferences, fetched_reference, is_reference, is_reference_around, is_reference_to,
    reference_content,
};
pub use context_search::{Candidate, ContextMatch, find_context};
pub use frame::{ReferenceBudget, ReferenceTooLarge};
pub use history::{
    HistoryPosition, LOADED_A_RUN_MAX, LOADED_AT_ONCE_MAX, LedgerQuery, NotLoaded, VisibleEntries,
    earlier_talk_reference, history_reference,
};
pub use index::{Index, IndexItem, LISTED_MAX, listing_json};
pub use message_reference::{MessageInPast, message_reference};
pub use moved_messages::{message_left_behind, own_messages};
pub use reference::{LoadMode, RecallMode, Reference, ReferenceOrigin, recall_reference};
pub use snapshot::{
    ArchiveNote, CheckpointMessage, ContextFacts, Snapshot, SnapshotLimits, Status,
};
pub use switch_output::switch_output;
pub use switch_rules::{
    SWITCHES_A_RUN_MAX, Switch, SwitchRefusal, calls_in_order, check_switch, has_other_messages,
    switch_of,
};
pub use title::{
    branch_title, clean_title, title_of_messages, title_of_utterances, without_branch_note,
};
pub use utterance::{Speaker, Utterance, UtteranceLimits, newest_within, utterances};
