//! What a person sees while room is made, and when a compaction cannot be taken back.

use ship_testkit::llm::{Answer, Format, Gate, Speech, faults};
use ship_testkit::summary::SUMMARY;

use crate::harness::text;
use crate::world::{World, error_line};

/// Settings with which two messages stay.
const KEEP_TWO: &str = r#", "context": { "history": { "keepLastMessages": 2 } }"#;

/// A chat of four turns with a model of eight thousand tokens.
fn world() -> World {
    let open = Gate::shut();
    open.open();
    world_with_summaries_behind(open)
}

/// The same, with summaries that wait for a gate.
fn world_with_summaries_behind(gate: Gate) -> World {
    let world = World::of(Format::OpenAi, r#""retries": 0, "window": 8000"#, KEEP_TWO);
    world.server.otherwise(Answer::judge(move |exchange| {
        if exchange.body.to_string().contains("You keep the memory of a long chat") {
            return gate.hold(Speech::text(SUMMARY));
        }
        Answer::text("Aye.")
    }));
    for nth in 0..4 {
        assert_eq!(world.answer(&format!("{nth} {}", "the ship sails ".repeat(20))), "Aye.");
    }
    world
}

#[test]
fn a_compaction_that_takes_long_says_what_it_does_and_then_what_came_of_it() {
    let gate = Gate::shut();
    let world = world_with_summaries_behind(gate.clone());
    let mut compact = world.ship.start(&["compact"]);
    // Where a machine has much else to do, `making room` comes before it.
    while error_line(&mut compact) != "(Making room: summarising 6 older messages)\n" {}
    gate.open();
    let ran = compact.ended();
    assert!(ran.out().starts_with("6 messages became a summary: "), "{}", ran.out());
    assert!(ran.out().ends_with("\nUndo it with: ship compact --undo\n"), "{}", ran.out());
}

#[test]
fn the_sender_of_a_message_that_needs_room_is_told_and_not_warned() {
    let world = world();
    let mut ran = world.send(&"the ship sails at dawn and ".repeat(300));
    for _ in 0..4 {
        if ran.err().contains("Making room") {
            break;
        }
        ran = world.send(&"the ship sails at dawn and ".repeat(300));
    }
    assert_eq!(ran.out(), "Aye.\n");
    let told = ran.err();
    let lines: Vec<&str> = told.lines().collect();
    assert!(lines[0].starts_with("(Making room: summarising "), "{told}");
    let undo = "; `ship compact --undo` brings the originals back)";
    assert!(lines[1].starts_with("(Made room: about ") && lines[1].ends_with(undo), "{told}");
    assert!(!told.contains("warning"), "{told}");
}

#[test]
fn a_plan_tells_the_sizes_and_when_it_was_compacted_last() {
    let world = world();
    let plan = world.ship.run(&["compact", "--dry-run"]).text();
    let lines: Vec<&str> = plan.lines().collect();
    assert_eq!(lines[0], "6 messages would become a summary, and 2 would stay.");
    assert!(
        lines[1].starts_with("A request takes ") && lines[1].ends_with(" cannot shrink."),
        "{plan}"
    );
    assert!(lines[2].starts_with("Above 5400, it is compacted to "), "{plan}");
    assert_eq!(lines.len(), 3);
    let _ = world.ship.run(&["compact"]).text();
    let plan = world.ship.run(&["compact", "--dry-run"]).text();
    let lines: Vec<&str> = plan.lines().collect();
    assert_eq!(lines[0], "Nothing would be compacted: 3 messages would stay.");
    assert!(
        lines[3].starts_with("Last compacted at ") && lines[3].contains(" tokens became about "),
        "{plan}"
    );
    let _ = world.ship.run(&["compact", "--undo"]).text();
    let plan = world.ship.run(&["compact", "--dry-run"]).text();
    assert!(
        plan.contains("\nAbove 6000, it is compacted"),
        "it is put off until the window is full: {plan}"
    );
}

#[test]
fn an_undo_whose_originals_are_gone_ends_with_1_and_says_what_to_do() {
    let world = world();
    let _ = world.ship.run(&["compact"]).text();
    let archive = world.ship.root().join(".ship/chat/terminal%3Amain/messages/archive");
    std::fs::remove_dir_all(archive).expect("the sealed logs can be taken away");
    let ran = world.ship.run(&["compact", "--undo"]);
    assert_eq!(ran.code(), 1);
    assert!(ran.err().starts_with("ship: the originals are gone: "), "{}", ran.err());
    assert!(ran.err().contains("hint: restore it from a backup"), "{}", ran.err());
    let error = world.ship.run(&["compact", "--undo", "--json"]).error();
    assert_eq!(text(&error, "code"), "purged");
    assert_eq!(world.answer("and on"), "Aye.");
}

#[test]
fn a_piped_chat_says_on_standard_error_that_room_is_made() {
    let world = world();
    let long = format!("{}\n", "the ship sails at dawn and ".repeat(300));
    let ran = world.ship.piped(&["chat"], long.repeat(5));
    assert_eq!(ran.out(), "Aye.\n".repeat(5));
    assert!(ran.err().contains("(Making room: "), "{}", ran.err());
}

#[test]
fn in_a_chat_a_summary_heeds_the_words_behind_compact_and_undo_takes_it_back() {
    let world = world();
    let ran = world.ship.piped(&["chat"], "/compact keep colours\n/compact undo\n");
    assert!(ran.out().starts_with("6 messages became a summary"), "{}", ran.out());
    assert!(ran.out().contains("\n6 messages are back"), "{}", ran.out());
    let asked = String::from_utf8(world.last_request().body).expect("a body is a text");
    assert!(asked.contains("The person asks in particular: keep colours"), "{asked}");
}

#[test]
fn without_originals_a_compaction_tells_what_is_purged_and_what_is_not() {
    let others =
        r#", "context": { "history": { "keepLastMessages": 2, "archiveOnCompact": false } }"#;
    let world = World::of(Format::OpenAi, r#""retries": 0, "window": 8000"#, others);
    world.server.otherwise(Answer::text("Aye."));
    for nth in 0..4 {
        assert_eq!(world.answer(&format!("{nth} {}", "the ship sails ".repeat(20))), "Aye.");
    }
    let told = world.ship.run(&["compact"]).text();
    assert!(told.contains("the originals are deleted"), "{told}");
    assert!(told.ends_with("The ledger keeps the conversation.\n"), "{told}");
}

#[test]
fn a_compaction_whose_provider_asks_for_patience_says_so() {
    let world = world();
    let settings = world.settings(Format::OpenAi, r#""retries": 1, "window": 8000"#, KEEP_TWO);
    world.ship.write("ship.json", &settings);
    world.server.then(faults::rate_limited_millis(1100));
    let ran = world.ship.run(&["compact"]);
    assert!(ran.text().starts_with("6 messages became a summary"), "{}", ran.out());
    assert!(ran.err().contains("(retrying in 2 s (429))\n"), "{}", ran.err());
}

#[test]
fn a_list_of_requests_has_no_body() {
    let ran = world().ship.run(&["inspect", "--requests", "--raw"]);
    assert_eq!((ran.code(), ran.out().as_str()), (1, ""));
    assert!(ran.err().contains("name it with `--request ID`"), "{}", ran.err());
}
