//! The errors of a provider, in sentences that a person can act on.
//!
//! Each error says what is now true and names the setting it depends on. [`ProviderError::remedy`] returns the
//! remedy, and [`ProviderError::code`] is for programs and logs. No error ever contains a key or a part of one: a
//! quoted provider message is cleaned first.

use std::fmt;
use std::time::Duration;

/// The reason why there is no answer, or only a part of it. No tool was called.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProviderError {
    /// The request is longer than the model takes.
    #[error("the request is too long for the model{}", SizesText(*.prompt, *.completion, *.limit))]
    Overflow {
        /// The number of tokens that the provider counted in the prompt, if it says.
        prompt: Option<u64>,
        /// The number of tokens that were asked for as the answer, if it says.
        completion: Option<u64>,
        /// The number of tokens that it takes, if it says.
        limit: Option<u64>,
    },

    /// The request asks for a longer answer than the model gives, whatever the prompt.
    #[error("{provider} limits answers to {limit} tokens: {message}")]
    AnswerTooLong {
        /// The name of the provider.
        provider: String,
        /// The number of tokens that an answer may have.
        limit: u64,
        /// The message of the provider.
        message: String,
    },

    /// The host wants a key, and none is set.
    #[error("{host} (`llm.baseUrl`) wants an API key, and none was sent: {message}")]
    NoKey {
        /// The name of the provider.
        provider: String,
        /// The host that was asked.
        host: String,
        /// The message of the provider.
        message: String,
    },

    /// The key is wrong, or lacks the permission.
    #[error("the API key for {provider} (`llm.apiKey` or `{}`) does not work: {message}", key_variable(.provider))]
    Key {
        /// The name of the provider.
        provider: String,
        /// The message of the provider.
        message: String,
    },

    /// The account has reached its spending limit.
    #[error("the account at {provider} has no credit or quota left: {message}")]
    Quota {
        /// The name of the provider.
        provider: String,
        /// The message of the provider.
        message: String,
    },

    /// The model does not exist at that address.
    #[error("{provider} at {host} (`llm.baseUrl`) has no model `{model}` (`llm.model`): {message}")]
    Model {
        /// The name of the provider.
        provider: String,
        /// The host that was asked.
        host: String,
        /// The name of the model.
        model: String,
        /// The message of the provider.
        message: String,
    },

    /// The provider's policy refuses the content of the request.
    #[error("{provider} refused the content of the request: {message}")]
    Policy {
        /// The name of the provider.
        provider: String,
        /// The message of the provider.
        message: String,
    },

    /// The provider does not serve the country from which it was asked.
    #[error("{provider} is not available in your country: {message}")]
    Country {
        /// The name of the provider.
        provider: String,
        /// The message of the provider.
        message: String,
    },

    /// The provider refuses this request, and would refuse it again.
    #[error("{provider} refused the request: {message}")]
    Refused {
        /// The name of the provider.
        provider: String,
        /// The status of its answer, if it concerned the whole request.
        status: Option<u16>,
        /// The message of the provider.
        message: String,
    },

    /// The provider was not reached or could not answer, in any attempt.
    #[error("{provider} did not answer after {}: {last}", AttemptCount(*.attempts))]
    Unavailable {
        /// The name of the provider.
        provider: String,
        /// The number of attempts.
        attempts: u32,
        /// The status of the last answer, if there was one.
        status: Option<u16>,
        /// The problem of the last attempt.
        last: String,
    },

    /// The provider asks for a longer wait than a run can give it.
    #[error("{provider} asks to wait {} before the next try: {message}", Seconds(*.wait))]
    TooLongToWait {
        /// The name of the provider.
        provider: String,
        /// The wait that it asks for.
        wait: Duration,
        /// The message of the provider.
        message: String,
    },

    /// A deadline has passed.
    #[error(
        "{provider} at {host} did not {} within {} (`{}`), after {}",
        .deadline.description(), Seconds(*.after), .deadline.setting(), AttemptCount(*.attempts)
    )]
    TimedOut {
        /// The name of the provider.
        provider: String,
        /// The host that was asked.
        host: String,
        /// The deadline that passed.
        deadline: Deadline,
        /// The length of the deadline.
        after: Duration,
        /// The number of attempts.
        attempts: u32,
    },

    /// The answer broke off after a part of it had been delivered. A text that has begun and not
    /// ended marks the place.
    #[error("the answer from {provider} broke off: {reason}")]
    Cut {
        /// The name of the provider.
        provider: String,
        /// The reason why it broke off.
        reason: String,
    },

    /// The response is not an answer of such a provider.
    #[error("{host} (`llm.baseUrl`) does not answer like {provider}: {received}")]
    Protocol {
        /// The name of the provider.
        provider: String,
        /// The host that was asked.
        host: String,
        /// A description of the response.
        received: String,
    },

    /// `llm.baseUrl` is not a usable address.
    #[error("`llm.baseUrl` is not a valid address for {provider}: {problem}")]
    BaseUrl {
        /// The name of the provider.
        provider: String,
        /// The problem with the address.
        problem: String,
    },

    /// The provider failed, and may succeed the next time.
    #[error("{provider} could not answer: {reason}")]
    Failed {
        /// The name of the provider.
        provider: String,
        /// The message of the provider.
        reason: String,
    },
}

