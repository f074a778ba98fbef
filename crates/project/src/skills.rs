//! Finds skills: folders with a `SKILL.md` that tells the agent how to do something.
//!
//! Skills come from strangers as often as from colleagues. So reading one never runs anything, never makes another
//! one fail, and never follows a link out of the project. An unusable skill is listed with the reason.

mod front_matter;
mod hidden_chars;
mod parse;
mod scan;

use std::fmt;
use std::path::PathBuf;

pub use scan::scan_skills;

pub(crate) use scan::scan_and_note;

/// A skill that was found, usable or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    /// The name: from its front matter, or else the name of its folder.
    pub name: String,
    /// The purpose, on one line.
    pub description: String,
    /// The tools that it may use; `None` if it does not say.
    pub allowed_tools: Option<Vec<String>>,
    /// The folder of the skill.
    pub folder: PathBuf,
    /// The place where it was found.
    pub source: SkillSource,
    /// Whether the skill can be loaded.
    pub state: SkillState,
}

/// The place where a skill was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SkillSource {
    /// The folder `.claude/skills`.
    Claude,
    /// The folder `.ship/skills`.
    Ship,
    /// A folder of `skills.paths`, as it is written there.
    Path(String),
}

/// Whether a skill can be loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SkillState {
    /// The skill can be loaded.
    Usable {
        /// The instructions for the agent.
        body: String,
    },
    /// The skill cannot be loaded, or another of the same name is used.
    Unusable {
        /// The reason and the remedy.
        reason: String,
    },
}

impl fmt::Display for SkillSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Claude => ".claude/skills",
            Self::Ship => ".ship/skills",
            Self::Path(path) => path,
        })
    }
}
