//! The texts and skills of an agent's project, as the engine asks for them.

use std::sync::Arc;

use ship_project::{SystemTexts, TextsAndSkills};
use ship_store::ChatKey;

/// The source of an agent's texts and skills. Each run asks once.
pub trait ProjectSource: Send + Sync {
    /// Returns the project folder, as the model is told.
    fn project_root(&self) -> String;

    /// Returns the texts and skills that were read before, if to read them again would give the same. This must not
    /// block. Without it, they are read where blocking is allowed.
    fn unchanged(&self, _chat: &ChatKey) -> Option<TextsAndSkills> {
        None
    }

    /// Reads the texts for a chat, and the existing skills, but not the memory of the chat, which belongs to the store.
    fn read(&self, chat: &ChatKey) -> TextsAndSkills;

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

    fn unchanged(&self, chat: &ChatKey) -> Option<TextsAndSkills> {
        Some(self.read(chat))
    }

    fn read(&self, _chat: &ChatKey) -> TextsAndSkills {
        (SystemTexts::default(), Arc::default())
    }
}
