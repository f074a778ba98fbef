//! Chooses the provider, from the settings and the available keys.

use crate::Secret;
use crate::settings::{LlmSettings, ProviderName};

/// The provider, its key, and the reason for the choice.
#[derive(Debug, Clone, PartialEq)]
pub struct ProviderChoice {
    /// The provider that answers.
    pub provider: ProviderName,
    /// The key that is used.
    pub key: ProviderKey,
    /// The variable that decided the choice or gave the key, if any.
    pub variable: Option<&'static str>,
    /// The reason for the choice, as a sentence for the person.
    pub why: String,
    /// A setting that is ignored, because it belongs to no known provider.
    pub unused: Option<&'static str>,
}

/// The key of a provider.
#[derive(Debug, Clone, PartialEq)]
pub enum ProviderKey {
    /// The key is known.
    Given(Secret),
    /// There is no key, and none is needed: the provider is offline or a server of the person.
    NotNeeded,
    /// There is no key, and the provider will refuse requests without one.
    Missing,
}

impl ProviderKey {
    /// Returns the key in masked form.
    pub fn masked(&self) -> Option<String> {
        if let Self::Given(secret) = self { Some(secret.masked()) } else { None }
    }
}

/// The variables that hold a key, in the order in which they are read.
const KEY_VARIABLES: [(&str, ProviderName); 2] =
    [("OPENAI_API_KEY", ProviderName::OpenAi), ("ANTHROPIC_API_KEY", ProviderName::Anthropic)];

/// Chooses the provider: the configured one, or else one whose key is set, or else offline.
///
/// `variable` returns the value of a variable that is set and not empty. `llm.apiKey` counts only together with
/// `llm.provider`: without a provider it is unknown whose key it is.
pub fn choose_provider<'a>(
    llm: &LlmSettings,
    variable: impl Fn(&str) -> Option<&'a str>,
) -> ProviderChoice {
    match llm.provider {
        Some(ProviderName::Offline) => ProviderChoice {
            provider: ProviderName::Offline,
            key: ProviderKey::NotNeeded,
            variable: None,
            why: "offline, set by `llm.provider`".to_owned(),
            unused: None,
        },
        Some(provider) => choose_named(provider, llm, variable),
        None => choose_by_key(llm, variable),
    }
}

fn choose_named<'a>(
    provider: ProviderName,
    llm: &LlmSettings,
    variable: impl Fn(&str) -> Option<&'a str>,
) -> ProviderChoice {
    let name = KEY_VARIABLES.iter().find(|(_, whose)| *whose == provider).map(|(name, _)| *name);
    let from_variable = name.and_then(|name| Some((name, Secret::new(variable(name)?.trim()))));
    let choice = |key, variable, why| ProviderChoice { provider, key, variable, why, unused: None };
    match (&llm.api_key, from_variable, name) {
        (Some(key), _, _) => choice(
            ProviderKey::Given(key.clone()),
            None,
            format!("{provider}, set by `llm.provider`, with the key in `llm.apiKey`"),
        ),
        (None, Some((name, key)), _) => choice(
            ProviderKey::Given(key),
            Some(name),
            format!("{provider}, set by `llm.provider`, with the key in {name}"),
        ),
        // A host of one's own often wants no key.
        (None, None, _) if llm.base_url.is_some() => choice(
            ProviderKey::NotNeeded,
            None,
            format!("{provider}, set by `llm.provider`, at `llm.baseUrl` and without a key"),
        ),
        (None, None, name) => choice(
            ProviderKey::Missing,
            None,
            format!(
                "{provider}, set by `llm.provider`, has no key; put {}=… into .env",
                name.unwrap_or("its key")
            ),
        ),
    }
}

