//! The texts and skills of an agent's project, as the engine asks for them.

use ship_store::ChatKey;

/// A skill of the project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillText {
    /// The name of the skill.
    pub name: String,
    /// The purpose of the skill.
    pub description: String,
    /// The tools that it may use; `None` if it does not say.
    pub allowed_tools: Option<Vec<String>>,
    /// The text of the skill, or the reason why it cannot be used.
    pub state: SkillState,
}

/// Says whether a skill can be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SkillState {
    /// The skill can be used; this is its text.
    Usable(String),
    /// The skill cannot be used, for this reason.
    Unusable(String),
}

/// The texts of a project that become system blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Texts {
    /// The text of `.ship/profile/Primary.md`.
    pub profile_primary: Option<String>,
    /// The text of `.ship/profile/other.md`.
    pub profile_other: Option<String>,
    /// The text of the chat's `memory/Primary.md`.
    pub memory: Option<String>,
    /// The text of `Agent.md`.
    pub agent: Option<String>,
    /// The reasons why existing texts are missing here, a sentence each.
    pub problems: Vec<String>,
}

/// The source of an agent's texts and skills. Each run asks once.
pub trait ProjectSource: Send + Sync {
    /// Returns the project folder, as the model is told.
    fn project_root(&self) -> String;

    /// Returns the texts for a chat.
    fn texts(&self, chat: &ChatKey) -> Texts;

    /// Returns the existing skills.
    fn skills(&self) -> Vec<SkillText>;

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

    fn texts(&self, _chat: &ChatKey) -> Texts {
        Texts::default()
    }

    fn skills(&self) -> Vec<SkillText> {
        Vec::new()
    }
}
