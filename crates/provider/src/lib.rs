//! Asks language models for answers.
//!
//! A [`Provider`] takes a [`Request`] and streams the answer of one step as chunks of the AI SDK's UI message
//! stream. So a listener, the assembled message and the log all see the same. A provider never sees a store and
//! never runs a tool: it only says which tools to call.
//!
//! ```
//! use ship_message::{Assembler, FinishReason, Role, UiMessage, UiPart};
//! use ship_provider::{Offline, Provider, Request};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), ship_provider::ProviderError> {
//! let messages = [UiMessage::new("u1", Role::User, vec![UiPart::text("Ahoy!")])];
//! let request = Request { system: &[], view: &messages, tools: &[], max_tokens: 1_000 };
//! let body = Offline.recipe().body(&request)?;
//!
//! let mut answer = Assembler::new("a1", None);
//! let sink = Box::new(|chunk| answer.push(chunk).expect("the chunks of an answer fit"));
//! let end = Offline.answer(&request, &body, sink).await?;
//! assert_eq!(end.finish_reason, FinishReason::Stop);
//! assert!(answer.into_message().text().ends_with("You said: Ahoy!"));
//! # Ok(())
//! # }
//! ```
//!
//! [`compile`] turns a history into a request that no provider refuses, [`wire`] writes it in the provider's
//! format, and [`overflow`] recognises the errors of a request that was too long. A [`Recipe`] writes the same
//! bytes again, and a [`CachedSequence`] is the part of them that a provider's cache sees.
//!
//! [`HttpProvider`] asks OpenAI, Anthropic, or a compatible host. [`Offline`] needs no key and no network; it is a
//! small deterministic substitute, and says so.

pub mod overflow;
pub mod wire;

mod cached_sequence;
mod compile;
mod error;
mod host_forms;
mod http;
mod model_windows;
mod offline;
mod recipe;
mod request;

pub use cached_sequence::CachedSequence;
pub use compile::{CompileTarget, SendFiles, ToolNames, compile};
pub use error::{Deadline, ProviderError};
pub use host_forms::{HostForm, HostForms};
#[doc(hidden)]
pub use http::read_answer;
pub use http::{ApiKey, HttpProvider, HttpSettings, Pace, SystemPace};
pub use model_windows::window_tokens;
pub use offline::Offline;
pub use recipe::Recipe;
pub use request::{Request, ToolSpec};

use std::future::Future;
use std::pin::Pin;

use ship_message::{Chunk, FinishReason};

/// Receives the chunks of an answer as they come.
pub type ChunkSink<'a> = Box<dyn FnMut(Chunk) + Send + 'a>;

/// The future of an answer. Dropping it stops the answer.
pub type AnswerFuture<'a> =
    Pin<Box<dyn Future<Output = Result<AnswerEnd, ProviderError>> + Send + 'a>>;

/// Receives a body that is sent instead of the given one, with its recipe.
pub type ResentSink<'a> = Box<dyn FnMut(Recipe, &str) + Send + 'a>;

/// A language model, local or remote.
pub trait Provider: Send + Sync {
    /// Returns the name of the provider, as `llm.provider` has it.
    fn name(&self) -> &str;

    /// Returns the name of the model.
    fn model(&self) -> &str;

    /// Returns the address of the host, if there is one. What is learned of a host is kept under its provider,
    /// address and model.
    fn address(&self) -> Option<&str> {
        None
    }

    /// Returns the number of tokens that the model takes, if it is known.
    fn window_tokens(&self) -> Option<u64>;

    /// Whether the model can write summaries.
    fn can_summarise(&self) -> bool {
        true
    }

    /// Returns the forms that the host wants, as far as it has shown by refusing others.
    fn forms(&self) -> HostForms {
        HostForms::default()
    }

    /// Takes over the forms that the host has wanted from another process.
    fn adopt_forms(&self, _forms: HostForms) {}

    /// Returns the recipe of the next body. A refusal may change it, so the caller asks for it before each request.
    fn recipe(&self) -> Recipe {
        Recipe::plain(self.name(), self.model())
    }

    /// Answers one request: text, reasoning and calls of tools go to `sink` as they come.
    ///
    /// `body` is the request as [`Provider::recipe`] writes it, and is sent byte for byte.
    ///
    /// Text and reasoning begin, grow and end. A tool call is a `tool-input-available` chunk after the whole answer
    /// has arrived, or `tool-input-error` if its input cannot be parsed. A transient `data-notice` says what the
    /// provider waits for. No other chunks are sent.
    fn answer<'a>(
        &'a self,
        request: &'a Request<'_>,
        body: &'a str,
        sink: ChunkSink<'a>,
    ) -> AnswerFuture<'a>;

    /// Does the same as [`Provider::answer`] for a caller that must know every body that is sent. A model may
    /// refuse a file, or a field under its old name. It is then asked again with another body, which `resent`
    /// receives before it is sent.
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

/// The end of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnswerEnd {
    /// The reason why it ended.
    pub finish_reason: FinishReason,
    /// The cost of the answer, if the provider reports it.
    pub usage: Option<Usage>,
}

/// The cost of an answer in tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Usage {
    /// The tokens of the request, read from a cache or not.
    pub input: u64,
    /// The part of them that was read from a cache.
    pub cached: u64,
    /// The tokens of the answer.
    pub output: u64,
}
