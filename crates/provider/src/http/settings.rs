//! What a provider's client is told: where, as whom, which model, and how long to be patient.

use std::fmt;
use std::time::Duration;

/// How a provider is asked.
#[derive(Clone, Debug)]
pub struct HttpSettings {
    /// `llm.baseUrl`: where the API is.
    pub base_url: String,
    /// `llm.apiKey`; hosts on one's own machine often need none.
    pub key: Option<ApiKey>,
    /// `llm.model`
    pub model: String,
    /// `llm.window`, or what is known of the model.
    pub window: Option<u64>,
    /// `llm.temperature`; for whoever compiles the body.
    pub temperature: Option<f64>,
    /// `llm.connectMs`: until there is a connection.
    pub connect: Duration,
    /// `llm.firstByteMs`: until the answer begins, the connecting included.
    pub first_byte: Duration,
    /// `llm.idleMs`: between two pieces of an answer.
    pub idle: Duration,
    /// `llm.retries`: how often a request that failed is sent again.
    pub retries: u32,
    /// How long after the first attempt another may begin.
    pub retry_budget: Duration,
}

impl HttpSettings {
    /// The defaults for OpenAI, or whoever is at `base_url` and speaks its language.
    pub fn openai(model: impl Into<String>) -> Self {
        Self::new("https://api.openai.com/v1", model.into())
    }

    /// The defaults for Anthropic.
    pub fn anthropic(model: impl Into<String>) -> Self {
        Self::new("https://api.anthropic.com", model.into())
    }

    fn new(base_url: &str, model: String) -> Self {
        Self {
            base_url: base_url.to_owned(),
            key: None,
            window: crate::window_tokens(&model),
            model,
            temperature: None,
            connect: Duration::from_secs(10),
            first_byte: Duration::from_secs(60),
            idle: Duration::from_secs(60),
            retries: 4,
            retry_budget: Duration::from_secs(180),
        }
    }
}

/// A key. It is never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(String);

impl ApiKey {
    /// Takes the key as a person set it; white space around it is a slip of the hand.
    pub fn new(key: impl AsRef<str>) -> Self {
        Self(key.as_ref().trim().to_owned())
    }

    /// The key, for the one header it belongs in.
    pub(crate) fn secret(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_never_printed() {
        let mut settings = HttpSettings::openai("gpt-4o");
        settings.key = Some(ApiKey::new(" sk-secret\n"));
        assert!(!format!("{settings:?}").contains("secret"));
        assert_eq!(settings.key.unwrap().secret(), "sk-secret");
    }
}
