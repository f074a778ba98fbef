//! What it costs to put every model call on record.

use std::path::Path;

use ship_agent::Outcome;
use ship_testkit::sim::{Op, SimDisk};

use crate::harness::{Setup, TestAgent};

/// What a turn has done to the disk: whether it touched a blob, and how many bytes it wrote.
async fn turn(disk: &SimDisk, test: &TestAgent, text: &str) -> (bool, usize) {
    let before = disk.ops_len();
    assert_eq!(test.say(text).await, Some(Outcome::Done));
    let done = disk.ops().split_off(before);
    let is_blob = |path: &Path| path.starts_with(".ship/blobs");
    let touches = |op: &Op| match op {
        Op::Name(path, _) | Op::Rename(path, ..) | Op::Remove(path) => is_blob(path),
        Op::SyncFolder(path) => is_blob(path),
        _ => false,
    };
    let bytes = |op: &Op| if let Op::Write(_, _, bytes) = op { bytes.len() } else { 0 };
    (done.iter().any(touches), done.iter().map(bytes).sum())
}

#[tokio::test]
async fn a_text_is_kept_once_and_a_record_stays_small_however_long_the_chat() {
    let setup = Setup { many_runs: true, ..Setup::default() };
    let test = setup.agent();
    let (touched, _) = turn(&setup.disk, &test, "turn 00").await;
    assert!(touched, "the first request has texts that nobody has kept");
    let (touched, early) = turn(&setup.disk, &test, "turn 01").await;
    assert!(!touched, "all of them are kept");
    for nth in 2..40 {
        let (touched, _) = turn(&setup.disk, &test, &format!("turn {nth:02}")).await;
        assert!(!touched, "turn {nth}");
    }
    drop(test);
    let restarted = setup.agent();
    let (touched, late) = turn(&setup.disk, &restarted, "turn 40").await;
    assert!(!touched, "the last record tells another process what is kept");
    assert!(late <= early + 200, "{late} bytes after {early}");
}
