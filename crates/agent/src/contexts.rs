//! Contexts: leaving one, coming back to it, branching off.
//!
//! A chat works in one context at a time; the others are archived. Whoever wants one of these operations, a
//! model or a person, gets the same one: the log is sealed whole and another is put in its place, in one write
//! that is durable when it returns. Sealed logs are the truth; what is listed and searched is written after
//! that, and again when it is missing.
//!
//! - `ContextOperation` is what can be done, `OperationOutcome` what came of it.
//! - `place` finds a checkpoint or a message in whatever log holds it.
//! - `target` makes the log that an operation publishes, `turn` publishes it, and `shelf` keeps what is known of
//!   archived contexts. `stays` is what leaves no context, `elsewhere` what goes to another chat.
//! - `last_operation` finds what an undo takes back, and `back` takes back what was done without leaving the context.
//! - `first` is what a chat's first context begins with.
//! - `current` tells what the person waits for: it goes along wherever an operation leads.
//! - `called` answers a model's calls, and `round` ends a run that does nothing but switch; `look` shows what is
//!   there.
//! - `asked` takes a person's operation through the ledger, so that whoever holds the lane does it at the next
//!   boundary; `midway` does one in the middle of a run.

mod asked;
mod back;
mod called;
mod current;
mod elsewhere;
mod first;
mod last_operation;
mod look;
mod midway;
mod operation;
mod place;
mod round;
mod shelf;
mod stays;
mod target;
mod title;
mod turn;

pub use look::ContextList;

pub(crate) use asked::{operate_at_rest, operation_of, was_done};
pub(crate) use called::{answer_call, place_said};
pub(crate) use first::said_before;
pub(crate) use last_operation::{UNDO, carry_last_operation};
pub(crate) use look::began;
pub(crate) use midway::{operate_midway, stopped_by_somebody, stops, switch, switching_call};
pub(crate) use operation::LockedChatRef;
pub(crate) use round::goes_round;
pub(crate) use shelf::ContextArchive;
pub(crate) use title::folded;

/// What a head says of the operation that published its context.
pub(crate) const OPERATION: &str = "operation";
/// The sealed log whose lines a loaded context goes on with.
pub(crate) const CONTINUES: &str = "continues";
/// A head remembers what a run has left behind, until its next journal is begun.
pub(crate) const SETTLED: &str = "settled";
/// The message that a log ends with though nobody waits for an answer to it.
pub(crate) const ANSWERED: &str = "answered";
