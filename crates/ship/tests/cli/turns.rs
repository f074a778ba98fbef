//! A turn: what is kept, what is shown of it, and how it fails.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};

use ship_message::json::Json;

use crate::harness::{TestShip, echo, keys, number, talk, text};

const SEND: &str = "/tool chat_send {\"text\":\"the parcel\"}";
const ONE_STEP: &str = "{ \"context\": { \"run\": { \"maxSteps\": 1 } } }";

/// A right of the chat, as somebody else has it.
fn held(ship: &TestShip, right: &str) -> File {
    let path = ship.root().join(".ship/chat/terminal%3Amain").join(right);
    let file = File::options().read(true).write(true).open(path).unwrap();
    file.lock().unwrap();
    file
}

fn start(ship: &TestShip, arguments: &[&str]) -> Child {
    let is_chat = arguments.first() == Some(&"chat");
    let stdin = if is_chat { Stdio::piped() } else { Stdio::null() };
    ship.command(arguments).stdin(stdin).spawn().unwrap()
}

/// Presses Ctrl-C.
fn interrupt(child: &Child) {
    let pid = child.id().to_string();
    let kill = Command::new("/bin/sh").args(["-c", "kill -INT $0", &pid]).status();
    assert!(kill.unwrap().success());
}

/// Waits until the process has a file open, which it has while it waits for its lock.
fn until_open(child: &Child, name: &str) {
    let folder = format!("/proc/{}/fd", child.id());
    let is_it = |entry: std::io::Result<std::fs::DirEntry>| {
        let target = std::fs::read_link(entry.unwrap().path());
        target.is_ok_and(|target| target.ends_with(name))
    };
    while !std::fs::read_dir(&folder).unwrap().any(is_it) {}
}

#[test]
fn a_message_that_is_not_on_disk_is_not_said_to_be_kept() {
    let ship = TestShip::new();
    let _ = ship.run(&["send", "first"]).text();
    let lock = held(&ship, "lock");
    let mut send = start(&ship, &["send", "--json", "NEVERSTORED"]);
    until_open(&send, "terminal%3Amain/lock");
    interrupt(&send);
    let mut stderr = BufReader::new(send.stderr.take().unwrap());
    let mut warning = String::new();
    stderr.read_line(&mut warning).unwrap();
    assert!(warning.contains("your message is not on disk yet"), "{warning}");
    interrupt(&send);
    let output = send.wait_with_output().unwrap();
    drop(lock);
    assert_eq!(output.status.code(), Some(130));
    let out = String::from_utf8(output.stdout).unwrap();
    assert!(out.contains("\"code\":\"not_kept\"") && !out.contains("is kept"), "{out}");
    assert!(!ship.contents(".ship").contains("NEVERSTORED"));
}

#[test]
fn ctrl_c_while_a_message_is_written_keeps_it_and_asks_no_model() {
    let ship = TestShip::new();
    let _ = ship.run(&["send", "first"]).text();
    let lock = held(&ship, "lock");
    let mut send = start(&ship, &["send", "--json", "second"]);
    until_open(&send, "terminal%3Amain/lock");
    interrupt(&send);
    let mut warning = String::new();
    BufReader::new(send.stderr.take().unwrap()).read_line(&mut warning).unwrap();
    drop(lock);
    let output = send.wait_with_output().unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    assert!(out.contains("\"code\":\"no_answer\""), "{out}");
    assert_eq!(ship.said().len(), 3, "it is kept, and not answered yet");
}

#[test]
fn a_person_who_waits_for_another_process_is_told_so_and_may_leave_at_once() {
    let ship = TestShip::with_settings("{ \"lock\": { \"waitMs\": 600000 } }");
    let _ = ship.run(&["send", "first"]).text();
    let lane = held(&ship, "lane");
    let mut send = start(&ship, &["send", "--json", "beside"]);
    let mut stderr = BufReader::new(send.stderr.take().unwrap());
    let mut told = String::new();
    stderr.read_line(&mut told).unwrap();
    assert!(told.contains("another process"), "{told}");
    interrupt(&send);
    let output = send.wait_with_output().unwrap();
    drop(lane);
    let out = String::from_utf8(output.stdout).unwrap();
    assert!(out.contains("\"code\":\"no_answer\""), "{out}");
    assert_eq!(ship.said().last().unwrap().1, "beside");
}

#[test]
fn a_request_that_was_answered_together_with_another_is_found_in_the_logs() {
    // The logs name the requests also where they keep no messages.
    let ship = TestShip::with_settings("{ \"llm\": { \"logMessages\": false } }");
    let _ = ship.run(&["send", "first"]).text();
    let lane = held(&ship, "lane");
    for message in ["second", "third"] {
        let mut send = start(&ship, &["send", message]);
        BufReader::new(send.stderr.take().unwrap()).read_line(&mut String::new()).unwrap();
        interrupt(&send);
        send.wait().unwrap();
    }
    drop(lane);
    let _ = ship.piped(&["chat"], "").text();
    let history = ship.run(&["history", "--json"]).json_lines();
    let roles: Vec<String> = history.iter().map(|message| text(message, "role")).collect();
    assert_eq!(roles, ["user", "assistant", "user", "user", "assistant"]);
    let logged = |at: usize| {
        let request = text(history[at].get("metadata").unwrap(), "requestId");
        ship.run(&["logs", "--json", "--request", &request]).json_lines()
    };
    assert_eq!(logged(2).len(), 2, "its own name, and that of the message it was answered with");
    assert_eq!(logged(2), logged(3));
    assert_ne!(logged(0), logged(2));
}

