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
//! - `back` takes back what was done without leaving the context.
//! - `first` is what a chat's first context begins with.
//! - `called` answers a model's calls, and `round` ends a run that does nothing but switch; `look` shows what is
//!   there.
//! - `asked` takes a person's operation through the ledger, so that whoever holds the lane does it at the next
//!   boundary; `midway` does one in the middle of a run.

mod asked;
mod back;
mod called;
mod elsewhere;
mod first;
mod look;
mod midway;
mod place;
mod round;
mod shelf;
mod stays;
mod target;
mod turn;

pub use look::ContextList;

pub(crate) use asked::operate_at_rest;
pub(crate) use called::answer_call;
pub(crate) use first::said_before;
pub(crate) use look::began;
pub(crate) use midway::{operate_midway, stopped_by_somebody, stops, switch};
pub(crate) use round::goes_round;
pub(crate) use shelf::ContextArchive;
