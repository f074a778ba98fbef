//! One agent and its conversations: in memory, in files, loaded again and forked.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use ship_agent::{
    Agent, CallAnswer, ConversationError, IdSource, Outcome, ProjectSource, Reply, Rules, RunEvent,
    Skill, SkillSource, SkillState, Stop, SystemTexts, Tool,
};
use ship_message::UiMessage;
use ship_message::json::{Json, Object};
use ship_provider::{AnswerFuture, ChunkSink, Offline, Provider, Request};
use ship_store::conversation::{LoadConversationError, WriteError};
use ship_store::{ChatKey, FileStore};
use ship_testkit::chat::options;
use ship_testkit::clock::ManualClock;
use tempfile::TempDir;
use tokio::sync::Notify;

/// The same id always: nothing in a file may depend on luck.
struct OneId;

impl IdSource for OneId {
    fn next(&self) -> u64 {
        7
    }
}

/// A project with one skill and nothing else.
struct WithSkill;

impl ProjectSource for WithSkill {
    fn project_root(&self) -> String {
        "/project".to_owned()
    }

    fn texts(&self, _chat: &ChatKey) -> SystemTexts {
        SystemTexts::default()
    }

    fn skills(&self) -> Vec<Skill> {
        let state = SkillState::Usable { body: "Make slides with care.".to_owned() };
        vec![Skill {
            name: "pptx".to_owned(),
            description: "Slides.".to_owned(),
            allowed_tools: None,
            folder: "/project/.ship/skills/pptx".into(),
            source: SkillSource::Ship,
            state,
        }]
    }
}

fn look() -> Tool {
    let schema = Json::Object(Object::from([("type", "object")]));
    Tool::with_schema("look", "Looks.", schema, |input, _context| {
        Box::pin(async move {
            match input.get("fail").and_then(Json::as_str) {
                Some(reason) => Err(reason.to_owned()),
                None => Ok(Json::from("a ship")),
            }
        })
    })
}

/// The offline model, which remembers each request, and what the file held when it came.
#[derive(Clone, Default)]
struct Watching(Arc<Mutex<Watched>>);

#[derive(Default)]
struct Watched {
    file: Option<PathBuf>,
    requests: Vec<String>,
    held: Vec<String>,
    /// To be told when it is asked, and to wait before it answers.
    wait: Option<(Arc<Notify>, Arc<Notify>)>,
}

impl Provider for Watching {
    fn name(&self) -> &str {
        Offline.name()
    }

    fn model(&self) -> &str {
        Offline.model()
    }

    fn window_tokens(&self) -> Option<u64> {
        None
    }

    fn answer<'a>(
        &'a self,
        request: &'a Request<'_>,
        body: &'a str,
        sink: ChunkSink<'a>,
    ) -> AnswerFuture<'a> {
        let mut watched = self.0.lock().unwrap();
        watched.requests.push(body.to_owned());
        let held = watched.file.as_deref().map(|file| std::fs::read_to_string(file).unwrap());
        watched.held.extend(held);
        let wait = watched.wait.take();
        Box::pin(async move {
            if let Some((asked, go)) = wait {
                asked.notify_one();
                go.notified().await;
            }
            Offline.answer(request, body, sink).await
        })
    }
}

/// An agent with a clock that stands still, and a folder for its files.
struct Test {
    agent: Agent,
    model: Watching,
    clock: ManualClock,
    folder: Arc<TempDir>,
}

impl Test {
    fn new() -> Self {
        Self::in_folder(Arc::new(TempDir::new().unwrap()), Rules::default())
    }

    /// Another agent, as after a restart.
    fn again(self) -> Self {
        let folder = Arc::clone(&self.folder);
        drop(self);
        Self::in_folder(folder, Rules::default())
    }

