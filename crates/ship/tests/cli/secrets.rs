//! Secrets, and message text that nobody wants in a log.

use crate::harness::{TestShip, array, text};

const SECRETS: [&str; 4] =
    ["sk-from-environment-1", "tok-from-dotenv-22", "sk-from-ship-json-333", "4444:from-ship-json"];

fn planted() -> TestShip {
    let settings = "{ \"llm\": { \"provider\": \"offline\", \"apiKey\": \"sk-from-ship-json-333\" }, \
                    \"adapters\": { \"telegram\": { \"botToken\": \"4444:from-ship-json\" } } }";
    TestShip::with_settings(settings)
        .file(".env", "MY_TOKEN=tok-from-dotenv-22\n")
        .env("OPENAI_API_KEY", "sk-from-environment-1")
}

fn assert_clean(what: &str, shown: &str) {
    for secret in SECRETS {
        assert!(!shown.contains(secret), "{secret} is in {what}:\n{shown}");
    }
}

#[test]
fn no_command_shows_a_planted_secret() {
    let ship = planted();
    let mut commands: Vec<Vec<&str>> = vec![vec!["send", "hello"]];
    for command in ["chat", "chats", "history", "inspect", "verify", "config", "logs", "init"] {
        commands.push(vec![command]);
        commands.push(vec![command, "--json"]);
    }
    for command in commands {
        let ran = ship.run(&command);
        assert_clean(&format!("{command:?}"), &format!("{}{}", ran.out(), ran.err()));
    }
    assert_clean("the logs", &ship.contents(".ship/logs"));
}

#[test]
fn no_error_shows_a_planted_secret() {
    let ship = planted();
    for secret in SECRETS {
        // An error that names what was asked for, from behind the loading of the project.
        for command in
            [&["--chat", secret, "history"][..], &["--json", "--chat", secret, "history"]]
        {
            let ran = ship.run(command);
            assert_eq!(ran.code(), 1, "{command:?}");
            let shown = format!("{}{}", ran.out(), ran.err());
            assert!(shown.contains("there is no chat `****"), "{shown}");
            assert_clean(&format!("{command:?}"), &shown);
        }
        // At a prompt too.
        let ran = ship.piped(&["--chat", secret, "chat"], "/history\n");
        assert_clean("a chat", &format!("{}{}", ran.out(), ran.err()));
    }
    // Before there is a project, only the environment is known.
    let ran = ship.run(&["--project", SECRETS[0], "chats"]);
    assert!(ran.complaint().contains("****"), "{}", ran.err());
}

#[test]
fn a_password_in_an_address_is_not_shown_wherever_it_stands() {
    const URL: &str = "postgres://u:pgpassword1@h/db";
    for settings in [
        format!("{{\"store\":\"{URL}\",\"durability\":\"{URL}\"}}"),
        format!("{{\"durability\":\"{URL}\"}}"),
        format!("{{\"{URL}\":1,\"start\":{{\"port\":[\"{URL}\"]}}}}"),
        format!("{{\"store\":\"{URL}\",\"start\":{{\"port\":\"pgpassword1\"}}}}"),
        "{\"durability\":\"${DB}\"}".to_owned(),
    ] {
        let ship = TestShip::with_settings(&settings).env("DB", URL);
        for arguments in [&["chats"][..], &["chats", "--json"]] {
            let ran = ship.run(arguments);
            let shown = format!("{}{}", ran.out(), ran.err());
            assert!(!shown.contains("pgpassword1"), "{settings}\n{shown}");
            assert_eq!(ran.code(), 1, "{shown}");
        }
    }
}

#[test]
fn a_bad_file_does_not_show_the_secret_beside_the_mistake() {
    for settings in [
        "{ \"llm\": { \"apiKey\": [\"sk-from-environment-1\"] } }",
        "{ \"start\": { \"port\": \"sk-from-environment-1\" } }",
        "{ \"sk-from-environment-1\": 1 }",
        "{ \"llm\": \"sk-from-environment-1\", , }",
    ] {
        let ship = TestShip::with_settings(settings).env("OPENAI_API_KEY", "sk-from-environment-1");
        for arguments in [&["chats"][..], &["chats", "--json"]] {
            let ran = ship.run(arguments);
            assert_clean(settings, &format!("{}{}", ran.out(), ran.err()));
        }
    }
}

#[test]
fn what_people_wrote_is_kept_byte_for_byte_and_masked_in_the_log() {
    let ship = planted();
    let message = SECRETS.join(" and ");
    let _ = ship.run(&["send", &message]).text();
    assert_eq!(ship.said()[0].1, message);
    let ledger = ship.run(&["history", "--ledger", "--json"]).json_lines();
    assert_eq!(text(&ledger[0], "text"), message);
    let log = ship.contents(".ship/logs");
    assert!(log.contains("llm_response"), "{log}");
    assert_clean("the log", &log);
}

#[test]
fn message_text_is_in_no_log_line_when_it_is_not_wanted() {
    let off = "{ \"llm\": { \"logMessages\": false } }";
    let on = "{ \"llm\": { \"logMessages\": true } }";
    for ship in [
        TestShip::with_settings(off),
        TestShip::with_settings(on).env("SMA_LOG_LLM_MESSAGES", "0"),
        TestShip::new().file(".env", "SMA_LOG_LLM_MESSAGES=0\nSMA_LOG_LLM_PAYLOAD=1\n"),
    ] {
        let _ = ship.piped(&["chat"], "needle in a stack\n/tool nope {\"needle\":1}\n").text();
        let log = ship.contents(".ship/logs");
        assert!(log.contains("llm_request") && !log.contains("needle"), "{log}");
    }
    let ship = TestShip::new();
    let _ = ship.run(&["send", "needle"]).text();
    assert!(ship.contents(".ship/logs").contains("needle"), "it is there when nobody minds");
}

#[test]
fn every_model_call_is_logged_and_one_request_can_be_followed() {
    let ship = TestShip::new();
    let _ = ship.piped(&["chat"], "one\ntwo\n").text();
    let lines = ship.run(&["logs", "--json"]).json_lines();
    let kinds: Vec<String> = lines.iter().map(|line| text(line, "kind")).collect();
    assert_eq!(kinds, ["llm_request", "llm_response", "llm_request", "llm_response"]);
    for line in &lines {
        assert_eq!(text(line, "chatKey"), "terminal:main");
        assert!(text(line, "requestId").starts_with("req_"), "{line}");
        assert!(text(line, "runId").starts_with("run_"), "{line}");
        assert_eq!(text(line, "model"), "offline");
    }
    assert!(lines.iter().all(|line| line.get("bytes").is_some()));

    let request = text(&lines[2], "requestId");
    let followed = ship.run(&["logs", "--json", "--request", &request]).json_lines();
    assert_eq!(followed, lines[2..]);
    let record = text(&lines[2], "record");
    assert!(ship.run(&["inspect", "--requests"]).text().contains(&record));
    let followed = ship.run(&["logs", "--json", "--request", &record]).json_lines();
    assert_eq!(followed, lines[2..], "the id that `inspect` shows is known to the logs, too");
    let plain = ship.run(&["logs", "--request", &request]).text();
    assert_eq!(plain.lines().count(), 2, "{plain}");
    let history = ship.run(&["history", "--json", "--last", "1"]).json_lines();
    assert_eq!(text(history[0].get("metadata").unwrap(), "requestId"), request);
    assert_eq!(array(&history[0], "parts").len(), 2);
}
