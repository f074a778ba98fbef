//! The error of opening an agent in a project folder.

use ship_project::LoadProjectError;
use ship_provider::ProviderError;
use ship_store::OpenError;

/// Why an agent cannot be made of a project.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenAgentError {
    /// The project's files cannot be meant as they are.
    #[error(transparent)]
    Load(#[from] LoadProjectError),
    /// The project's folder cannot be opened.
    #[error(transparent)]
    Store(#[from] OpenError),
    /// The provider that is named needs a key, and there is none.
    #[error("there is no key: {0}")]
    NoKey(String),
    /// The host that is named has models that only its owner knows.
    #[error("`llm.baseUrl` is set and `llm.model` is not; set it to a model that is served there")]
    NoModel,
    /// The provider's settings cannot be used.
    #[error(transparent)]
    Provider(#[from] ProviderError),
    /// The store that is named is not in this program.
    #[error(
        "`store` names a database, and this version of ship keeps chats in files; leave it out"
    )]
    NoDatabase,
}
