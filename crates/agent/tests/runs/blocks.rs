//! The system blocks of a run: read once, changed only by the model's own wish, and told when they differ.

use std::path::Path;
use std::sync::Arc;

use ship_agent::{Agent, AgentBuilder, Outcome, RunLog, Stop, Tool};
use ship_message::json::{Json, Object};
use ship_project::Project;
use ship_store::ChatKey;
use ship_testkit::clock::ManualClock;
use ship_testkit::scripted_model::{ScriptedModel, ScriptedStep, call, calls, text};

use crate::harness::{KeptLog, inbound};

/// A tool that writes a file of the project.
fn write_tool(root: std::path::PathBuf) -> Tool {
    let schema = Json::Object(Object::from([("type", "object")]));
    Tool::with_schema("write", "Writes.", schema, move |input, _| {
        let of = |key: &str| input.get(key).and_then(Json::as_str).unwrap_or_default();
        write(&root, of("file"), of("text"));
        Box::pin(std::future::ready(Ok(Json::Null)))
    })
}

fn write(root: &Path, file: &str, text: &str) {
    let file = root.join(file);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, text).unwrap();
}

/// An agent on a folder, with a scripted model.
struct OnFolder {
    folder: tempfile::TempDir,
}

/// What a run left behind.
struct Ran {
    /// The system blocks of each request.
    systems: Vec<String>,
    log: Arc<KeptLog>,
    agent: Agent,
}

impl OnFolder {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (file, text) in files {
            write(folder.path(), file, text);
        }
        Self { folder }
    }

    fn root(&self) -> &Path {
        self.folder.path()
    }

    /// Says something to an agent that was just started.
    async fn say(&self, question: &str, script: &[ScriptedStep]) -> Ran {
        let project = Project::load(self.root(), []).unwrap();
        let clock = Arc::new(ManualClock::default());
        let (model, log) = (ScriptedModel::of_steps(script.to_vec()), Arc::<KeptLog>::default());
        let agent = AgentBuilder::from_project(&project, clock)
            .unwrap()
            .provider(model.clone())
            .log(Arc::clone(&log) as Arc<dyn RunLog>)
            .tool(write_tool(self.root().to_owned()))
            .build();
        agent.accept(&chat(), inbound(question)).await.unwrap();
        assert_eq!(agent.run(&chat(), &Stop::default()).await.unwrap(), Some(Outcome::Done));
        let system = |body: &str| Json::parse(body).unwrap().get("system").unwrap().to_string();
        let systems = model.requests().iter().map(|request| system(&request.body)).collect();
        Ran { systems, log, agent }
    }
}

fn chat() -> ChatKey {
    "terminal:main".parse().unwrap()
}

