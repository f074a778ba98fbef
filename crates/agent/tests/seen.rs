//! What the model sees: the snapshot that everything about contexts is specified in.

use ship_agent::provider::ToolSpec;
use ship_agent::{Agent, Inbound, built_in_tools};
use ship_message::UiPart;
use ship_message::json::Json;
use ship_store::ChatKey;

use crate::harness::{ProjectFolder, chat, inbound};

struct Seen(ProjectFolder);

impl Seen {
    fn new(files: &[(&str, &str)]) -> Self {
        Self(ProjectFolder::new(files))
    }

    async fn say(&self, user: &str, text: &str) {
        let test = self.0.agent();
        let (user_id, request_id) = (Some(user.to_owned()), "r".to_owned());
        let inbound = Inbound { user_id, request_id, ..inbound(text) };
        test.agent.accept(&test.chat, inbound).await.unwrap();
        test.run().await;
    }

    /// Everything that the next request would hold: blocks, messages and tools, each under a line that names
    /// it.
    async fn pieces(&self) -> Vec<String> {
        let request = self.0.agent().agent.inspect(&chat()).await.unwrap();
        let mut pieces = Vec::new();
        for block in &request.blocks {
            let text = self.0.rootless(&block.text);
            pieces.push(format!("=== system: {}\n{text}", block.name));
        }
        for (i, message) in request.messages.iter().enumerate() {
            let parts: Vec<String> = message.parts().iter().filter_map(part).collect();
            let role = message.role().name().unwrap();
            pieces.push(format!("=== {} {role}\n{}", i + 1, parts.join("\n--\n")));
        }
        for tool in &request.tools {
            pieces.push(format!("=== tool: {}\n{}", tool.name, tool.to_json()));
        }
        pieces
    }

    async fn next(&self) -> String {
        self.pieces().await.join("\n\n")
    }

    /// The same without what is alike in every project, which other snapshots show.
    async fn said(&self) -> String {
        let alike = ["=== tool: ", "=== system: built-in", "=== system: runtime"];
        let mut pieces = self.pieces().await;
        pieces.retain(|piece| !alike.iter().any(|start| piece.starts_with(start)));
        pieces.join("\n\n")
    }
}

fn part(part: &UiPart) -> Option<String> {
    match part {
        UiPart::Text(text) => Some(text.text().to_owned()),
        UiPart::Tool(tool) => {
            let output = tool.output().map(Json::to_string).unwrap_or_default();
            Some(format!("{}({}) -> {output}", tool.name()?, tool.input()?))
        }
        _ => None,
    }
}

/// The whole request, the built-in texts and the tools included: none of them changes unnoticed.
#[tokio::test]
async fn without_any_file_the_model_has_a_default_role_and_the_built_in_prompt() {
    let seen = Seen::new(&[]);
    seen.say("ann", "hello").await;
    insta::assert_snapshot!("no_files", seen.next().await);
}

#[tokio::test]
async fn every_text_of_the_project_is_a_block_of_its_own_in_its_order() {
    let seen = Seen::new(&[
        ("Agent.md", "You are a ship's cook."),
        (".ship/profile/Primary.md", "The owner likes soup."),
        (".ship/profile/other.md", "The crew likes salad."),
        (".ship/chat/terminal%3Amain/memory/Primary.md", "Ann is allergic to nuts."),
        (
            ".claude/skills/soup/SKILL.md",
            "---\nname: soup\ndescription: How to make soup: any soup\n---\nBoil water.",
        ),
        (".ship/skills/bad/SKILL.md", "---\nname: bad\n"),
        (".ship/skills/soup/SKILL.md", "---\nname: soup\n---\nAnother soup."),
    ]);
    insta::assert_snapshot!("all_files", seen.next().await);
}

#[tokio::test]
async fn in_a_chat_of_two_people_the_model_knows_who_spoke_and_their_words_are_verbatim() {
    let seen = Seen::new(&[("Agent.md", "You are a ship's cook.")]);
    seen.say("ann", "  soup, please ").await;
    seen.say("bob", "salad").await;
    insta::assert_snapshot!("two_people", seen.said().await);
}

#[tokio::test]
async fn a_loaded_skill_is_a_block_until_it_is_unloaded_and_a_restart_changes_nothing() {
    let seen = Seen::new(&[
        ("Agent.md", "You are a ship's cook."),
        (
            ".claude/skills/soup/SKILL.md",
            "---\nname: soup\ndescription: How to make soup\n---\nBoil water.",
        ),
    ]);
    // Every `say` is a new agent on the same folder: a restart in between.
    seen.say("ann", "/tool skills_load {\"name\":\"soup\"}").await;
    insta::assert_snapshot!("skill_loaded", seen.said().await);
    seen.say("ann", "/tool skills_unload {\"name\":\"soup\"}").await;
    insta::assert_snapshot!("skill_unloaded", seen.said().await);
}

#[tokio::test]
async fn on_a_channel_that_does_not_stream_the_rule_is_another() {
    let folder = ProjectFolder::new(&[]);
    let chat: ChatKey = "telegram-chat-42".parse().unwrap();
    let (channel, chat_id) = ("telegram".to_owned(), Some("42".to_owned()));
    let inbound = Inbound { channel, chat_id, ..inbound("hello") };
    let agent = folder.agent().agent;
    agent.accept(&chat, inbound).await.unwrap();
    let runtime = agent.inspect(&chat).await.unwrap().blocks.remove(0).text;
    insta::assert_snapshot!(folder.rootless(&runtime), @r"
    Project root: <root>
    ChatKey: telegram-chat-42
    Channel: telegram
    ChatId: 42

    The person sees only what you deliver with `chat_send`. Send the answer with it, once. Text outside of it is not shown, unless nothing was sent at all.
    ");
}

#[tokio::test]
async fn an_agent_without_built_in_tools_reads_nothing_of_them_or_of_a_channel_without_a_name() {
    let agent = Agent::builder().without_built_in_tools().build();
    agent.send(&chat(), "hello").await.unwrap();
    let request = agent.inspect(&chat()).await.unwrap();
    assert!(request.tools.is_empty());
    let with_tools = Agent::builder().build().inspect(&chat()).await.unwrap();
    assert!(with_tools.tools.len() > built_in_tools().len(), "those for contexts are among them");
    for ToolSpec { name, .. } in &with_tools.tools {
        assert!(request.blocks.iter().all(|block| !block.text.contains(name)), "{name}");
    }
    insta::assert_snapshot!(request.blocks[0].text, @r"
    Project root: (none)
    ChatKey: terminal:main

    Your answer is the text you write: the person sees it as you write it.
    ");
}

#[tokio::test]
async fn the_role_that_a_program_sets_takes_the_place_of_the_projects() {
    let folder = ProjectFolder::new(&[("Agent.md", "You are a ship's cook.")]);
    let pirate = "You are a pirate.";
    for agent in [folder.builder().role(pirate), Agent::builder().role(pirate)] {
        let blocks = agent.build().inspect(&chat()).await.unwrap().blocks;
        let role = blocks.iter().find(|block| block.name == "Agent.md").unwrap();
        assert_eq!(role.text, pirate);
    }
}
