//! One agent and its conversations: in memory, in files, loaded again and forked.

use std::collections::BTreeSet;
use std::path::Path;

use ship_agent::{Agent, CallAnswer, ConversationError, Outcome, Rules, RunEvent, Stop};
use ship_message::UiMessage;
use ship_message::json::Json;
use ship_project::OnUndecided;
use ship_store::conversation::{LoadConversationError, WriteError};

use crate::harness::ConversationAgent;

mod sending;
mod skills;
mod system_line;

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

fn lines(path: &Path) -> Vec<String> {
    read(path).lines().map(|line| line.trim_end().to_owned()).collect()
}

const WHO: &str = "I am the offline model, a small stand-in without a language model.";

#[tokio::test]
async fn without_a_file_an_agent_talks_in_memory_and_remembers() {
    let agent = Agent::builder().build();
    let reply = agent.conversation().send("one").await.unwrap();
    assert_eq!(reply.text(), format!("{WHO} You said: one"));
    let reply = agent.conversation().send("/tool skills_list {}").await.unwrap();
    assert_eq!(reply.text(), format!("{WHO} The tools answered:\n- skills_list: []"));
    assert_eq!(reply.outcome, Outcome::Done);
    assert_eq!(agent.conversation().messages().await.unwrap().len(), 4);
    assert_eq!(agent.conversation().path().await.unwrap(), None);
}

