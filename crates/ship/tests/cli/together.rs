//! Several programs on one chat.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::process::{Child, Command, Stdio};
use std::time::SystemTime;

use rustix::fs::{FlockOperation, flock};

use crate::harness::{Running, TestShip, array, echo, number, text};

/// A chat that has the lane until it is read on: its answer is more than a pipe holds.
fn at_work(ship: &TestShip) -> Running {
    let mut chat = ship.start(&["chat"]);
    chat.say(&"long ".repeat(100_000));
    chat.until("You said:");
    chat
}

/// Stops a process as Ctrl-Z does, at a moment in which it does not write: then others can.
fn stop(ship: &TestShip, chat: &Running) {
    let lock = File::open(ship.root().join(".ship/chat/terminal%3Amain/lock")).expect("a lock");
    loop {
        chat.signal("STOP");
        while chat.state() != 'T' {}
        if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok() {
            return;
        }
        chat.signal("CONT");
    }
}

/// Waits until a message is accepted that nobody answers yet.
fn until_queued(ship: &TestShip) {
    while number(&array(&ship.run(&["chats", "--json"]).json(), "chats")[0], "queued") == 0 {}
}

#[test]
fn ctrl_c_leaves_a_message_that_another_process_answers_and_loses_nothing() {
    let ship = TestShip::with_settings("{ \"lock\": { \"waitMs\": 2000 } }");
    let mut chat = ship.start(&["chat"]);
    chat.say(&"long ".repeat(100_000));
    chat.until("You said:");

    let send = ship.start(&["send", "--json", "beside"]);
    until_queued(&ship);
    assert_eq!(text(&send.interrupt().error_with(130), "code"), "no_answer");

    chat.until(&echo("beside"));
    chat.finish();
    assert_eq!(ship.said().len(), 4);
}

#[test]
fn a_send_beside_a_chat_at_work_is_accepted_and_follows_the_answer() {
    // However often it has waited for the lane. The write right comes within this time.
    let ship = TestShip::with_settings("{ \"lock\": { \"waitMs\": 200 } }");
    let mut chat = at_work(&ship);

    let mut send = ship.start(&["send", "beside"]);
    until_queued(&ship);
    // Each process has its own answer.
    chat.until("\n");
    assert_eq!(send.line(), format!("{}\n", echo("beside")));
    assert_eq!(send.finish(), "");
    assert_eq!(chat.finish(), "");
    let roles: Vec<String> = ship.said().into_iter().map(|(role, _)| role).collect();
    assert_eq!(roles, ["user", "assistant", "user", "assistant"]);
}

#[test]
fn a_chat_beside_a_chat_at_work_takes_what_is_said_at_once() {
    // Whoever waited for the other one here would wait for half a minute.
    let ship = TestShip::with_settings("{ \"lock\": { \"waitMs\": 30000 } }");
    let mut first = ship.start(&["chat"]);
    first.say(&"long ".repeat(100_000));
    first.until("You said:");

    let began = std::time::Instant::now();
    let mut second = ship.start(&["chat"]);
    assert_eq!(
        second.line(),
        "Another ship is at work in this chat; what you say is kept and answered.\n"
    );
    second.say("beside");
    until_queued(&ship);
    assert!(began.elapsed().as_secs() < 20, "it waited: {:?}", began.elapsed());

    first.until("\n");
    assert_eq!(second.line(), format!("{}\n", echo("beside")));
    second.finish();
    first.finish();
    assert_eq!(ship.said().len(), 4);
}

#[test]
fn sends_at_once_are_all_answered_and_kept_in_the_ledgers_order() {
    let ship = TestShip::new();
    let texts: Vec<String> = (0..6).map(|number| format!("at once {number}")).collect();
    let running: Vec<_> = texts.iter().map(|text| ship.start(&["send", text])).collect();
    for send in running {
        assert!(send.finish().contains("You said: at once"), "each has an answer");
    }
    let ledger = ship.run(&["history", "--ledger", "--json"]).json_lines();
    let asked = |line: &&ship_message::json::Json| crate::harness::text(line, "role") == "user";
    let ledger: Vec<String> =
        ledger.iter().filter(asked).map(|line| crate::harness::text(line, "text")).collect();
    let said = ship.said();
    let users: Vec<&String> =
        said.iter().filter(|(role, _)| role == "user").map(|(_, text)| text).collect();
    assert_eq!(users, ledger.iter().collect::<Vec<_>>());
    let mut sorted = ledger.clone();
    sorted.sort();
    assert_eq!(sorted, texts, "each message is there once");
    assert_eq!(said.last().unwrap().0, "assistant");
}

