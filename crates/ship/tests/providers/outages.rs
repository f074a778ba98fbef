//! Providers that are out of order: an error, a dead connection, silence. The tests of the provider have all kinds.

use ship_testkit::llm::{Answer, Format, LlmServer, faults};

use crate::harness::TestShip;
use crate::world::{World, assert_clean, assert_says, planted, settings_at};

#[test]
fn a_fault_that_may_pass_is_tried_again_with_the_same_body_and_then_told() {
    // Where the window is known to have room, a failure without a reason is not taken for one of the size.
    let world = World::with(Format::OpenAi, r#""retries": 1, "window": 100000"#);
    world.server.then(planted(faults::server_error())).then(Answer::text("Here I am."));
    assert_eq!(world.answer("Are you there?"), "Here I am.");

    let before = world.asked();
    world.server.then(planted(faults::server_error())).then(planted(faults::server_error()));
    let sentence = world.sentence("And now?");
    let requests = world.server.requests();
    assert_eq!(requests.len(), before + 2, "{sentence}");
    assert_eq!(requests[before].body, requests[before + 1].body);
    assert_says(&sentence, &["I could not answer: ", "openai", "(500)", "is kept."]);
    world.assert_goes_on();
}

#[test]
fn a_closed_port_is_told_with_the_setting() {
    let llm = r#""retries": 1, "connectMs": 2000"#;
    let settings = settings_at("openai", &LlmServer::refused_url(), llm, "");
    let ship = TestShip::with_settings(&settings);
    let ran = ship.run(&["send", "Are you there?"]);
    let told = ran.complaint();
    let pieces = ["did not answer after 2 attempts", "cannot connect to", "`llm.baseUrl`"];
    assert_says(&told, &pieces);
    assert_says(&told, &["Check the network", "What you wrote is kept."]);
    assert_eq!(ran.out(), "", "nothing was said");
    assert_clean("what is printed", &told);
    ship.write("ship.json", r#"{ "llm": { "provider": "offline" } }"#);
    assert_says(&ship.run(&["send", "And now?"]).text(), &["You said: And now?"]);
}

#[test]
fn silence_ends_at_its_deadline_and_the_sentence_names_it() {
    let begin = "did not begin to answer within 0.4 s (`llm.firstByteMs`)";
    let cases = [
        (faults::no_answer as fn() -> Answer, begin, r#""firstByteMs": 400, "retries": 0"#),
        (faults::stall_mid_text, "in time (`llm.idleMs`)", r#""idleMs": 300, "retries": 0"#),
    ];
    for (fault, piece, llm) in cases {
        let world = World::with(Format::OpenAi, llm);
        world.server.then(fault());
        let sentence = world.sentence("Are you there?");
        assert_says(&sentence, &[piece, " is kept"]);
        assert_eq!(world.asked(), 1);
        let over = crate::world::wait(world.server.wait_until_over(1));
        assert!(over[0].hung_up, "the connection is given up, too");
        world.switch(Format::OpenAi, r#""retries": 0"#);
        world.assert_goes_on();
    }
}

#[test]
fn a_recap_shows_the_question_that_failed_and_why() {
    let world = World::new(Format::OpenAi);
    world.server.then(Answer::text("Aye."));
    let _ = world.answer("One?");
    world.server.then(faults::server_error());
    let _ = world.sentence("Two?");
    let mut chat = world.ship.terminal(60, &["chat"]);
    chat.until("could not answer");
    chat.until("> ");
    let screen = chat.screen();
    let at = screen.iter().position(|line| line == "“One?”, left just now:").expect("a recap");
    assert_eq!(screen[at + 1..at + 4], ["you: One?", "  Aye.", "you: Two?"], "{screen:#?}");
    assert!(screen[at + 4].starts_with("  ship: I could not answer: "), "{screen:#?}");
    chat.leave();
    let told = world.ship.run(&["history", "--last", "1"]).text();
    assert!(told.starts_with("ship: I could not answer: "), "it is not the agent's: {told}");
}

#[test]
fn a_question_that_failed_is_asked_again_without_a_trace_among_the_contexts() {
    let world = World::new(Format::OpenAi);
    world.server.then(faults::server_error()).then(Answer::text("Aye."));
    let mut chat = world.ship.terminal(60, &["chat"]);
    chat.until("> ");
    chat.types("One?\r");
    chat.until("/retry asks again.");
    chat.until("> ");
    chat.types("/retry\r");
    chat.until("Aye.");
    chat.until("> ");
    let screen = chat.screen();
    let is_told = |line: &String| line.starts_with("ship: I could not answer: ");
    assert!(screen.iter().any(is_told), "in the words of the program: {screen:#?}");
    let at = screen.iter().position(|line| line == "> /retry").expect("the command");
    assert_eq!(screen[at + 1..at + 4], ["Asking again.", "> One?", "Aye."], "{screen:#?}");
    chat.leave();
    let history = world.ship.run(&["history"]).text();
    assert!(history.contains("ship: I could not") && history.contains("Aye."), "{history}");
    assert!(!history.contains("a context that is gone"), "{history}");
    let list = world.ship.run(&["context", "list"]).text();
    assert!(list.starts_with("* One?  2 messages  active  c_"), "{list}");
    assert_eq!(list.lines().count(), 1, "{list}");
    let _ = world.ship.run(&["undo"]).text();
    let told = world.ship.run(&["context", "show"]).text();
    assert!(told.contains("One?") && !told.contains("Aye."), "it can be undone: {told}");
}

#[test]
fn undo_takes_back_an_exchange_whose_first_answers_failed_and_not_the_retry_alone() {
    let world = World::new(Format::OpenAi);
    world.server.then(Answer::text("Aye."));
    let _ = world.answer("One?");
    world.server.then(faults::server_error()).then(faults::server_error());
    world.server.then(Answer::text("Two it is."));
    let ran = world.ship.piped(&["chat"], "Two?\n/retry\n/retry\n/undo\n");
    let told = "\nTook back “Two?” and its answer. /undo brings it back.\n";
    assert!(ran.out().ends_with(told), "{}", ran.out());
    let said = || world.ship.said().into_iter().map(|(_, text)| text).collect::<Vec<_>>();
    let shown = world.ship.run(&["context", "show"]).text();
    assert!(shown.contains("Aye.") && !shown.contains("Two?"), "{shown}");
    let _ = world.ship.piped(&["chat"], "/undo\n").text();
    assert_eq!(said().last().map(String::as_str), Some("Two it is."));
}

#[test]
fn undo_of_a_second_answer_brings_the_first_one_back() {
    let world = World::new(Format::OpenAi);
    world.server.then(Answer::text("Aye.")).then(Answer::text("No."));
    let out = world.ship.piped(&["chat"], "One?\n/retry\n/undo\n").text();
    assert!(out.ends_with("\nUndid /retry: now in “One?”. /undo again restores it.\n"), "{out}");
    let shown = world.ship.run(&["context", "show"]).text();
    assert!(shown.contains("Aye.") && !shown.contains("No."), "{shown}");
}