impl ProviderError {
    /// Returns the name of the error for programs and logs, which never changes.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Overflow { .. } => "overflow",
            Self::AnswerTooLong { .. } => "answer_too_long",
            Self::NoKey { .. } | Self::Key { .. } => "key",
            Self::Quota { .. } => "quota",
            Self::Model { .. } => "model",
            Self::Policy { .. } => "policy",
            Self::Country { .. } => "country",
            Self::Refused { .. } => "refused",
            Self::Unavailable { .. } => "unavailable",
            Self::TooLongToWait { .. } => "too_long_to_wait",
            Self::TimedOut { .. } => "timed_out",
            Self::Cut { .. } => "cut",
            Self::Protocol { .. } => "protocol",
            Self::BaseUrl { .. } => "base_url",
            Self::Failed { .. } => "failed",
        }
    }

    /// Whether the provider refused or failed without saying why. Some hosts answer so to a request that is too long.
    pub fn is_unexplained(&self) -> bool {
        let (status, message) = match self {
            Self::Refused { status, message, .. } => (status, message),
            Self::Unavailable { status, last, .. } => (status, last),
            _ => return false,
        };
        // A 500 counts here, because the agent tries once, and only if the request is large. `overflow` needs no other
        // evidence than the answer, so it takes a 500 only with words.
        matches!(status, Some(400 | 413 | 422 | 500)) && says_nothing(message)
    }

    /// Returns the reason in a word or two, for a line that is soon replaced.
    pub(crate) fn short_reason(&self) -> String {
        match self {
            Self::Unavailable { status: Some(status), .. } => status.to_string(),
            Self::Unavailable { .. } => "no connection".to_owned(),
            Self::TimedOut { .. } => "no answer in time".to_owned(),
            Self::Refused { status: Some(status), .. } => status.to_string(),
            other => other.code().to_owned(),
        }
    }

    /// Returns the remedy as a sentence, if there is one besides trying again.
    pub fn remedy(&self) -> Option<String> {
        match self {
            Self::Overflow { .. } => {
                Some("Run `ship compact`, or set `llm.window` to the size of the model's window.".to_owned())
            }
            Self::NoKey { provider, .. } | Self::Key { provider, .. } => Some(format!(
                "Put `{}=…` into .env, or set `llm.apiKey`, with a key that is valid for `llm.baseUrl`.",
                key_variable(provider)
            )),
            Self::Quota { provider, .. } => Some(format!(
                "Check your plan and billing at {provider}; retrying will not help."
            )),
            Self::Model { .. } => {
                Some("Correct `llm.model`, or `llm.baseUrl` if it is the wrong host.".to_owned())
            }
            Self::AnswerTooLong { limit, .. } => {
                Some(format!("Lower `llm.maxTokens` to {limit} or less."))
            }
            Self::Refused { message, .. } if message.contains("max_tokens") => {
                Some("Lower `llm.maxTokens` to the model's limit.".to_owned())
            }
            Self::Refused { message, .. } if message.contains("temperature") => {
                Some("Unset `llm.temperature`, or set it to a value that the model accepts.".to_owned())
            }
            Self::Refused { .. } => {
                Some("Check that `llm.model` and `llm.baseUrl` belong together.".to_owned())
            }
            Self::Policy { .. } => Some(
                "Rephrase it, or start over with `ship context new` if an earlier message is the cause."
                    .to_owned(),
            ),
            Self::Country { .. } => Some(
                "Use a provider that serves your country, or set `llm.baseUrl` to a host that does."
                    .to_owned(),
            ),
            Self::Unavailable { status, .. } => Some(later_advice(*status).to_owned()),
            Self::TooLongToWait { wait, .. } => {
                Some(format!("Try again in {}.", Seconds(*wait)))
            }
            Self::TimedOut { deadline, .. } => Some(format!(
                "Try again, or raise `{}` if the model is just slow.",
                deadline.setting()
            )),
            Self::Protocol { provider, .. } | Self::BaseUrl { provider, .. } => Some(format!(
                "Set `llm.baseUrl` to the address of the provider's API, such as {}.",
                usual_address(provider)
            )),
            Self::Cut { .. } | Self::Failed { .. } => None,
        }
    }
}

