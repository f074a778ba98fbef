//! How an answer can end, and what the person, the log and the ledger learn of it.

use ship_agent::{Outcome, RunEvent, Stop};
use ship_message::json::Json;
use ship_message::{Chunk, FinishReason, PartFields, UiPart};
use ship_store::NoticeKind;
use ship_testkit::sample::sample;
use ship_testkit::scripted_model::{
    ScriptedEnd, ScriptedModel, ScriptedStep, call, calls, half, said, step, text,
};
use ship_testkit::sim::Fault;

use crate::harness::{ProjectFolder, Setup, TestAgent, chat, inbound, line, mark};

/// Says a text and then ends so.
fn ends(reason: FinishReason) -> [ScriptedStep; 1] {
    [step(&[said("Half an ans")], ScriptedEnd::Because(reason))]
}

fn failure(outcome: Option<Outcome>) -> String {
    match outcome {
        Some(Outcome::Failed(sentence)) => sentence,
        other => panic!("it should have failed: {other:?}"),
    }
}

#[tokio::test]
async fn an_answer_that_ends_in_an_error_or_a_filter_has_failed_and_says_so() {
    for (reason, name, told) in [
        (FinishReason::Error, "error", "The model failed in the middle"),
        (FinishReason::ContentFilter, "content-filter", "The provider's content filter cut"),
    ] {
        let test = Setup::scripted(&ends(reason)).agent();
        let sentence = failure(test.say("hi").await);
        assert!(sentence.starts_with(told), "{sentence}");
        let messages = test.messages().await;
        assert_eq!(line(&messages[1]), format!("assistant: Half an ans {sentence}"));
        assert_eq!(mark(&messages[1], "finishReason"), Some(&Json::from(name)));
        assert_eq!(mark(&messages[1], "error"), Some(&Json::from(sentence.as_str())));
        let ledger = test.ledger().await;
        assert_eq!(
            ledger[1..],
            ["assistant: Half an ans".to_owned(), format!("assistant: {sentence}")]
        );
    }
}

#[tokio::test]
async fn an_answer_that_was_too_long_says_where_it_was_cut() {
    let mut setup = Setup::scripted(&ends(FinishReason::Length));
    setup.rules.max_tokens = 99;
    let test = setup.agent();
    let mut events = test.agent.listen(&test.chat);
    assert_eq!(test.say("hi").await, Some(Outcome::Done));
    let messages = test.messages().await;
    let told =
        "Half an ans (My answer was cut off here: it is limited to 99 tokens (`llm.maxTokens`)";
    assert!(line(&messages[1]).contains(told), "{}", line(&messages[1]));
    assert_eq!(mark(&messages[1], "finishReason"), Some(&Json::from("length")));
    let mut finish = None;
    while let Some(event) = events.try_next() {
        if let RunEvent::Chunk(Chunk::Finish { finish_reason, .. }) = &*event {
            finish = *finish_reason;
        }
    }
    assert_eq!(finish, Some(FinishReason::Length));
}

#[tokio::test]
async fn calls_that_came_before_the_answer_was_cut_are_made_and_the_run_goes_on() {
    let cut = step(&[call("1", "look", "{}")], ScriptedEnd::Because(FinishReason::Length));
    let test = Setup::scripted(&[cut, text("There.")]).agent();
    assert_eq!(test.say("hi").await, Some(Outcome::Done));
    let messages = test.messages().await;
    assert_eq!(test.context().await[1], "assistant: [look \"done\"] There.");
    assert_eq!(mark(&messages[1], "finishReason"), None);
}

#[tokio::test]
async fn an_ordinary_end_leaves_no_mark() {
    for reason in [FinishReason::Stop, FinishReason::Other] {
        let test = Setup::scripted(&ends(reason)).agent();
        assert_eq!(test.say("hi").await, Some(Outcome::Done));
        let messages = test.messages().await;
        assert_eq!(line(&messages[1]), "assistant: Half an ans");
        assert_eq!(mark(&messages[1], "finishReason"), None);
    }
}

#[tokio::test]
async fn a_model_that_says_nothing_has_failed_unless_its_tools_did_the_work() {
    let nothing = || step(&[], ScriptedEnd::Because(FinishReason::Stop));
    let test = Setup::scripted(&[nothing()]).agent();
    let sentence = failure(test.say("hi").await);
    assert!(sentence.contains("gave an empty answer"), "{sentence}");
    assert_eq!(test.context().await[1], format!("assistant: {sentence}"));

    let said_before = [calls(&[said("Let me see."), call("1", "look", "{}")]), nothing()];
    let test = Setup::scripted(&said_before).agent();
    assert_eq!(test.say("hi").await, Some(Outcome::Done));
    assert_eq!(test.model().asked(), 2, "it is not asked again and again");

    let worked = [calls(&[call("1", "look", "{}")]), nothing()];
    let test = Setup::scripted(&worked).agent();
    assert_eq!(test.say("hi").await, Some(Outcome::Done));
    assert_eq!(test.context().await[1], "assistant: [look \"done\"]");
}

/// Runs a script, and stops it once the model hangs.
async fn stopped(script: ScriptedStep) -> TestAgent {
    let test = Setup::scripted(&[script]).agent();
    assert!(test.accept("hi").await);
    let stop = Stop::default();
    let asked = async {
        test.model().is_asked_for(1).await;
        stop.stop();
    };
    let (outcome, ()) = tokio::join!(test.agent.run(&test.chat, &stop), asked);
    assert_eq!(outcome.unwrap(), Some(Outcome::Stopped));
    test
}

