//! That a promise is given after the sync and not before, as the system sees it.
//!
//! A sync that is missing changes nothing that a program could see, until the power goes. So a child does
//! one thing after the other under `strace` and says so, and here we read what it asked of the system
//! before each word. Where there is no `strace`, or it may not trace, nothing is shown.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use ship_store::conversation::{Conversation, NewConversationMessage};

use super::{Ticking, folder, load, pptx};

/// The child: does things, and says after each that it is done.
#[test]
fn do_things_in_the_folder_that_the_environment_names() {
    let Some(folder) = std::env::var_os("SHIP_TEST_TRACED") else { return };
    let path = Path::new(&folder).join("chats/task.jsonl");
    let mut chat = Conversation::create(&path, Ticking::default()).unwrap();
    say("created");
    chat.append(NewConversationMessage::user("hi")).unwrap();
    say("appended");
    chat.activate_skill(pptx("c1")).unwrap();
    say("activated");
    drop(chat.fork(path.with_extension("fork")).unwrap());
    say("forked");
    drop(chat);
    drop(load(&path));
    say("loaded");
    std::fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"half").unwrap();
    say("torn");
    assert!(load(&path).repair().is_some());
    say("repaired");
    let there = Path::new(&folder).join("above/there");
    std::fs::create_dir_all(&there).unwrap();
    drop(Conversation::create(there.join("task.jsonl"), Ticking::default()).unwrap());
    say("created in a folder that was there");
}

fn say(word: &str) {
    // One write for each word, whatever the test harness has not flushed.
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(format!("\ndone: {word}\n").as_bytes()).unwrap();
    stdout.flush().unwrap();
}

/// The calls of the child, cut after each word; none where there is no tracing.
fn calls_before_each_word() -> Option<Vec<String>> {
    let (folder, path) = folder();
    let trace = "trace=write,fsync,fdatasync,ftruncate,link,linkat,mkdir,mkdirat";
    let status = Command::new("strace")
        .args(["-f", "-y", "-s", "300", "-e", trace, "-o"])
        .arg(&path)
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "synced::do_things_in_the_folder_that_the_environment_names"])
        .args(["--nocapture", "--test-threads=1"])
        .env("SHIP_TEST_TRACED", folder.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if !status.is_ok_and(|status| status.success()) {
        return None;
    }
    let calls = std::fs::read_to_string(&path).unwrap();
    Some(calls.split("done: ").map(str::to_owned).collect())
}

/// Checks that lines with these texts come in this order.
fn assert_in_order(calls: &str, wanted: &[&str]) {
    let mut lines = calls.lines();
    for text in wanted {
        assert!(
            lines.any(|line| line.contains(text)),
            "`{text}` is missing, of {wanted:?}:\n{calls}"
        );
    }
}

#[test]
fn every_promise_is_synced_before_it_is_given() {
    let Some(calls) = calls_before_each_word() else {
        return eprintln!("nothing is shown, because strace is missing or may not trace");
    };
    let [created, appended, activated, forked, loaded, _torn, repaired, found, _end] = &calls[..]
    else {
        panic!("{calls:#?}");
    };
    // The bytes, the name of the file, and the name of the folder that was made for it.
    assert_in_order(created, &["mkdir", "fsync(", "fsync(", "link", "fsync("]);
    assert_in_order(created, &["link", "/chats>"]);
    assert_in_order(appended, &[r#"\"id\":\"m001\""#, "fdatasync("]);
    assert_in_order(activated, &["skill_activated", "fdatasync("]);
    let writes = activated.lines().filter(|line| line.contains(r#"\"id\":"#));
    assert_eq!(writes.count(), 1, "a batch is one write:\n{activated}");
    assert_in_order(forked, &[r#"\"id\":\"m001\""#, "fsync(", "link", "/chats>"]);
    // What a killed writer left whole may not be on disk yet.
    assert_in_order(loaded, &["fdatasync(", "/chats>"]);
    // A tail is safe elsewhere before it is cut off here.
    let aside = "task.jsonl.quarantine>";
    assert_in_order(repaired, &[aside, "fdatasync(", "/chats>", "ftruncate(", "fdatasync("]);
    // The process that made the folder may have died before it synced the name.
    assert_in_order(found, &["/above>", "link", "/there>"]);
}
