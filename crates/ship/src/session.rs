//! What every command but `init` begins with: the project, the chat, and the store.

use std::sync::Arc;

use ship_agent::Agent;
use ship_project::{Project, ProviderName, Secrets, find_root};
use ship_store::{ChatKey, Clock, Store, SystemClock};

use crate::arguments::Arguments;
use crate::failure::Failure;
use crate::output;

pub(crate) struct Session {
    pub(crate) project: Project,
    pub(crate) chat: ChatKey,
    pub(crate) json: bool,
    clock: Arc<dyn Clock>,
}

impl Session {
    /// Finds and loads the project.
    pub(crate) fn open(arguments: &Arguments) -> Result<Self, Failure> {
        let here = std::env::current_dir()?;
        let home = std::env::home_dir();
        let root = match &arguments.project {
            Some(folder) => here.join(folder),
            None => find_root(&here, home.as_deref()),
        };
        if !root.is_dir() {
            let message = format!("there is no folder {}", root.display());
            return Err(
                Failure::new("no_project", message).hint("name a folder that is there, or make it")
            );
        }
        let project = Project::load(root, environment())?;
        for warning in project.warnings() {
            output::warning(&project.secrets().mask(&warning.to_string()));
        }
        Ok(Self {
            project,
            chat: arguments.chat.parse()?,
            json: arguments.json,
            clock: Arc::new(SystemClock),
        })
    }

    pub(crate) fn agent(&self) -> Result<Agent, Failure> {
        Ok(Agent::open(&self.project, Arc::clone(&self.clock))?)
    }

    pub(crate) fn store(&self) -> Result<Arc<dyn Store>, Failure> {
        Ok(Agent::store(&self.project, Arc::clone(&self.clock))?)
    }

    /// Who answers, in words for the person.
    pub(crate) fn who_answers(&self) -> String {
        let choice = self.project.provider();
        match (choice.provider, choice.variable) {
            (ProviderName::Offline, _) => "offline model, a stand-in without a key".to_owned(),
            (_, Some(variable)) => {
                format!("offline model: {variable} is set, but this version cannot use it yet")
            }
            (_, None) => choice.why,
        }
    }
}

/// The environment. Variables that are not UTF-8 cannot be ours.
fn environment() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

/// The secrets that the environment alone holds, for failures from before there is a project.
pub(crate) fn environment_secrets() -> Secrets {
    let variables: Vec<(String, String)> = environment().collect();
    Secrets::collect(variables.iter().map(|(name, value)| (name.as_str(), value.as_str())), [])
}
