//! The texts and skills of an agent's project, as the engine asks for them.

use ship_store::ChatKey;

/// A skill, as the project has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillText {
    /// Its name.
    pub name: String,
    /// When to use it.
    pub description: String,
    /// The tools it says it may use; none when it does not say.
    pub allowed_tools: Option<Vec<String>>,
    /// Its text, or why it cannot be used.
    pub state: SkillState,
}

/// Whether a skill can be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SkillState {
    /// Yes: this is its text.
    Usable(String),
    /// No, for this reason.
    Unusable(String),
}

/// The texts of a project that become system blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Texts {
    /// `.ship/profile/Primary.md`
    pub profile_primary: Option<String>,
    /// `.ship/profile/other.md`
    pub profile_other: Option<String>,
    /// The chat's `memory/Primary.md`
    pub memory: Option<String>,
    /// `Agent.md`
    pub agent: Option<String>,
    /// Why a text is missing that is there, a sentence each.
    pub problems: Vec<String>,
}

/// Where an agent's texts and skills come from. Asked once for each run.
pub trait ProjectSource: Send + Sync {
    /// The project's folder, as the model is told.
    fn project_root(&self) -> String;

    /// The texts, for a chat.
    fn texts(&self, chat: &ChatKey) -> Texts;

    /// The skills there are.
    fn skills(&self) -> Vec<SkillText>;

    /// What looked wrong when the project was loaded, a sentence each, for the log. Whoever loaded it has
    /// seen it.
    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }

    /// A text without the secrets that may be in it.
    fn mask(&self, text: &str) -> String {
        text.to_owned()
    }
}

/// No project at all: an agent in memory.
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
