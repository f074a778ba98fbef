//! Tables and code of an answer, as a terminal shows them.

use ship_testkit::llm::{Format, Gate, Kind, Speech};

use crate::world::World;

const ANSWER: &str = "Sizes:\n\n| Name | Count | Purpose |\n|:---|---:|---|\n| 深い海 | 7 | the **deep** sea |\n\
                      | ship | 1234 | a vessel that sails from here to there |\n\n\
                      ```rust\nlet x = 1; // one\n```\nDone.";

#[test]
fn a_table_is_aligned_at_the_width_of_the_terminal_and_code_has_colours() {
    let world = World::with(Format::OpenAi, r#""retries": 0, "window": 100000"#);
    let table = [
        "Name   │ Count │ Purpose",
        "───────┼───────┼────────────────────────",
        "深い海 │     7 │ the deep sea",
        "ship   │  1234 │ a vessel that sails",
        "       │       │ from here to there",
    ];
    let code = ["```rust", "let x = 1; // one", "```", "Done."];
    for command in [&["send", "Sizes?"][..], &["chat"]] {
        world.server.then(Speech::text(ANSWER).without_usage());
        let mut terminal = world.ship.terminal(40, command);
        if command == ["chat"] {
            terminal.until("> ");
            terminal.types("Sizes?\r");
        }
        let shown = terminal.until("Done.");
        let coloured =
            "\u{1b}[0;1;36mlet\u{1b}[0;36m x = \u{1b}[0;33m1\u{1b}[0;36m; \u{1b}[0;2m// one";
        assert!(shown.contains(coloured), "{shown:?}");
        let lines = terminal.screen();
        let at = lines.iter().position(|line| line == "Sizes:").expect("the answer");
        assert_eq!(lines[at + 2..at + 7], table);
        assert_eq!(lines[at + 8..at + 12], code);
    }
}

#[test]
fn while_a_table_is_written_the_line_says_so() {
    let (world, gate) = (World::new(Format::OpenAi), Gate::shut());
    let speech = Speech::text("| a | b |\n|---|---|\n| 1 | 2 |");
    world.server.then(gate.hold_before(Kind::Finish, speech));
    let mut terminal = world.ship.terminal(40, &["chat"]);
    terminal.until("> ");
    terminal.types("A table?\r");
    terminal.until(" writing");
    gate.open();
    terminal.until("1 │ 2");
    terminal.until("> ");
    terminal.leave();
}
