//! The system blocks of a run: read once, changed only by the model's own wish, and told when they differ.

use ship_agent::{Outcome, Tool};
use ship_message::json::{Json, Object};
use ship_store::ChatKey;
use ship_testkit::scripted_model::{ScriptedStep, call, calls, text};

use crate::harness::{ProjectFolder, Setup, TestAgent, chat, inbound, write};

/// A tool that writes a file of the project.
fn write_tool(root: std::path::PathBuf) -> Tool {
    let schema = Json::Object(Object::from([("type", "object")]));
    Tool::with_schema("write", "Writes.", schema, move |input, _| {
        let of = |key: &str| input.get(key).and_then(Json::as_str).unwrap_or_default();
        write(&root, of("file"), of("text"));
        Box::pin(std::future::ready(Ok(Json::Null)))
    })
}

/// Says something to an agent that was just started on a folder.
async fn say(folder: &ProjectFolder, question: &str, script: &[ScriptedStep]) -> TestAgent {
    let test = folder.agent_with(&Setup::scripted(script), |builder| {
        builder.tool(write_tool(folder.root().to_owned()))
    });
    assert_eq!(test.say(question).await, Some(Outcome::Done));
    test
}

/// The system blocks of each request.
fn systems(test: &TestAgent) -> Vec<String> {
    let system = |body: &str| Json::parse(body).unwrap().get("system").unwrap().to_string();
    test.model().requests().iter().map(|request| system(&request.body)).collect()
}

