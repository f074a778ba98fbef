//! Runs that wait for a person, and programs that are killed meanwhile.

use crate::harness::{TestShip, array, echo, talk, text};

const APPROVAL: &str = "{ \"tools\": { \"approval\": [\"chat_send\"] } }";
const APPROVAL_FIRST: &str =
    "{ \"tools\": { \"approval\": [\"chat_send\"], \"onUndecided\": \"wait\" } }";
const CLIENT: &str = "{ \"tools\": { \"client\": [\"skills_list\"] } }";
const SEND: &str = "/tool chat_send {\"text\":\"the parcel\"}";

/// The state of the tool call in the last message.
fn last_call(ship: &TestShip) -> String {
    let messages = ship.run(&["history", "--json", "--last", "1"]).json_lines();
    let parts = array(&messages[0], "parts");
    let call = parts.iter().find(|part| text(part, "type").starts_with("tool-"));
    text(call.expect("a tool call"), "state")
}

/// Starts a chat whose run waits for an answer, and kills it there.
fn parked(settings: &str, message: &str, question: &str) -> TestShip {
    let ship = TestShip::with_settings(settings);
    let mut chat = ship.start(&["chat"]);
    chat.say(message);
    chat.until(question);
    chat.kill();
    ship
}

#[test]
fn an_approval_is_asked_again_after_a_kill_and_then_the_tool_runs_once() {
    let ship = parked(APPROVAL, SEND, "chat_send wants to run with");
    let out = ship.piped(&["chat"], "y\nmore\n").text();
    assert_eq!(out.matches("\nthe parcel\n").count(), 1, "{out}");
    assert!(out.ends_with(&format!("{}\n", echo("more"))), "{out}");
    let roles: Vec<String> = ship.said().into_iter().map(|(role, _)| role).collect();
    assert_eq!(roles, ["user", "assistant", "user", "assistant"]);
    let delivered = ship.run(&["history", "--ledger", "--json"]).json_lines();
    assert_eq!(delivered.iter().filter(|line| text(line, "text") == "the parcel").count(), 1);
}

#[test]
fn a_no_is_kept_and_the_tool_does_not_run() {
    let ship = parked(APPROVAL, SEND, "wants to run");
    let out = ship.piped(&["chat"], "n\n").text();
    assert!(!out.contains("\nthe parcel\n"), "{out}");
    assert_eq!(last_call(&ship), "output-denied");
}

#[test]
fn what_is_no_answer_is_a_message_and_goes_on_without_the_tool() {
    let ship = parked(APPROVAL, SEND, "wants to run");
    let out = ship.piped(&["chat"], "by the way\n").text();
    assert!(out.ends_with(&format!("{}\n", echo("by the way"))), "{out}");
    assert!(!out.contains("\nthe parcel\n"), "{out}");
    let roles: Vec<String> = ship.said().into_iter().map(|(role, _)| role).collect();
    assert_eq!(roles, ["user", "assistant", "user", "assistant"]);

    let ship = parked(APPROVAL, SEND, "wants to run");
    assert_eq!(ship.run(&["send", "hello"]).text(), format!("{}\n", echo("hello")));
    let out = ship.piped(&["chat"], "").text();
    assert!(!out.contains("wants to run"), "no question is left: {out}");
}

#[test]
fn what_is_no_answer_is_kept_until_the_decision_where_the_settings_say_so() {
    let ship = parked(APPROVAL_FIRST, SEND, "wants to run");
    let out = ship.piped(&["chat"], "by the way\ny\n").text();
    assert!(out.contains("Kept; it is answered once this is settled."), "{out}");
    assert!(out.ends_with(&format!("{}\n", echo("by the way"))), "{out}");
}

#[test]
fn a_question_that_is_left_open_can_be_answered_in_the_same_session() {
    let ship = TestShip::with_settings(APPROVAL);
    let ran = ship.piped(&["chat"], format!("/answer\n{SEND}\n/later\n/answer\ny\n"));
    assert!(ran.err().starts_with("ship: No tool waits for you.\n"), "{}", ran.err());
    let out = ran.out();
    assert_eq!(out.matches("wants to run").count(), 2, "{out}");
    assert_eq!(out.matches("\nthe parcel\n").count(), 1, "{out}");
    assert_eq!(last_call(&ship), "output-available");
}

