//! A project without a folder.

use ship_agent::{ProjectSource, Skill, SystemTexts, TextsAndSkills};
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

    fn read(&self, _chat: &ChatKey) -> TextsAndSkills {
        let texts = SystemTexts { role: self.role.clone(), ..SystemTexts::default() };
        (texts, self.skills.clone().into())
    }
}
