//! Real processes: killed, failed and frozen at every file call, and several at once on one chat.
//!
//! The example `soak` is what runs; a small shim makes its n-th file call go wrong, and `soak verify`
//! tells what is left.

#![expect(
    clippy::unwrap_used,
    reason = "in a test, a panic that shows the error is the best report"
)]

use std::collections::{HashMap, HashSet};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;

use rustix::process::{Pid, WaitOptions, waitpid};
use ship_store::{
    AcceptError, Busy, Explain as _, FileStore, LaneError, Right, StorageError, Store,
};
use ship_testkit::chat::{entry, options};
use ship_testkit::example::example;
use ship_testkit::shim::{Fault, counted_calls, shim};
use ship_testkit::sweep::block_on;

fn soak(words: &[&str]) -> Command {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    let mut command = Command::new(PROGRAM.get_or_init(|| example("soak")));
    command.args(words).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn with_fault(mut command: Command, shim: &Path, what: &str, at: usize, only: &str) -> Command {
    Fault { what, at, only, ..Fault::default() }.put_into(&mut command, shim);
    command
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// What a writer said: what it tried, and what it was promised, in order.
#[derive(Default)]
struct Said {
    tried: HashSet<(String, String)>,
    acked: Vec<(String, String, String)>,
    done: bool,
}

impl Said {
    fn hear(&mut self, output: &str) {
        for line in output.lines() {
            match line.split(' ').collect::<Vec<_>>().as_slice() {
                ["TRY", chat, id] => {
                    self.tried.insert(((*chat).to_owned(), (*id).to_owned()));
                }
                ["ACK", chat, id, digest] => {
                    self.acked.push(((*chat).to_owned(), (*id).to_owned(), (*digest).to_owned()));
                }
                ["NACK", ..] | ["NOTE", ..] | ["ERR", ..] => {}
                ["DONE"] => self.done = true,
                other => panic!("a word we do not know: {other:?}"),
            }
        }
    }

    /// Holds what is there to what was said.
    fn judge(&self, dir: &str, case: &str) {
        let found = soak(&["verify", dir]).output().expect("soak runs");
        let found = text(&found);
        let mut have: HashMap<(String, String), (usize, String)> = HashMap::new();
        for (place, line) in found.lines().enumerate() {
            match line.split(' ').collect::<Vec<_>>().as_slice() {
                ["HAVE", chat, id, digest] => {
                    let name = ((*chat).to_owned(), (*id).to_owned());
                    assert!(self.tried.contains(&name), "{case}: {line} is a phantom");
                    let twice = have.insert(name, (place, (*digest).to_owned()));
                    assert!(twice.is_none(), "{case}: {line} is there twice");
                }
                ["NOTE", ..] => {}
                _ => panic!("{case}: {line}"),
            }
        }
        let mut last: HashMap<&str, usize> = HashMap::new();
        for (chat, id, digest) in &self.acked {
            let kept = have.get(&(chat.clone(), id.clone()));
            let Some((place, kept)) = kept else { panic!("{case}: {chat} {id} lost\n{found}") };
            assert_eq!(kept, digest, "{case}: {chat} {id} mangled");
            let before = last.insert(chat, *place);
            assert!(before < Some(*place), "{case}: {chat} {id} out of order");
        }
    }
}

/// A folder in memory where there is one: what a killed process leaves does not depend on the disk.
fn folder() -> tempfile::TempDir {
    let memory = tempfile::tempdir_in("/dev/shm");
    memory.or_else(|_| tempfile::tempdir()).expect("a folder")
}

/// Runs a writer with a fault, judges, lets another writer go on, and judges again.
fn survive(shim: &Path, what: &str, at: usize) {
    let case = format!("{what} at call {at}");
    let folder = folder();
    let dir = folder.path().to_str().expect("utf-8");
    let mut said = Said::default();
    let writer = soak(&["write", dir, "--n", "8", "--rotate", "4", "--tag", "a"]);
    let output = with_fault(writer, shim, what, at, "").output().expect("soak runs");
    said.hear(&text(&output));
    let killed = what.starts_with("kill") || what == "torn";
    assert!(said.done || killed, "{case}: the writer gave up: {}", text(&output));
    said.judge(dir, &case);
    let again = soak(&["write", dir, "--n", "5", "--rotate", "3", "--tag", "b"]).output();
    said.hear(&text(&again.expect("soak runs")));
    assert!(said.acked.len() >= 5, "{case}: the next writer was refused");
    said.judge(dir, &format!("{case}, and a second writer"));
    let outside = std::fs::read_dir(dir).expect("a folder").filter_map(Result::ok);
    let outside: Vec<_> = outside.map(|entry| entry.file_name()).filter(|n| n != ".ship").collect();
    assert!(outside.is_empty(), "{case}: wrote outside .ship: {outside:?}");
}

/// How many calls a writer makes when nothing goes wrong.
fn calls(shim: &Path) -> usize {
    let folder = folder();
    let dir = folder.path().to_str().expect("utf-8");
    let writer = soak(&["write", dir, "--n", "8", "--rotate", "4", "--tag", "a"]);
    let output = with_fault(writer, shim, "", 0, "").output().expect("soak runs");
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    let count = counted_calls(&told).unwrap_or_else(|| panic!("the shim does not count: {told}"));
    assert!(count > 100, "{count}");
    count
}

fn sweep(what: &[&str], every: usize) {
    let Some(shim) = shim() else { return };
    for at in (1..=calls(shim)).filter(|at| at % every == 0) {
        for what in what {
            survive(shim, what, at);
        }
    }
}

#[test]
fn a_process_on_a_file_system_without_hard_links_writes_and_rotates() {
    let Some(shim) = shim() else { return };
    let folder = folder();
    let dir = folder.path().to_str().expect("utf-8");
    let mut said = Said::default();
    let writer = soak(&["write", dir, "--n", "8", "--rotate", "4", "--tag", "a"]);
    let output =
        with_fault(writer, shim, "eperm-forever", 1, "linkat").output().expect("soak runs");
    let calls = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!calls.contains("CALLS 0"), "no link was tried: {calls}");
    said.hear(&text(&output));
    assert!(said.done && !text(&output).contains("NACK"), "{}", text(&output));
    said.judge(dir, "without hard links");
}

#[test]
fn a_process_killed_before_any_file_call_loses_nothing_acknowledged() {
    sweep(&["kill-before"], 1);
}

#[test]
fn a_process_killed_inside_or_after_a_file_call_loses_nothing_acknowledged() {
    sweep(&["kill-after", "torn"], 2);
}

#[test]
fn a_file_call_that_fails_loses_nothing_acknowledged() {
    sweep(&["eio", "enospc", "short"], 3);
}

#[test]
fn a_disk_that_fails_for_good_loses_nothing_acknowledged() {
    sweep(&["eio-forever", "enospc-forever"], 5);
}

#[test]
fn four_writers_on_one_chat_interleave_nothing() {
    let folder = folder();
    let dir = folder.path().to_str().expect("utf-8");
    let start = |tag: &str| {
        let words = ["write", dir, "--n", "40", "--rotate", "9", "--tag", tag];
        soak(&words).spawn().expect("soak runs")
    };
    let mut writers: Vec<Child> = ["a", "b", "c", "d"].map(start).into_iter().collect();
    // One of them dies in the middle of it: once it has been promised something.
    let mut killed = BufReader::new(writers[0].stdout.take().expect("it is piped"));
    let mut killed_said = String::new();
    while !killed_said.lines().any(|line| line.starts_with("ACK ")) {
        assert_ne!(killed.read_line(&mut killed_said).expect("lines"), 0, "{killed_said}");
    }
    writers[0].kill().expect("it can be killed");
    killed.read_to_string(&mut killed_said).expect("text");
    let mut said = Said::default();
    for (number, writer) in writers.into_iter().enumerate() {
        let output = writer.wait_with_output().expect("it ends");
        let heard = if number == 0 { killed_said.clone() } else { text(&output) };
        let mut own = Said::default();
        own.hear(&heard);
        assert!(number == 0 || own.acked.len() == 40, "{heard}");
        said.tried.extend(own.tried.clone());
        // Each writer's own order is kept; between them there is none.
        own.tried.extend(
            ["a", "b", "c", "d"]
                .iter()
                .flat_map(|tag| (0..40).map(move |n| ("soak:0".to_owned(), format!("{tag}-{n}")))),
        );
        own.judge(dir, &format!("writer {number}"));
    }
}

/// A writer that has stopped where it holds a right.
struct Frozen {
    child: Child,
    _folder: tempfile::TempDir,
    store: FileStore,
}

/// Freezes a writer at a call, `only` counted, once something is in its chat.
fn freeze(only: &str, at: usize) -> Option<Frozen> {
    let shim = shim()?;
    let folder = folder();
    let dir = folder.path().to_str().expect("utf-8").to_owned();
    let first = soak(&["write", &dir, "--n", "2", "--tag", "a"]).output().expect("soak runs");
    assert!(text(&first).contains("DONE"));
    let writer = soak(&["write", &dir, "--n", "50", "--tag", "b"]);
    let child = with_fault(writer, shim, "stop", at, only).spawn().expect("soak runs");
    let stopped = waitpid(Some(Pid::from_child(&child)), WaitOptions::UNTRACED).expect("a child");
    assert!(stopped.is_some_and(|(_, status)| status.stopped()), "the writer never stopped");
    let store = FileStore::new(folder.path(), options()).expect("a store");
    Some(Frozen { child, _folder: folder, store })
}

impl Frozen {
    fn accept(&self) -> Result<(), AcceptError> {
        block_on(async {
            let chat = self.store.open(&"soak:0".parse().unwrap()).await.unwrap().unwrap();
            chat.ledger().accept(entry("k1", "hello")).await.map(|_| ())
        })
    }

    fn take_lane(&self) -> Result<(), LaneError> {
        block_on(async {
            let chat = self.store.open(&"soak:0".parse().unwrap()).await.unwrap().unwrap();
            chat.lane("the second").await.map(|_| ())
        })
    }

    fn kill(&mut self) {
        self.child.kill().expect("it can be killed");
        self.child.wait().expect("it ends");
    }
}

#[test]
fn the_write_right_of_a_frozen_process_is_refused_by_name_and_free_once_it_is_killed() {
    let Some(mut frozen) = freeze("fdatasync", 6) else { return };
    let refused = frozen.accept();
    let Err(AcceptError::Storage(StorageError::Busy(busy))) = refused else {
        panic!("{refused:?}")
    };
    let told = busy.explain().to_string();
    let Busy { right, holder, waited_ms, .. } = &*busy;
    let holder = holder.as_ref().expect("a note");
    assert_eq!((*right, holder.pid(), *waited_ms), (Right::Write, Some(frozen.child.id()), 300));
    // What it is for may be what it was for a moment ago; who holds it is exact.
    assert!(!holder.purpose.is_empty());
    let pid = &holder.process;
    assert!(
        told.ends_with(&format!(
            ", which is stopped (waited 300 ms); resume it with `kill -CONT {pid}`, or end it with `kill -KILL \
             {pid}`, then try again"
        )),
        "{told}"
    );
    frozen.kill();
    frozen.accept().expect("the right is free");
}

#[test]
fn the_lane_of_a_frozen_process_is_refused_by_name_and_free_once_it_is_killed() {
    // Frozen before it locks `lock`, but after it has the lane.
    let Some(mut frozen) = freeze("flock", 6) else { return };
    let refused = frozen.take_lane();
    let Err(LaneError::Storage(StorageError::Busy(busy))) = refused else { panic!("{refused:?}") };
    let told = busy.explain().to_string();
    assert!(told.contains(&format!("process {} since 20", frozen.child.id())), "{told}");
    assert!(told.contains("`soak write`") && told.contains("(waited 300 ms)"), "{told}");
    frozen.accept().expect("anyone may accept while a run holds the lane");
    frozen.kill();
    frozen.take_lane().expect("the lane is free");
}
