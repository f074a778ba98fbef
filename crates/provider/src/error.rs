//! Why there is no answer, in sentences that a person can act on.
//!
//! Each error tells what is now true and names the setting that it hangs on; [`ProviderError::remedy`] says
//! what to do and [`ProviderError::code`] is for programs and logs. None of them ever holds a key, or a
//! part of one: what a provider said is cleaned before it is quoted.

use std::fmt;
use std::time::Duration;

/// Why there is no answer, or not all of it. No tool was asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProviderError {
    /// The request is longer than the model takes.
    #[error("the request is longer than the model takes{}", SizesText(*.observed, *.limit))]
    Overflow {
        /// How many tokens the provider counted, if it said.
        observed: Option<u64>,
        /// How many it takes, if it said.
        limit: Option<u64>,
    },

    /// The key is missing, wrong, or not allowed to do this.
    #[error("{provider} refuses the key of `llm.apiKey` ({}): {said}", key_variable(.provider))]
    Key {
        /// The provider's name.
        provider: String,
        /// What it said.
        said: String,
    },

    /// The account may not spend more.
    #[error("the account at {provider} has no credit or quota left: {said}")]
    Quota {
        /// The provider's name.
        provider: String,
        /// What it said.
        said: String,
    },

    /// There is no such model at that address.
    #[error("{provider} at {host} (`llm.baseUrl`) has no model `{model}` (`llm.model`): {said}")]
    Model {
        /// The provider's name.
        provider: String,
        /// The host that was asked.
        host: String,
        /// The model that was asked for.
        model: String,
        /// What it said.
        said: String,
    },

    /// The provider takes no such request, today or tomorrow.
    #[error("{provider} refuses the request: {said}")]
    Refused {
        /// The provider's name.
        provider: String,
        /// The status of its answer, if it was one about the whole request.
        status: Option<u16>,
        /// What it said.
        said: String,
    },

    /// The provider was not reached, or was not able to answer, however often it was tried.
    #[error("{provider} did not answer after {}: {last}", AttemptCount(*.attempts))]
    Unavailable {
        /// The provider's name.
        provider: String,
        /// How often it was tried.
        attempts: u32,
        /// What went wrong the last time.
        last: String,
    },

    /// The provider asks for a longer wait than a run can give it.
    #[error("{provider} asks to wait {} before the next try: {said}", Seconds(*.asked))]
    TooLongToWait {
        /// The provider's name.
        provider: String,
        /// How long it asks to wait.
        asked: Duration,
        /// What it said.
        said: String,
    },

    /// A deadline passed.
    #[error(
        "{provider} at {host} did not {} within {} (`{}`), after {}",
        .deadline.what(), Seconds(*.after), .deadline.setting(), AttemptCount(*.attempts)
    )]
    TimedOut {
        /// The provider's name.
        provider: String,
        /// The host that was asked.
        host: String,
        /// Which deadline.
        deadline: Deadline,
        /// How long it was.
        after: Duration,
        /// How often it was tried.
        attempts: u32,
    },

    /// The answer broke off after a part of it had been given. A text that was begun and not ended is
    /// where it broke off.
    #[error("the answer of {provider} broke off: {reason}")]
    Cut {
        /// The provider's name.
        provider: String,
        /// What happened.
        reason: String,
    },

    /// What came back is no answer of such a provider.
    #[error("what came back from {host} (`llm.baseUrl`) is no answer of {provider}: {came}")]
    Protocol {
        /// The provider's name.
        provider: String,
        /// The host that was asked.
        host: String,
        /// What came instead.
        came: String,
    },

    /// `llm.baseUrl` is no address that can be asked.
    #[error("`llm.baseUrl` is not an address that {provider} could be at: {problem}")]
    BaseUrl {
        /// The provider's name.
        provider: String,
        /// What is wrong with it.
        problem: String,
    },

    /// The provider failed, and may not the next time.
    #[error("{provider} could not answer: {reason}")]
    Failed {
        /// The provider's name.
        provider: String,
        /// What it said.
        reason: String,
    },
}

impl ProviderError {
    /// The error's name for programs and logs. It never changes.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Overflow { .. } => "overflow",
            Self::Key { .. } => "key",
            Self::Quota { .. } => "quota",
            Self::Model { .. } => "model",
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

