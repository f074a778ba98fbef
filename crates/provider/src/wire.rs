//! The last stage before the network: messages as the bytes that a provider is sent.
//!
//! [`openai`] writes the body of an OpenAI-compatible chat completion, [`anthropic`] that of an Anthropic
//! message. Both are pure functions, and both give what the AI SDK's `generateText` sends for the same
//! messages and tools, key for key, so that a conversation can move between programs and find its cache
//! again. What the SDK refuses is a [`WireError`] with the SDK's name and words.
//!
//! Two things come before a format is written, and are the same for both. The messages are checked
//! (`check`), and become a `prompt`: tool messages in a row are one, every call has its result, a file
//! is either an address that the provider takes or its bytes. Bytes are not fetched here: [`addresses`]
//! tells what to fetch, and [`Files`] brings it along. What only the SDK's own programs need of this stands
//! in `sdk_compat`.
//!
//! A request is made for every step of a run, so texts and values are written from where they are.
//! `docs/wire.md` tells in a page what is sent for what.

mod anthropic;
mod data;
mod error;
mod openai;
mod prompt;
mod sdk_compat;
mod text;

pub use error::WireError;
pub use sdk_compat::files::{Files, addresses};

use ship_message::ModelMessage;

use crate::ToolSpec;

/// A provider's format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Chat completions, as OpenAI defined and many speak them.
    OpenAi,
    /// Anthropic messages.
    Anthropic,
}

impl Format {
    /// Its name, as settings and records have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
        }
    }
}

/// What a request says beside messages and tools.
#[derive(Clone, Copy, Debug)]
pub struct Parameters<'a> {
    /// The model's name.
    pub model: &'a str,
    /// How many tokens the answer may have. Anthropic demands a number, and gets the model's own limit
    /// when there is none here.
    pub max_tokens: Option<u64>,
    /// Under which name that is sent; Anthropic knows only one.
    pub max_tokens_field: MaxTokensField,
    /// How freely the model chooses its words. Not sent to models that refuse it.
    pub temperature: Option<f64>,
    /// Whether the answer is streamed.
    pub stream: bool,
    /// Whether to mark, for Anthropic, where the cache of a next request may begin. Marks that messages
    /// carry in their `providerOptions` are then left out, because four is the most that is allowed.
    pub cache_marks: bool,
}

/// The name of the field that limits the answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MaxTokensField {
    /// `max_tokens`: everybody but the newest models of OpenAI.
    #[default]
    MaxTokens,
    /// `max_completion_tokens`
    MaxCompletionTokens,
}

impl MaxTokensField {
    /// The field.
    pub fn name(self) -> &'static str {
        match self {
            Self::MaxTokens => "max_tokens",
            Self::MaxCompletionTokens => "max_completion_tokens",
        }
    }
}

impl<'a> Parameters<'a> {
    /// A request to a model with nothing but its name.
    pub fn new(model: &'a str) -> Self {
        Self {
            model,
            max_tokens: None,
            max_tokens_field: MaxTokensField::MaxTokens,
            temperature: None,
            stream: false,
            cache_marks: false,
        }
    }
}

/// A request to Anthropic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnthropicRequest {
    /// The body.
    pub body: String,
    /// What the body needs in the header `anthropic-beta`; with none, the header is not sent.
    pub betas: Vec<&'static str>,
}

/// Writes the body of an OpenAI-compatible chat completion.
///
/// ```
/// use ship_message::{ModelContent, ModelMessage, ModelRole};
/// use ship_provider::wire::{Files, Parameters, openai};
///
/// let hello = ModelMessage::new(ModelRole::User, ModelContent::Text("hello".into()));
/// let body = openai(&[hello], &[], &Parameters::new("m"), &Files::default())?;
/// assert_eq!(body, r#"{"model":"m","messages":[{"role":"user","content":"hello"}]}"#);
/// # Ok::<(), ship_provider::wire::WireError>(())
/// ```
///
/// # Errors
/// When the messages cannot be sent; see [`WireError`].
pub fn openai(
    messages: &[ModelMessage<'_>],
    tools: &[ToolSpec],
    parameters: &Parameters<'_>,
    files: &Files,
) -> Result<String, WireError> {
    openai::body(&prompt::of(messages, Format::OpenAi, files)?, tools, parameters)
}

/// Writes the body of an Anthropic message.
///
/// # Errors
/// When the messages cannot be sent; see [`WireError`].
pub fn anthropic(
    messages: &[ModelMessage<'_>],
    tools: &[ToolSpec],
    parameters: &Parameters<'_>,
    files: &Files,
) -> Result<AnthropicRequest, WireError> {
    anthropic::request(&prompt::of(messages, Format::Anthropic, files)?, tools, parameters)
}

/// What a tool says of itself; nothing is not sent as an empty text.
fn description(tool: &ToolSpec) -> Option<&str> {
    Some(tool.description.as_str()).filter(|description| !description.is_empty())
}
