//! Makes an agent from a project folder: its settings, texts, skills, logs and model.

mod error;
mod model_choice;
mod open_agent;
mod project_folder;
mod provider_choice;

pub use error::OpenAgentError;
pub use model_choice::ModelChoice;
pub use open_agent::open_store;
pub use provider_choice::chosen_model;