/// A limit on the time that a wait may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deadline {
    /// The time until there is a connection.
    Connect,
    /// The time until the answer begins.
    FirstByte,
    /// The time until the answer continues.
    Idle,
    /// The time until the answer continues, if the host keeps the connection alive meanwhile: a multiple of the other.
    KeptAlive,
}

impl Deadline {
    /// Returns the setting of this deadline.
    pub fn setting(self) -> &'static str {
        match self {
            Self::Connect => "llm.connectMs",
            Self::FirstByte => "llm.firstByteMs",
            Self::Idle | Self::KeptAlive => "llm.idleMs",
        }
    }

    fn description(self) -> &'static str {
        match self {
            Self::Connect => "accept the connection",
            Self::FirstByte => "begin to answer",
            Self::Idle => "continue its answer",
            Self::KeptAlive => "send anything but signs of life",
        }
    }
}

/// Returns what may help when a provider did not answer, by the status of its last answer.
fn later_advice(status: Option<u16>) -> &'static str {
    match status {
        None => "Check the network and `llm.baseUrl`, or try again later.",
        Some(429) => {
            "It limits requests per minute; try again later, or raise your account's limit."
        }
        Some(503 | 529) => "It is overloaded; try again later.",
        Some(_) => "The fault is on its side; try again later.",
    }
}

/// Returns the address at which a provider usually is.
fn usual_address(provider: &str) -> &'static str {
    match provider {
        "anthropic" => "https://api.anthropic.com",
        _ => "https://api.openai.com/v1",
    }
}

/// The words of an error that say no more than its status.
const EMPTY_WORDS: &[&str] = &[
    "a",
    "an",
    "answered",
    "api",
    "bad",
    "bad_request",
    "badrequesterror",
    "code",
    "content",
    "entity",
    "error",
    "exception",
    "failed",
    "internal",
    "internal_error",
    "internal_server_error",
    "invalid",
    "invalid_request",
    "invalid_request_error",
    "it",
    "large",
    "occurred",
    "payload",
    "provider",
    "request",
    "returned",
    "server",
    "server_error",
    "something",
    "status",
    "the",
    "too",
    "unexpected",
    "unknown",
    "unknown_error",
    "unprocessable",
    "upstream",
    "went",
    "wrong",
];

/// Whether a message says no more than its status.
fn says_nothing(message: &str) -> bool {
    let words = message.split(|c: char| !c.is_alphanumeric() && c != '_');
    words
        .filter(|word| word.contains(char::is_alphabetic))
        .all(|word| EMPTY_WORDS.contains(&word.to_lowercase().as_str()))
}

/// Returns the environment variable with the key of a provider.
fn key_variable(provider: &str) -> &'static str {
    match provider {
        "anthropic" => "ANTHROPIC_API_KEY",
        _ => "OPENAI_API_KEY",
    }
}

/// Displays `: 9 tokens and 4 for the answer, but its limit is 8`, as far as the numbers are known.
struct SizesText(Option<u64>, Option<u64>, Option<u64>);

