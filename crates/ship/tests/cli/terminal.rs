//! `ship chat` in a terminal: what a person sees and what is remembered.

use crate::harness::TestShip;

#[test]
fn the_first_line_ever_typed_is_remembered() {
    let ship = TestShip::new();
    let mut terminal = ship.terminal(80, &["chat"]);
    terminal.until("> ");
    terminal.types("the very first\r");
    terminal.until("You said:");
    terminal.until("> ");
    terminal.leave();
    let history = std::fs::read_to_string(ship.root().join(".ship/terminal_history")).unwrap();
    assert!(history.lines().any(|line| line == "the very first"), "{history}");

    let mut again = ship.terminal(80, &["chat"]);
    again.until("> ");
    again.types("\u{1b}[A\r");
    again.until("You said:");
    again.until("> ");
    again.leave();
    assert_eq!(ship.said()[2].1, "the very first", "Up brings it back");
}

#[test]
fn an_answer_is_styled_and_broken_between_words_and_loses_nothing() {
    let ship = TestShip::new();
    let mut terminal = ship.terminal(40, &["chat"]);
    terminal.until("> ");
    terminal.types("a **bold** word, src/**/*.rs and 5 ** 2\r");
    let shown = terminal.until("** 2\r\n\u{1b}");
    let answer = shown.split_once("I am the offline").unwrap().1;
    let answer = answer.replace("\u{1b}[0;1m", "<b>").replace("\u{1b}[0m", "</b>");
    let expected = " model, a small stand-in\r\nwithout a language model. You said: a\r\n\
                    <b>bold</b> word, src/**/*.rs and 5 ** 2\r\n";
    assert!(answer.starts_with(expected), "{answer:?}");
    terminal.until("> ");
    terminal.leave();
}

#[test]
fn one_message_and_its_answer_are_shown_as_in_a_chat() {
    let ship = TestShip::new();
    let mut terminal = ship.terminal(80, &["send", "/tool chat_send {\"text\":\"a **b** c\"}"]);
    let shown = terminal.until("true}");
    assert!(shown.contains("a \u{1b}[0;1mb\u{1b}[0m c\r\n"), "{shown:?}");
    assert_eq!(terminal.exit_code(), 0);
}

#[test]
fn contexts_are_left_and_come_back_to_with_commands_that_tab_completes() {
    let ship = TestShip::new();
    let mut terminal = ship.terminal(100, &["chat"]);
    terminal.until("> ");
    terminal.says("plan the database");
    terminal.says("/checkpoint early on");
    terminal.says("/context new Dinner");
    terminal.says("soup?");

    // A command, what stands behind it, and the only context that was left.
    terminal.types("/conte\t lo\t \t");
    let shown = terminal.until("c_20");
    assert!(shown.contains("/context"), "{shown:?}");
    terminal.types("\r");
    let line = terminal.until("> ");
    let told = "\u{1b}[2mNow in “plan the database”. Left “Dinner”; to return: /context load";
    assert_eq!(line.matches(told).count(), 1, "{line:?}");

    // A title, by how it begins, and a checkpoint.
    terminal.types("/context load din\t");
    terminal.until("Dinner");
    terminal.types("\r");
    terminal.until("Now in “Dinner”");
    terminal.until("> ");
    terminal.says("/undo");
    terminal.types("/rewind e\t");
    terminal.until("early on");
    terminal.types("\r");
    terminal.until("Back at “early on”");
    terminal.until("> ");
    terminal.leave();
    assert_eq!(ship.said().len(), 4, "commands are not said to the agent");
}

#[test]
fn what_another_process_does_is_told_above_what_is_being_typed() {
    let ship = TestShip::new();
    let mut terminal = ship.terminal(100, &["chat"]);
    terminal.until("> ");
    terminal.says("plan the database");
    terminal.types("half a line");
    terminal.until("half a line");
    let _ = ship.run(&["context", "new", "--title", "Dinner"]).text();
    let shown = terminal.until("half a line");
    assert_eq!(shown.matches("Now in “Dinner”. Left “plan the database”").count(), 1, "{shown:?}");
    terminal.types("\r");
    let shown = terminal.until("You said: half a line");
    assert!(!shown.contains("Now in"), "it is told once: {shown:?}");
    terminal.until("> ");
    terminal.leave();
}

#[test]
fn in_a_narrow_terminal_no_line_is_longer_than_it_is_wide() {
    let ship = TestShip::new();
    let _ = ship.run(&["send", "plan the migration of the database to another machine"]).text();
    let _ = ship.run(&["context", "new"]).text();
    let _ = ship.run(&["send", "soup?"]).text();
    for command in [&["context", "list"][..], &["context", "show", "-"], &["context", "load", "-"]]
    {
        let mut terminal = ship.terminal(40, command);
        let shown = terminal.all();
        for line in shown.lines() {
            let plain =
                line.replace("\u{1b}[0m", "").replace("\u{1b}[1m", "").replace("\u{1b}[2m", "");
            // A path has no place to be broken at.
            let is_path = plain.starts_with("Project  ");
            assert!(is_path || plain.trim_end().chars().count() <= 40, "{plain:?}");
        }
        assert!(shown.contains("migration"), "{shown}");
    }
}

