//! What answers a request.
//!
//! A [`Provider`] takes a [`Request`] and streams the answer of one step as the chunks of the AI SDK's UI
//! message stream, so that what a listener sees, what is put together and what is stored are one thing. It
//! never sees a store, and it never runs a tool: it only says which it wants run.
//!
//! [`Offline`] needs no key and no network. It is a small deterministic stand-in, and says so.

mod offline;
mod request;

pub use offline::Offline;
pub use request::{Request, ToolSpec};

use std::future::Future;
use std::pin::Pin;

use ship_message::{Chunk, FinishReason};

/// What takes the chunks of an answer as they come.
pub type Sink<'a> = Box<dyn FnMut(Chunk) + Send + 'a>;

/// An answer on its way. Dropping it stops the answer.
pub type Answering<'a> = Pin<Box<dyn Future<Output = Result<Answered, ProviderError>> + Send + 'a>>;

/// A language model, wherever it is.
pub trait Provider: Send + Sync {
    /// The provider's name, as `llm.provider` names it.
    fn name(&self) -> &str;

    /// The model's name.
    fn model(&self) -> &str;

    /// How many tokens the model takes, if that is known.
    fn window_tokens(&self) -> Option<u64>;

    /// Answers one request: text, reasoning and calls of tools go to `sink` as they come.
    ///
    /// Text and reasoning are begun, grown and ended; a tool call is a `tool-input-available` chunk once
    /// its input is whole. Nothing else of the protocol is sent.
    fn answer<'a>(&'a self, request: &'a Request<'_>, sink: Sink<'a>) -> Answering<'a>;
}

/// How an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answered {
    /// Why it ended.
    pub finish_reason: FinishReason,
    /// What it cost, if the provider says.
    pub usage: Option<Usage>,
}

/// What an answer cost, in tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Everything that was sent, read from a cache or not.
    pub input: u64,
    /// Of that, what was read from a cache.
    pub cached: u64,
    /// Everything that came back.
    pub output: u64,
}

/// Why there is no answer. Nothing of it was run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProviderError {
    /// The provider failed, and may not the next time.
    #[error("{provider} could not answer: {reason}")]
    Failed {
        /// The provider's name.
        provider: String,
        /// What it said.
        reason: String,
    },
}