    /// What to do about it, as a sentence, if there is anything to do but to try again.
    pub fn remedy(&self) -> Option<String> {
        match self {
            Self::Overflow { .. } => {
                Some("Shorten the context, or set `llm.window` to what the model takes.".to_owned())
            }
            Self::Key { provider, .. } => Some(format!(
                "Set `llm.apiKey`, or {} in the environment, to a key that is valid for `llm.baseUrl`.",
                key_variable(provider)
            )),
            Self::Quota { provider, .. } => Some(format!(
                "Check plan and billing at {provider}; trying again does not help before that."
            )),
            Self::Model { .. } => {
                Some("Correct `llm.model`, or `llm.baseUrl` if it is the wrong host.".to_owned())
            }
            Self::Refused { said, .. } if said.contains("max_tokens") => {
                Some("Lower `llm.maxTokens` to what the model can answer.".to_owned())
            }
            Self::Refused { said, .. } if said.contains("temperature") => {
                Some("Leave `llm.temperature` out, or set it to what the model takes.".to_owned())
            }
            Self::Refused { .. } => {
                Some("Check that `llm.model` and `llm.baseUrl` belong together.".to_owned())
            }
            Self::Unavailable { .. } => {
                Some("Check the network and `llm.baseUrl`, or try again later.".to_owned())
            }
            Self::TooLongToWait { asked, .. } => {
                Some(format!("Try again in {}.", Seconds(*asked)))
            }
            Self::TimedOut { deadline, .. } => Some(format!(
                "Try again, or raise `{}` if the model is only slow.",
                deadline.setting()
            )),
            Self::Protocol { .. } | Self::BaseUrl { .. } => Some(
                "Set `llm.baseUrl` to the address of the provider's API, such as https://api.openai.com/v1."
                    .to_owned(),
            ),
            Self::Cut { .. } | Self::Failed { .. } => None,
        }
    }
}

/// A limit on how long something may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deadline {
    /// Until there is a connection.
    Connect,
    /// Until the answer begins.
    FirstByte,
    /// Until the answer goes on.
    Idle,
}

impl Deadline {
    /// The setting that says how long.
    pub fn setting(self) -> &'static str {
        match self {
            Self::Connect => "llm.connectMs",
            Self::FirstByte => "llm.firstByteMs",
            Self::Idle => "llm.idleMs",
        }
    }

    fn what(self) -> &'static str {
        match self {
            Self::Connect => "take the connection",
            Self::FirstByte => "begin to answer",
            Self::Idle => "go on with the answer",
        }
    }
}

/// The environment variable that a provider's key is taken from.
fn key_variable(provider: &str) -> &'static str {
    match provider {
        "anthropic" => "`ANTHROPIC_API_KEY`",
        _ => "`OPENAI_API_KEY`",
    }
}

/// `: 9 tokens, and it takes 8`, as far as it is known.
struct SizesText(Option<u64>, Option<u64>);

impl fmt::Display for SizesText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0, self.1) {
            (Some(observed), Some(limit)) => write!(f, ": {observed} tokens, and it takes {limit}"),
            (Some(observed), None) => write!(f, ": {observed} tokens"),
            (None, Some(limit)) => write!(f, ", which is {limit} tokens"),
            (None, None) => Ok(()),
        }
    }
}

/// A duration in seconds as people say it: `60 s`, `0.5 s`.
struct Seconds(Duration);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.subsec_millis() {
            0 => write!(f, "{} s", self.0.as_secs()),
            _ => write!(f, "{} s", self.0.as_millis() as f64 / 1000.0),
        }
    }
}

/// `1 attempt`, `5 attempts`.
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
    fn an_error_says_what_is_true_and_names_the_setting() {
        let provider = || "anthropic".to_owned();
        let key = ProviderError::Key { provider: provider(), said: "invalid x-api-key".to_owned() };
        assert_eq!(
            key.to_string(),
            "anthropic refuses the key of `llm.apiKey` (`ANTHROPIC_API_KEY`): invalid x-api-key"
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
        let overflow = ProviderError::Overflow { observed: Some(9), limit: Some(8) };
        assert_eq!(
            overflow.to_string(),
            "the request is longer than the model takes: 9 tokens, and it takes 8"
        );
    }
}
