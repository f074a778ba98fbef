//! Decisions about contexts.
//!
//! Everything here is a pure function of its arguments: it opens no file and no socket, and it knows no
//! clock. What acts on these decisions is the agent.
//!
//! - [`system_blocks`] says what a model is told before anything was said.
//! - [`shown_to_model`] says what a model is shown of what was said.
//! - [`compact`] says what is left out of a context that has grown too large, and what takes its place.
//! - [`contexts`] says what is kept of a context that was left, and what a run sees when it goes to another.
//! - [`close_message`] ends the message of a run.
//! - [`input_budget`] says how large a request may be before the history is summarised.
//! - [`Tokenizer`] says how much of a model's window something takes, [`Calibration`] what the provider will
//!   make of it.
//! - [`recover`] says what is to be done about a chat, from what its logs hold.

// A new kind of part or chunk must stop the build wherever it matters.
#![warn(clippy::wildcard_enum_match_arm)]

mod blocks;
mod budget;
mod close;
pub mod compact;
pub mod contexts;
mod journal;
mod recover;
mod settle;
mod shown;
mod tokens;

pub use blocks::{BlockSources, LoadedSkill, OutputRules, SkillLine, SystemBlock, system_blocks};
pub use budget::input_budget;
pub use close::close_message;
pub use journal::{Journal, JournalLine, RunStart};
pub use recover::{KnownTools, OBSERVED, Recovery, ends_with_a_question, is_question, recover};
pub use settle::{SETTLED, SettledWork, joined};
pub use shown::{ShownLimits, shown_to_model};
pub use tokens::{Calibration, TokenCache, Tokenizer, file_tokens_at_most, surely_fits};
