//! Makes the system blocks, which a model reads before all messages, in their order.
//!
//! Each block is a text of its own, and changes only when its source does, so that providers can cache everything
//! before it. Content that differs from request to request is not a block; it travels with its message (see
//! [`shown_to_model`](crate::shown_to_model)). History is never put into a block.

use std::fmt::Write as _;

use ship_record::Timestamp;

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
    /// The time of the message that is answered, if it shall stand in the first block.
    pub time: Option<Timestamp>,
    /// The way in which the person sees the answer.
    pub output_rules: OutputRules,
    /// Whether the agent has the tool that delivers a text at once.
    pub has_chat_send: bool,
    /// Whether the agent has the tools that load and unload skills.
    pub has_skills: bool,
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

/// The text about tools and messages for every agent.
const BUILT_IN: &str = include_str!("prompts/built_in.md");

/// The text about the use of the tools for skills.
const SKILLS: &str = include_str!("prompts/skills.md");

/// The text about the use of the tools for contexts.
const CONTEXTS: &str = include_str!("prompts/contexts.md");

const STREAMED: &str = include_str!("prompts/streamed.md");

/// The text about the use of `chat_send` where the answer is streamed.
const CHAT_SEND: &str = include_str!("prompts/chat_send.md");

const TOOL_STRICT: &str = include_str!("prompts/tool_strict.md");

/// Makes the blocks. A source without text makes none, and a tool that the agent does not have is not named.
pub fn system_blocks(sources: &BlockSources) -> Vec<SystemBlock> {
    let mut blocks = Vec::new();
    let mut add = |name: &str, text: &str| {
        let text = text.trim();
        if !text.is_empty() {
            blocks.push(SystemBlock { name: name.to_owned(), text: text.to_owned() });
        }
    };
    add("runtime", &runtime_text(sources));
    for (name, heading, text) in [
        ("profile/Primary.md", "Profile", &sources.profile_primary),
        ("profile/other.md", "Profile: other", &sources.profile_other),
        ("memory/Primary.md", "Memory of this chat", &sources.memory),
    ] {
        // Some hosts make one text of all blocks, and then only headings show where a block begins.
        let text = text.as_deref().map(str::trim).filter(|text| !text.is_empty());
        add(name, &text.map_or(String::new(), |text| format!("# {heading}\n\n{text}")));
    }
    let agent = sources.agent.as_deref().filter(|text| !text.trim().is_empty());
    add("Agent.md", agent.unwrap_or(DEFAULT_ROLE));
    add("built-in", &built_in_text(sources));
    if sources.has_skills {
        add("skills", &skill_overview(&sources.skills));
    }
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
        ("Time", &sources.time.map(|time| time.to_string())),
    ] {
        if let Some(value) = value.as_deref().filter(|value| !value.is_empty()) {
            // Writing to a `String` cannot fail.
            let _ = writeln!(text, "{name}: {value}");
        }
    }
    text.push('\n');
    match sources.output_rules {
        // Without the tool that delivers it, the text of the answer is all that a person gets.
        _ if !sources.has_chat_send => text.push_str(STREAMED),
        OutputRules::Streamed => {
            let _ = write!(text, "{} {CHAT_SEND}", STREAMED.trim_end());
        }
        OutputRules::ToolStrict => text.push_str(TOOL_STRICT),
    }
    text
}

fn built_in_text(sources: &BlockSources) -> String {
    let mut text = BUILT_IN.to_owned();
    if sources.has_skills {
        text.push_str(SKILLS);
    }
    if sources.has_contexts {
        let _ = write!(text, "\n{CONTEXTS}");
    }
    text
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

    /// Returns the sources of an agent without texts and tools, whose channel has no name.
    fn sources() -> BlockSources {
        BlockSources {
            project_root: "/p".to_owned(),
            chat_key: "terminal:main".to_owned(),
            channel: Some(String::new()),
            chat_id: None,
            request_id: None,
            time: None,
            output_rules: OutputRules::Streamed,
            has_chat_send: false,
            has_skills: false,
            has_contexts: false,
            profile_primary: None,
            profile_other: None,
            memory: None,
            agent: None,
            skills: vec![SkillLine {
                name: "soup".to_owned(),
                description: "How to make soup".to_owned(),
                is_usable: true,
            }],
            loaded_skills: Vec::new(),
        }
    }

    fn text_of(sources: &BlockSources) -> String {
        let texts: Vec<String> =
            system_blocks(sources).into_iter().map(|block| block.text).collect();
        texts.join("\n\n")
    }

    #[test]
    fn an_agent_is_told_of_contexts_only_when_it_has_them() {
        assert!(!text_of(&sources()).contains("chat_context"));
        let told = text_of(&BlockSources { has_contexts: true, ..sources() });
        assert!(told.starts_with(&text_of(&sources())) && told.contains("回到刚才那个方案"));
    }

    #[test]
    fn an_agent_is_told_of_skills_only_when_it_can_load_them() {
        assert!(!text_of(&sources()).contains("skill"));
        let told = text_of(&BlockSources { has_skills: true, ..sources() });
        assert!(told.contains("`skills_unload`") && told.contains("- `soup`: "), "{told}");
    }

    #[test]
    fn an_agent_is_told_of_chat_send_only_when_it_has_it() {
        for output_rules in [OutputRules::Streamed, OutputRules::ToolStrict] {
            let without = BlockSources { output_rules, ..sources() };
            assert!(!text_of(&without).contains("chat_send"), "{output_rules:?}");
            let with = BlockSources { has_chat_send: true, ..without };
            assert!(text_of(&with).contains("`chat_send`"), "{output_rules:?}");
        }
    }

    #[test]
    fn a_channel_without_a_name_is_not_named() {
        let runtime = system_blocks(&sources()).remove(0).text;
        assert!(
            runtime.starts_with("Project root: /p\nChatKey: terminal:main\n\nYour"),
            "{runtime}"
        );
    }
}