#[test]
fn each_process_gets_the_answer_to_its_own_question() {
    let ship = TestShip::new();
    let _ = ship.run(&["send", "first"]).text();
    for text in ["second", "third"] {
        assert_eq!(ship.run(&["send", text]).text(), format!("{}\n", echo(text)));
    }
}

#[test]
fn a_send_behind_a_stopped_process_names_it_and_keeps_the_message() {
    let ship = TestShip::with_settings("{ \"lock\": { \"waitMs\": 50 } }");
    let mut chat = at_work(&ship);
    stop(&ship, &chat);

    let send = ship.run(&["send", "--json", "beside"]);
    let error = send.error_with(3);
    assert_eq!(text(&error, "code"), "frozen");
    let message = text(&error, "message");
    let holder = format!("process {} has held this chat since ", chat.pid());
    assert!(
        message.contains(&holder) && message.contains(" for `run` and is stopped"),
        "{message}"
    );
    assert!(message.contains("your message is kept"), "{message}");
    assert!(text(&error, "hint").contains(&format!("`kill -CONT {}`", chat.pid())), "{error}");
    assert!(send.err().contains(&holder), "{}", send.err());

    chat.signal("CONT");
    chat.until(&echo("beside"));
    chat.finish();
    assert_eq!(ship.said().len(), 4);
}

#[test]
fn ctrl_c_before_a_message_is_on_disk_says_that_it_may_not_be_kept() {
    let ship = TestShip::with_settings("{ \"lock\": { \"waitMs\": 600000 } }");
    let _ = ship.run(&["send", "before"]).text();
    let _writer = StoppedWriter::of(&ship);
    let mut send = ship.start(&["send", "--json", "beside"]);
    while !catches_interrupts(send.pid()) {}
    send.press_ctrl_c();
    let mut told = [0; 64];
    let read = send.child.stderr.as_mut().expect("a pipe").read(&mut told).expect("a warning");
    assert!(read > 0, "it says that a second Ctrl-C leaves");
    assert_eq!(text(&send.interrupt().error_with(130), "code"), "not_kept");
}

/// Whether a process has a handler of its own for Ctrl-C.
fn catches_interrupts(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("a process");
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let caught = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    caught.is_some_and(|mask| mask & 0b10 != 0)
}

/// A process that holds the write right and is stopped; killed when dropped.
struct StoppedWriter(Child);