#[tokio::test]
async fn a_run_that_is_stopped_in_the_middle_of_a_text_keeps_it_as_a_finished_one() {
    let test = stopped(step(&[half("I was about")], ScriptedEnd::Hangs)).await;
    let messages = test.messages().await;
    let parts = messages[1].parts();
    let UiPart::Text(said) = parts.last().unwrap() else { panic!("{parts:?}") };
    assert_eq!((said.text(), said.field("state")), ("I was about", Some(&Json::from("done"))));
    assert_eq!(mark(&messages[1], "interrupted"), Some(&true.into()));
    assert_eq!(test.ledger().await[1], "assistant: I was about");
}

#[tokio::test]
async fn a_run_that_is_stopped_before_its_first_word_says_that_it_was() {
    for says in [vec![], vec![half("")]] {
        let test = stopped(step(&says, ScriptedEnd::Hangs)).await;
        let messages = test.messages().await;
        assert_eq!(messages[1].parts(), [NoticeKind::Stopped.part("(stopped)")]);
        assert_eq!(mark(&messages[1], "interrupted"), Some(&true.into()));
        assert_eq!(test.ledger().await[1], "assistant: (stopped)");
    }
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_gone_on_with_and_ends_settled() {
    let half = step(&[half("One, two")], ScriptedEnd::BreaksOff);
    let test = Setup::scripted(&[half, text(", three.")]).agent();
    assert_eq!(test.say("count").await, Some(Outcome::Done));
    let messages = test.messages().await;
    assert_eq!(line(&messages[1]), "assistant: One, two , three.");
    assert!(!messages[1].to_string().contains("streaming"), "{}", messages[1]);
}

#[tokio::test]
async fn an_answer_that_breaks_off_too_often_has_failed_and_keeps_what_was_said() {
    let mut setup = Setup::scripted(&[
        step(&[half("One,")], ScriptedEnd::BreaksOff),
        step(&[half(" two")], ScriptedEnd::BreaksOff),
    ]);
    setup.rules.retries = 1;
    let test = setup.agent();
    let sentence = failure(test.say("count").await);
    assert!(sentence.contains("broke off: the line went dead"), "{sentence}");
    assert_eq!(test.context().await[1], format!("assistant: One,  two {sentence}"));
}

#[tokio::test]
async fn how_an_answer_ended_is_not_forgotten_when_the_run_is_killed_right_after() {
    for reason in [FinishReason::Length, FinishReason::ContentFilter, FinishReason::Error] {
        let whole = Setup::scripted(&ends(reason));
        let undisturbed = whole.agent();
        assert!(undisturbed.accept("hi").await);
        let before = whole.disk.calls();
        undisturbed.run().await;
        let calls = whole.disk.calls() - before;
        let wanted = undisturbed.messages().await;
        for at in sample(0..calls, 3) {
            let setup = Setup::scripted(&ends(reason));
            let first = setup.agent();
            assert!(first.accept("hi").await);
            setup.disk.fail_in(at, Fault::KillBefore);
            let _ = first.try_run().await;
            drop(first);
            assert!(setup.disk.is_dead(), "{reason:?}, killed at call {at}");
            setup.disk.revive();
            let second = setup.agent();
            second.run().await;
            assert_eq!(second.messages().await, wanted, "{reason:?}, killed at call {at}");
        }
    }
}

#[tokio::test]
async fn a_provider_that_fails_is_told_to_the_person_and_to_the_log() {
    let half = step(&[half("Well,")], ScriptedEnd::Fails("it is on fire"));
    let test = Setup::scripted(&[half]).agent();
    let sentence = failure(test.say("hi").await);
    assert_eq!(
        sentence,
        "I could not answer: scripted could not answer: it is on fire. What you wrote is kept."
    );
    let messages = test.messages().await;
    assert_eq!(line(&messages[1]), format!("assistant: Well, {sentence}"));
    assert_eq!(mark(&messages[1], "error"), Some(&Json::from(sentence.as_str())));
    assert_eq!(
        test.log.of("error"),
        ["code=\"failed\" error=\"scripted could not answer: it is on fire\""]
    );
}

const SECRET: &str = "sk-planted-0123456789";

#[tokio::test]
async fn a_secret_in_a_provider_s_error_is_seen_nowhere() {
    let folder = ProjectFolder::new(&[
        (".env", &format!("OPENAI_API_KEY={SECRET}\n")),
        ("ship.json", r#"{"llm":{"provider":"offline"}}"#),
    ]);
    let fails = step(&[], ScriptedEnd::Fails("401 for the key sk-planted-0123456789"));
    // Its log is the project's.
    let agent = folder.builder().provider(ScriptedModel::of_steps(vec![fails])).build();
    let mut events = agent.listen(&chat());
    agent.accept(&chat(), inbound("hi")).await.unwrap();
    let sentence = failure(agent.run(&chat(), &Stop::default()).await.unwrap());
    agent.flush_log();

    assert!(sentence.contains("401 for the key ****"), "{sentence}");
    while let Some(event) = events.try_next() {
        assert!(!format!("{event:?}").contains(SECRET), "{event:?}");
    }
    let mut seen = 0;
    for file in files(&folder.root().join(".ship")) {
        let content = String::from_utf8_lossy(&std::fs::read(&file).unwrap()).into_owned();
        assert!(!content.contains(SECRET), "{} holds the secret", file.display());
        seen += usize::from(content.contains("401 for the key ****"));
    }
    assert_eq!(seen, 3, "the context log, the ledger and the logs tell of the failure");
}

/// All files below a folder.
fn files(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match (path.is_symlink(), path.is_dir()) {
            (true, _) => {}
            (false, true) => found.extend(files(&path)),
            (false, false) => found.push(path),
        }
    }
    found
}