#[test]
fn a_list_of_requests_keeps_its_columns_and_the_logs_of_one_are_whole() {
    let ship = TestShip::new();
    let question = format!("{}end", "what about the sails? ".repeat(8));
    for text in ["hello", &question] {
        let _ = ship.run(&["send", text]).text();
    }
    for columns in [60, 100] {
        let mut terminal = ship.terminal(columns, &["inspect", "--requests"]);
        let _ = terminal.all();
        let screen = terminal.screen();
        assert_eq!(screen.len(), 2, "{screen:#?}");
        for line in &screen {
            assert!(line.starts_with("q_") && line.ends_with("  stop"), "{screen:#?}");
            assert!(line.chars().count() <= columns.into(), "{screen:#?}");
        }
        let id = screen[1].split(' ').next().unwrap();
        let logs = ship.terminal(columns, &["logs", "--request", id]).all();
        let words: Vec<&str> = logs.split_whitespace().collect();
        assert!(words.join(" ").contains(&question), "{logs}");
    }
}

#[test]
fn a_chat_that_is_opened_again_begins_with_a_recap() {
    let ship = TestShip::new();
    for text in ["one", "two", "three"] {
        let _ = ship.run(&["send", text]).text();
    }
    let mut chat = ship.terminal(60, &["chat"]);
    chat.until("you: three");
    chat.until("> ");
    let screen = chat.screen();
    let at = screen.iter().position(|line| line == "“one”, left just now:");
    let recap = &screen[at.expect("a recap")..];
    assert_eq!([&*recap[1], &*recap[3]], ["you: two", "you: three"], "{screen:#?}");
    assert!(recap[2].starts_with("  I am the offline model") && recap[2].ends_with('…'));
    chat.leave();
}

#[test]
fn a_person_that_comes_back_to_a_context_sees_its_last_exchange() {
    let ship = TestShip::new().file("notes.txt", "facts");
    let _ = ship.run(&["send", "which port?"]).text();
    let _ = ship.run(&["send", "-f", "notes.txt", "what is in here?"]).text();
    let mut chat = ship.terminal(60, &["chat"]);
    chat.until("> ");
    chat.says("/context new Dinner");
    chat.says("soup?");
    chat.says("/context load -");
    chat.says("/context rename The port");
    chat.says("/undo");
    let screen = chat.screen();
    let at = screen.iter().position(|line| line == "> /context load -").expect("the command");
    let place = screen[at..].iter().position(|line| line.starts_with("  you: "));
    let place = &screen[at + place.expect("where the person is")..];
    assert_eq!(place[0], "  you: what is in here? [notes.txt]", "{screen:#?}");
    assert!(place[1].starts_with("    I am the offline model") && place[1].ends_with('…'));
    let again = |line: &&String| line.starts_with("  you: ");
    assert_eq!(place.iter().filter(again).count(), 1, "a title leads nowhere: {screen:#?}");
    assert!(!screen[at..].iter().any(|line| line.contains("just now")), "{screen:#?}");
    chat.leave();
}

#[test]
fn the_history_is_read_in_a_pager_that_may_be_left_early() {
    let paged = TestShip::new().env("PAGER", "sed s/^/paged:/");
    let _ = paged.run(&["send", "hello"]).text();
    let mut terminal = paged.terminal(100, &["history"]);
    let shown = terminal.all();
    assert!(shown.contains("paged:") && shown.contains("\u{1b}["), "with colours: {shown:?}");
    assert!(terminal.screen().iter().all(|line| line.starts_with("paged:")), "{shown:?}");
    assert_eq!(terminal.exit_code(), 0);
    assert!(!paged.run(&["history"]).text().contains("paged:"), "a program gets it as it is");

    let left = TestShip::new().env("PAGER", "head -1");
    let _ = left.run(&["send", "hello"]).text();
    let mut terminal = left.terminal(60, &["history"]);
    assert_eq!(terminal.exit_code(), 0);
    assert_eq!(terminal.screen().len(), 1);

    let absent = left.env("PAGER", "LESS=R no-such-pager -x");
    let mut terminal = absent.terminal(60, &["history"]);
    assert_eq!(terminal.exit_code(), 0);
    let screen = terminal.screen();
    assert_eq!(screen[0], "(cannot start `no-such-pager` of $PAGER; here is the text)");
    assert!(screen.iter().any(|line| line == "hello"), "{screen:#?}");
}

#[test]
fn a_narrow_terminal_breaks_sentences_between_words_and_cuts_none() {
    let settings = r#"{ "context": { "history": { "keepLastMessages": 2 } } }"#;
    let ship = TestShip::with_settings(settings);
    for _ in 0..4 {
        let _ = ship.run(&["send", &"the database plan has many steps. ".repeat(40)]).text();
    }
    for flags in [&["--dry-run"][..], &[], &["--dry-run"], &["--undo"]] {
        let shown = ship.terminal(40, &[&["compact"], flags].concat()).all();
        assert!(shown.lines().count() > 1, "{shown}");
        // A machine that is slow shows the spinner, which is erased.
        let kept = |line: &str| line.rsplit("\u{1b}[2K").next().unwrap_or_default().chars().count();
        assert!(shown.lines().all(|line| kept(line) <= 40), "{flags:?}: {shown}");
    }

    let address =
        r#"{ "llm": { "provider": "openai", "model": "m", "baseUrl": "http://127.0.0.1:9" } }"#;
    let ship = TestShip::with_settings(address).file(".ship/place", "");
    let mut chat = ship.terminal(60, &["chat"]);
    chat.until("> ");
    let screen = chat.screen();
    let greeting = screen.join(" ").split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(greeting.contains("at `llm.baseUrl` and without a key"), "{screen:#?}");
    chat.leave();
}
