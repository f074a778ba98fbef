//! What an answer cost: tokens, time and money on a terminal, and fields for programs.

use ship_message::json::Json;
use ship_testkit::llm::{Answer, Format, Speech, Stop, Usage};

use crate::harness::{keys, number, text};
use crate::world::{MODEL, World, assert_says, both};

const USAGE: Usage = Usage { input: 1200, cached: 1000, created: [0; 2], output: 50, reasoning: 0 };

const PRICE: &str = r#""price": {"input": 2.5, "cachedInput": 1.25, "output": 10}"#;

fn world(price: &str) -> World {
    let comma = if price.is_empty() { "" } else { ", " };
    World::with(Format::OpenAi, &format!(r#""retries": 0, "window": 100000{comma}{price}"#))
}

fn aye() -> Answer {
    Speech::text("Aye.").usage(USAGE).into()
}

#[test]
fn behind_an_answer_a_terminal_shows_tokens_time_and_money_where_prices_are_set() {
    for (price, money) in [("", ""), (PRICE, " · 0.0022")] {
        let world = world(price);
        world.server.then(aye()).then(aye());
        let mut send = world.ship.terminal(80, &["send", "Sail?"]);
        let shown = send.all();
        assert!(shown.contains("\u{1b}[2mtokens: 1200 in (1000 cached), 50 out · "), "{shown:?}");
        let lines = send.screen();
        assert_eq!((lines[0].as_str(), lines.len()), ("Aye.", 2));
        assert!(lines[1].ends_with(&format!(" s{money}")), "{lines:?}");

        let mut chat = world.ship.terminal(20, &["chat"]);
        chat.until("> ");
        chat.types("Sail?\r");
        chat.until("Aye.");
        chat.until("> ");
        let lines = chat.screen();
        let answer = lines.iter().position(|line| line == "Aye.").expect("an answer");
        let cost = lines[answer + 1..lines.len() - 1].join(" ").replace("   ", " ");
        assert!(cost.starts_with("tokens: 1200 in (1000 cached), 50 out · "), "{lines:?}");
        assert!(cost.ends_with(&format!(" s{money}")), "{lines:?}");
        chat.leave();
    }
}

#[test]
fn pipes_and_answers_without_a_count_have_no_such_line() {
    let world = world(PRICE);
    world.server.then(aye());
    let ran = world.send("Sail?");
    assert_eq!((ran.text().as_str(), ran.err().as_str()), ("Aye.\n", ""));
    world.server.then(Speech::text("Aye.").without_usage());
    let mut send = world.ship.terminal(80, &["send", "Sail?"]);
    assert_eq!(send.exit_code(), 0);
    assert_eq!(send.screen(), ["Aye."]);
}

#[test]
fn a_program_reads_text_model_and_usage_beside_the_message() {
    let world = world(PRICE);
    world.server.then(aye());
    let answer = world.ship.run(&["send", "--json", "Sail?"]).json();
    assert_eq!(keys(&answer), ["id", "role", "parts", "metadata", "text", "model", "usage"]);
    assert_eq!((text(&answer, "text").as_str(), text(&answer, "model").as_str()), ("Aye.", MODEL));
    let usage = answer.get("usage").expect("a usage");
    let wanted = r#"{"inputTokens":1200,"cachedTokens":1000,"outputTokens":50,"cost":0.00225}"#;
    assert_eq!(usage.to_string(), wanted);
}

#[test]
fn summaries_on_the_way_are_counted_and_the_line_says_so() {
    let others = r#", "context": { "history": { "keepLastMessages": 2 } }"#;
    let world = World::of(Format::OpenAi, r#""retries": 0, "window": 8000"#, others);
    world.server.otherwise(Answer::judge(|exchange| {
        match exchange.body.to_string().contains("You keep the memory of a long chat") {
            true => Speech::text(ship_testkit::summary::SUMMARY).usage(USAGE).into(),
            false => aye(),
        }
    }));
    let long = "the ship sails at dawn and ".repeat(300);
    // Each message is larger than what the last one left, so that one of the next needs room.
    for _ in 0..8 {
        let mut send = world.ship.terminal(80, &["send", &long]);
        assert_eq!(send.exit_code(), 0);
        let lines = send.screen();
        if lines.iter().any(|line| line.starts_with("(Made room: ")) {
            let last = lines.last().expect("a line");
            assert!(
                last.starts_with("tokens: 2400 in (2000 cached), 100 out with summary · "),
                "{lines:?}"
            );
            return;
        }
    }
    panic!("no room was made");
}

#[test]
fn an_answer_that_is_cut_off_is_printed_and_ends_with_1() {
    both(|format| {
        let world = World::new(format);
        for _ in 0..3 {
            world.server.then(Speech::text("Half of").stop(Stop::Length));
        }
        let ran = world.ship.run(&["send", "Tell me."]);
        assert_eq!(ran.out(), "Half of\n");
        let told =
            ["ship: My answer was cut off here: ", "hint: `ship send 'go on'` asks for the rest"];
        assert_says(&ran.complaint(), &told);

        let ran = world.ship.run(&["send", "--json", "Tell me."]);
        assert_eq!(text(&ran.error(), "code"), "cut");
        let printed = Json::parse(ran.out().trim_end()).expect("one JSON value");
        assert_eq!(text(&printed, "text"), "Half of");
        assert!(number(printed.get("usage").expect("a usage"), "outputTokens") > 0, "{printed}");

        let ran = world.ship.piped(&["chat"], "Tell me.\n");
        assert_eq!(ran.code(), 1, "{}", ran.err());
        assert!(ran.out().starts_with("Half of\n(My answer was cut off here: "), "{}", ran.out());
        world.assert_goes_on();
    });
}

#[test]
fn a_chat_from_a_pipe_goes_on_after_a_failure_and_ends_with_1() {
    let world = World::new(Format::OpenAi);
    world.server.then(ship_testkit::llm::faults::server_error()).then(Answer::text("Aye."));
    let ran = world.ship.piped(&["chat"], "One?\nTwo?\n");
    assert_eq!(ran.code(), 1);
    assert!(ran.out().starts_with("I could not answer: "), "{}", ran.out());
    assert!(ran.out().ends_with("\nAye.\n"), "{}", ran.out());
    world.assert_goes_on();
}
