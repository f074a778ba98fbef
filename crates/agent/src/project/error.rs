//! The error of opening an agent in a project folder.

use ship_project::LoadProjectError;
use ship_provider::ProviderError;
use ship_store::{Explain, Explanation, StorageError};

/// The reason why a project gives no agent.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.explain())]
#[non_exhaustive]
pub enum OpenAgentError {
    /// The project's files have invalid values.
    #[error(transparent)]
    Load(#[from] LoadProjectError),
    /// The project's folder cannot be opened.
    #[error(transparent)]
    Store(#[from] StorageError),
    /// The configured provider needs a key, and there is none.
    NoKey(String),
    /// A custom host is configured without a model, and its models are unknown.
    NoModel,
    /// The provider's settings cannot be used.
    #[error(transparent)]
    Provider(#[from] ProviderError),
    /// The configured store is not supported by this program.
    NoDatabase,
}

impl Explain for OpenAgentError {
    fn explain(&self) -> Explanation {
        match self {
            Self::Load(error) => Explanation::new(error.to_string()),
            Self::Store(error) => error.explain(),
            Self::NoKey(it) => Explanation::new(format!("there is no key: {it}")),
            Self::NoModel => Explanation::new("`llm.baseUrl` is set and `llm.model` is not")
                .with_remedy("set it to a model that is served there"),
            Self::Provider(error) => {
                Explanation { problem: error.to_string(), remedy: error.remedy() }
            }
            Self::NoDatabase => Explanation::new(
                "`store` names a database, and this version of ship keeps chats in files",
            )
            .with_remedy("leave it out"),
        }
    }
}
