//! `ship init`.

use crate::harness::{TestShip, array, text};

#[test]
fn init_writes_three_files_and_a_second_time_changes_nothing() {
    let ship = TestShip::new();
    let first = ship.run(&["init"]).text();
    assert!(first.contains("Agent.md     written"), "{first}");
    let before = ship.contents("");
    let second = ship.run(&["init"]).text();
    assert!(second.contains("Agent.md     already there, unchanged"), "{second}");
    assert_eq!(ship.contents(""), before);
    let ran = ship.run(&["send", "hello"]);
    assert_eq!((ran.code(), ran.err()), (0, String::new()), "what init wrote is without a warning");
}

#[test]
fn init_makes_the_folder_it_is_given_and_tells_programs_what_it_did() {
    let ship = TestShip::new();
    let json = ship.run(&["init", "--json", "new/place"]).json();
    let states: Vec<String> =
        array(&json, "files").iter().map(|file| text(file, "state")).collect();
    assert_eq!(states, ["written", "written", "written"]);
    assert!(ship.root().join("new/place/ship.json").is_file());

    ship.write("file", "");
    let error = ship.run(&["init", "--json", "file/below"]).error();
    assert_eq!(text(&error, "code"), "init");
}

#[test]
fn init_writes_no_setting_that_has_no_effect_and_a_set_one_is_a_warning() {
    let ship = TestShip::new();
    let _ = ship.run(&["init"]).text();
    let written = ship.contents("ship.json");
    assert!(written.contains("\"maxTokens\"") && !written.contains("chatQueue"), "{written}");
    assert!(written.contains("\"durability\"") && !written.contains("\"store\""), "{written}");
    let shown = ship.run(&["config"]).text();
    assert!(shown.contains("llm.maxTokens") && !shown.contains("chatQueue"), "{shown}");
    let group = ship.run(&["config", "context.chatQueue"]).text();
    assert_eq!(group, "These settings have no effect in this version.\n");
    let set = ship.run(&["config", "set", "context.chatQueue.mode", "collect"]);
    assert!(set.text().starts_with("`context.chatQueue.mode` is set in "));
    let warning = "`context.chatQueue.mode` has no effect in this version\n";
    assert!(set.err().ends_with(warning), "{}", set.err());
    assert!(ship.run(&["chats"]).err().ends_with(warning));
    assert!(ship.run(&["config"]).text().contains("context.chatQueue.mode "));
    ship.write("ship.json", r#"{ "store": "postgres://host/db" }"#);
    let sent = ship.run(&["send", "hello"]);
    assert!(sent.err().contains("`store` has no effect in this version\n"), "{}", sent.err());
    assert!(sent.text().contains("You said: hello"), "the chat is in files");
}

#[test]
fn a_new_folder_of_chats_is_told_once_and_kept_out_of_repositories() {
    let told = "to keep the chats)";
    let sent = TestShip::new();
    assert_eq!(sent.run(&["send", "hello"]).err().matches(told).count(), 1);
    assert_eq!(sent.run(&["send", "hello"]).err(), "");

    let chat = TestShip::new();
    let mut terminal = chat.terminal(100, &["chat"]);
    terminal.until("> ");
    terminal.types("hello\r");
    terminal.until("You said:");
    terminal.until(told);
    terminal.until("> ");
    terminal.types("/context new\r");
    assert!(!terminal.until("> ").contains(told));
    terminal.leave();

    let program = TestShip::with_settings("{}");
    assert_eq!(program.run(&["send", "--json", "hello"]).err(), "");
    for ship in [&sent, &chat, &program] {
        let ignored = std::fs::read_to_string(ship.root().join(".ship/.gitignore"));
        assert_eq!(ignored.expect("it is there"), "*\n");
    }
    // A person may want the chats in the repository.
    std::fs::remove_file(sent.root().join(".ship/.gitignore")).expect("it is there");
    let _ = sent.run(&["send", "hello"]).text();
    assert!(!sent.root().join(".ship/.gitignore").exists());
}