impl StoppedWriter {
    fn of(ship: &TestShip) -> Self {
        let path = ship.root().join(".ship/chat/terminal%3Amain/lock");
        let lock = File::options().read(true).write(true).open(&path).expect("a lock");
        flock(&lock, FlockOperation::LockExclusive).expect("a free lock");
        // It gets the lock from us, as its standard input.
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", "kill -STOP $$"]).stdin(lock).stdout(Stdio::null()).stderr(Stdio::null());
        let writer = Self(shell.spawn().expect("a shell"));
        let pid = writer.pid();
        let note = format!(r#"{{"pid":{pid},"since":"2026-01-01T00:00:00.000Z","for":"append"}}"#);
        std::fs::write(path, format!("{note:<255}\n")).expect("a note");
        let state = || std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("a process");
        while !state().contains(") T ") {}
        writer
    }

    fn pid(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for StoppedWriter {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_send_behind_a_stopped_writer_names_it_and_says_that_the_message_is_not_kept() {
    let ship = TestShip::with_settings("{ \"lock\": { \"waitMs\": 50 } }");
    let _ = ship.run(&["send", "before"]).text();
    let writer = StoppedWriter::of(&ship);
    let error = ship.run(&["send", "--json", "beside"]).error();
    let held = format!("process {} has held this chat since ", writer.pid());
    let message = text(&error, "message");
    assert!(message.starts_with(&held), "{message}");
    assert!(message.ends_with(" and is stopped; your message is not kept"), "{message}");
    assert_eq!(text(&error, "code"), "storage_busy");
    let hint = text(&error, "hint");
    assert!(hint.contains(&format!("`kill -KILL {}`, then send it again", writer.pid())), "{hint}");
    for arguments in [&["context", "new"][..], &["checkpoint", "here"]] {
        let ran = ship.run(&[arguments, &["--json"]].concat());
        let message = text(&ran.error_with(3), "message");
        assert!(message.starts_with(&held) && message.ends_with("nothing was done"), "{message}");
    }
    drop(writer);
    assert_eq!(ship.run(&["send", "beside"]).text(), format!("{}\n", echo("beside")));
    assert_eq!(ship.said().len(), 4);
}

#[test]
fn no_command_waits_for_ever_behind_a_stopped_process() {
    let ship = TestShip::with_settings("{ \"lock\": { \"waitMs\": 50 } }");
    let mut chat = at_work(&ship);
    stop(&ship, &chat);
    for arguments in [&["context", "new"][..], &["compact"], &["compact", "--undo"]] {
        let ran = ship.run(&[arguments, &["--json"]].concat());
        let message = text(&ran.error_with(3), "message");
        assert!(message.contains("is stopped"), "{arguments:?}: {message}");
    }
    let piped = ship.piped(&["chat"], "beside\n");
    assert_eq!(piped.code(), 3, "{}", piped.err());
    assert!(piped.err().contains("your message is kept"), "{}", piped.err());

    chat.signal("CONT");
    chat.until(&echo("beside"));
    chat.finish();
}

#[test]
fn a_repair_waits_for_the_chat_and_does_not_call_a_busy_one_damaged() {
    let ship = TestShip::with_settings("{ \"lock\": { \"waitMs\": 50 } }");
    let chat = at_work(&ship);
    let leftover = ship.root().join(".ship/chat/terminal%3Amain/messages/old.tmp");
    std::fs::write(&leftover, "").expect("a file that a repair removes");
    let error = ship.run(&["repair", "--json"]).error();
    assert_eq!(text(&error, "code"), "storage_busy");
    let message = text(&error, "message");
    let held = format!("is held by process {} since ", chat.pid());
    assert!(message.contains(&held) && message.contains("(waited 5"), "{message}");
    assert_eq!(ship.run(&["repair"]).out(), "", "there is no damage to speak of");

    stop(&ship, &chat);
    let error = ship.run(&["repair", "--json"]).error_with(3);
    assert!(text(&error, "message").ends_with("is stopped; nothing was done"), "{error}");
    chat.signal("CONT");
    chat.finish();
    assert!(ship.run(&["repair"]).text().contains("1 healed, 0 marked as known, 0 left."));
}

/// Holds the lane of a chat, as a process that hangs: nothing of the chat has moved for years.
fn hang(ship: &TestShip) -> File {
    let chat = ship.root().join(".ship/chat/terminal%3Amain");
    let open = |name| File::options().read(true).write(true).open(chat.join(name)).expect("a file");
    let mut lane = open("lane");
    flock(&lane, FlockOperation::LockExclusive).expect("a free lane");
    let pid = std::process::id();
    let note = format!(r#"{{"pid":{pid},"since":"2026-01-01T00:00:00.000Z","for":"run"}}"#);
    writeln!(lane, "{note:<255}").expect("a note");
    for name in ["messages/history.jsonl", "messages/run.jsonl", "messages/requests.jsonl"] {
        open(name).set_modified(SystemTime::UNIX_EPOCH).expect("a time");
    }
    lane.set_modified(SystemTime::UNIX_EPOCH).expect("a time");
    lane
}

#[test]
fn a_send_behind_a_process_that_has_shown_no_life_for_too_long_keeps_the_message() {
    let ship = TestShip::with_settings("{ \"lock\": { \"waitMs\": 20 } }");
    let _ = ship.run(&["send", "before"]).text();
    let lane = hang(&ship);
    let error = ship.run(&["send", "--json", "beside"]).error_with(3);
    let message = text(&error, "message");
    let holder = format!("process {} has held this chat since ", std::process::id());
    assert!(message.starts_with(&holder), "{message}");
    assert!(message.contains("has written nothing for "), "{message}");
    assert!(message.contains("your message is kept"), "{message}");
    let error = ship.run(&["compact", "--json"]).error_with(3);
    assert!(text(&error, "message").contains("has written nothing for "), "{error}");

    drop(lane);
    assert!(ship.run(&["send", "after"]).text().contains("You said"), "the chat goes on");
}
