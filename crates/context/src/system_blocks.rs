//! Makes the system blocks, which a model reads before all messages, in their order.
//!
//! Each block is a text of its own, and changes only when its source does, so that providers can cache everything
//! before it. Content that differs from request to request is not a block; it travels with its message (see
//! [`shown_to_model`](crate::shown_to_model)). History is never put into a block.

use std::fmt::Write as _;

/// One system block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SystemBlock {
    /// The name of the block, as `ship inspect` shows it.
    pub name: String,
    /// The text for the model.
    pub text: String,
}

/// Says how the person sees the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputRules {
    /// The channel shows the text of the answer as it is written: terminal and HTTP.
    Streamed,
    /// The channel shows only what `chat_send` delivers: Telegram.
    ToolStrict,
}

impl OutputRules {
    /// Returns the rules of a channel. An unknown channel shows the text as it is written.
    pub fn of_channel(channel: Option<&str>) -> Self {
        match channel {
            Some("telegram") => Self::ToolStrict,
            Some(_) | None => Self::Streamed,
        }
    }
}

/// A skill in the overview.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillLine {
    /// The name of the skill.
    pub name: String,
    /// The purpose of the skill, or the reason why it cannot be used.
    pub description: String,
    /// Whether the skill can be loaded.
    pub is_usable: bool,
}

/// A skill with its text loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadedSkill {
    /// The name of the skill.
    pub name: String,
    /// The text of its SKILL.md, without the front matter.
    pub text: String,
}

/// The sources of the blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockSources {
    /// The path of the project folder.
    pub project_root: String,
    /// The key of the chat.
    pub chat_key: String,
    /// The channel of the chat, if it is known.
    pub channel: Option<String>,
    /// The id of the chat on its platform, if it is known.
    pub chat_id: Option<String>,
    /// The id of the request, if it shall stand in the first block.
    pub request_id: Option<String>,
    /// The way in which the person sees the answer.
    pub output_rules: OutputRules,
    /// Whether the agent has the tools to leave a context and come back.
    pub has_contexts: bool,
    /// The text of `.ship/profile/Primary.md`.
    pub profile_primary: Option<String>,
    /// The text of `.ship/profile/other.md`.
    pub profile_other: Option<String>,
    /// The text of the chat's `memory/Primary.md`.
    pub memory: Option<String>,
    /// The text of `Agent.md`.
    pub agent: Option<String>,
    /// The existing skills.
    pub skills: Vec<SkillLine>,
    /// The loaded skills, in the order in which they were loaded.
    pub loaded_skills: Vec<LoadedSkill>,
}

/// The role of an agent without a text of its own.
const DEFAULT_ROLE: &str = include_str!("prompts/default_role.md");

/// The text about tools and contexts for every agent.
const BUILT_IN: &str = include_str!("prompts/built_in.md");

/// The text about the use of the tools for contexts.
const CONTEXTS: &str = include_str!("prompts/contexts.md");

const STREAMED: &str = include_str!("prompts/streamed.md");
const TOOL_STRICT: &str = include_str!("prompts/tool_strict.md");

/// Makes the blocks. A source without text makes none.
pub fn system_blocks(sources: &BlockSources) -> Vec<SystemBlock> {
    let mut blocks = Vec::new();
    let mut add = |name: &str, text: &str| {
        let text = text.trim();
        if !text.is_empty() {
            blocks.push(SystemBlock { name: name.to_owned(), text: text.to_owned() });
        }
    };
    add("runtime", &runtime_text(sources));
    add("profile/Primary.md", sources.profile_primary.as_deref().unwrap_or_default());
    add("profile/other.md", sources.profile_other.as_deref().unwrap_or_default());
    add("memory/Primary.md", sources.memory.as_deref().unwrap_or_default());
    let agent = sources.agent.as_deref().filter(|text| !text.trim().is_empty());
    add("Agent.md", agent.unwrap_or(DEFAULT_ROLE));
    add("built-in", &built_in_text(sources.has_contexts));
    add("skills", &skill_overview(&sources.skills));
    for skill in &sources.loaded_skills {
        let text = format!("# Skill `{}` (loaded)\n\n{}", skill.name, skill.text.trim());
        add(&format!("skill:{}", skill.name), &text);
    }
    blocks
}

fn runtime_text(sources: &BlockSources) -> String {
    let mut text =
        format!("Project root: {}\nChatKey: {}\n", sources.project_root, sources.chat_key);
    for (name, value) in [
        ("Channel", &sources.channel),
        ("ChatId", &sources.chat_id),
        ("Request ID", &sources.request_id),
    ] {
        if let Some(value) = value {
            let _ = writeln!(text, "{name}: {value}");
        }
    }
    text.push('\n');
    text.push_str(match sources.output_rules {
        OutputRules::Streamed => STREAMED,
        OutputRules::ToolStrict => TOOL_STRICT,
    });
    text
}

fn built_in_text(has_contexts: bool) -> String {
    match has_contexts {
        true => format!("{}\n\n{CONTEXTS}", BUILT_IN.trim_end()),
        false => BUILT_IN.to_owned(),
    }
}

fn skill_overview(skills: &[SkillLine]) -> String {
    if skills.is_empty() {
        return String::new();
    }
    let mut text =
        "# Skills\n\nLoad one with `skills_load` when its description fits the task.\n\n"
            .to_owned();
    for skill in skills {
        let note = if skill.is_usable { "" } else { " (cannot be loaded)" };
        let _ = writeln!(text, "- `{}`{note}: {}", skill.name, skill.description);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn built_in_block(has_contexts: bool) -> String {
        let blocks = system_blocks(&BlockSources {
            project_root: "/p".to_owned(),
            chat_key: "terminal:main".to_owned(),
            channel: None,
            chat_id: None,
            request_id: None,
            output_rules: OutputRules::Streamed,
            has_contexts,
            profile_primary: None,
            profile_other: None,
            memory: None,
            agent: None,
            skills: Vec::new(),
            loaded_skills: Vec::new(),
        });
        blocks.into_iter().find(|block| block.name == "built-in").unwrap().text
    }

    #[test]
    fn an_agent_is_told_of_contexts_only_when_it_has_them() {
        assert!(!built_in_block(false).contains("chat_context"));
        let told = built_in_block(true);
        assert!(told.starts_with(&built_in_block(false)) && told.contains("回到刚才那个方案"));
    }
}