#[tokio::test]
async fn blocks_stay_as_they_are_within_a_run_and_a_change_is_told_at_the_next() {
    let folder = OnFolder::new(&[("Agent.md", "You are a cook.")]);
    let change = r#"{"file":"Agent.md","text":"You are a pirate."}"#;
    let script = [calls(&[call("1", "write", change)]), text("Aye.")];
    let first = folder.say("one", &script).await;
    assert_eq!(first.systems[0], first.systems[1]);
    assert!(first.systems[1].contains("You are a cook."));
    assert_eq!(first.log.of("system_changed"), Vec::<String>::new());

    let second = folder.say("two", &[text("Arr.")]).await;
    assert!(second.systems[0].contains("You are a pirate."));
    assert_eq!(second.log.of("system_changed"), [r#"block="Agent.md" change="changed""#]);

    let third = folder.say("three", &[text("Arr.")]).await;
    assert_eq!(third.systems, second.systems);
    assert_eq!(third.log.of("system_changed"), Vec::<String>::new());
}

#[tokio::test]
async fn a_skill_that_was_written_in_a_run_can_be_loaded_in_it() {
    let folder = OnFolder::new(&[]);
    let skill = r#"{"file":".ship/skills/soup/SKILL.md","text":"Boil water."}"#;
    let script = [
        calls(&[call("1", "write", skill)]),
        calls(&[call("2", "skills_load", r#"{"name":"soup"}"#)]),
        text("Soup it is."),
    ];
    let ran = folder.say("soup", &script).await;
    assert!(!ran.systems[1].contains("Boil water."), "{}", ran.systems[1]);
    assert!(ran.systems[2].contains("# Skill `soup` (loaded)\\n\\nBoil water."));
}

#[tokio::test]
async fn a_text_that_cannot_be_read_is_told_to_the_person_and_once_to_the_log() {
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("role.md"), "someone else's").unwrap();
    let folder = OnFolder::new(&[(".ship/profile/Primary.md/x", "")]);
    std::os::unix::fs::symlink(outside.path().join("role.md"), folder.root().join("Agent.md"))
        .unwrap();
    std::fs::create_dir(folder.root().join("ship.json")).unwrap();
    let ran = folder.say("one", &[text("Hi.")]).await;
    let warnings = ran.agent.warnings(&chat());
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(warnings[0].ends_with("Primary.md is not a file, and is not read; put a file there"));
    assert!(warnings[1].contains("Agent.md leads out of the project, to "), "{warnings:?}");
    assert!(!ran.systems[0].contains("someone else's"));
    ran.agent.accept(&chat(), inbound("two")).await.unwrap();
    ran.agent.run(&chat(), &Stop::default()).await.unwrap();
    let logged = ran.log.of("warning");
    assert_eq!(logged.len(), 3, "{logged:?}");
    assert!(logged[0].contains("ship.json is a folder, so nothing is set"), "{logged:?}");
}

#[tokio::test]
async fn a_setting_that_names_no_tool_is_told_with_the_nearest() {
    let json = r#"{"tools":{"approval":["chat_sent","zzz"],"client":["skills_list"]}}"#;
    let folder = OnFolder::new(&[("ship.json", json)]);
    let ran = folder.say("one", &[text("Hi.")]).await;
    let told = [
        "`tools.approval` names the tool `chat_sent`, which there is not; did you mean `chat_send`?",
        "`tools.approval` names the tool `zzz`, which there is not",
    ];
    assert_eq!(ran.agent.warnings(&chat()), told);
    assert_eq!(ran.log.of("warning"), told.map(|warning| format!("message=\"{warning}\"")));
}

#[tokio::test]
async fn the_request_id_stands_in_the_first_block_only_when_that_is_set() {
    for (json, stands) in [("{}", false), (r#"{"llm":{"requestIdInSystem":true}}"#, true)] {
        let folder = OnFolder::new(&[("ship.json", json)]);
        let ran = folder.say("one", &[text("Hi.")]).await;
        assert_eq!(ran.systems[0].contains("Request ID: req one"), stands, "{json}");
    }
}

#[tokio::test]
async fn skills_are_listed_with_their_front_matter_and_one_that_is_not_used_with_the_reason() {
    let folder = OnFolder::new(&[
        (
            ".claude/skills/soup/SKILL.md",
            "---\ndescription: Soup\nallowed-tools: Read, Grep\n---\nBoil.",
        ),
        (".ship/skills/soup/SKILL.md", "Fry."),
        (".ship/skills/bad/SKILL.md", "---\nname: bad\n"),
    ]);
    let script = [calls(&[call("1", "skills_list", "{}")]), text("There.")];
    let ran = folder.say("skills?", &script).await;
    let listed = ran.agent.inspect(&chat()).await.unwrap().messages[1].to_string();
    for line in [
        r#"{"name":"soup","description":"Soup","allowedTools":["Read","Grep"],"loaded":false}"#,
        r#"{"name":"soup","description":"Fry.","loaded":false,"problem":"the one in .ship/skills/soup is not used, because one of the same name is in .claude/skills/soup; rename it to have both"}"#,
        r#""loaded":false,"problem":"its front matter begins with `---` and never ends"#,
    ] {
        assert!(listed.contains(line), "{line}\n{listed}");
    }
    assert!(ran.systems[0].contains("- `soup` (cannot be loaded): the one in .ship/skills/soup"));
}

#[tokio::test]
async fn a_channel_that_shows_only_what_is_sent_has_its_own_rules() {
    let folder = OnFolder::new(&[]);
    let ran = folder.say("one", &[text("Hi.")]).await;
    assert!(ran.systems[0].contains("the person sees it as you write it"));
    let telegram: ChatKey = "telegram-chat-42".parse().unwrap();
    let message = ship_agent::Inbound { channel: "telegram".to_owned(), ..inbound("two") };
    ran.agent.accept(&telegram, message).await.unwrap();
    let next = ran.agent.inspect(&telegram).await.unwrap();
    assert!(next.blocks[0].text.contains("The person sees only what you deliver with `chat_send`"));
}
