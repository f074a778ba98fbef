//! Pipes that end, break, or carry what is no text.

use std::io::Read;
use std::process::{Command, Stdio};

use crate::harness::{Ran, TestShip, echo, talk, text};

#[test]
fn piped_lines_are_answered_one_by_one_and_the_end_is_no_failure() {
    let ship = TestShip::new();
    let out = ship.piped(&["chat"], "one\n\n  two\r\nthree").text();
    assert_eq!(out, format!("{}\n{}\n{}\n", echo("one"), echo("two"), echo("three")));
    let said = ship.said();
    assert_eq!(said[2], ("user".to_owned(), "  two".to_owned()), "spaces are the person's too");
    assert_eq!(ship.piped(&["chat"], "").text(), "");
}

#[test]
fn closed_standard_input_is_an_empty_one() {
    let ship = TestShip::new();
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "exec \"$0\" chat <&-", env!("CARGO_BIN_EXE_ship")]);
    command.current_dir(ship.root()).env_clear().env("HOME", ship.home());
    let output = command.output().unwrap();
    assert!(output.status.success());
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn a_pipe_or_a_file_is_sent_behind_the_text_in_one_message() {
    let ship = TestShip::new().file("notes.txt", "one\ntwo\n");
    let _ = ship.piped(&["send", "review this"], "+ a line\n").text();
    let notes = std::fs::File::open(ship.root().join("notes.txt")).unwrap();
    let sent = ship.command(&["send", "and this"]).stdin(notes).output().unwrap();
    assert!(sent.status.success());
    let said = ship.said();
    assert_eq!(said.len(), 4, "each is one message");
    assert_eq!(said[0].1, "review this\n\n+ a line\n");
    assert_eq!(said[2].1, "and this\n\none\ntwo\n");
}

#[test]
fn standard_input_that_is_empty_closed_or_never_ends_is_not_waited_for() {
    let ship = TestShip::new();
    let _ = ship.run(&["send", "null"]).text();
    let empty = ship.piped(&["send", "empty"], "\n");
    assert_eq!(empty.text(), format!("{}\n", echo("empty")));
    assert_eq!(empty.err(), "(nothing came through the pipe; only the words are sent)\n");
    let mut closed = Command::new("/bin/sh");
    closed.args(["-c", "exec \"$0\" send closed <&-", env!("CARGO_BIN_EXE_ship")]);
    closed.current_dir(ship.root()).env_clear().env("HOME", ship.home());
    assert!(closed.output().unwrap().status.success());
    // A service often has a socket there, and its other end stays open.
    let (open_end, socket) = std::os::unix::net::UnixStream::pair().unwrap();
    let socket = std::os::fd::OwnedFd::from(socket);
    let sent = ship.command(&["send", "socket"]).stdin(socket).output().unwrap();
    assert!(sent.status.success());
    drop(open_end);
    let said: Vec<String> = ship.said().into_iter().step_by(2).map(|(_, text)| text).collect();
    assert_eq!(said, ["null", "empty", "closed", "socket"]);
}

#[test]
fn a_pipe_that_stays_open_is_told_and_waited_for() {
    let ship = TestShip::new();
    let mut send = ship.command(&["send", "hello"]).stdin(Stdio::piped()).spawn().unwrap();
    let mut told = [0; 24];
    send.stderr.as_mut().unwrap().read_exact(&mut told).unwrap();
    assert_eq!(told, *b"(reading standard input ");
    drop(send.stdin.take());
    assert!(send.wait_with_output().unwrap().status.success());
    assert_eq!(ship.said()[0].1, "hello");
}

#[test]
fn input_that_is_no_text_is_refused_with_the_place_of_its_first_bad_byte() {
    let ship = TestShip::new();
    let error = ship.piped(&["send", "--json", "-"], b"caf\xe9 au lait").error();
    assert_eq!(text(&error, "code"), "not_utf8");
    let message = text(&error, "message");
    assert!(message.contains("byte 3 ") && message.contains("nothing was sent"), "{message}");
    let folder = std::fs::File::open(ship.root()).unwrap();
    let ran = ship.command(&["send", "--json", "-"]).stdin(folder).output().unwrap();
    assert_eq!(text(&Ran(ran).error(), "code"), "input");
    assert_eq!(ship.said(), []);
    let error = ship.piped(&["send", "--json", "review this"], b"\xff").error();
    assert_eq!(text(&error, "code"), "not_utf8");
    let long = TestShip::with_settings(r#"{ "limits": { "messageBytes": 20 } }"#);
    for piped in ["behind 20 bytes of text", "short"] {
        let error = long.piped(&["send", "--json", "twenty bytes, though"], piped).error();
        assert!(text(&error, "message").contains("limits.messageBytes"), "{error}");
    }
    assert_eq!((ship.said(), long.said()), (Vec::new(), Vec::new()));

    let refused = ship.piped(&["chat"], b"tea\ncaf\xe9\nmilk\n");
    assert!(refused.complaint().contains("byte 7 "), "{}", refused.err());
    assert_eq!(ship.said(), talk(&[("user", "tea"), ("assistant", &echo("tea"))]));
}

#[test]
fn a_reader_who_has_seen_enough_is_no_failure() {
    let ship = TestShip::new();
    let _ = ship.run(&["send", "hello"]).text();
    for arguments in [
        &["history"][..],
        &["history", "--json"],
        &["config"],
        &["inspect"],
        &["logs"],
        &["chats"],
        &["verify"],
        &["send", "again"],
        &["--help"],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = ship.command(arguments).stdout(writer).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{arguments:?}");
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
    }
    assert_eq!(ship.said().len(), 4, "what was sent is answered, seen or not");
}

#[test]
fn an_unread_answer_is_kept_all_the_same() {
    let ship = TestShip::new();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut child = ship.command(&["chat"]).stdin(Stdio::piped()).stdout(writer).spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"hello\n").unwrap();
    let mut complaint = String::new();
    child.stderr.take().unwrap().read_to_string(&mut complaint).unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(complaint, "");
    assert_eq!(ship.said(), talk(&[("user", "hello"), ("assistant", &echo("hello"))]));
}

#[test]
fn a_broken_standard_error_is_no_panic() {
    let ship = TestShip::with_settings("{ \"unknown\": 1 }");
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = ship.command(&["send", "hello"]).stderr(writer).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
}
