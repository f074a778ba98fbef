//! The settings of a provider's client: its address, key, model and deadlines.

use std::fmt;
use std::time::Duration;

/// The settings of a provider's client.
#[derive(Clone, Debug)]
pub struct HttpSettings {
    /// `llm.baseUrl`: the address of the API.
    pub base_url: String,
    /// `llm.apiKey`; a host on the person's own machine often needs none.
    pub key: Option<ApiKey>,
    /// `llm.model`: the name of the model.
    pub model: String,
    /// `llm.window`, or the known window of the model.
    pub window: Option<u64>,
    /// `llm.temperature`, which the compiler of the body uses.
    pub temperature: Option<f64>,
    /// `llm.tools`: whether tools are sent; `None` if that is left to the host, which may refuse them.
    pub tools: Option<bool>,
    /// `llm.connectMs`: the time until there is a connection.
    pub connect: Duration,
    /// `llm.firstByteMs`: the time until the answer begins, including the connection.
    pub first_byte: Duration,
    /// `llm.idleMs`: the time between two pieces of an answer.
    pub idle: Duration,
    /// `llm.retries`: the number of times that a failed request is sent again.
    pub retries: u32,
    /// The time after the first attempt within which another may begin.
    pub retry_budget: Duration,
}

impl HttpSettings {
    /// Returns the defaults for OpenAI, or for a compatible host at `base_url`.
    pub fn openai(model: impl Into<String>) -> Self {
        Self::new("https://api.openai.com/v1", model.into())
    }

    /// Returns the defaults for Anthropic.
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
            tools: None,
            // The defaults of the settings `llm.connectMs` to `llm.retries`, so that a program waits as `ship` does.
            connect: Duration::from_secs(10),
            first_byte: Duration::from_secs(60),
            idle: Duration::from_secs(60),
            retries: 4,
            retry_budget: Duration::from_secs(180),
        }
    }
}

/// A key, which is never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(String);

impl ApiKey {
    /// Takes the key as a person set it, without the white space around it.
    pub fn new(key: impl AsRef<str>) -> Self {
        Self(key.as_ref().trim().to_owned())
    }

    /// Returns the key, for the one header that needs it.
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