#[tokio::test]
async fn blocks_stay_as_they_are_within_a_run_and_a_change_is_told_at_the_next() {
    let folder = ProjectFolder::new(&[("Agent.md", "You are a cook.")]);
    let change = r#"{"file":"Agent.md","text":"You are a pirate."}"#;
    let script = [calls(&[call("1", "write", change)]), text("Aye.")];
    let first = say(&folder, "one", &script).await;
    assert_eq!(systems(&first)[0], systems(&first)[1]);
    assert!(systems(&first)[1].contains("You are a cook."));
    assert_eq!(first.log.of("system_changed"), Vec::<String>::new());

    let second = say(&folder, "two", &[text("Arr.")]).await;
    assert!(systems(&second)[0].contains("You are a pirate."));
    assert_eq!(second.log.of("system_changed"), [r#"block="Agent.md" change="changed""#]);

    let third = say(&folder, "three", &[text("Arr.")]).await;
    assert_eq!(systems(&third), systems(&second));
    assert_eq!(third.log.of("system_changed"), Vec::<String>::new());
}

#[tokio::test]
async fn a_skill_that_was_written_in_a_run_can_be_loaded_in_it() {
    let folder = ProjectFolder::new(&[]);
    let skill = r#"{"file":".ship/skills/soup/SKILL.md","text":"Boil water."}"#;
    let script = [
        calls(&[call("1", "write", skill)]),
        calls(&[call("2", "skills_load", r#"{"name":"soup"}"#)]),
        text("Soup it is."),
    ];
    let ran = say(&folder, "soup", &script).await;
    assert!(!systems(&ran)[1].contains("Boil water."), "{}", systems(&ran)[1]);
    assert!(systems(&ran)[2].contains("# Skill `soup` (loaded)\\n\\nBoil water."));
}

#[tokio::test]
async fn a_text_that_cannot_be_read_is_told_to_the_person_and_once_to_the_log() {
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("role.md"), "someone else's").unwrap();
    let folder = ProjectFolder::new(&[(".ship/profile/Primary.md/x", "")]);
    std::os::unix::fs::symlink(outside.path().join("role.md"), folder.root().join("Agent.md"))
        .unwrap();
    std::fs::create_dir(folder.root().join("ship.json")).unwrap();
    let ran = say(&folder, "one", &[text("Hi.")]).await;
    let warnings = ran.agent.warnings(&chat()).await;
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(
        warnings[0].ends_with("Primary.md is not a file, so it is ignored; replace it by a file")
    );
    assert!(warnings[1].contains("Agent.md is a link out of the project, to "), "{warnings:?}");
    assert!(!systems(&ran)[0].contains("someone else's"));
    ran.say("two").await;
    let logged = ran.log.of("warning");
    assert_eq!(logged.len(), 3, "{logged:?}");
    assert!(logged[0].contains("ship.json is a folder, so it is ignored"), "{logged:?}");
}

#[tokio::test]
async fn a_setting_that_names_no_tool_is_told_with_the_nearest() {
    let json = r#"{"tools":{"approval":["chat_sent","zzz"],"client":["skills_list"]}}"#;
    let folder = ProjectFolder::new(&[("ship.json", json)]);
    let ran = say(&folder, "one", &[text("Hi.")]).await;
    let told = [
        "`tools.approval` names `chat_sent`, but there is no such tool; did you mean `chat_send`?",
        "`tools.approval` names `zzz`, but there is no such tool",
    ];
    assert_eq!(ran.agent.warnings(&chat()).await, told);
    assert_eq!(ran.log.of("warning"), told.map(|warning| format!("message=\"{warning}\"")));
}

#[tokio::test]
async fn request_id_and_time_stand_beside_the_text_in_the_first_block_or_nowhere() {
    for (json, in_system, in_message) in [
        ("{}", false, true),
        (r#"{"llm":{"requestFacts":"system"}}"#, true, false),
        (r#"{"llm":{"requestFacts":"off"}}"#, false, false),
        // The setting of older versions.
        (r#"{"llm":{"requestIdInSystem":true}}"#, true, false),
    ] {
        let folder = ProjectFolder::new(&[("ship.json", json)]);
        let ran = say(&folder, "one", &[text("Hi.")]).await;
        for fact in ["Request ID: req one", "Time: "] {
            assert_eq!(systems(&ran)[0].contains(fact), in_system, "{json}: {fact}");
            let request = ran.agent.inspect(&chat()).await.unwrap();
            assert_eq!(request.messages[0].text().contains(fact), in_message, "{json}: {fact}");
        }
        let calls = ran.agent.requests(&chat(), 10).await.unwrap();
        let past = ran.agent.past_request(&chat(), &calls[0].record.id).await.unwrap().unwrap();
        assert!(past.is_equal, "{json}: {:?}", past.missing);
    }
}

#[tokio::test]
async fn skills_are_listed_with_their_front_matter_and_one_that_is_not_used_with_the_reason() {
    let folder = ProjectFolder::new(&[
        (
            ".claude/skills/soup/SKILL.md",
            "---\ndescription: Soup\nallowed-tools: Read, Grep\n---\nBoil.",
        ),
        (".ship/skills/soup/SKILL.md", "Fry."),
        (".ship/skills/bad/SKILL.md", "---\nname: bad\n"),
    ]);
    let load = call("2", "skills_load", r#"{"name":"bad"}"#);
    let script = [calls(&[call("1", "skills_list", "{}"), load]), text("There.")];
    let ran = say(&folder, "skills?", &script).await;
    let listed = ran.agent.inspect(&chat()).await.unwrap().messages[1].to_string();
    for line in [
        r#"{"name":"soup","description":"Soup","allowedTools":["Read","Grep"],"loaded":false}"#,
        r#"{"name":"soup","description":"Fry.","loaded":false,"problem":"the one in .ship/skills/soup is not used, because one of the same name is in .claude/skills/soup; rename it to have both"}"#,
        r#""loaded":false,"problem":"its front matter begins with `---` and never ends"#,
        "the skill `bad` cannot be used: its front matter begins with `---` and never ends",
    ] {
        assert!(listed.contains(line), "{line}\n{listed}");
    }
    assert!(systems(&ran)[0].contains("- `soup` (cannot be loaded): the one in .ship/skills/soup"));
}

#[tokio::test]
async fn a_channel_that_shows_only_what_is_sent_has_its_own_rules() {
    let folder = ProjectFolder::new(&[]);
    let ran = say(&folder, "one", &[text("Hi.")]).await;
    assert!(systems(&ran)[0].contains("the person sees it as you write it"));
    let telegram: ChatKey = "telegram-chat-42".parse().unwrap();
    let message = ship_agent::Inbound { channel: "telegram".to_owned(), ..inbound("two") };
    ran.agent.accept(&telegram, message).await.unwrap();
    let next = ran.agent.inspect(&telegram).await.unwrap();
    assert!(next.blocks[0].text.contains("The person sees only what you deliver with `chat_send`"));
}
