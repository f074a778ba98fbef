//! Decides about contexts, without acting.
//!
//! Everything here is a pure function of its arguments: it opens no file and no socket, and has no clock. The agent
//! acts on these decisions.
//!
//! ```
//! use ship_context::{Tokenizer, input_budget, open_request};
//! use ship_message::{Role, UiMessage, UiPart};
//!
//! let said = |id: &str, role, text: &str| UiMessage::new(id, role, vec![UiPart::text(text)]);
//! let messages = [
//!     said("u1", Role::User, "Which boat leaves first?"),
//!     said("a1", Role::Assistant, "The blue one, at nine."),
//!     said("u2", Role::User, "And the last?"),
//! ];
//! // Only the last question waits for an answer.
//! assert_eq!(open_request(&messages, "run", None), [2]);
//!
//! // A model that takes 8,000 tokens, and may answer with 1,000.
//! let tokens: u64 = messages.iter().map(|it| Tokenizer::for_model("gpt-4o").count(&it.text())).sum();
//! assert!(tokens < input_budget(None, Some(8_000), 1_000));
//! ```
//!
//! - [`system_blocks`] makes the texts that a model reads before all messages.
//! - [`shown_to_model`] prepares the messages that a model is shown.
//! - [`texts_for_user`] finds what a person got by a message.
//! - [`compact`] plans what is left out of a context that has grown too large, and what takes its place.
//! - [`contexts`] describes contexts that were left, and what a run sees when it goes to another.
//! - [`close_message`] ends the message of a run.
//! - [`input_budget`] computes how large a request may be before the history is summarised.
//! - [`Tokenizer`] counts tokens, and [`Calibration`] learns how many the provider counts.
//! - [`open_request`] finds the messages that wait for an answer.
//! - [`search`] finds messages by words, and ranks them.
//! - [`recover`] decides what to do about a chat, from its logs.

// A new kind of part or chunk must stop the build wherever it matters.
#![warn(clippy::wildcard_enum_match_arm)]

mod budget;
mod closed_message;
pub mod compact;
pub mod contexts;
mod cut_text;
mod journal;
mod last_answer;
mod open_request;
mod recovery;
pub mod search;
mod shown_messages;
mod shown_references;
mod system_blocks;
mod text_for_user;
mod tokens;

pub use budget::input_budget;
pub use closed_message::close_message;
pub use journal::{
    Journal, JournalLine, RunStart, SettledWork, is_later_message, join_texts, lost_run,
};
pub use last_answer::note_about_last_answer;
pub use open_request::open_request;
pub use recovery::{
    KnownTools, OBSERVED, Recovery, ends_with_question, is_from_person, is_observed, is_question,
    is_waiting_call, recover,
};
pub use shown_messages::{ShowRules, shown_to_model};
pub use system_blocks::{
    BlockSources, LoadedSkill, OutputRules, SkillLine, SystemBlock, system_blocks,
};
pub use text_for_user::{SentText, SentTexts, texts_for_user};
pub use tokens::{
    Calibration, CountProgress, KnownCounts, Tokenizer, file_tokens_at_most, surely_fits,
};
