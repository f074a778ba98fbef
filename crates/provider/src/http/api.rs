//! The differences of the two APIs besides their answers: address, headers and reader.

use reqwest::Url;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};

use super::answer_draft::Origin;
use super::anthropic::AnthropicReader;
use super::openai::OpenAiReader;
use super::settings::ApiKey;
use super::stream_reader::StreamReader;
use crate::ProviderError;

/// The API that a host offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Api {
    /// OpenAI's chat completions.
    OpenAi,
    /// The messages API of Anthropic.
    Anthropic,
}

/// The version of Anthropic's API that we read and write.
const ANTHROPIC_VERSION: &str = "2023-06-01";

impl Api {
    /// Returns the name of the provider, as `llm.provider` has it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
        }
    }

    /// Returns the address to which requests are sent.
    pub(crate) fn endpoint(self, base_url: &str) -> Result<Url, ProviderError> {
        let refuse = |problem: &str| ProviderError::BaseUrl {
            provider: self.name().to_owned(),
            problem: problem.to_owned(),
        };
        let mut url = Url::parse(base_url.trim())
            .map_err(|error| refuse(&format!("it cannot be read ({error})")))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(refuse("it must begin with https:// or http://"));
        }
        if url.host_str().is_none_or(str::is_empty) {
            return Err(refuse("it has no host"));
        }
        let base = url.path().trim_end_matches('/');
        let path = match self {
            Self::OpenAi => format!("{base}/chat/completions"),
            // People give the address with or without its version.
            Self::Anthropic if base.ends_with("/v1") => format!("{base}/messages"),
            Self::Anthropic => format!("{base}/v1/messages"),
        };
        url.set_path(&path);
        Ok(url)
    }

    /// Returns the headers that identify the sender.
    pub(crate) fn headers(self, key: Option<&ApiKey>) -> Result<HeaderMap, ProviderError> {
        let mut headers = HeaderMap::new();
        if self == Self::Anthropic {
            let version = HeaderName::from_static("anthropic-version");
            headers.insert(version, HeaderValue::from_static(ANTHROPIC_VERSION));
        }
        let Some(key) = key.map(ApiKey::secret).filter(|key| !key.is_empty()) else {
            return Ok(headers);
        };
        let (name, value) = match self {
            Self::OpenAi => (AUTHORIZATION, HeaderValue::from_str(&format!("Bearer {key}"))),
            Self::Anthropic => (HeaderName::from_static("x-api-key"), HeaderValue::from_str(key)),
        };
        let mut value = value.map_err(|_| ProviderError::Key {
            provider: self.name().to_owned(),
            message: "it contains characters that cannot be sent".to_owned(),
        })?;
        value.set_sensitive(true);
        headers.insert(name, value);
        Ok(headers)
    }

    pub(crate) fn reader(self, origin: Origin) -> Box<dyn StreamReader> {
        match self {
            Self::OpenAi => Box::new(OpenAiReader::new(origin)),
            Self::Anthropic => Box::new(AnthropicReader::new(origin)),
        }
    }
}

/// Returns an address without its user, password and query, which may be secret.
pub(crate) fn public_address(url: &Url) -> String {
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}://{}{port}{}", url.scheme(), url.host_str().unwrap_or_default(), url.path())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_follows_from_the_base() {
        let cases = [
            (
                Api::OpenAi,
                "https://api.openai.com/v1",
                "https://api.openai.com/v1/chat/completions",
            ),
            (Api::OpenAi, " http://127.0.0.1:1/v1/ ", "http://127.0.0.1:1/v1/chat/completions"),
            (Api::OpenAi, "http://h", "http://h/chat/completions"),
            (
                Api::OpenAi,
                "https://h/a?api-version=1",
                "https://h/a/chat/completions?api-version=1",
            ),
            (Api::Anthropic, "https://api.anthropic.com", "https://api.anthropic.com/v1/messages"),
            (Api::Anthropic, "https://api.anthropic.com/", "https://api.anthropic.com/v1/messages"),
            (Api::Anthropic, "https://h/anthropic/v1", "https://h/anthropic/v1/messages"),
            (Api::Anthropic, "https://h/v1//", "https://h/v1/messages"),
        ];
        for (api, base, wanted) in cases {
            assert_eq!(api.endpoint(base).unwrap().as_str(), wanted);
        }
    }

    #[test]
    fn a_base_that_is_no_address_is_refused_with_the_settings_name() {
        for base in ["", "api.openai.com/v1", "ftp://h/v1", "file:///etc", "https://"] {
            let error = Api::OpenAi.endpoint(base).unwrap_err();
            assert_eq!(error.code(), "base_url");
            assert!(error.to_string().contains("`llm.baseUrl`"), "{error}");
        }
    }

    #[test]
    fn a_key_that_cannot_be_sent_is_told_without_showing_it() {
        let error = Api::OpenAi.headers(Some(&ApiKey::new("se\ncret"))).unwrap_err();
        assert!(matches!(error, ProviderError::Key { .. }));
        assert!(!error.to_string().contains("cret"), "{error}");
    }

    #[test]
    fn the_key_is_in_one_header_and_marked_as_secret() {
        let headers = Api::Anthropic.headers(Some(&ApiKey::new("k"))).unwrap();
        assert_eq!(headers["anthropic-version"], "2023-06-01");
        assert!(headers["x-api-key"].is_sensitive() && headers["x-api-key"] == "k");
        let headers = Api::OpenAi.headers(Some(&ApiKey::new("k"))).unwrap();
        assert_eq!(headers["authorization"], "Bearer k");
        assert!(Api::OpenAi.headers(None).unwrap().is_empty());
    }
}