fn choose_by_key<'a>(
    llm: &LlmSettings,
    variable: impl Fn(&str) -> Option<&'a str>,
) -> ProviderChoice {
    for (name, provider) in KEY_VARIABLES {
        if let Some(key) = variable(name) {
            return ProviderChoice {
                provider,
                key: ProviderKey::Given(Secret::new(key.trim())),
                variable: Some(name),
                why: format!("{provider}, because {name} is set"),
                unused: None,
            };
        }
    }
    let unused = [("llm.apiKey", llm.api_key.is_some()), ("llm.baseUrl", llm.base_url.is_some())];
    let unused = unused.into_iter().find(|(_, set)| *set).map(|(key, _)| key);
    let why = match unused {
        Some(key) => format!(
            "offline, because `{key}` is set without `llm.provider`; \
             set `llm.provider` to \"openai\" or \"anthropic\""
        ),
        None => "offline, because no key is set; \
                 put OPENAI_API_KEY=… or ANTHROPIC_API_KEY=… into .env to use a real model"
            .to_owned(),
    };
    let (provider, key) = (ProviderName::Offline, ProviderKey::NotNeeded);
    ProviderChoice { provider, key, variable: None, why, unused }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Address;

    fn chosen(llm: &LlmSettings, variables: &[(&str, &'static str)]) -> ProviderChoice {
        choose_provider(llm, |name| variables.iter().find(|(n, _)| *n == name).map(|(_, v)| *v))
    }

    #[test]
    fn without_a_name_the_key_that_is_there_decides_and_openai_comes_first() {
        let (openai, anthropic) = (("OPENAI_API_KEY", "sk-o"), ("ANTHROPIC_API_KEY", "sk-a"));
        for (variables, provider, key) in [
            (&[openai, anthropic][..], ProviderName::OpenAi, Some("sk-o")),
            (&[anthropic], ProviderName::Anthropic, Some("sk-a")),
            (&[], ProviderName::Offline, None),
        ] {
            let choice = chosen(&LlmSettings::default(), variables);
            let expected =
                key.map_or(ProviderKey::NotNeeded, |key| ProviderKey::Given(Secret::new(key)));
            assert_eq!((choice.provider, choice.key), (provider, expected), "{variables:?}");
        }
        let by_key = chosen(&LlmSettings::default(), &[openai]).why;
        assert_eq!(by_key, "openai, because OPENAI_API_KEY is set");
        let by_nothing = chosen(&LlmSettings::default(), &[]).why;
        assert!(by_nothing.starts_with("offline, because no key is set"));
    }

    #[test]
    fn a_named_provider_wins_over_every_key() {
        let named = |provider| LlmSettings { provider: Some(provider), ..LlmSettings::default() };
        let variables = [("OPENAI_API_KEY", "sk-o")];

        let anthropic = chosen(&named(ProviderName::Anthropic), &variables);
        assert_eq!(
            (anthropic.provider, anthropic.key),
            (ProviderName::Anthropic, ProviderKey::Missing)
        );
        assert!(anthropic.why.contains("put ANTHROPIC_API_KEY=… into .env"), "{}", anthropic.why);

        let openai = chosen(&named(ProviderName::OpenAi), &variables);
        assert_eq!(openai.key, ProviderKey::Given(Secret::new("sk-o")));
        assert_eq!(openai.variable, Some("OPENAI_API_KEY"));

        let offline = chosen(&named(ProviderName::Offline), &variables);
        assert_eq!(
            (offline.provider, offline.key),
            (ProviderName::Offline, ProviderKey::NotNeeded)
        );
    }

    #[test]
    fn the_configured_key_wins_over_the_variable_of_a_named_provider() {
        let llm = LlmSettings {
            provider: Some(ProviderName::OpenAi),
            api_key: Some(Secret::new("mine")),
            ..LlmSettings::default()
        };
        let choice = chosen(&llm, &[("OPENAI_API_KEY", "sk-o")]);
        assert_eq!((choice.key, choice.variable), (ProviderKey::Given(Secret::new("mine")), None));
    }

    #[test]
    fn a_server_of_ones_own_needs_no_key_but_a_name() {
        let base_url = Address::new("http://127.0.0.1:11434/v1");
        let mut llm = LlmSettings { base_url, ..LlmSettings::default() };
        let unnamed = chosen(&llm, &[]);
        assert_eq!(unnamed.provider, ProviderName::Offline);
        assert_eq!(unnamed.unused, Some("llm.baseUrl"));
        assert!(
            unnamed.why.contains("`llm.baseUrl` is set without `llm.provider`"),
            "{}",
            unnamed.why
        );

        llm.provider = Some(ProviderName::OpenAi);
        assert_eq!(chosen(&llm, &[]).key, ProviderKey::NotNeeded);
    }
}
