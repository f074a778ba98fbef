//! What a request is judged by, and what the judgement is.

use serde_json::Value;

/// How a server judges requests. The default is the real service with a recent model and no limits.
#[derive(Clone, Debug)]
pub struct Rules {
    /// Whether only the real service's rules hold, or those of its strictest imitators as well.
    pub strictness: Strictness,
    /// Which key it wants.
    pub auth: Auth,
    /// Which models it has.
    pub models: Models,
    /// How many tokens fit, if that is limited: the input, and the input with the output that is asked for.
    pub window: Option<u64>,
    /// How many tokens an answer may be asked to have, if that is limited.
    pub max_output: Option<u64>,
    /// By how much the server counts more than `o200k_base` does.
    pub token_factor: f64,
    /// Whether the last message may be the assistant's, to be continued. Newer models of Anthropic refuse it.
    pub prefill: bool,
    /// Whether Anthropic's model takes the role `system` inside of the messages.
    pub system_role: bool,
    /// Whether Anthropic's model takes `thinking` of the type `enabled`. The newest refuse it.
    pub thinking_budget: bool,
    /// Whether signatures of thinking are checked. Turn it off for histories that this server did not answer.
    pub signatures: bool,
    /// Which API version an Anthropic body is judged by. The server takes it from the header.
    pub version: Version,
    /// Fields of a message that a strict OpenAI-compatible host knows besides the usual ones.
    pub extra_message_fields: Vec<String>,
    /// What an OpenAI-compatible host refuses although OpenAI takes it.
    pub oddities: Vec<Oddity>,
}

/// Something that some OpenAI-compatible hosts refuse although OpenAI takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Oddity {
    /// The user may not speak directly after a tool, as at Mistral.
    NoUserAfterTool,
    /// Roles alternate strictly, calls and results left out, as templates of local models want it.
    StrictTemplate,
    /// Roles alternate strictly by their place, and there is no role of tools, as in Gemma's template.
    PlainTemplate,
    /// A content that is only text is a string and no list.
    NoTextLists,
    /// `stream_options` is unknown.
    NoStreamOptions,
    /// The model takes no tools, and no calls in the messages, as at Ollama.
    NoTools,
    /// Ids of calls have nine letters and digits, as at Mistral.
    NineCharIds,
    /// The same in the words of Mistral's template, which llama.cpp reports as its own failure.
    NineCharIdsTemplate,
}

impl Oddity {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::NoUserAfterTool,
        Self::StrictTemplate,
        Self::PlainTemplate,
        Self::NoTextLists,
        Self::NoStreamOptions,
        Self::NoTools,
        Self::NineCharIds,
        Self::NineCharIdsTemplate,
    ];
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            strictness: Strictness::Real,
            auth: Auth::Any,
            models: Models::Any,
            window: None,
            max_output: None,
            token_factor: 1.0,
            prefill: true,
            system_role: false,
            thinking_budget: true,
            signatures: true,
            version: Version::V2023,
            extra_message_fields: Vec::new(),
            oddities: Vec::new(),
        }
    }
}

impl Rules {
    /// Returns the rules of the strictest hosts: what they accept, everybody accepts.
    pub fn strict() -> Self {
        Self { strictness: Strictness::Strict, prefill: false, ..Self::default() }
    }

    /// Whether the rules of the strictest imitators hold as well.
    pub(super) fn is_strict(&self) -> bool {
        self.strictness == Strictness::Strict
    }

    /// Whether there is a model of this name.
    pub(super) fn has_model(&self, name: &str) -> bool {
        match &self.models {
            Models::Any => true,
            Models::Only(names) => names.iter().any(|known| known == name),
        }
    }
}

/// Whose rules hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strictness {
    /// Those of the real service.
    Real,
    /// Also those of compatible hosts: arguments are JSON objects, no content is empty, roles alternate beginning
    /// with the user, and unknown fields of a message are refused.
    Strict,
}

/// Which key a server wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Auth {
    /// Some key, whichever.
    Any,
    /// Only this key is accepted.
    Key(String),
    /// None, as local hosts do.
    None,
}

/// Which models a server has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Models {
    /// All that anybody asks for.
    Any,
    /// Only these models are known.
    Only(Vec<String>),
}

/// A version of Anthropic's API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// `2023-06-01`.
    V2023,
    /// `2026-10-21`, which has no sampling parameters.
    V2026,
}

/// A request that the provider takes.
#[derive(Clone, Debug, PartialEq)]
pub struct Accepted {
    /// What was asked.
    pub body: Value,
    /// What it takes in tokens, if that had to be counted: with a window, and near enough to it.
    pub input_tokens: Option<u64>,
}

/// A request that the provider refuses.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    /// The HTTP status.
    pub status: u16,
    /// The body, without the `request_id` that Anthropic's has on the wire.
    pub body: Value,
    /// A name for the rule that was broken.
    pub rule: &'static str,
}

impl Refusal {
    /// The sentence in the body.
    pub fn message(&self) -> &str {
        self.body["error"]["message"].as_str().unwrap_or_default()
    }
}

/// Whether a name is made of letters, digits, `_` and `-` only, and of at least one of them.
pub(super) fn is_plain_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    !name.is_empty() && name.bytes().all(plain)
}

/// What JSON calls the type of a value, with its article, as OpenAI writes it.
pub(super) fn a_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(number) if number.is_f64() => "a decimal",
        Value::Number(_) => "an integer",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
