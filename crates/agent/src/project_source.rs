//! The texts and skills of an agent's project, as the engine asks for them.

use std::sync::Arc;

use ship_project::{Skill, SystemTexts, TextsAndSkills};
use ship_store::ChatKey;

/// The source of an agent's texts and skills. Each run asks once.
pub trait ProjectSource: Send + Sync {
    /// Returns the project folder, as the model is told.
    fn project_root(&self) -> String;

    /// Returns the texts for a chat. Its memory is not among them: that belongs to the store.
    fn texts(&self, chat: &ChatKey) -> SystemTexts;

    /// Returns the existing skills.
    fn skills(&self) -> Vec<Skill>;

    /// Returns the texts and skills that were read before, if to read them again would give the same. This must not
    /// block. Without it, they are read where blocking is allowed.
    fn unchanged(&self, _chat: &ChatKey) -> Option<TextsAndSkills> {
        None
    }

    /// Reads the texts and the skills.
    fn read(&self, chat: &ChatKey) -> TextsAndSkills {
        (self.texts(chat), self.skills().into())
    }

    /// Returns the warnings from loading the project, a sentence each, for the log. The person
    /// has already seen them.
    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns a text with its secrets masked.
    fn mask(&self, text: &str) -> String {
        text.to_owned()
    }
}

/// No project: the agent works in memory.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoProject;

impl ProjectSource for NoProject {
    fn project_root(&self) -> String {
        "(none)".to_owned()
    }

    fn texts(&self, _chat: &ChatKey) -> SystemTexts {
        SystemTexts::default()
    }

    fn skills(&self) -> Vec<Skill> {
        Vec::new()
    }

    fn unchanged(&self, _chat: &ChatKey) -> Option<TextsAndSkills> {
        Some((SystemTexts::default(), Arc::default()))
    }
}
