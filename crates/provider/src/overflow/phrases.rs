//! The words of overflow errors, in lower case and without quotation marks.

/// The codes with only this meaning. The last concerns bytes: leaving out files may be the better remedy.
pub(super) const CODES: &[&str] = &[
    "context_length_exceeded",
    "context_window_exceeded",
    "model_context_window_exceeded",
    "exceed_context_size_error",
    "model_max_prompt_tokens_exceeded",
    "request_too_large",
];

/// The words that rule out an overflow: limits of rate and money, lengths of single fields, answers that are too
/// long, and errors that quote a person's text.
pub(super) const OTHER: &[&str] = &[
    "rate limit",
    "rate limits",
    "rate-limit",
    "rate_limit",
    "ratelimit",
    "rate_limit_error",
    "rate_limit_exceeded",
    "rate limited",
    "too many requests",
    "throttl*",
    "per minute",
    "per-minute",
    "per min",
    "per second",
    "per hour",
    "per day",
    "tpm",
    "rpm",
    "tpd",
    "please wait before",
    "try again in",
    "quota*",
    "credits",
    "insufficient balance",
    "billing",
    "string_above_max_length",
    "array_above_max_length",
    "maximum tokens you requested exceeds the model limit",
    "content_filter",
    "content_policy_violation",
    "content management policy",
    "responsibleaipolicyviolation",
    "flagged",
];

/// The known sentences of providers that contain none of [`HINTS`], in pieces that follow one another.
pub(super) const SENTENCES: &[&[&str]] = &[
    // OpenAI
    &["input tokens exceed the configured limit"],
    // Anthropic
    &["input length and max_tokens exceed context limit"],
    &["exceed context limit"],
    &["request exceeds the maximum size"],
    // Google
    &["input token count", "exceeds the maximum number of tokens"],
    &["input token count is", "only supports up to"],
    &["payload size exceeds"],
    // Amazon, z.ai
    &["too many input tokens"],
    &["prompt exceeds max length"],
    &["input tokens exceeded"],
    // SiliconFlow
    &["model max length exceeded"],
    // Groq, Cerebras
    &["reduce the length of the messages"],
    &["reduce the length of the prompt"],
    &["reduce the length of either one"],
    // llama.cpp
    &["exceeds the available context size"],
    &["context size has been exceeded"],
    &["context size exceeded"],
    // vLLM, SGLang
    &["longer than the maximum model length"],
    &["exceeds the max_model_len"],
    &["longer than the model's context length"],
    &["exceeds the model's context length"],
    // Ollama
    &["longer than the context length"],
    &["exceeds the context length"],
    &["exceeded max context length"],
    // LM Studio
    &["greater than the context length"],
    &["trying to keep the first", "tokens when context the overflows"],
    &["trying to keep the first", "context", "overflows"],
    &["cannot truncate prompt with n_keep"],
    // xAI
    &["maximum prompt length is", "but the request contains"],
    // Mistral
    &["prompt contains", "tokens", "too large for model"],
    // GitHub Copilot
    &["prompt token count", "exceeds the limit"],
    // Moonshot
    &["exceeded model token limit"],
    // DashScope
    &["range of input length should be"],
    // Hugging Face
    &["inputs tokens + max_new_tokens must be <="],
    &["inputs must have less than", "tokens"],
    // LiteLLM, OpenRouter, Cohere
    &["contextwindowexceedederror"],
    &["requested token count exceeds"],
    &["exceeds the maximum allowed input length"],
    &["too many tokens"],
    &["context length exceeded"],
    &["token limit exceeded"],
    // Proxies in Chinese
    &["上下文过长"],
    &["上下文超出"],
    &["上下文超过"],
    &["上下文长度超"],
    &["上下文太长"],
    &["超出最大上下文"],
    &["超过最大上下文"],
    &["超出模型最大上下文"],
    &["请压缩上下文"],
];

/// The sentences that also come with 500: llama.cpp and Ollama count a full window as their own failure, and so do
/// some versions of LiteLLM.
pub(super) const SERVER_FAILURES: &[&str] = &[
    "context size has been exceeded",
    "exceeds the available context size",
    "longer than the context length",
    "exceeds the context length",
    "exceeds maximum context length",
    "exceeded max context length",
    "exceed_context_size_error",
    "contextwindowexceedederror",
];

