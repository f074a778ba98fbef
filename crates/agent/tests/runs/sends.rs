//! `chat_send`: how often it may, what counts as the same, and what the ledger keeps of it.

use ship_agent::{Rules, RunEvent};
use ship_message::json::Json;
use ship_testkit::scripted_model::{call, calls, text};

use crate::harness::{Setup, TestAgent, mark};

/// Has the model send these texts, one after the other.
async fn send(rules: Rules, texts: &[&str]) -> (TestAgent, Vec<String>) {
    let test = Setup::ruled(rules).agent();
    let sends: Vec<String> =
        texts.iter().map(|text| format!("/tool chat_send {{\"text\":\"{text}\"}}")).collect();
    test.say(&sends.join("\n")).await;
    let mut ledger = test.ledger().await;
    ledger.remove(0);
    // The answer itself tells what the tools answered.
    ledger.pop();
    (test, ledger)
}

#[tokio::test]
async fn the_same_text_is_delivered_once_for_one_message() {
    let (test, ledger) = send(Rules::default(), &["a", "b", "a"]).await;
    assert_eq!(ledger, ["assistant: a", "assistant: b"]);
    assert!(!test.context().await[1].contains("may be called"));
}

#[tokio::test]
async fn the_same_text_is_delivered_again_when_the_settings_want_it() {
    let rules = Rules { chat_send_once: false, ..Rules::default() };
    let (_, ledger) = send(rules, &["a", "b", "a"]).await;
    assert_eq!(ledger, ["assistant: a", "assistant: b", "assistant: a"]);
}

#[tokio::test]
async fn every_call_counts_whatever_it_sends() {
    let rules = Rules { chat_sends_max: 2, ..Rules::default() };
    let (test, ledger) = send(rules, &["a", "a", "b"]).await;
    assert_eq!(ledger, ["assistant: a"]);
    let told = "chat_send may be called 2 times in one run, and was";
    assert!(test.context().await[1].contains(told), "{:?}", test.context().await);
}

#[tokio::test]
async fn attachments_are_in_the_ledger_and_are_listed_below_the_text() {
    let input = r#"{"text":"Here.","attachments":["plan.pdf","https://a.example/b.png"]}"#;
    let script = [calls(&[call("1", "chat_send", input)]), text("Sent.")];
    let test = Setup::scripted(&script).agent();
    let mut events = test.agent.listen(&test.chat);
    test.say("hi").await;
    let mut sent = Vec::new();
    while let Some(event) = events.try_next() {
        if let RunEvent::Sent(text) = &*event {
            sent.push(text.clone());
        }
    }
    assert_eq!(sent, ["Here.\n- plan.pdf\n- https://a.example/b.png"]);
    let entries = test.entries().await;
    assert_eq!(entries[1].1.str("text"), Some("Here."));
    assert_eq!(
        entries[1].1.get("meta").map(Json::to_string).as_deref(),
        Some(r#"{"via":"tool","attachments":["plan.pdf","https://a.example/b.png"]}"#)
    );
}

#[tokio::test]
async fn attachments_that_are_no_list_of_texts_are_refused_and_nothing_is_sent() {
    let type_at = "the input cannot be read at `attachments";
    for (wrong, reason) in [
        (r#""plan.pdf""#, type_at),
        ("[1]", type_at),
        ("{}", type_at),
        (r#"[""]"#, "an attachment is empty"),
    ] {
        let order = format!("/tool chat_send {{\"text\":\"Here.\",\"attachments\":{wrong}}}");
        let test = Setup::default().agent();
        test.say(&order).await;
        assert!(test.context().await[1].contains(reason), "{wrong}");
        assert_eq!(test.ledger().await.len(), 2, "{wrong}");
    }
}

#[tokio::test]
async fn what_the_agent_says_tells_where_it_was_said() {
    let test = Setup::default().agent();
    let mut inbound = crate::harness::inbound("/tool chat_send {\"text\":\"a\"}");
    inbound.chat_id = Some("42".to_owned());
    test.agent.accept(&test.chat, inbound).await.unwrap();
    test.run().await;
    for (key, entry) in &test.entries().await[1..] {
        assert_eq!(
            (entry.str("channel"), entry.str("chatId")),
            (Some("terminal"), Some("42")),
            "{key}"
        );
    }
    let messages = test.messages().await;
    for (key, value) in [("channel", "terminal"), ("chatId", "42")] {
        assert_eq!(mark(&messages[1], key), Some(&Json::from(value)), "{key}");
    }
}

#[tokio::test]
async fn a_call_whose_input_does_not_fit_is_told_why_and_sends_nothing() {
    let (no_text, no_list) = (r#"{"attachments":[]}"#, r#"{"text":"a","attachments":[7]}"#);
    let script = [
        calls(&[call("1", "chat_send", no_text), call("2", "chat_send", no_list)]),
        text("Sent nothing."),
    ];
    let test = Setup::scripted(&script).agent();
    test.say("hi").await;
    assert_eq!(test.ledger().await, ["user: hi", "assistant: Sent nothing."]);
    let answer = &test.context().await[1];
    assert!(answer.contains("the input cannot be read: missing field `text`"), "{answer}");
    assert!(
        answer.contains("the input cannot be read at `attachments[0]`: invalid type"),
        "{answer}"
    );
}
