//! Keys that are pressed while an answer comes.

use ship_testkit::llm::{Format, Gate, Speech};

use crate::world::World;

fn said(text: &str) -> Speech {
    Speech::text(text).without_usage()
}

#[test]
fn keys_during_an_answer_are_not_shown_in_it_and_come_to_the_next_prompts() {
    let world = World::with(Format::OpenAi, r#""window": 100000"#);
    let gate = Gate::shut();
    world.server.then(gate.hold(said("First.")));
    world.server.then(said("Second."));
    world.server.then(said("Third."));
    let mut terminal = world.ship.terminal(60, &["chat"]);
    terminal.until("> ");
    terminal.types("Tell me.\r");
    terminal.until("waiting for model-of-tests");
    terminal.types("typed ahead\rand haf\u{7f}l");
    gate.open();
    terminal.until("Second.");
    // The prompt edits what it gets at once.
    terminal.until("and haf\u{1b}[D\u{1b}[Kl");
    let lines = terminal.screen();
    let at = lines.iter().position(|line| line.starts_with('>')).expect("a prompt");
    let expected = ["> Tell me.", "First.", "> typed ahead", "Second.", "> and hal"];
    assert_eq!(lines[at..], expected);
    terminal.types("f\r");
    terminal.until("Third.");
    terminal.until("> ");
    terminal.leave();
    let questions: Vec<_> = world.ship.said().into_iter().step_by(2).map(|it| it.1).collect();
    assert_eq!(questions, ["Tell me.", "typed ahead", "and half"]);
}