/// The words that hardly mean anything else.
const HINTS: [&str; 4] = ["context_length", "too long", "context window", "maximum context"];

/// The words beside which a hint has another meaning: it concerns a parameter, a plan or a time.
const NOT_A_HINT: &[&str] = &[
    "unrecognized request argument",
    "unrecognized argument",
    "unknown parameter",
    "unknown argument",
    "unknown field",
    "unknown name",
    "unsupported parameter",
    "unexpected keyword",
    "not permitted",
    "too long to",
    "took too long",
    "taking too long",
    "takes too long",
    "taken too long",
    "timed out",
];

/// The small things that can be too long by themselves.
const SMALL: &[&str] = &[
    "array",
    "audio",
    "character",
    "description",
    "duration",
    "email",
    "field",
    "file",
    "filename",
    "header",
    "headers",
    "id",
    "identifier",
    "ids",
    "image",
    "key",
    "label",
    "line",
    "list",
    "metadata",
    "name",
    "names",
    "nonce",
    "parameter",
    "password",
    "property",
    "query",
    "stop",
    "string",
    "strings",
    "suffix",
    "tag",
    "title",
    "token_id",
    "tool",
    "tools",
    "tool_call_id",
    "uri",
    "url",
    "value",
    "video",
];

/// The names of a conversation, beside which the small things do not count.
const LARGE: &[&str] =
    &["prompt", "context", "conversation", "history", "message", "messages", "tokens"];

/// Whether a text contains a whole word; a star takes any ending.
pub(super) fn has_word(text: &str, word: &str) -> bool {
    let (word, any_ending) = match word.strip_suffix('*') {
        Some(start) => (start, true),
        None => (word, false),
    };
    let is_letter = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        !before.is_some_and(is_letter) && (any_ending || !after.is_some_and(is_letter))
    })
}

/// Whether a text is one of the sentences.
pub(super) fn is_sentence(text: &str) -> bool {
    SENTENCES.iter().any(|pieces| {
        let mut rest = text;
        pieces.iter().all(|piece| match rest.find(piece) {
            Some(at) => {
                rest = &rest[at + piece.len()..];
                true
            }
            None => false,
        })
    })
}

/// Whether a text contains a hint with its usual meaning.
pub(super) fn is_hint(text: &str) -> bool {
    let none_of = |words: &[&str]| !words.iter().any(|word| has_word(text, word));
    none_of(NOT_A_HINT)
        && HINTS.iter().any(|hint| {
            text.match_indices(hint)
                .any(|(at, _)| !is_in_name(text, at, hint) && !is_about_small(text, at, hint))
        })
}

/// Whether a hint is part of a file name or of an address.
fn is_in_name(text: &str, at: usize, hint: &str) -> bool {
    let start = text[..at].rfind(char::is_whitespace).map_or(0, |space| space + 1);
    let end = text[at + hint.len()..].find(char::is_whitespace);
    let end = end.map_or(text.len(), |space| at + hint.len() + space);
    let word = &text[text.floor_char_boundary(start)..end];
    let ending = word.rsplit_once('.').map(|(_, ending)| ending);
    let is_path = word.starts_with(['/', '.', '~']) || word.matches('/').count() > 1;
    word.contains("://")
        || is_path
        || ending.is_some_and(|ending| {
            (1..=5).contains(&ending.len()) && ending.chars().all(|c| c.is_ascii_alphanumeric())
        })
}

/// Whether the hint says that something small is too long.
fn is_about_small(text: &str, at: usize, hint: &str) -> bool {
    if hint != "too long" {
        return false;
    }
    let clause = text[..at].rfind(['.', ':', ';', ',', '\n', '(']).map_or(0, |end| end + 1);
    let about = |things: &[&str]| things.iter().any(|thing| has_word(&text[clause..at], thing));
    about(SMALL) && !about(LARGE)
}

/// Whether a server before the model says that the whole request is too large.
pub(super) fn is_too_large(text: &str) -> bool {
    let large = ["request entity", "request body", "request", "payload", "content"];
    let about = large.iter().any(|what| text.contains(&format!("{what} too large")));
    about && !["image", "file", "audio", "video"].iter().any(|small| has_word(text, small))
}