    fn in_folder(folder: Arc<TempDir>, rules: Rules) -> Self {
        let (model, clock) = (Watching::default(), ManualClock::default());
        let agent = Agent::builder()
            .store(Arc::new(FileStore::in_memory(options())))
            .provider(model.clone())
            .tool(look())
            .project_source(Arc::new(WithSkill))
            .rules(rules)
            .clock(Arc::new(clock.clone()))
            .ids(Arc::new(OneId))
            .build();
        Self { agent, model, clock, folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    async fn say(&self, text: &str) -> Reply {
        self.agent.conversation().send(text).await.unwrap()
    }

    async fn messages(&self) -> Vec<UiMessage> {
        self.agent.conversation().messages().await.unwrap()
    }

    /// What the model was sent last.
    fn last_request(&self) -> String {
        self.model.0.lock().unwrap().requests.last().unwrap().clone()
    }
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

fn lines(path: &Path) -> Vec<String> {
    read(path).lines().map(|line| line.trim_end().to_owned()).collect()
}

fn ids(messages: &[UiMessage]) -> Vec<&str> {
    messages.iter().filter_map(UiMessage::id).collect()
}

const WHO: &str = "I am the offline model, a small stand-in without a language model.";

#[tokio::test]
async fn without_a_file_an_agent_talks_in_memory_and_remembers() {
    let agent = Agent::builder().tool(look()).build();
    assert_eq!(
        agent.conversation().send("one").await.unwrap().text(),
        format!("{WHO} You said: one")
    );
    let reply = agent.conversation().send("/tool look {}").await.unwrap();
    assert_eq!(reply.text(), format!("{WHO} The tools answered:\n- look: a ship"));
    assert_eq!(reply.outcome, Outcome::Done);
    assert_eq!(agent.conversation().messages().await.unwrap().len(), 4);
    assert_eq!(agent.conversation().path().await.unwrap(), None);
}

#[tokio::test]
async fn what_is_said_and_answered_becomes_the_lines_of_a_new_file() {
    let test = Test::new();
    let path = test.path("chats/task-001.jsonl");
    test.agent.new_conversation(&path).await.unwrap();
    assert_eq!(read(&path), "");
    test.say("hello").await;
    test.clock.advance(1000);
    test.say("你好").await;
    assert_eq!(
        lines(&path),
        [
            r#"{"id":"m001","ts":"2026-02-05T10:15:00.000Z","type":"msg","role":"user","content":"hello"}"#.to_owned(),
            format!(r#"{{"id":"m002","ts":"2026-02-05T10:15:00.000Z","type":"msg","role":"assistant","content":"{WHO} You said: hello"}}"#),
            r#"{"id":"m003","ts":"2026-02-05T10:15:01.000Z","type":"msg","role":"user","content":"你好"}"#.to_owned(),
            format!(r#"{{"id":"m004","ts":"2026-02-05T10:15:01.000Z","type":"msg","role":"assistant","content":"{WHO} You said: 你好"}}"#),
        ]
    );
}

#[tokio::test]
async fn a_call_and_its_result_become_lines_and_come_back_as_one_message() {
    let test = Test::new();
    let path = test.path("a.jsonl");
    test.agent.new_conversation(&path).await.unwrap();
    let reply = test.say("/tool look {\"at\":1}\n/tool look {\"fail\":\"too dark\"}").await;
    let ts = r#""ts":"2026-02-05T10:15:00.000Z","type":"msg""#;
    let call = |id: &str, input: &str| {
        format!(
            r#"[{{"id":"{id}","type":"function","function":{{"name":"look","arguments":"{input}"}}}}]"#
        )
    };
    let first = call("offline_1_0", r#"{\"at\":1}"#);
    let second = call("offline_3_1", r#"{\"fail\":\"too dark\"}"#);
    assert_eq!(
        lines(&path)[1..],
        [
            format!(
                r#"{{"id":"m002",{ts},"role":"assistant","content":null,"tool_calls":{first}}}"#
            ),
            format!(
                r#"{{"id":"m003",{ts},"role":"tool","tool_call_id":"offline_1_0","tool_name":"look","content":"a ship"}}"#
            ),
            format!(
                r#"{{"id":"m004",{ts},"role":"assistant","content":null,"tool_calls":{second}}}"#
            ),
            format!(
                r#"{{"id":"m005",{ts},"role":"tool","tool_call_id":"offline_3_1","tool_name":"look","content":"too dark","is_error":true}}"#
            ),
            format!(
                r#"{{"id":"m006",{ts},"role":"assistant","content":"{WHO} The tools answered:\n- look: a ship\n- look: too dark"}}"#
            ),
        ]
    );
    let said = test.messages().await;
    assert_eq!(said[1], *reply.answer().unwrap());

    let test = test.again();
    test.agent.load_conversation(&path).await.unwrap();
    assert_eq!(test.messages().await, said);
    test.say("and now?").await;
    let request = test.last_request();
    assert!(request.contains("a ship") && request.contains("too dark"), "{request}");
}

#[tokio::test]
async fn a_loaded_conversation_goes_on_with_its_ids_and_says_the_same_to_the_model() {
    let test = Test::new();
    let path = test.path("a.jsonl");
    test.agent.new_conversation(&path).await.unwrap();
    test.say("one").await;
    test.say("two").await;
    let stayed = test.last_request();

    let test = test.again();
    assert_eq!(test.agent.load_conversation(&path).await.unwrap(), None);
    assert_eq!(test.say("three").await.answer().unwrap().id(), Some("m006"));
    assert_eq!(ids(&test.messages().await), ["m001", "m002", "m003", "m004", "m005", "m006"]);
    // Every request begins with the bytes of the one before, so that a provider need not read them again.
    let messages = |request: &str| request.split_once(r#""messages":["#).unwrap().1.to_owned();
    let stayed = messages(&stayed);
    let said = stayed.split_once(r#"],"tools""#).unwrap().0;
    assert!(messages(&test.last_request()).starts_with(said));
}

#[tokio::test]
async fn a_conversation_that_is_opened_is_begun_the_first_time_and_continued_from_then_on() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("chats/task.jsonl");
    for messages in [2, 4] {
        let agent = Agent::builder().build();
        assert_eq!(agent.open_conversation(&path).await.unwrap(), None);
        agent.conversation().send("hello").await.unwrap();
        assert_eq!(agent.conversation().messages().await.unwrap().len(), messages);
    }
    let other = Agent::builder().build();
    other.open_conversation(folder.path()).await.unwrap_err();
}

#[tokio::test]
async fn the_lines_of_another_program_are_gone_on_with() {
    let test = Test::new();
    let path = test.path("theirs.jsonl");
    let theirs = [
        r#"{"id":"m001","ts":"2026-01-28T10:00:00Z","type":"msg","role":"system","content":"You are a pirate."}"#,
        r#"{"id":"m002","ts":"2026-01-28T10:00:01Z","type":"msg","role":"user","content":"帮我创建PPT"}"#,
        r#"{"id":"u_1","ts":"2026-01-28T10:00:02Z","type":"msg","role":"assistant","content":null,"tool_calls":[{"id":"tc001","type":"function","function":{"name":"Skill","arguments":"{}"}}]}"#,
        r#"{"id":"e001","ts":"2026-01-28T10:00:02Z","type":"evt","event":"skill_activated","data":{"skill":"pptx"}}"#,
        r#"{"id":"m004","ts":"2026-01-28T10:00:03Z","type":"msg","role":"tool","tool_call_id":"tc001","tool_name":"Skill","content":"loaded"}"#,
    ];
    std::fs::write(&path, theirs.join("\n") + "\n").unwrap();
    test.agent.load_conversation(&path).await.unwrap();
    assert_eq!(test.agent.conversation().active_skills().await.unwrap(), ["pptx"]);
    test.say("hello").await;
    let request = test.last_request();
    for part in ["You are a pirate.", "帮我创建PPT", "Time: 2026-01-28T10:00:01.000Z", "loaded"]
    {
        assert!(request.contains(part), "{part} is not in {request}");
    }
    assert_eq!(lines(&path)[..5], theirs);
    assert!(lines(&path)[5].starts_with(r#"{"id":"m005","#));
}

#[tokio::test]
async fn a_skill_that_is_active_is_active_again_after_a_load_until_it_is_unloaded() {
    let test = Test::new();
    let path = test.path("a.jsonl");
    test.agent.new_conversation(&path).await.unwrap();
    test.say("/tool skills_load {\"name\":\"pptx\"}").await;
    assert_eq!(
        lines(&path)[1],
        r#"{"id":"e001","ts":"2026-02-05T10:15:00.000Z","type":"evt","event":"skill_activated","data":{"skill":"pptx"}}"#
    );

    let test = test.again();
    test.agent.load_conversation(&path).await.unwrap();
    assert_eq!(test.agent.conversation().active_skills().await.unwrap(), ["pptx"]);
    test.say("/tool skills_unload {\"name\":\"pptx\"}").await;
    let requests = test.model.0.lock().unwrap().requests.clone();
    let told: Vec<bool> =
        requests.iter().map(|request| request.contains("Make slides with care.")).collect();
    assert_eq!(told, [true, false]);
    assert!(read(&path).contains(r#""event":"skill_deactivated","data":{"skill":"pptx"}"#));

    let test = test.again();
    test.agent.load_conversation(&path).await.unwrap();
    assert!(test.agent.conversation().active_skills().await.unwrap().is_empty());
}

#[tokio::test]
async fn a_fork_goes_on_in_the_copy_and_leaves_the_original_as_it_is() {
    let test = Test::new();
    let (path, retry) = (test.path("a.jsonl"), test.path("retry.jsonl"));
    test.agent.new_conversation(&path).await.unwrap();
    test.say("/tool skills_load {\"name\":\"pptx\"}").await;
    let original = read(&path);
    test.agent.fork_conversation(&retry).await.unwrap();
    assert_eq!(test.agent.conversation().path().await.unwrap(), Some(retry.clone()));
    test.say("in the copy").await;
    assert_eq!(read(&path), original);
    assert!(read(&retry).starts_with(&original) && read(&retry).contains("in the copy"));
    assert_eq!(test.agent.conversation().active_skills().await.unwrap(), ["pptx"]);
    // The original is free for somebody else.
    Agent::builder().build().load_conversation(&path).await.unwrap();
}

#[tokio::test]
async fn a_fork_from_a_checkpoint_knows_nothing_of_what_came_after_it() {
    let test = Test::new();
    test.say("one").await;
    test.agent.conversation().checkpoint("here").await.unwrap();
    test.say("two").await;
    let path = test.path("from-memory.jsonl");
    test.agent.fork_conversation_from("here", &path).await.unwrap();
    assert_eq!(ids(&test.messages().await), ["m001", "m002"]);
    let error = test.agent.fork_conversation_from("there", test.path("b")).await.unwrap_err();
    assert_eq!(error.to_string(), "the conversation has no checkpoint `there`; it has none");
    assert_eq!(test.agent.conversation().path().await.unwrap(), Some(path));
}

#[tokio::test]
async fn what_is_said_is_in_the_file_before_the_model_is_asked() {
    let test = Test::new();
    let path = test.path("a.jsonl");
    test.agent.new_conversation(&path).await.unwrap();
    test.model.0.lock().unwrap().file = Some(path);
    test.say("hello").await;
    let held = test.model.0.lock().unwrap().held.clone();
    assert_eq!(
        held,
        [r#"{"id":"m001","ts":"2026-02-05T10:15:00.000Z","type":"msg","role":"user","content":"hello"}"#
            .to_owned()
            + "\n"]
    );
}

#[tokio::test]
async fn a_second_agent_in_the_same_file_is_refused_and_stays_where_it_was() {
    let first = Test::new();
    let path = first.path("a.jsonl");
    first.agent.new_conversation(&path).await.unwrap();
    let second = Agent::builder().build();
    second.conversation().send("in memory").await.unwrap();
    let error = second.load_conversation(&path).await.unwrap_err();
    assert!(matches!(&error, ConversationError::Load(LoadConversationError::InUse { .. })));
    let told = error.to_string();
    assert!(told.contains("a.jsonl is open for writing elsewhere; close it there"), "{told}");
    assert_eq!(second.conversation().messages().await.unwrap().len(), 2);
}

#[tokio::test]
async fn no_path_is_overwritten_and_none_is_made_up() {
    let test = Test::new();
    let path = test.path("a.jsonl");
    test.agent.new_conversation(&path).await.unwrap();
    test.say("hello").await;
    for error in [
        test.agent.new_conversation(&path).await.unwrap_err(),
        test.agent.fork_conversation(&path).await.unwrap_err(),
    ] {
        assert!(error.to_string().contains("a.jsonl exists already; load it"), "{error}");
    }
    let error = test.agent.load_conversation(test.path("none.jsonl")).await.unwrap_err();
    assert!(error.to_string().contains("there is no conversation at"), "{error}");
    assert_eq!(test.messages().await.len(), 2);
}

#[tokio::test]
async fn a_file_that_somebody_changed_is_not_written_until_it_is_loaded_again() {
    let test = Test::new();
    let path = test.path("a.jsonl");
    test.agent.new_conversation(&path).await.unwrap();
    test.say("one").await;
    let more = r#"{"id":"m003","ts":"2026-02-05T10:15:00.000Z","type":"msg","role":"user","content":"theirs"}"#;
    let changed = read(&path) + more + "\n";
    std::fs::write(&path, &changed).unwrap();
    let error = test.agent.conversation().send("two").await.unwrap_err();
    assert!(matches!(&error, ConversationError::Write(WriteError::Changed { .. })));
    assert_eq!(read(&path), changed);

    test.agent.load_conversation(&path).await.unwrap();
    test.say("two").await;
    let said: Vec<String> = test.messages().await.iter().map(UiMessage::text).collect();
    assert_eq!(said.len(), 5);
    assert_eq!(said[2..4], ["theirs", "two"]);
}

#[tokio::test]
async fn an_agent_that_cannot_load_its_own_file_anew_says_nothing_into_the_void() {
    let test = Test::new();
    let path = test.path("a.jsonl");
    test.agent.new_conversation(&path).await.unwrap();
    std::fs::write(&path, "nonsense\n").unwrap();
    let error = test.agent.load_conversation(&path).await.unwrap_err();
    assert!(matches!(
        &error,
        ConversationError::Load(LoadConversationError::Damaged { line: 1, .. })
    ));
    let error = test.agent.conversation().send("hello").await.unwrap_err();
    assert!(error.to_string().contains("load it again, or begin another conversation"));
    test.agent.new_conversation(test.path("b.jsonl")).await.unwrap();
    test.say("hello").await;
}

#[tokio::test]
async fn what_failed_to_be_written_was_not_said_and_does_not_come_back() {
    let test = Test::new();
    let path = test.path("a.jsonl");
    test.agent.new_conversation(&path).await.unwrap();
    test.say("one").await;
    let whole = read(&path);
    std::fs::write(&path, whole.clone() + "x").unwrap();
    assert!(test.agent.conversation().send("lost").await.is_err());
    std::fs::write(&path, &whole).unwrap();
    test.say("two").await;
    assert!(!read(&path).contains("lost"));
    assert_eq!(test.messages().await.len(), 4);
}

#[tokio::test]
async fn a_call_that_needs_a_word_waits_for_it_and_nothing_is_said_meanwhile() {
    let rules = Rules { approval: BTreeSet::from(["look".to_owned()]), ..Rules::default() };
    let test = Test::in_folder(Arc::new(TempDir::new().unwrap()), rules);
    let path = test.path("a.jsonl");
    test.agent.new_conversation(&path).await.unwrap();
    let reply = test.say("/tool look {}").await;
    assert_eq!(reply.outcome, Outcome::Parked);
    assert!(reply.answer().unwrap().to_string().contains("approval-requested"));
    let error = test.agent.conversation().send("well?").await.unwrap_err();
    assert!(matches!(&error, ConversationError::Waiting { .. }), "{error}");
    assert_eq!(lines(&path).len(), 1);

    let approval_id = "approve_offline_1_0".to_owned();
    let answer = CallAnswer::Approval { approval_id, approved: true, reason: None };
    let reply = test.agent.conversation().answer(answer.clone(), &Stop::default()).await.unwrap();
    assert!(reply.text().ends_with("- look: a ship"));
    assert!(test.agent.conversation().answer(answer, &Stop::default()).await.is_err());
    assert!(!read(&path).contains("well?"));
}

#[tokio::test]
async fn things_that_are_said_at_once_are_answered_one_after_the_other() {
    let test = Test::new();
    test.agent.new_conversation(test.path("a.jsonl")).await.unwrap();
    let texts = ["one", "two", "three"];
    let saying = texts.map(|text| {
        let agent = test.agent.clone();
        tokio::spawn(async move { agent.conversation().send(text).await.unwrap().text() })
    });
    for (text, said) in texts.iter().zip(saying) {
        assert_eq!(said.await.unwrap(), format!("{WHO} You said: {text}"));
    }
    assert_eq!(test.messages().await.len(), 6);
}

#[tokio::test]
async fn an_answer_that_nobody_waited_for_is_finished_before_the_next() {
    let test = Test::new();
    test.agent.new_conversation(test.path("a.jsonl")).await.unwrap();
    let (asked, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    test.model.0.lock().unwrap().wait = Some((Arc::clone(&asked), go));
    let conversation = test.agent.conversation();
    tokio::select! {
        _ = conversation.send("one") => panic!("the model waits"),
        () = asked.notified() => {}
    }
    test.say("two").await;
    let said: Vec<String> = test.messages().await.iter().map(UiMessage::text).collect();
    let answer = |text: &str| format!("{WHO} You said: {text}");
    assert_eq!(said, ["one".to_owned(), answer("one"), "two".to_owned(), answer("two")]);
}

#[tokio::test]
async fn whoever_follows_is_told_the_name_that_the_file_has() {
    let test = Test::new();
    let mut events = test.agent.conversation().listen();
    test.agent.new_conversation(test.path("a.jsonl")).await.unwrap();
    let reply = test.say("hello").await;
    let mut ended = None;
    while let Some(event) = events.try_next() {
        if let RunEvent::Ended { message_id, .. } = event {
            ended = Some(message_id);
        }
    }
    assert_eq!(ended.as_deref(), reply.answer().unwrap().id());
    assert_eq!(ended.as_deref(), Some("m002"));
}

#[tokio::test]
async fn a_question_that_was_left_without_an_answer_is_answered_with_the_next() {
    let test = Test::new();
    let path = test.path("a.jsonl");
    let left = r#"{"id":"m001","ts":"2026-02-05T10:15:00.000Z","type":"msg","role":"user","content":"left"}"#;
    std::fs::write(&path, format!("{left}\n{{\"id\":\"m0")).unwrap();
    let repair = test.agent.load_conversation(&path).await.unwrap().unwrap();
    assert_eq!(repair.cut_bytes, 9);
    test.say("next").await;
    assert!(test.last_request().contains("left"));
    assert_eq!(ids(&test.messages().await), ["m001", "m002", "m003"]);
}

#[tokio::test]
async fn a_run_that_failed_or_was_stopped_says_so_after_a_load() {
    let rules = Rules { max_steps: 1, ..Rules::default() };
    let test = Test::in_folder(Arc::new(TempDir::new().unwrap()), rules);
    let path = test.path("a.jsonl");
    test.agent.new_conversation(&path).await.unwrap();
    let failed = test.say("/tool look {}").await;
    let Outcome::Failed(sentence) = &failed.outcome else { panic!("{failed:?}") };
    let stop = Stop::default();
    stop.stop();
    test.model.0.lock().unwrap().wait = Some(Default::default());
    let stopped = test.agent.conversation().send_until("hello", &stop).await.unwrap();
    assert_eq!(stopped.outcome, Outcome::Stopped);

    let test = test.again();
    test.agent.load_conversation(&path).await.unwrap();
    let messages = test.messages().await;
    assert_eq!(messages[1], *failed.answer().unwrap());
    assert_eq!(messages[3], *stopped.answer().unwrap());
    let told = |message: &UiMessage, key| message.metadata().unwrap().get(key).cloned();
    assert_eq!(told(&messages[1], "error"), Some(Json::from(sentence.as_str())));
    assert_eq!(told(&messages[3], "interrupted"), Some(Json::Bool(true)));
    test.say("go on").await;
}

#[tokio::test]
async fn loading_the_file_in_which_something_is_being_said_is_refused_and_changes_nothing() {
    let test = Test::new();
    let path = test.path("a.jsonl");
    test.agent.new_conversation(&path).await.unwrap();
    let (asked, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    test.model.0.lock().unwrap().wait = Some((Arc::clone(&asked), Arc::clone(&go)));
    let agent = test.agent.clone();
    let saying = tokio::spawn(async move { agent.conversation().send("hello").await.unwrap() });
    asked.notified().await;
    let error = test.agent.load_conversation(&path).await.unwrap_err();
    assert!(matches!(error, ConversationError::Load(LoadConversationError::InUse { .. })));
    go.notify_one();
    saying.await.unwrap();
    assert_eq!(test.messages().await.len(), 2);
    test.agent.load_conversation(&path).await.unwrap();
}

#[tokio::test]
async fn any_text_can_be_said() {
    let test = Test::new();
    let path = test.path("a.jsonl");
    test.agent.new_conversation(&path).await.unwrap();
    let texts = ["", " \n\t", "\u{0}\u{1f}\"\\", "/tool", "/tool look {", "[1]", "\u{2028}🚢"];
    for text in texts {
        test.say(text).await;
    }
    let said = test.messages().await;
    let test = test.again();
    test.agent.load_conversation(&path).await.unwrap();
    assert_eq!(test.messages().await, said);
    let asked: Vec<String> = said.iter().step_by(2).map(UiMessage::text).collect();
    assert_eq!(asked, texts);
}
