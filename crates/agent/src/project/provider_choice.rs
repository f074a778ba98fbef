//! Chooses the model that answers for a project.

use std::sync::Arc;
use std::time::Duration;

use ship_project::{Project, ProviderKey, ProviderName};
use ship_provider::{ApiKey, HttpProvider, HttpSettings, Offline, Provider, window_tokens};

use super::error::OpenAgentError;

/// Makes the provider that the settings and the keys choose.
pub(crate) fn make_provider(project: &Project) -> Result<Arc<dyn Provider>, OpenAgentError> {
    let choice = project.provider();
    let llm = &project.settings().llm;
    let key = match choice.key {
        ProviderKey::Given(secret) => Some(ApiKey::new(secret.expose())),
        ProviderKey::NotNeeded => None,
        ProviderKey::Missing => return Err(OpenAgentError::NoKey(choice.why)),
    };
    let default = match choice.provider {
        ProviderName::Offline => return Ok(Arc::new(Offline)),
        // Only the defaults are wanted here; the model is set below.
        ProviderName::OpenAi => HttpSettings::openai(""),
        ProviderName::Anthropic => HttpSettings::anthropic(""),
    };
    let model = chosen_model(project).ok_or(OpenAgentError::NoModel)?;
    let settings = HttpSettings {
        base_url: llm
            .base_url
            .as_ref()
            .map_or(default.base_url.clone(), |url| url.expose().to_owned()),
        key,
        window: llm.window.or_else(|| window_tokens(&model)),
        model,
        temperature: llm.temperature,
        tools: llm.tools,
        connect: Duration::from_millis(llm.connect_ms),
        first_byte: Duration::from_millis(llm.first_byte_ms),
        idle: Duration::from_millis(llm.idle_ms),
        retries: u32::try_from(llm.retries).unwrap_or(u32::MAX),
        ..default
    };
    Ok(match choice.provider {
        ProviderName::Anthropic => Arc::new(HttpProvider::anthropic(settings)?),
        ProviderName::OpenAi | ProviderName::Offline => Arc::new(HttpProvider::openai(settings)?),
    })
}

/// Returns the model of a project; `None` if a custom host is configured without a model.
pub fn chosen_model(project: &Project) -> Option<String> {
    let llm = &project.settings().llm;
    let default = match project.provider().provider {
        ProviderName::Offline => return Some(Offline.model().to_owned()),
        ProviderName::OpenAi => "gpt-5",
        ProviderName::Anthropic => "claude-sonnet-4-5",
    };
    match (&llm.model, &llm.base_url) {
        (Some(model), _) => Some(model.clone()),
        (None, None) => Some(default.to_owned()),
        (None, Some(_)) => None,
    }
}