#[test]
fn what_chat_send_delivers_is_shown_by_send_and_in_the_history() {
    let ship = TestShip::new();
    let out = ship.run(&["send", SEND]).text();
    assert!(out.starts_with("the parcel\nI am the offline model"), "{out}");
    let history = ship.run(&["history", "--last", "1"]).text();
    assert!(history.contains("[chat_send: done]\nthe parcel\n"), "{history}");
    let twice = ship.run(&["send", &format!("{SEND}\n{SEND}")]).text();
    assert_eq!(twice.matches("the parcel\n").count(), 1, "{twice}");
}

#[test]
fn what_is_delivered_behind_the_answer_of_another_process_is_shown_to_who_asked() {
    let ship = TestShip::new();
    let mut chat = ship.start(&["chat"]);
    chat.say(&"long ".repeat(100_000));
    chat.until("You said:");
    let send = ship.start(&["send", SEND]);
    while number(
        &crate::harness::array(&ship.run(&["chats", "--json"]).json(), "chats")[0],
        "queued",
    ) == 0
    {}
    chat.until("\n");
    let out = send.finish();
    assert!(out.starts_with("the parcel\nI am the offline model"), "{out}");
    assert_eq!(chat.finish(), "", "the other one does not see it");
}

#[test]
fn a_run_that_failed_is_a_failure_of_send() {
    let ship = TestShip::with_settings(ONE_STEP);
    let ran = ship.run(&["send", SEND]);
    assert_eq!(ran.code(), 1);
    assert_eq!(ran.out(), "the parcel\n", "what was said before is said");
    assert!(ran.err().starts_with("ship: I stopped after 1 step"), "{}", ran.err());

    let error = ship.run(&["send", "--json", SEND]).error();
    assert_eq!(text(&error, "code"), "failed");
    assert!(text(&error, "message").starts_with("I stopped after 1 step"), "{error}");
    let hint = text(&error, "hint");
    let request = hint.split([' ', '`']).find(|word| word.starts_with("req_")).unwrap();
    assert!(!ship.run(&["logs", "--request", request]).text().is_empty());
}

#[test]
fn the_limit_is_on_the_text_and_no_more_is_read_than_it_allows() {
    let ship = TestShip::with_settings("{ \"limits\": { \"messageBytes\": 2000 } }");
    for text in ["x".repeat(2000), "\"".repeat(2000), "\u{1}".repeat(2000)] {
        assert_eq!(ship.piped(&["send", "-"], &text).code(), 0);
        assert_eq!(ship.piped(&["chat"], format!("{text}\n")).err(), "");
    }
    let error = ship.run(&["send", "--json", &"x".repeat(2001)]).error();
    assert_eq!(
        text(&error, "message"),
        "your message has 2001 bytes, but `limits.messageBytes` allows 2000"
    );
    assert_eq!(text(&error, "hint"), "shorten it, or raise the limit in ship.json");

    let mut command = ship.command(&["send", "--json", "-"]);
    let endless = command.stdin(File::open("/dev/zero").unwrap()).output().unwrap();
    let out = String::from_utf8(endless.stdout).unwrap();
    assert!(out.contains("your message has more than"), "{out}");
}

#[test]
fn a_chat_for_programs_prints_each_answer_as_a_line() {
    let ship = TestShip::with_settings(ONE_STEP);
    let ran = ship.piped(&["chat", "--json"], format!("one\n{SEND}\ntwo\n"));
    assert_eq!(ran.code(), 1, "one of them failed");
    let out = ran.out();
    let lines: Vec<Json> = out.lines().map(|line| Json::parse(line).unwrap()).collect();
    assert_eq!(lines.len(), 3, "{out}");
    let fields = ["id", "role", "parts", "metadata", "text", "model", "usage", "error"];
    assert_eq!(keys(&lines[0]), fields[..7]);
    assert_eq!(keys(&lines[1]), fields, "what was said until then, and the error");
    assert_eq!(crate::harness::message_text(&lines[2]), echo("two"));
}

#[test]
fn everything_that_was_said_is_shown_whatever_comes_between() {
    let ship = TestShip::new();
    let mut child = start(&ship, &["chat"]);
    std::io::Write::write_all(child.stdin.as_mut().unwrap(), b"a\n/tool nope {}\n").unwrap();
    drop(child.stdin.take());
    let mut out = String::new();
    child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
    assert!(out.contains("[nope]") && out.contains("[failed: "), "{out}");
    child.wait().unwrap();
    assert_eq!(ship.said()[..2], talk(&[("user", "a"), ("assistant", &echo("a"))]));
}