#[test]
fn the_end_of_input_leaves_the_question_open() {
    let ship = parked(APPROVAL, SEND, "wants to run");
    let out = ship.piped(&["chat"], "").text();
    assert!(
        out.ends_with("It waits; /answer asks again, and your next message goes on without it.\n"),
        "{out}"
    );
    let _ = ship.piped(&["chat"], "yes\n").text();
    assert_eq!(last_call(&ship), "output-available");
}

#[test]
fn a_send_to_a_chat_that_waits_is_kept_and_says_why_there_is_no_answer() {
    let ship = parked(APPROVAL_FIRST, SEND, "wants to run");
    let error = ship.run(&["send", "--json", "hello"]).error();
    assert_eq!(text(&error, "code"), "waiting");
    let history = ship.run(&["history"]).text();
    assert!(history.contains(" (queued)\nhello\n"), "{history}");

    let _ = ship.piped(&["chat"], "y\n").text();
    let said = ship.said();
    assert_eq!(said[said.len() - 2..], talk(&[("user", "hello"), ("assistant", &echo("hello"))]));
}

#[test]
fn a_tool_of_the_client_gets_its_output_from_the_person_after_a_kill() {
    let ship = parked(CLIENT, "/tool skills_list {}", "skills_list is yours to run, with {}");
    let out = ship.piped(&["chat"], "[\"mine\"]\n").text();
    assert!(out.contains("- skills_list: [\"mine\"]"), "{out}");
    assert_eq!(last_call(&ship), "output-available");
}

#[test]
fn slash_commands_work_at_a_question_and_are_not_sent() {
    for (settings, message) in [(APPROVAL, SEND), (CLIENT, "/tool skills_list {}")] {
        let ship = parked(settings, message, "run");
        let ran = ship.piped(&["chat"], "/help\n/history 1\n/frob\n/exit\nnever\n");
        let (out, err) = (ran.out(), ran.err());
        assert!(out.contains("  /inspect "), "{out}");
        assert!(out.contains("/later leaves it open"), "{out}");
        assert!(err.contains("There is no command /frob; /help lists them. To say"), "{err}");
        assert!(!out.contains("Kept;"), "{out}");
        assert_eq!(ship.said().len(), 1, "the question is still open, and nothing was added");
    }
}

#[test]
fn a_tool_of_the_client_may_have_failed_and_a_no_may_have_a_reason() {
    let ship = parked(CLIENT, "/tool skills_list {}", "skills_list is yours");
    let out = ship.piped(&["chat"], "\n/fail no network\n").text();
    assert!(out.contains("no network"), "{out}");
    assert_eq!(last_call(&ship), "output-error");

    let ship = parked(APPROVAL, SEND, "wants to run");
    let out = ship.piped(&["chat"], "/no too late\n").text();
    assert!(out.contains("Not allowed; the agent is told.\n"), "{out}");
    assert_eq!(last_call(&ship), "output-denied");
    assert!(ship.run(&["history", "--json"]).text().contains("too late"));

    let ship = parked(APPROVAL, SEND, "wants to run");
    let out = ship.piped(&["chat"], "/later\n").text();
    assert!(
        out.contains("It waits; /answer asks again, and your next message goes on without it."),
        "{out}"
    );
}

#[test]
fn what_a_person_agrees_to_hides_nothing() {
    let ship = TestShip::with_settings(APPROVAL);
    let mut chat = ship.start(&["chat"]);
    chat.say("/tool chat_send {\"text\":\"a\u{202e}b\u{200b}c\"}");
    chat.until("wants to run with ");
    let line = chat.line();
    assert!(line.contains("a\\u{202e}b\\u{200b}c"), "{line}");
    chat.kill();
}
