//! Somebody changes the context while another process answers in it.

use std::ops::Deref;

use ship_message::json::Json;
use ship_testkit::llm::{Answer, Format, Gate, Piece, Speech};

use crate::harness::{Running, array, message_text, text};
use crate::world::World;

/// A chat that was about a database, and a provider that holds the answer to the next message back.
struct HeldAnswer {
    world: World,
    gate: Gate,
}

impl Deref for HeldAnswer {
    type Target = World;

    fn deref(&self) -> &World {
        &self.world
    }
}

impl HeldAnswer {
    fn new(others: &str) -> Self {
        let world = World::of(Format::OpenAi, r#""retries": 0"#, others);
        world.server.then(Answer::text("A plan."));
        assert_eq!(world.answer("plan the database"), "A plan.");
        let gate = Gate::shut();
        world.server.then(call_behind(&gate));
        world.server.then(Answer::text("Soup."));
        Self { world, gate }
    }

    /// Asks what is not answered yet, with `ship send`.
    fn ask(&self) -> Running {
        let send = self.ship.start(&["send", "what shall we eat?"]);
        self.wait_for(2);
        send
    }

    /// Asks for a new context from another process, which waits for it.
    fn ask_for_new_context(&self) -> Running {
        let asked = self.ship.start(&["context", "new", "--title", "Dinner"]);
        while !self.ship.run(&["history", "--ledger"]).text().contains("/new") {}
        asked
    }

    /// Begins a new context from another process, and lets the answer end meanwhile.
    fn begin_context(&self) -> String {
        let asked = self.ask_for_new_context();
        self.gate.open();
        asked.ended().text()
    }
}

/// Words and a call of a tool, behind a gate.
fn call_behind(gate: &Gate) -> Answer {
    let words = Piece::Text("Let me see.".to_owned());
    gate.hold(Speech::new([words, Piece::call("skills_list", "{}")]))
}

fn active(world: &World) -> Json {
    world.ship.run(&["context", "show", "--json"]).json()
}

/// What was said in the active context.
fn turns(world: &World) -> Vec<String> {
    array(&active(world), "turns").iter().map(|turn| text(turn, "text")).collect()
}

#[test]
fn a_switch_from_another_process_is_made_between_steps_and_both_are_told() {
    let world = HeldAnswer::new("");
    let send = world.ask();
    let told = world.begin_context();
    assert!(told.starts_with("Now in “Dinner”. Left “plan the database”; to return: ship "));
    let ended = send.ended();
    assert_eq!(ended.text(), "Let me see.\nSoup.\n", "the message that waited is answered");
    assert_eq!(ended.err(), format!("({})\n", told.trim_end()), "whoever waits is told, once");
    let last = String::from_utf8(world.last_request().body).unwrap();
    assert!(last.contains("what shall we eat?") && !last.contains("A plan."), "{last}");
    assert_eq!(turns(&world), ["what shall we eat?", "Soup."]);
    assert_eq!(world.ship.run(&["verify"]).text(), "1 chat, nothing wrong.\n");
}

#[test]
fn a_chat_that_answers_shows_a_switch_from_another_process_once() {
    let world = HeldAnswer::new("");
    let mut chat = world.ship.start(&["chat"]);
    chat.say("what shall we eat?");
    world.wait_for(2);
    let told = world.begin_context();
    let line = told.replace("ship context load", "/context load");
    let shown = chat.until("Soup.");
    assert_eq!(shown, format!("Let me see.\n[skills_list]\n{line}Soup."));
    assert_eq!(chat.finish(), "\n");
}

#[test]
fn a_load_from_another_process_stops_the_answer_and_says_so() {
    let world = HeldAnswer::new("");
    let send = world.ask();
    // There is nothing to load but what `new` leaves.
    world.begin_context();
    assert_eq!(send.ended().text(), "Let me see.\nSoup.\n");
    world.server.then(call_behind(&Gate::shut()));
    let send = world.ship.start(&["send", "with bread?"]);
    world.wait_for(4);
    let told = world.ship.run(&["context", "load", "database"]).text();
    assert!(told.starts_with("Now in “plan the database”. Left “Dinner”"), "{told}");
    let ended = send.ended();
    // A load does not wait for the step to end, so nothing of it was said.
    assert!(ended.complaint().contains("ship: stopped"), "{}", ended.complaint());
    assert_eq!(ended.out(), "");
    assert_eq!(turns(&world)[..2], ["plan the database", "A plan."]);
    assert!(world.ship.said().iter().any(|(_, said)| said == "with bread?"));
}

#[test]
fn an_answer_that_a_clear_stopped_is_gone_on_with_in_its_own_context() {
    let world = HeldAnswer::new("");
    let send = world.ask();
    let _ = world.ship.run(&["context", "clear"]).text();
    let told = send.ended().complaint();
    let (_, load) = told.split_once("hint: `ship context load ").expect(&told);
    let (context, _) = load.split_once('`').expect(&told);
    let _ = world.ship.run(&["context", "load", context]).text();
    assert!(turns(&world).contains(&"what shall we eat?".to_owned()), "{:?}", turns(&world));
}

#[test]
fn what_cannot_be_done_at_once_is_queued_and_done_at_the_next_step() {
    let world = HeldAnswer::new(r#", "lock": { "waitMs": 300 }"#);
    let send = world.ask();
    let queued = world.ship.run(&["checkpoint", "here", "--json"]).json();
    let line = "The chat is busy; this happens at its next step.";
    let expected = format!(r#"{{"operation":"checkpoint","queued":true,"line":"{line}"}}"#);
    assert_eq!(queued.to_string(), expected);
    assert_eq!(world.ship.run(&["context", "new"]).text(), format!("{line}\n"));
    world.gate.open();
    assert_eq!(send.ended().text(), "Let me see.\nSoup.\n");
    assert_eq!(turns(&world), ["what shall we eat?", "Soup."]);
}

#[test]
fn a_switch_that_was_asked_for_outlives_the_process_that_was_to_make_it() {
    let world = HeldAnswer::new(r#", "lock": { "waitMs": 300 }"#);
    let send = world.ask();
    let _ = world.ship.run(&["context", "new", "--title", "Dinner"]).text();
    send.kill();
    assert_eq!(text(&active(&world), "title"), "plan the database", "nobody has made it yet");
    world.server.otherwise(Answer::text("Soup."));
    let chat = world.ship.piped(&["chat"], "thanks\n").text();
    assert_eq!(chat.matches("Now in “Dinner”. Left “plan the database”").count(), 1, "{chat}");
    assert_eq!(text(&active(&world), "title"), "Dinner");
    assert_eq!(turns(&world)[0], "what shall we eat?");
    let said = world.ship.run(&["history", "--json"]).json_lines();
    let asked = said.iter().filter(|message| text(message, "role") == "user");
    assert_eq!(
        asked.map(message_text).collect::<Vec<_>>(),
        ["plan the database", "what shall we eat?", "thanks"]
    );
    assert_eq!(world.ship.run(&["verify"]).text(), "1 chat, nothing wrong.\n");
}

#[test]
fn a_process_that_asks_for_a_switch_may_be_killed_and_it_is_made_all_the_same() {
    let world = HeldAnswer::new("");
    let send = world.ask();
    world.ask_for_new_context().kill();
    world.gate.open();
    assert_eq!(send.ended().text(), "Let me see.\nSoup.\n");
    assert_eq!(text(&active(&world), "title"), "Dinner");
}
