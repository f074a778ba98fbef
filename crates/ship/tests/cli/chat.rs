//! `ship chat`, and messages of every size.

use crate::harness::{TestShip, echo, talk, text};

#[test]
fn slash_commands_are_obeyed_and_unknown_ones_named() {
    let ship = TestShip::new();
    let out =
        ship.piped(&["chat"], "/history\nhello\n/history\n/frob\n/help\n/exit\nnever\n").text();
    assert!(out.contains("There is no command /frob; /help lists them."), "{out}");
    assert!(out.contains("  /inspect          what the model would be sent now"), "{out}");
    assert_eq!(ship.said().len(), 2, "commands are not said to the agent, nor what follows /exit");
}

#[test]
fn a_path_is_no_command() {
    let ship = TestShip::new();
    let _ = ship.piped(&["chat"], "/etc/hosts\n").text();
    assert_eq!(ship.said()[0].1, "/etc/hosts");
}

#[test]
fn a_message_that_is_too_long_is_refused_and_everything_else_goes_on() {
    let ship = TestShip::with_settings("{ \"limits\": { \"messageBytes\": 2000 } }");
    let long = "x".repeat(3000);
    let error = ship.run(&["send", "--json", &long]).error();
    assert_eq!(text(&error, "code"), "refused");
    assert!(text(&error, "message").contains("limits.messageBytes"), "{error}");

    let ran = ship.piped(&["chat"], format!("before\n{long}\nafter\n"));
    assert!(ran.text().ends_with(&format!("{}\n", echo("after"))));
    assert!(ran.err().starts_with("ship: ") && ran.err().contains("limits.messageBytes"));
    let expected = [
        ("user", "before"),
        ("assistant", &echo("before")),
        ("user", "after"),
        ("assistant", &echo("after")),
    ];
    assert_eq!(ship.said(), talk(&expected));
}

#[test]
fn a_large_message_is_whole_in_the_history() {
    let ship = TestShip::new();
    let large = "深い海 ".repeat(20_000);
    let _ = ship.piped(&["send", "-"], &large).text();
    let said = ship.said();
    assert_eq!(said[0].1, large);
    assert_eq!(said[1].1, echo(&large));
}