#[tokio::test]
async fn what_is_said_and_answered_becomes_the_lines_of_a_new_file() {
    let test = ConversationAgent::new();
    let path = test.begin("chats/task-001.jsonl").await;
    assert_eq!(read(&path), "");
    test.say("hello").await;
    test.setup.clock.advance(1000);
    test.say("你好").await;
    assert_eq!(
        lines(&path)[1..],
        [
            r#"{"id":"m002","ts":"2026-02-05T10:15:00.000Z","type":"msg","role":"user","content":"hello"}"#.to_owned(),
            format!(r#"{{"id":"m003","ts":"2026-02-05T10:15:00.000Z","type":"msg","role":"assistant","content":"{WHO} You said: hello"}}"#),
            r#"{"id":"m004","ts":"2026-02-05T10:15:01.000Z","type":"msg","role":"user","content":"你好"}"#.to_owned(),
            format!(r#"{{"id":"m005","ts":"2026-02-05T10:15:01.000Z","type":"msg","role":"assistant","content":"{WHO} You said: 你好"}}"#),
        ]
    );
}

#[tokio::test]
async fn a_call_and_its_result_become_lines_and_come_back_as_one_message() {
    let test = ConversationAgent::new();
    let path = test.begin("a.jsonl").await;
    let reply = test.say("/tool look {\"at\":1}\n/tool look {\"do\":\"fail\"}").await;
    let ts = r#""ts":"2026-02-05T10:15:00.000Z","type":"msg""#;
    let call = |id: &str, input: &str| {
        format!(
            r#"[{{"id":"{id}","type":"function","function":{{"name":"look","arguments":"{input}"}}}}]"#
        )
    };
    let first = call("offline_1_0", r#"{\"at\":1}"#);
    let second = call("offline_3_1", r#"{\"do\":\"fail\"}"#);
    assert_eq!(
        lines(&path)[2..],
        [
            format!(
                r#"{{"id":"m003",{ts},"role":"assistant","content":null,"tool_calls":{first}}}"#
            ),
            format!(
                r#"{{"id":"m004",{ts},"role":"tool","tool_call_id":"offline_1_0","tool_name":"look","content":"done"}}"#
            ),
            format!(
                r#"{{"id":"m005",{ts},"role":"assistant","content":null,"tool_calls":{second}}}"#
            ),
            format!(
                r#"{{"id":"m006",{ts},"role":"tool","tool_call_id":"offline_3_1","tool_name":"look","content":"no such thing","is_error":true}}"#
            ),
            format!(
                r#"{{"id":"m007",{ts},"role":"assistant","content":"{WHO} The tools answered:\n- look: done\n- look: no such thing"}}"#
            ),
        ]
    );
    let said = test.messages().await;
    assert_eq!(said[1], *reply.answer().unwrap());

    let test = test.loaded(&path).await;
    assert_eq!(test.messages().await, said);
    test.say("and now?").await;
    let request = test.last_request();
    assert!(request.contains("done") && request.contains("no such thing"), "{request}");
}

#[tokio::test]
async fn a_loaded_conversation_goes_on_with_its_ids_and_says_the_same_to_the_model() {
    let test = ConversationAgent::new();
    let path = test.begin("a.jsonl").await;
    test.say("one").await;
    test.say("two").await;
    let stayed = test.last_request();

    let test = test.loaded(&path).await;
    assert_eq!(test.say("three").await.answer().unwrap().id(), Some("m007"));
    assert_eq!(test.ids().await, ["m002", "m003", "m004", "m005", "m006", "m007"]);
    // Every request begins with the bytes of the one before, so that a provider need not read them again.
    let messages = |request: &str| request.split_once(r#""messages":["#).unwrap().1.to_owned();
    let stayed = messages(&stayed);
    let said = stayed.split_once(r#"],"tools""#).unwrap().0;
    assert!(messages(&test.last_request()).starts_with(said));
}

#[tokio::test]
async fn a_conversation_that_is_opened_is_begun_the_first_time_and_continued_from_then_on() {
    let test = ConversationAgent::new();
    for messages in [2, 4] {
        let (other, path) = (test.other(), test.path("chats/task.jsonl"));
        assert_eq!(other.agent.open_conversation(path).await.unwrap(), None);
        other.say("hello").await;
        assert_eq!(other.messages().await.len(), messages);
    }
    test.agent.open_conversation(test.path("")).await.unwrap_err();
}

#[tokio::test]
async fn the_lines_of_another_program_are_gone_on_with() {
    let test = ConversationAgent::new();
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
    assert_eq!(test.active_skills().await, ["pptx"]);
    test.say("hello").await;
    let request = test.last_request();
    for part in ["You are a pirate.", "帮我创建PPT", "Time: 2026-01-28T10:00:01.000Z", "loaded"]
    {
        assert!(request.contains(part), "{part} is not in {request}");
    }
    assert_eq!(lines(&path)[..5], theirs);
    assert_eq!(read(&path).matches(r#""role":"system""#).count(), 1, "theirs stays the only one");
    assert!(lines(&path)[5].starts_with(r#"{"id":"m005","#));
}

#[tokio::test]
async fn a_fork_goes_on_in_the_copy_and_leaves_the_original_as_it_is() {
    let test = ConversationAgent::new();
    let (path, retry) = (test.path("a.jsonl"), test.path("retry.jsonl"));
    test.agent.new_conversation(&path).await.unwrap();
    test.say("/tool skills_load {\"name\":\"pptx\"}").await;
    let original = read(&path);
    test.agent.fork_conversation(&retry).await.unwrap();
    assert_eq!(test.agent.conversation().path().await.unwrap(), Some(retry.clone()));
    test.say("in the copy").await;
    assert_eq!(read(&path), original);
    assert!(read(&retry).starts_with(&original) && read(&retry).contains("in the copy"));
    assert_eq!(test.active_skills().await, ["pptx"]);
    // The original is free for somebody else.
    test.other().agent.load_conversation(&path).await.unwrap();
}

#[tokio::test]
async fn a_fork_from_a_checkpoint_knows_nothing_of_what_came_after_it() {
    let test = ConversationAgent::new();
    test.say("one").await;
    test.agent.conversation().checkpoint("here").await.unwrap();
    test.say("two").await;
    let path = test.path("from-memory.jsonl");
    test.agent.fork_conversation_from("here", &path).await.unwrap();
    assert_eq!(test.ids().await, ["m002", "m003"]);
    let error = test.agent.fork_conversation_from("there", test.path("b")).await.unwrap_err();
    assert_eq!(error.to_string(), "the conversation has no checkpoint `there`; it has none");
    assert_eq!(test.agent.conversation().path().await.unwrap(), Some(path));
}

#[tokio::test]
async fn what_is_said_is_in_the_file_before_the_model_is_asked() {
    let test = ConversationAgent::new();
    let path = test.begin("a.jsonl").await;
    let wait = test.model.wait();
    let conversation = test.agent.conversation();
    tokio::select! {
        _ = conversation.send("hello") => panic!("the model waits"),
        () = wait.asked.notified() => {}
    }
    assert_eq!(
        lines(&path)[1..],
        [
            r#"{"id":"m002","ts":"2026-02-05T10:15:00.000Z","type":"msg","role":"user","content":"hello"}"#
        ]
    );
}

#[tokio::test]
async fn a_second_agent_in_the_same_file_is_refused_and_stays_where_it_was() {
    let first = ConversationAgent::new();
    let path = first.begin("a.jsonl").await;
    let second = first.other();
    second.say("in memory").await;
    let error = second.agent.load_conversation(&path).await.unwrap_err();
    assert!(matches!(&error, ConversationError::Load(LoadConversationError::InUse { .. })));
    let told = error.to_string();
    assert!(told.contains("a.jsonl is open for writing elsewhere; close it there"), "{told}");
    assert_eq!(second.messages().await.len(), 2);
}

#[tokio::test]
async fn no_path_is_overwritten_and_none_is_made_up() {
    let test = ConversationAgent::new();
    let path = test.begin("a.jsonl").await;
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
async fn a_file_changed_from_outside_is_not_written_until_it_is_loaded_again() {
    let test = ConversationAgent::new();
    let path = test.begin("a.jsonl").await;
    test.say("one").await;
    let more = r#"{"id":"m004","ts":"2026-02-05T10:15:00.000Z","type":"msg","role":"user","content":"theirs"}"#;
    let changed = read(&path) + more + "\n";
    std::fs::write(&path, &changed).unwrap();
    let error = test.agent.conversation().send("two").await.unwrap_err();
    assert!(matches!(&error, ConversationError::Write(WriteError::Changed { .. })));
    assert_eq!(read(&path), changed);

    test.agent.load_conversation(&path).await.unwrap();
    test.say("two").await;
    let said = test.texts().await;
    assert_eq!(said.len(), 5);
    assert_eq!(said[2..4], ["theirs", "two"]);
}

#[tokio::test]
async fn an_agent_that_cannot_load_its_own_file_anew_says_nothing_into_the_void() {
    let test = ConversationAgent::new();
    let path = test.begin("a.jsonl").await;
    std::fs::write(&path, "nonsense\n").unwrap();
    let error = test.agent.load_conversation(&path).await.unwrap_err();
    assert!(matches!(
        &error,
        ConversationError::Load(LoadConversationError::Damaged { line: 1, .. })
    ));
    let error = test.agent.conversation().send("hello").await.unwrap_err();
    assert!(error.to_string().contains("load it again, or begin another conversation"));
    test.begin("b.jsonl").await;
    test.say("hello").await;
}

#[tokio::test]
async fn what_failed_to_be_written_was_not_said_and_does_not_come_back() {
    let test = ConversationAgent::new();
    let path = test.begin("a.jsonl").await;
    test.say("one").await;
    let whole = read(&path);
    std::fs::write(&path, whole.clone() + "x").unwrap();
    assert!(test.agent.conversation().send("lost").await.is_err());
    std::fs::write(&path, &whole).unwrap();
    test.say("two").await;
    assert!(!read(&path).contains("lost"));
    assert_eq!(test.messages().await.len(), 4);
}

fn asks_for_look(on_undecided: OnUndecided) -> ConversationAgent {
    let approval = BTreeSet::from(["look".to_owned()]);
    ConversationAgent::ruled(Rules { approval, on_undecided, ..Rules::default() })
}

#[tokio::test]
async fn a_call_that_was_left_undecided_is_not_made() {
    let test = asks_for_look(OnUndecided::GoOn);
    let path = test.begin("a.jsonl").await;
    assert_eq!(test.say("/tool look {}").await.outcome, Outcome::Parked);
    assert_eq!(test.say("well?").await.text(), format!("{WHO} You said: well?"));
    assert!(read(&path).contains("the person went on without deciding"));
}

#[tokio::test]
async fn a_call_that_needs_a_word_waits_for_it_and_nothing_is_said_meanwhile() {
    let test = asks_for_look(OnUndecided::Wait);
    let path = test.begin("a.jsonl").await;
    let reply = test.say("/tool look {}").await;
    assert_eq!(reply.outcome, Outcome::Parked);
    assert!(reply.answer().unwrap().to_string().contains("approval-requested"));
    let error = test.agent.conversation().send("well?").await.unwrap_err();
    assert!(matches!(&error, ConversationError::Waiting { .. }), "{error}");
    assert_eq!(lines(&path).len(), 2);

    let approval_id = "approve_offline_1_0".to_owned();
    let answer = CallAnswer::Approval { approval_id, approved: true, reason: None };
    let reply = test.agent.conversation().answer(answer.clone(), &Stop::default()).await.unwrap();
    assert!(reply.text().ends_with("- look: done"));
    assert!(test.agent.conversation().answer(answer, &Stop::default()).await.is_err());
    assert!(!read(&path).contains("well?"));
}

#[tokio::test]
async fn things_that_are_said_at_once_are_answered_one_after_the_other() {
    let test = ConversationAgent::new();
    test.begin("a.jsonl").await;
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
async fn an_answer_without_a_waiting_caller_is_finished_before_the_next() {
    let test = ConversationAgent::new();
    test.begin("a.jsonl").await;
    let wait = test.model.wait();
    let conversation = test.agent.conversation();
    tokio::select! {
        _ = conversation.send("one") => panic!("the model waits"),
        () = wait.asked.notified() => {}
    }
    test.say("two").await;
    let said = test.texts().await;
    let answer = |text: &str| format!("{WHO} You said: {text}");
    assert_eq!(said, ["one".to_owned(), answer("one"), "two".to_owned(), answer("two")]);
}

#[tokio::test]
async fn a_follower_is_told_the_name_that_the_file_has() {
    let test = ConversationAgent::new();
    let mut events = test.agent.conversation().listen();
    test.begin("a.jsonl").await;
    let reply = test.say("hello").await;
    let mut ended = None;
    while let Some(event) = events.try_next() {
        if let RunEvent::Ended { message_id, .. } = &*event {
            ended = Some(message_id.clone());
        }
    }
    assert_eq!(ended.as_deref(), reply.answer().unwrap().id());
    assert_eq!(ended.as_deref(), Some("m003"));
}

#[tokio::test]
async fn a_question_that_was_left_without_an_answer_is_answered_with_the_next() {
    let test = ConversationAgent::new();
    let path = test.path("a.jsonl");
    let left = r#"{"id":"m001","ts":"2026-02-05T10:15:00.000Z","type":"msg","role":"user","content":"left"}"#;
    std::fs::write(&path, format!("{left}\n{{\"id\":\"m0")).unwrap();
    let repair = test.agent.load_conversation(&path).await.unwrap().unwrap();
    assert_eq!(repair.cut_bytes, 9);
    test.say("next").await;
    assert!(test.last_request().contains("left"));
    assert_eq!(test.ids().await, ["m001", "m002", "m003"]);
}

#[tokio::test]
async fn a_run_that_failed_or_was_stopped_says_so_after_a_load() {
    let rules = Rules { max_steps: 1, ..Rules::default() };
    let test = ConversationAgent::ruled(rules);
    let path = test.begin("a.jsonl").await;
    let failed = test.say("/tool look {}").await;
    let Outcome::Failed(sentence) = &failed.outcome else { panic!("{failed:?}") };
    let stop = Stop::default();
    stop.stop();
    test.model.wait();
    let stopped = test.agent.conversation().send_until("hello", &stop).await.unwrap();
    assert_eq!(stopped.outcome, Outcome::Stopped);

    let test = test.loaded(&path).await;
    let messages = test.messages().await;
    assert_eq!(messages[1], *failed.answer().unwrap());
    assert_eq!(messages[3], *stopped.answer().unwrap());
    let told = |message: &UiMessage, key| message.metadata().unwrap().get(key).cloned();
    assert_eq!(told(&messages[1], "error"), Some(Json::from(sentence.as_str())));
    assert_eq!(told(&messages[3], "interrupted"), Some(Json::Bool(true)));
    test.say("go on").await;
}

#[tokio::test]
async fn the_model_is_told_that_its_last_answer_was_stopped_also_after_a_load() {
    let test = ConversationAgent::new();
    let path = test.begin("a.jsonl").await;
    let stop = Stop::default();
    stop.stop();
    test.agent.conversation().send_until("hello", &stop).await.unwrap();
    test.say("go on").await;
    let note = "Last answer: stopped by the person";
    assert_eq!(
        lines(&path)[3],
        format!(
            r#"{{"id":"m004","ts":"2026-02-05T10:15:00.000Z","type":"msg","role":"user","content":"go on","note_to_model":"{note}"}}"#
        )
    );

    let test = test.loaded(&path).await;
    test.say("and on").await;
    assert_eq!(test.last_request().matches(note).count(), 1, "{}", test.last_request());
}

#[tokio::test]
async fn loading_the_file_in_which_something_is_being_said_is_refused_and_changes_nothing() {
    let test = ConversationAgent::new();
    let path = test.begin("a.jsonl").await;
    let wait = test.model.wait();
    let agent = test.agent.clone();
    let saying = tokio::spawn(async move { agent.conversation().send("hello").await.unwrap() });
    wait.asked.notified().await;
    let error = test.agent.load_conversation(&path).await.unwrap_err();
    assert!(matches!(error, ConversationError::Load(LoadConversationError::InUse { .. })));
    wait.go.notify_one();
    saying.await.unwrap();
    assert_eq!(test.messages().await.len(), 2);
    test.agent.load_conversation(&path).await.unwrap();
}

#[tokio::test]
async fn any_text_can_be_said() {
    let test = ConversationAgent::new();
    let path = test.begin("a.jsonl").await;
    let texts = ["", " \n\t", "\u{0}\u{1f}\"\\", "/tool", "/tool look {", "[1]", "\u{2028}🚢"];
    for text in texts {
        test.say(text).await;
    }
    let said = test.messages().await;
    let test = test.loaded(&path).await;
    assert_eq!(test.messages().await, said);
    let asked: Vec<String> = said.iter().step_by(2).map(UiMessage::text).collect();
    assert_eq!(asked, texts);
}
