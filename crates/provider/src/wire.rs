//! Writes messages as the bytes that a provider receives; the last stage before the network.
//!
//! [`openai`] writes the body of an OpenAI-compatible chat completion, [`anthropic`] that of an Anthropic message.
//! Both are pure functions. Both give what the AI SDK's `generateText` sends for the same messages and tools, key
//! for key, so that a conversation can move between programs and still hit its cache. Input that the SDK refuses is
//! a [`WireError`] with the SDK's name and words.
//!
//! Two steps come before the format, and are the same for both. The messages are checked (`check`), and become a
//! `prompt`: consecutive tool messages are one, every call has its result, and a file is either an address that the
//! provider takes or its bytes. Bytes are not fetched here: [`addresses`] lists what to fetch, and [`Files`] holds
//! the result. The part that only the SDK's own programs need is in `sdk_compat`.
//!
//! A request is made for every step of a run, so texts and values are written without copying them first.
//! `docs/wire.md` lists on one page what is sent for what.

mod anthropic;
mod anthropic_block;
mod anthropic_message;
mod error;
mod file_content;
mod json_text;
mod openai;
mod prompt;
mod prompt_message;
mod provider_options;
mod sdk_compat;

pub use error::WireError;
pub use sdk_compat::files::{Files, addresses};

use ship_message::{ModelMessage, names};

use crate::ToolSpec;

/// The format of a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// OpenAI's chat completions, which many hosts offer.
    OpenAi,
    /// The messages API of Anthropic.
    Anthropic,
}

names!(Format { OpenAi = "openai", Anthropic = "anthropic" });

/// The parameters of a request besides messages and tools.
#[derive(Clone, Copy, Debug)]
pub struct Parameters<'a> {
    /// The name of the model.
    pub model: &'a str,
    /// The number of tokens that the answer may have. Anthropic requires a number, and gets the model's own limit
    /// if there is none here.
    pub max_tokens: Option<u64>,
    /// The name of the field for it; Anthropic knows only one.
    pub max_tokens_field: MaxTokensField,
    /// The randomness of the answer. It is not sent to models that refuse it.
    pub temperature: Option<f64>,
    /// Whether the answer is streamed.
    pub stream: bool,
    /// Whether a streamed answer of OpenAI's is asked to end with its cost. Anthropic's always does.
    pub stream_usage: bool,
    /// Whether the places are marked, for Anthropic, where the cache of a next request may begin. The marks in the
    /// `providerOptions` of messages are then left out, because only four are allowed.
    pub cache_marks: bool,
}

/// The name of the field that limits the answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MaxTokensField {
    /// `max_tokens`, for all but the newest models of OpenAI.
    #[default]
    MaxTokens,
    /// `max_completion_tokens`, for the newest models of OpenAI.
    MaxCompletionTokens,
}

names!(MaxTokensField {
    MaxTokens = "max_tokens",
    MaxCompletionTokens = "max_completion_tokens",
});

impl<'a> Parameters<'a> {
    /// Makes parameters with only the name of the model.
    pub fn new(model: &'a str) -> Self {
        Self {
            model,
            max_tokens: None,
            max_tokens_field: MaxTokensField::MaxTokens,
            temperature: None,
            stream: false,
            stream_usage: true,
            cache_marks: false,
        }
    }
}

/// A request to Anthropic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnthropicRequest {
    /// The JSON text of the request.
    pub body: String,
    /// The values that the body needs in the header `anthropic-beta`; without any, the header is not sent.
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
/// Fails if the messages cannot be sent; see [`WireError`].
pub fn openai(
    messages: &[ModelMessage<'_>],
    tools: &[ToolSpec],
    parameters: &Parameters<'_>,
    files: &Files,
) -> Result<String, WireError> {
    openai::write_body(&prompt::prompt_of(messages, Format::OpenAi, files)?, tools, parameters)
}

/// Writes the body of an Anthropic message.
///
/// # Errors
/// Fails if the messages cannot be sent; see [`WireError`].
pub fn anthropic(
    messages: &[ModelMessage<'_>],
    tools: &[ToolSpec],
    parameters: &Parameters<'_>,
    files: &Files,
) -> Result<AnthropicRequest, WireError> {
    anthropic::write_request(
        &prompt::prompt_of(messages, Format::Anthropic, files)?,
        tools,
        parameters,
    )
}

/// Returns the description of a tool, unless it is empty.
fn description(tool: &ToolSpec) -> Option<&str> {
    Some(tool.description.as_str()).filter(|description| !description.is_empty())
}
