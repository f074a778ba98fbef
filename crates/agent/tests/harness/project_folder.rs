//! A project folder, for agents that are opened on one.

use std::path::Path;
use std::sync::Arc;

use ship_agent::{AgentBuilder, open_store};
use ship_project::Project;
use ship_testkit::clock::ManualClock;
use tempfile::TempDir;

use super::{Setup, TestAgent};

pub(crate) struct ProjectFolder(TempDir);

impl ProjectFolder {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (file, text) in files {
            write(folder.path(), file, text);
        }
        Self(folder)
    }

    pub(crate) fn root(&self) -> &Path {
        self.0.path()
    }

    /// A text that holds the folder's name, the same in every run of a test.
    pub(crate) fn rootless(&self, text: &str) -> String {
        text.replace(&self.root().display().to_string(), "<root>")
    }

    fn project(&self) -> Project {
        Project::load(self.root(), []).unwrap()
    }

    /// The agent of the project as a program begins to build it.
    pub(crate) fn builder(&self) -> AgentBuilder {
        AgentBuilder::from_project(&self.project(), Arc::new(ManualClock::default())).unwrap()
    }

    /// An agent that has just been started.
    pub(crate) fn agent(&self) -> TestAgent {
        self.agent_with(&Setup::default(), |builder| builder)
    }

    /// The same with the setup's model, and with what a test adds.
    pub(crate) fn agent_with(
        &self,
        setup: &Setup,
        add: impl FnOnce(AgentBuilder) -> AgentBuilder,
    ) -> TestAgent {
        let store = open_store(&self.project(), Arc::new(setup.clock.clone())).unwrap();
        let builder = self.builder().clock(Arc::new(setup.clock.clone()));
        TestAgent::built(builder, store, setup, add)
    }
}

/// Writes a file of a folder.
pub(crate) fn write(folder: &Path, file: &str, text: &str) {
    let file = folder.join(file);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, text).unwrap();
}
