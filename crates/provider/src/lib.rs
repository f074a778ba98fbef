//! What answers a request.
//!
//! A [`Provider`] takes a [`Request`] and streams the answer of one step as the chunks of the AI SDK's UI
//! message stream, so that what a listener sees, what is put together and what is stored are one thing. It
//! never sees a store, and it never runs a tool: it only says which it wants run.
//!
//! [`compile`] makes of a history a request that no provider refuses, [`wire`] writes it in the provider's
//! format, and [`overflow`] tells which of its errors mean that it was too long. A [`Recipe`] writes the same
//! bytes again, and a [`CachedSequence`] is what a provider's cache sees of them.
//!
//! [`HttpProvider`] asks OpenAI, Anthropic, or whoever speaks like one of them. [`Offline`] needs no key and no
//! network. It is a small deterministic stand-in, and says so.

pub mod overflow;
pub mod wire;

mod compile;
mod error;
mod http;
mod models;
mod offline;
mod recipe;
mod request;
mod sequence;

pub use compile::{CompileTarget, SendFiles, ToolNames, compile};
pub use error::{Deadline, ProviderError};
#[doc(hidden)]
pub use http::read_answer;
pub use http::{ApiKey, HttpProvider, HttpSettings, Pace, SystemPace};
pub use models::window_tokens;
pub use offline::Offline;
pub use recipe::Recipe;
pub use request::{Request, ToolSpec};
pub use sequence::{CachedSequence, Section};

use std::future::Future;
use std::pin::Pin;

use ship_message::{Chunk, FinishReason};

/// What takes the chunks of an answer as they come.
pub type ChunkSink<'a> = Box<dyn FnMut(Chunk) + Send + 'a>;

/// An answer on its way. Dropping it stops the answer.
pub type AnswerFuture<'a> =
    Pin<Box<dyn Future<Output = Result<AnswerEnd, ProviderError>> + Send + 'a>>;

/// What is told of a body that goes out in place of the one that was given: how it is written, and itself.
pub type ResentSink<'a> = Box<dyn FnMut(Recipe, &str) + Send + 'a>;

/// A language model, wherever it is.
pub trait Provider: Send + Sync {
    /// The provider's name, as `llm.provider` names it.
    fn name(&self) -> &str;

    /// The model's name.
    fn model(&self) -> &str;

    /// How many tokens the model takes, if that is known.
    fn window_tokens(&self) -> Option<u64>;

    /// Whether it can be asked to sum up what was said.
    fn can_summarise(&self) -> bool {
        true
    }

    /// How it would write a body now. A refusal may change it, so it is asked for each request anew.
    fn recipe(&self) -> Recipe {
        Recipe::plain(self.name(), self.model())
    }

    /// Answers one request: text, reasoning and calls of tools go to `sink` as they come.
    ///
    /// `body` is the request written by [`Provider::recipe`], and is sent byte for byte.
    ///
    /// Text and reasoning are begun, grown and ended; a tool call is a `tool-input-available` chunk once
    /// the whole answer is there, or `tool-input-error` when its input cannot be read. A `data-notice` that
    /// is not kept tells what the provider waits for. Nothing else of the protocol is sent.
    fn answer<'a>(
        &'a self,
        request: &'a Request<'_>,
        body: &'a str,
        sink: ChunkSink<'a>,
    ) -> AnswerFuture<'a>;

    /// As [`Provider::answer`], for who must know of every body that goes out. A model may refuse a file, or
    /// a field under its old name, and is asked again with another body, which `resent` is told before it
    /// goes.
    fn answer_or_resend<'a>(
        &'a self,
        request: &'a Request<'_>,
        body: &'a str,
        sink: ChunkSink<'a>,
        resent: ResentSink<'a>,
    ) -> AnswerFuture<'a> {
        drop(resent);
        self.answer(request, body, sink)
    }
}

/// How an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnswerEnd {
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
