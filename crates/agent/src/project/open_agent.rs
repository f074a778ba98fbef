//! Opens an agent in a project folder; everything works without any configuration.

use std::path::PathBuf;
use std::sync::Arc;

use ship_project::{LogWriter, Project};
use ship_store::{Clock, FileStore, Store, StoreOptions, SystemClock};

use super::error::OpenAgentError;
use super::project_folder::{ProjectFolder, ProjectRunLog};
use super::provider_choice::make_provider;
use crate::engine::{Agent, AgentBuilder};
use crate::rules::{Rules, store_share, to_usize};

impl Agent {
    /// Opens the agent of the project in a folder, as its `ship.json` and `.env` say; without either, everything
    /// has its default.
    ///
    /// The process's own environment is not read. If it should count, hand it to [`Project::load`], and give the
    /// project to [`AgentBuilder::from_project`].
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// let agent = ship_agent::Agent::open(folder.path())?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When the project's files say something that cannot be meant, and as [`AgentBuilder::from_project`].
    pub fn open(folder: impl Into<PathBuf>) -> Result<Self, OpenAgentError> {
        let project = Project::load(folder, [])?;
        Ok(AgentBuilder::from_project(&project, Arc::new(SystemClock))?.build())
    }
}

impl AgentBuilder {
    /// Begins with the agent of a project that was loaded: its store, its model, its texts and its logs.
    ///
    /// # Errors
    /// When the project asks for something that this program does not have, or its folder cannot be opened.
    pub fn from_project(project: &Project, clock: Arc<dyn Clock>) -> Result<Self, OpenAgentError> {
        let log = ProjectRunLog { logs: LogWriter::new(project, Arc::clone(&clock)) };
        Ok(Agent::builder()
            .shared_store(open_store(project, Arc::clone(&clock))?)
            .shared_provider(make_provider(project)?)
            .project_source(Arc::new(ProjectFolder::new(project, Arc::clone(&clock))))
            .rules(Rules::from(project.settings()))
            .log(Arc::new(log))
            .clock(clock))
    }
}

/// Opens the store of a project alone.
///
/// # Errors
/// When the project's folder cannot be opened.
pub fn open_store(
    project: &Project,
    clock: Arc<dyn Clock>,
) -> Result<Arc<dyn Store>, OpenAgentError> {
    let settings = project.settings();
    let options = StoreOptions {
        durability: settings.storage.durability,
        lock_wait_ms: settings.lock.wait_ms,
        message_bytes_max: line_bytes_max(to_usize(settings.limits.message_bytes)),
        cache_bytes: store_share(settings.limits.cache_bytes),
        clock,
    };
    Ok(Arc::new(FileStore::new(project.root(), options)?))
}

/// Returns the maximal size of a stored message for a text of so many bytes. JSON may write a byte as six, an
/// answer may quote the question, and the fields around a text do not count against the person.
fn line_bytes_max(text_bytes: usize) -> usize {
    text_bytes.saturating_mul(8).saturating_add(65_536)
}
