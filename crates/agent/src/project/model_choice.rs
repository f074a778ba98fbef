//! Chooses the model that answers in a chat: the one that this call names, or else the one that is kept with the chat, or
//! else that of the settings.

use ship_project::Project;
use ship_store::{About, ChatKey, Store};

use super::provider_choice::chosen_model;
use crate::engine::Agent;
use crate::error::RunError;

/// The model that answers in a chat.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ModelChoice {
    /// The model of the settings.
    #[default]
    Settings,
    /// A model that is kept with the chat.
    Chat(String),
    /// A model for one call alone.
    Call(String),
}

impl ModelChoice {
    /// Returns the choice for a chat; `of_call` is the model that the call names.
    ///
    /// # Errors
    /// Fails if the chat cannot be read.
    pub async fn of_chat(
        store: &dyn Store,
        chat: &ChatKey,
        of_call: Option<String>,
    ) -> Result<Self, RunError> {
        if let Some(name) = of_call {
            return Ok(Self::Call(name));
        }
        let Some(chat) = store.open(chat).await? else { return Ok(Self::Settings) };
        Ok(Self::kept(chat.about().await?.model))
    }

    /// Keeps a model with a chat from now on; `None` goes back to the one in the settings. A new chat is of `channel`.
    ///
    /// # Errors
    /// Fails if the chat cannot be read or written.
    pub async fn keep(
        store: &dyn Store,
        chat: &ChatKey,
        channel: &str,
        model: Option<String>,
    ) -> Result<Self, RunError> {
        let about = About { channel: Some(channel.to_owned()), ..About::default() };
        let chat = store.create(chat, about).await?;
        let about = chat.about().await?;
        chat.set_about(About { model: model.clone(), ..about }).await?;
        Ok(Self::kept(model))
    }

    fn kept(model: Option<String>) -> Self {
        model.map_or(Self::Settings, Self::Chat)
    }

    /// Returns the model that was chosen instead of the one in the settings.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Settings => None,
            Self::Chat(name) | Self::Call(name) => Some(name),
        }
    }

    /// Returns a project with the model of the choice.
    #[must_use]
    pub fn apply(&self, project: &Project) -> Project {
        match self.name() {
            Some(name) => project.clone().with_model(name),
            None => project.clone(),
        }
    }
}

impl Agent {
    /// Returns the models that are known at the host of this agent: that of the settings, that of the agent, and those that
    /// have answered in any process. A model that the host last refused as unknown is not among them.
    pub async fn known_models(&self, settings: &Project) -> Vec<String> {
        if self.engine.provider.address().is_none() {
            return Vec::new();
        }
        let host = self.engine.models_of_host().await;
        let mut names: Vec<String> = chosen_model(settings).into_iter().collect();
        names.push(self.engine.provider.model().to_owned());
        names.extend(host.answered);
        let mut seen = host.unknown;
        names.retain(|name| seen.insert(name.clone()));
        names
    }
}

#[cfg(test)]
mod tests {
    use ship_store::{FileStore, StoreOptions};

    use super::*;

    #[tokio::test]
    async fn a_call_comes_before_the_chat_and_the_chat_before_the_settings() {
        let store = FileStore::in_memory(StoreOptions::default());
        let chat: ChatKey = "api:main".parse().unwrap();
        let choice = async |of_call: Option<&str>| {
            ModelChoice::of_chat(&store, &chat, of_call.map(str::to_owned)).await.unwrap()
        };
        assert_eq!(choice(None).await, ModelChoice::Settings);
        let kept = ModelChoice::keep(&store, &chat, "api", Some("tiny".into())).await.unwrap();
        assert_eq!((choice(None).await, kept.name()), (kept.clone(), Some("tiny")));
        assert_eq!(choice(Some("small")).await, ModelChoice::Call("small".into()));
        let about = store.open(&chat).await.unwrap().unwrap().about().await.unwrap();
        assert_eq!(about.channel.as_deref(), Some("api"));
        ModelChoice::keep(&store, &chat, "api", None).await.unwrap();
        assert_eq!(choice(None).await, ModelChoice::Settings);
    }
}