impl fmt::Display for SizesText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(prompt, completion, limit) = *self;
        if let Some(prompt) = prompt {
            write!(f, ": {prompt} tokens")?;
            if let Some(completion) = completion {
                write!(f, " and {completion} for the answer")?;
            }
        }
        match (prompt, limit) {
            (Some(_), Some(limit)) => write!(f, ", but its limit is {limit}"),
            (None, Some(limit)) => write!(f, ", whose limit is {limit} tokens"),
            (_, None) => Ok(()),
        }
    }
}

/// Displays a duration in seconds: `60 s`, `0.5 s`.
struct Seconds(Duration);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.subsec_millis() {
            0 => write!(f, "{} s", self.0.as_secs()),
            _ => write!(f, "{} s", self.0.as_millis() as f64 / 1000.0),
        }
    }
}

/// Displays `1 attempt` or `5 attempts`.
struct AttemptCount(u32);

impl fmt::Display for AttemptCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} attempt{}", self.0, if self.0 == 1 { "" } else { "s" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_that_says_no_more_than_its_status_is_unexplained() {
        let refused = |status, message: &str| ProviderError::Refused {
            provider: "openai".to_owned(),
            status: Some(status),
            message: message.to_owned(),
        };
        for message in [
            "it answered 400 Bad Request",
            "Provider returned error (400)",
            "Error code: 422",
            "(500)",
        ] {
            for status in [400, 413, 422, 500] {
                assert!(refused(status, message).is_unexplained(), "{status} {message}");
            }
            assert!(!refused(404, message).is_unexplained(), "{message}");
        }
        for message in
            ["Invalid 'temperature' (400)", "messages: roles must alternate", "the model crashed"]
        {
            assert!(!refused(400, message).is_unexplained(), "{message}");
        }
        let failed = |status| ProviderError::Unavailable {
            provider: "openai".to_owned(),
            attempts: 5,
            status,
            last: "it answered 500 Internal Server Error".to_owned(),
        };
        assert!(failed(Some(500)).is_unexplained() && !failed(None).is_unexplained());
    }

    #[test]
    fn the_advice_fits_what_has_happened() {
        let unavailable = |status| ProviderError::Unavailable {
            provider: "openai".to_owned(),
            attempts: 5,
            status,
            last: "no".to_owned(),
        };
        for status in [429, 500, 502, 503, 529] {
            let advice = unavailable(Some(status)).remedy().unwrap();
            assert!(!advice.contains("network") && advice.contains("later"), "{status}: {advice}");
        }
        assert!(unavailable(None).remedy().unwrap().contains("Check the network"));
        let wrong_address = |provider: &str| ProviderError::BaseUrl {
            provider: provider.to_owned(),
            problem: "it has no host".to_owned(),
        };
        let advice = wrong_address("anthropic").remedy().unwrap();
        assert!(advice.ends_with("https://api.anthropic.com.") && !advice.contains("openai"));
        let advice = wrong_address("openai").remedy().unwrap();
        assert!(advice.ends_with("https://api.openai.com/v1."));
    }

    #[test]
    fn an_error_says_what_is_true_and_names_the_setting() {
        let provider = || "anthropic".to_owned();
        let key =
            ProviderError::Key { provider: provider(), message: "invalid x-api-key".to_owned() };
        assert_eq!(
            key.to_string(),
            "the API key for anthropic (`llm.apiKey` or `ANTHROPIC_API_KEY`) does not work: invalid x-api-key"
        );
        let late = ProviderError::TimedOut {
            provider: provider(),
            host: "h".to_owned(),
            deadline: Deadline::FirstByte,
            after: Duration::from_millis(1500),
            attempts: 3,
        };
        assert_eq!(
            late.to_string(),
            "anthropic at h did not begin to answer within 1.5 s (`llm.firstByteMs`), after 3 attempts"
        );
        let overflow = |prompt, completion, limit| {
            ProviderError::Overflow { prompt, completion, limit }.to_string()
        };
        let longer = "the request is too long for the model";
        assert_eq!(
            overflow(Some(9), None, Some(8)),
            format!("{longer}: 9 tokens, but its limit is 8")
        );
        assert_eq!(
            overflow(Some(6), Some(4), Some(8)),
            format!("{longer}: 6 tokens and 4 for the answer, but its limit is 8")
        );
        assert_eq!(overflow(None, None, Some(8)), format!("{longer}, whose limit is 8 tokens"));
    }
}
