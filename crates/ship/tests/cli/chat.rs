//! `ship chat`, and messages of every size.

use ship_message::json::Json;

use crate::harness::{TestShip, echo, talk, text};

#[test]
fn slash_commands_are_obeyed_and_unknown_ones_named() {
    let ship = TestShip::new();
    let ran = ship.piped(&["chat"], "/history\nhello\n/history\n/frob\n/help\n/exit\nnever\n");
    let (out, err) = (ran.out(), ran.err());
    assert!(err.contains("There is no command /frob; /help lists them. To say"), "{err}");
    assert!(out.contains("  /inspect          what the model would be sent now"), "{out}");
    assert_eq!(ship.said().len(), 2, "commands are not said to the agent, nor what follows /exit");
}

#[test]
fn a_mistyped_command_is_never_sent_and_a_path_is() {
    let ship = TestShip::new();
    let lines = "/contxt list\n/help me\n/tmp is full\n/etc/hosts\n//tmp is full\n";
    let err = ship.piped(&["chat"], lines).err();
    assert!(err.contains("There is no command /contxt; did you mean /context?"), "{err}");
    assert!(err.contains("To say it to the agent, write //tmp."), "{err}");
    let said: Vec<String> = ship.said().into_iter().map(|(_, text)| text).step_by(2).collect();
    assert_eq!(said, ["/etc/hosts", "/tmp is full"]);
}

#[test]
fn a_line_that_is_not_done_is_a_failure_for_a_program() {
    let ship = TestShip::new();
    let _ = ship.run(&["send", "hello"]).text();
    for (line, code) in [
        ("/frob", "line"),
        ("/checkpoint", "line"),
        ("/context foo", "line"),
        ("/quit now", "line"),
        ("/undo 7", "line"),
        ("/edit", "line"),
        ("/answer", "line"),
        ("/rewind moon", "not_done"),
        ("/context load moon", "not_done"),
    ] {
        let told = ship.piped(&["chat"], format!("{line}\n/context\n"));
        assert_eq!(told.code(), 1, "{line}");
        assert!(told.err().starts_with("ship: "), "{line}: {}", told.err());
        assert!(told.out().contains("hello"), "{line}: the next line is done");
        let ran = ship.piped(&["chat", "--json"], format!("{line}\n/help\n"));
        assert_eq!(ran.code(), 1, "{line}");
        let told = Json::parse(&ran.out()).unwrap_or_else(|_| panic!("{line}: {}", ran.out()));
        assert_eq!(text(told.get("error").unwrap(), "code"), code, "{line}");
    }
    assert_eq!(ship.said().len(), 2, "nothing of it was sent");
}

#[test]
fn a_message_is_asked_again_and_a_context_is_cleared() {
    let ship = TestShip::new();
    let ran = ship.piped(&["chat"], "/retry\nhello\n/retry\n/clear\n/undo\n");
    let (out, err) = (ran.out(), ran.err());
    assert!(err.contains("Nothing was said in `terminal:main` yet"), "{err}");
    assert!(out.contains("Asking again. The earlier answer is kept in “hello”"), "{out}");
    assert_eq!(out.matches(&echo("hello")).count(), 2, "{out}");
    let active = "“hello (asked again)”";
    assert!(out.contains(&format!("Left {active}")), "{out}");
    assert!(out.contains(&format!("now in {active}.")), "{out}");
    let answer = ("assistant", &*echo("hello"));
    assert_eq!(ship.said(), talk(&[("user", "hello"), answer, answer]), "both are kept");
}

#[test]
fn the_offline_model_has_no_others() {
    let ship = TestShip::new();
    let ran = ship.piped(&["chat"], "/model\n/model gpt-5\n");
    let way = "For a real model, put OPENAI_API_KEY=… or ANTHROPIC_API_KEY=… into .env.";
    let told = format!("offline model, a stand-in without a key. {way}\n");
    assert!(ran.out().contains(&told), "{}", ran.out());
    let mut terminal = ship.terminal(100, &["chat"]);
    terminal.until("> ");
    assert_eq!(terminal.screen()[2], way, "{:?}", terminal.screen());
    terminal.leave();
    assert!(ran.err().contains("the offline model answers here"), "{}", ran.err());
    let error = ship.run(&["send", "--model", "gpt-5", "--json", "hi"]).error();
    assert_eq!(text(&error, "code"), "no_model");
    let hint = "put OPENAI_API_KEY=… or ANTHROPIC_API_KEY=… into .env first";
    assert_eq!(text(&error, "hint"), hint);

    for settings in [r#"{ "llm": { "provider": "offline" } }"#, r#"{ "llm": { "apiKey": "k" } }"#] {
        let ship = TestShip::with_settings(settings);
        let model = ship.piped(&["chat"], "/model\n").text();
        assert!(!model.contains("real model"), "it was chosen: {model}");
        let error = ship.run(&["send", "--model", "gpt-5", "--json", "hi"]).error();
        let hint = "set `llm.provider` to \"openai\" or \"anthropic\" first";
        assert_eq!(text(&error, "hint"), hint, "{settings}");
    }
}

#[test]
fn a_message_that_is_too_long_is_refused_and_everything_else_goes_on() {
    let ship = TestShip::with_settings("{ \"limits\": { \"messageBytes\": 2000 } }");
    let long = "x".repeat(3000);
    let error = ship.run(&["send", "--json", &long]).error();
    assert_eq!(text(&error, "code"), "refused");
    assert!(text(&error, "message").contains("limits.messageBytes"), "{error}");

    let ran = ship.piped(&["chat"], format!("before\n{long}\nafter\n"));
    assert!(ran.out().ends_with(&format!("{}\n", echo("after"))));
    assert_eq!(ran.code(), 1, "a program learns that something was refused");
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
