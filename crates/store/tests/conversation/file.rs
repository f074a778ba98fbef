//! One file, one writer: forks, locks, links and strangers.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use ship_store::conversation::{
    Conversation, CreateError, ForkError, LoadConversationError, NewConversationMessage, WriteError,
};

use super::{Ticking, folder, load, names, pptx, seen, talk};

#[test]
fn a_fork_has_everything_and_the_two_go_their_own_ways() {
    let (folder, path) = folder();
    let mut chat = Conversation::create(&path, Ticking::default()).unwrap();
    talk(&mut chat);
    chat.activate_skill(pptx("c9")).unwrap();
    let copy = folder.path().join("retry.jsonl");
    let mut fork = chat.fork(&copy).unwrap();
    assert_eq!(std::fs::read(&copy).unwrap(), std::fs::read(&path).unwrap());
    assert_eq!(fork.active_skills().collect::<Vec<_>>(), ["pptx"]);

    assert_eq!(fork.append(NewConversationMessage::user("other")).unwrap(), "m008");
    assert_eq!(chat.append(NewConversationMessage::user("same")).unwrap(), "m008");
    drop((chat, fork));
    assert_eq!(seen(&load(&path)).last().unwrap(), "m008 user: same");
    assert_eq!(seen(&load(&copy)).last().unwrap(), "m008 user: other");
    assert_eq!(names(&folder), ["chat.jsonl", "retry.jsonl"]);
}

#[test]
fn a_fork_sees_everything_before_its_checkpoint_and_nothing_after() {
    let (folder, path) = folder();
    let mut chat = Conversation::create(&path, Ticking::default()).unwrap();
    talk(&mut chat);
    let before = seen(&chat);
    chat.checkpoint("middle").unwrap();
    chat.activate_skill(pptx("c9")).unwrap();
    chat.mark_compacted("m002", "m005", "x").unwrap();

    let fork = chat.fork_from_checkpoint("middle", folder.path().join("fork.jsonl")).unwrap();
    assert_eq!(seen(&fork), before);
    assert_eq!(fork.active_skills().count() + fork.checkpoints().count(), 0);

    let error = chat.fork_from_checkpoint("end", folder.path().join("no.jsonl")).unwrap_err();
    assert_eq!(error.to_string(), "the conversation has no checkpoint `end`; it has `middle`");
    assert_eq!(names(&folder), ["chat.jsonl", "fork.jsonl"]);
}

#[test]
fn a_checkpoint_is_found_again_after_a_load_and_the_newest_of_a_name_counts() {
    let (folder, path) = folder();
    let mut chat = Conversation::create(&path, Ticking::default()).unwrap();
    chat.checkpoint("x").unwrap();
    chat.append(NewConversationMessage::user("one")).unwrap();
    chat.checkpoint("x").unwrap();
    chat.append(NewConversationMessage::user("two")).unwrap();
    drop(chat);
    let fork = load(&path).fork_from_checkpoint("x", folder.path().join("fork.jsonl")).unwrap();
    assert_eq!(seen(&fork), ["m001 user: one"]);
}

#[test]
fn of_many_forks_to_one_path_one_is_made_and_those_to_others_all_are() {
    let (folder, path) = folder();
    let mut chat = Conversation::create(&path, Ticking::default()).unwrap();
    talk(&mut chat);
    let (chat, same) = (&chat, &folder.path().join("same.jsonl"));
    let made = std::thread::scope(|scope| {
        let forks: Vec<_> = (0..8)
            .map(|at| {
                let own = folder.path().join(format!("own-{at}.jsonl"));
                scope.spawn(move || {
                    assert_eq!(seen(&chat.fork(own).unwrap()), seen(chat));
                    match chat.fork(same) {
                        Ok(fork) => seen(&fork).len(),
                        Err(ForkError::Create(CreateError::Exists { .. })) => 0,
                        Err(error) => panic!("{error}"),
                    }
                })
            })
            .collect();
        forks.into_iter().map(|fork| fork.join().unwrap()).filter(|count| *count == 5).count()
    });
    assert_eq!(made, 1);
    assert_eq!(names(&folder).len(), 10, "nothing is left of how they were made");
}

