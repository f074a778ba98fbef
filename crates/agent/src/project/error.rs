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
}

impl Explain for OpenAgentError {
    fn explain(&self) -> Explanation {
        match self {
            Self::Load(error) => Explanation::new(error.to_string()),
            Self::Store(error) => error.explain(),
            Self::NoKey(it) => Explanation::new(it.clone()),
            Self::NoModel => Explanation::new("`llm.baseUrl` is set, but `llm.model` is not")
                .with_remedy("name a model of that host: `ship config set llm.model NAME`"),
            Self::Provider(error) => {
                Explanation { problem: error.to_string(), remedy: error.remedy() }
            }
        }
    }
}
