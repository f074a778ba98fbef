//! Skills: folders with a `SKILL.md` that tells the agent how to do something.
//!
//! They come from strangers as often as from colleagues, so reading one never runs anything, never fails
//! the others and never follows a link out of the project. One that cannot be used is listed with the
//! reason.

mod front_matter;
mod parse;
mod scan;
mod visible;

use std::fmt;
use std::path::PathBuf;

pub use scan::scan_skills;

/// A skill that was found, be it usable or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    /// What it is called: its front matter's `name`, else its folder's.
    pub name: String,
    /// What it is for, on one line.
    pub description: String,
    /// The tools it may use; `None` when it does not say.
    pub allowed_tools: Option<Vec<String>>,
    /// Its folder.
    pub folder: PathBuf,
    /// Where it was found.
    pub source: SkillSource,
    /// Whether it can be loaded.
    pub state: SkillState,
}

/// Where a skill was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SkillSource {
    /// `.claude/skills`
    Claude,
    /// `.ship/skills`
    Ship,
    /// A folder of `skills.paths`, as it is written there.
    Path(String),
}

/// Whether a skill can be loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SkillState {
    /// It can.
    Usable {
        /// What it tells the agent.
        body: String,
    },
    /// Another one of the same name is used.
    Shadowed {
        /// The folder of the other one.
        by: PathBuf,
    },
    /// It cannot.
    Unusable {
        /// Why, and what to do about it.
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
