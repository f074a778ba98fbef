//! A project without a folder.

use ship_agent::{ProjectSource, Skill, SystemTexts};
use ship_store::ChatKey;

/// A project of which a test says what it has.
#[derive(Default)]
pub(crate) struct FixedProject {
    pub(crate) role: Option<String>,
    pub(crate) skills: Vec<Skill>,
}

impl ProjectSource for FixedProject {
    fn project_root(&self) -> String {
        "/project".to_owned()
    }

    fn texts(&self, _chat: &ChatKey) -> SystemTexts {
        SystemTexts { role: self.role.clone(), ..SystemTexts::default() }
    }

    fn skills(&self) -> Vec<Skill> {
        self.skills.clone()
    }
}
