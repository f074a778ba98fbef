//! The error of opening an agent in a project folder.

use ship_project::LoadProjectError;
use ship_provider::ProviderError;
use ship_store::OpenError;

/// The reason why a project gives no agent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenAgentError {
    /// The project's files have invalid values.
    #[error(transparent)]
    Load(#[from] LoadProjectError),
    /// The project's folder cannot be opened.
    #[error(transparent)]
    Store(#[from] OpenError),
    /// The configured provider needs a key, and there is none.
    #[error("there is no key: {0}")]
    NoKey(String),
    /// A custom host is configured without a model, and its models are unknown.
    #[error("`llm.baseUrl` is set and `llm.model` is not; set it to a model that is served there")]
    NoModel,
    /// The provider's settings cannot be used.
    #[error(transparent)]
    Provider(#[from] ProviderError),
    /// The configured store is not supported by this program.
    #[error(
        "`store` names a database, and this version of ship keeps chats in files; leave it out"
    )]
    NoDatabase,
}