#[test]
fn a_second_writer_is_refused_and_a_reader_is_not() {
    let (_folder, path) = folder();
    let mut chat = Conversation::create(&path, Ticking::default()).unwrap();
    talk(&mut chat);
    let refused = Conversation::load(&path, Ticking::default()).unwrap_err();
    assert!(matches!(refused, LoadConversationError::InUse { .. }));
    assert!(refused.to_string().contains("is open for writing elsewhere; close it there"));

    let mut reader = Conversation::read(&path, Ticking::default()).unwrap();
    assert_eq!(seen(&reader), seen(&chat));
    assert!(matches!(
        reader.append(NewConversationMessage::user("x")),
        Err(WriteError::ReadOnly { .. })
    ));
    drop(chat);
    load(&path);
}

/// The other process of the test below: holds the file until it is killed.
#[test]
fn hold_the_file_that_the_environment_names() {
    let Some(path) = std::env::var_os("SHIP_TEST_CONVERSATION") else { return };
    let mut chat = load(Path::new(&path));
    chat.append(NewConversationMessage::user("held")).unwrap();
    println!("\nheld");
    std::io::stdout().flush().unwrap();
    // Ends when the other side does, should it fail to kill us.
    std::io::stdin().lock().lines().for_each(drop);
}

#[test]
fn a_second_process_is_refused_until_the_first_is_killed() {
    let (_folder, path) = folder();
    drop(Conversation::create(&path, Ticking::default()).unwrap());
    let mut other = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "file::hold_the_file_that_the_environment_names", "--nocapture"])
        .env("SHIP_TEST_CONVERSATION", &path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(other.stdout.take().unwrap()).lines();
    assert!(said.any(|line| line.unwrap() == "held"));

    let refused = Conversation::load(&path, Ticking::default()).unwrap_err();
    assert!(matches!(refused, LoadConversationError::InUse { .. }));
    other.kill().unwrap();
    other.wait().unwrap();
    assert_eq!(seen(&load(&path)), ["m001 user: held"]);
}

#[test]
fn a_file_that_another_program_changed_is_not_written_until_it_is_loaded_again() {
    let (_folder, path) = folder();
    let mut chat = Conversation::create(&path, Ticking::default()).unwrap();
    talk(&mut chat);
    let line = r#"{"id":"m006","ts":"t","type":"msg","role":"user","content":"from outside"}"#;
    let mut file = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
    writeln!(file, "{line}").unwrap();
    assert!(matches!(
        chat.append(NewConversationMessage::user("x")),
        Err(WriteError::Changed { .. })
    ));
    drop(chat);
    let mut chat = load(&path);
    assert_eq!(chat.append(NewConversationMessage::user("x")).unwrap(), "m007");

    std::fs::rename(&path, path.with_extension("moved")).unwrap();
    assert!(matches!(
        chat.append(NewConversationMessage::user("y")),
        Err(WriteError::Changed { .. })
    ));
}

#[test]
fn files_are_their_owners_and_folders_are_made_for_them() {
    let (folder, _) = folder();
    let path = folder.path().join("chats/deep/task-001.jsonl");
    drop(Conversation::create(&path, Ticking::default()).unwrap());
    for (path, mode) in [(path.as_path(), 0o600), (path.parent().unwrap(), 0o700)] {
        let found = std::fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(found & 0o777, mode, "{}", path.display());
    }
}

#[test]
fn no_link_is_followed_and_nothing_is_overwritten() {
    let (folder, path) = folder();
    drop(Conversation::create(&path, Ticking::default()).unwrap());
    let link = folder.path().join("link.jsonl");
    symlink(&path, &link).unwrap();
    let loaded = Conversation::load(&link, Ticking::default()).unwrap_err();
    assert!(matches!(loaded, LoadConversationError::NotPlain { .. }), "{loaded}");
    assert!(Conversation::read(&link, Ticking::default()).is_err());

    let dangling = folder.path().join("dangling.jsonl");
    symlink(folder.path().join("elsewhere.jsonl"), &dangling).unwrap();
    for taken in [&path, &link, &dangling] {
        let created = Conversation::create(taken, Ticking::default()).unwrap_err();
        assert!(matches!(created, CreateError::Exists { .. }), "{created}");
    }
    assert!(!folder.path().join("elsewhere.jsonl").exists());
}

#[test]
fn what_cannot_be_a_conversation_is_refused_by_name() {
    let (folder, path) = folder();
    let load = |path: &Path| Conversation::load(path, Ticking::default()).unwrap_err();
    assert!(matches!(load(&path), LoadConversationError::NotFound { .. }));
    assert!(matches!(load(folder.path()), LoadConversationError::NotPlain { .. }));
    let named = Conversation::create("/", Ticking::default()).unwrap_err();
    assert!(matches!(named, CreateError::NoName { .. }));
}
