//! What the model sees: the snapshot that everything about contexts is specified in.

#![expect(clippy::unwrap_used, reason = "a store that cannot be read fails the test")]

use std::path::Path;
use std::sync::Arc;

use ship_agent::{Agent, Inbound, Stop};
use ship_message::UiPart;
use ship_message::json::Json;
use ship_project::Project;
use ship_store::ChatKey;
use ship_testkit::clock::ManualClock;

struct Seen {
    folder: tempfile::TempDir,
}

impl Seen {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        Self { folder }
    }

    /// An agent that has just been started.
    fn agent(&self) -> Agent {
        let project = Project::load(self.folder.path(), []).unwrap();
        Agent::open(&project, Arc::new(ManualClock::default())).unwrap()
    }

    async fn say(&self, user: &str, text: &str) {
        let agent = self.agent();
        let inbound = Inbound {
            key: format!("{user}:{text}"),
            text: text.to_owned(),
            channel: "terminal".to_owned(),
            user_id: Some(user.to_owned()),
            request_id: "r".to_owned(),
            ..Inbound::default()
        };
        agent.accept(&key(), inbound).await.unwrap();
        agent.run(&key(), &Stop::default()).await.unwrap();
    }

    /// Everything that the next request would hold, a line each.
    async fn next(&self) -> String {
        let request = self.agent().inspect(&key()).await.unwrap();
        let mut lines = Vec::new();
        for block in &request.blocks {
            // The folder's name differs from run to run, so it goes before anything is cut.
            let text = block.text.replace(&root(self.folder.path()), "<root>");
            lines.push(format!("[{}] {}", block.name, short(&text)));
        }
        for (i, message) in request.messages.iter().enumerate() {
            let parts: Vec<String> = message.parts().iter().filter_map(part).collect();
            lines.push(format!(
                "{} {}: {}",
                i + 1,
                message.role().name().unwrap(),
                parts.join(" | ")
            ));
        }
        lines.push(format!(
            "tools: {}",
            request.tools.iter().map(|t| t.name.as_str()).collect::<Vec<_>>().join(" ")
        ));
        lines.join("\n")
    }
}

fn key() -> ChatKey {
    "terminal:main".parse().unwrap()
}

fn root(path: &Path) -> String {
    path.display().to_string()
}

fn part(part: &UiPart) -> Option<String> {
    match part {
        UiPart::Text(text) => Some(short(text.text())),
        UiPart::Tool(tool) => {
            let output = tool.output().map(Json::to_string).unwrap_or_default();
            Some(format!("{}({}) -> {}", tool.name()?, tool.input()?, short(&output)))
        }
        _ => None,
    }
}

/// A text on one line; the built-in ones are long, and are read where they are written.
fn short(text: &str) -> String {
    let line = text.replace('\n', "⏎");
    if line.chars().count() > 110 { line.chars().take(110).chain(['…']).collect() } else { line }
}

#[tokio::test]
async fn without_any_file_the_model_has_a_default_role_and_the_built_in_prompt() {
    let seen = Seen::new(&[]);
    seen.say("ann", "hello").await;
    insta::assert_snapshot!(seen.next().await, @r#"
    [runtime] Project root: <root>⏎ChatKey: terminal:main⏎Channel: terminal⏎⏎Your answer is the text you write: the person s…
    [Agent.md] # Who you are⏎⏎You are a shipmate: a helpful assistant who works in this project with the people who talk to y…
    [built-in] # How to work⏎⏎- Use a tool when it helps; answer directly when it does not. A tool's error is information: re…
    1 user: Request ID: r⏎UserId: ann⏎Time: 2026-02-05T10:15:00.000Z | hello
    2 assistant: I am the offline model, a small stand-in without a language model. You said: hello
    tools: chat_send skills_list skills_load skills_unload
    "#);
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
    ]);
    insta::assert_snapshot!(seen.next().await, @r#"
    [runtime] Project root: <root>⏎ChatKey: terminal:main⏎⏎Your answer is the text you write: the person sees it as you writ…
    [profile/Primary.md] The owner likes soup.
    [profile/other.md] The crew likes salad.
    [memory/Primary.md] Ann is allergic to nuts.
    [Agent.md] You are a ship's cook.
    [built-in] # How to work⏎⏎- Use a tool when it helps; answer directly when it does not. A tool's error is information: re…
    [skills] # Skills⏎⏎Load one with `skills_load` when its description fits the task.⏎⏎- `soup`: How to make soup: any sou…
    tools: chat_send skills_list skills_load skills_unload
    "#);
}

#[tokio::test]
async fn in_a_chat_of_two_people_the_model_knows_who_spoke_and_their_words_are_verbatim() {
    let seen = Seen::new(&[("Agent.md", "You are a ship's cook.")]);
    seen.say("ann", "  soup, please ").await;
    seen.say("bob", "salad").await;
    insta::assert_snapshot!(seen.next().await, @r#"
    [runtime] Project root: <root>⏎ChatKey: terminal:main⏎Channel: terminal⏎⏎Your answer is the text you write: the person s…
    [Agent.md] You are a ship's cook.
    [built-in] # How to work⏎⏎- Use a tool when it helps; answer directly when it does not. A tool's error is information: re…
    1 user: Request ID: r⏎UserId: ann⏎Time: 2026-02-05T10:15:00.000Z |   soup, please 
    2 assistant: I am the offline model, a small stand-in without a language model. You said: soup, please
    3 user: Request ID: r⏎UserId: bob⏎Time: 2026-02-05T10:15:00.000Z | salad
    4 assistant: I am the offline model, a small stand-in without a language model. You said: salad
    tools: chat_send skills_list skills_load skills_unload
    "#);
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
    insta::assert_snapshot!(seen.next().await, @r#"
    [runtime] Project root: <root>⏎ChatKey: terminal:main⏎Channel: terminal⏎⏎Your answer is the text you write: the person s…
    [Agent.md] You are a ship's cook.
    [built-in] # How to work⏎⏎- Use a tool when it helps; answer directly when it does not. A tool's error is information: re…
    [skills] # Skills⏎⏎Load one with `skills_load` when its description fits the task.⏎⏎- `soup`: How to make soup
    [skill:soup] # Skill `soup` (loaded)⏎⏎Boil water.
    1 user: Request ID: r⏎UserId: ann⏎Time: 2026-02-05T10:15:00.000Z | /tool skills_load {"name":"soup"}
    2 assistant: skills_load({"name":"soup"}) -> {"skill":"soup","state":"loaded; its text is in the system blocks from now on"} | I am the offline model, a small stand-in without a language model. The tools answered:⏎- skills_load: {"skill"…
    tools: chat_send skills_list skills_load skills_unload
    "#);
    seen.say("ann", "/tool skills_unload {\"name\":\"soup\"}").await;
    assert!(!seen.next().await.contains("[skill:soup]"));
}
