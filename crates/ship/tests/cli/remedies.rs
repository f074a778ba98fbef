//! The commands that `ship` names lead to the chat and the project of the sentence.

use crate::harness::{TestShip, text};

#[test]
fn a_compaction_names_the_chat_in_which_it_is_taken_back() {
    let settings = r#"{"context":{"history":{"keepLastMessages":2}}}"#;
    let ship = TestShip::with_settings(settings);
    for chat in ["terminal:main", "c2"] {
        for word in ["apples", "pears", "plums", "figs"] {
            let text = format!("{word} ").repeat(200);
            let _ = ship.run(&["--chat", chat, "send", &text]).text();
        }
    }
    let made = ship.run(&["--chat", "c2", "compact"]).text();
    assert!(made.ends_with("\nUndo it with: ship compact --undo --chat c2\n"), "{made}");
    let refused = ship.run(&["--chat", "c2", "--json", "undo"]).error();
    let hint = text(&refused, "hint");
    assert!(hint.starts_with("`ship compact --undo --chat c2` undoes it"), "{hint}");
    let here = ship.run(&["compact"]).text();
    assert!(here.ends_with("\nUndo it with: ship compact --undo\n"), "{here}");
}

#[test]
fn a_remedy_names_the_project_that_was_named_and_the_chat_where_it_matters() {
    let ship = TestShip::new();
    let elsewhere = |arguments: &[&str]| {
        let mut command = ship.command(arguments);
        crate::harness::Ran(command.current_dir(ship.home()).output().unwrap())
    };
    let made = elsewhere(&["init", "../project"]).text();
    assert!(made.ends_with("Next: ship chat --project ../project\n"), "{made}");
    let flags = ["--project", "../project", "--chat", "c2"];
    let run = |words: &[&str]| elsewhere(&[&flags[..], words].concat());
    let nothing = text(&run(&["--json", "send", " "]).error(), "hint");
    assert_eq!(nothing, "ship send 'hello' --chat c2 --project ../project");
    let none = text(&run(&["--json", "history"]).error(), "hint");
    assert_eq!(none, "`ship chats --project ../project` lists them");
    let _ = run(&["send", "hello"]).text();
    let no_request = text(&run(&["--json", "inspect", "--request", "q_0"]).error(), "hint");
    assert_eq!(
        no_request,
        "`ship inspect --requests --chat c2 --project ../project` lists the latest"
    );
    let log = ship.root().join(".ship/chat/c2/messages/history.jsonl");
    std::fs::write(&log, std::fs::read_to_string(&log).unwrap().replacen("hello", "hullo", 1))
        .unwrap();
    let verified = elsewhere(&["--project", "../project", "verify"]).out();
    assert!(verified.contains("`ship repair --project ../project` repairs"), "{verified}");
    let warned = run(&["send", "again"]).err();
    assert!(warned.ends_with("see `ship verify --project ../project`\n"), "{warned}");
}
