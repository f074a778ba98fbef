//! Every file of a chat is injured in every way, and the real program goes on.
//!
//! A chat that has been through everything is made once. Each case copies it, injures one file and runs commands:
//! each of them ends in time with an answer or a remedy that works, a new message gets its own answer, nothing that
//! could be read is lost, every context can be listed and loaded, and `ship verify` tells what is wrong until `ship repair` was run. `./check` takes a sample;
//! `./soak` sets `INJURY_CASES` to 0, for all. `INJURY_SEED` gives other commands, and `INJURY_ONLY` takes the cases whose
//! names contain it.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

mod chat;
mod injury;
mod judge;
mod listed;
mod project;
mod readable;
mod told;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use ship_testkit::random::Random;

use crate::chat::Base;
use crate::injury::Injury;
use crate::judge::{COMMANDS, Case, judge};
use crate::readable::CHAT;

/// How many cases `./check` takes.
const SAMPLE: u64 = 80;
/// How many lines of a blob are injured one by one; the others are like them.
const BLOB_LINES: usize = 2;

#[test]
fn whatever_happens_to_a_file_its_chat_goes_on_and_nothing_readable_is_lost() {
    let seed = setting("INJURY_SEED").unwrap_or(1);
    let at_rest = Base::at_rest();
    let bases = [at_rest.in_a_run(), at_rest];
    let mut cases: Vec<Case<'_>> = bases.iter().flat_map(cases).collect();
    for (number, case) in cases.iter_mut().enumerate() {
        case.number = number as u64;
    }
    let only = std::env::var("INJURY_ONLY").unwrap_or_default();
    cases.retain(|case| case.to_string().contains(&only));
    let all = cases.len();
    match setting("INJURY_CASES").unwrap_or(SAMPLE) {
        0 => {}
        count => take_sample(&mut cases, count as usize, &mut Random::new(seed)),
    }
    let failed = judge_all(&cases, seed);
    let judged = cases.len();
    assert_eq!(
        failed, 0,
        "of {judged} cases (there are {all}) with seed {seed}; each is told above"
    );
}

#[test]
fn a_whole_chat_refuses_none_of_the_commands() {
    let at_rest = Base::at_rest();
    for base in [at_rest.in_a_run(), at_rest] {
        for command in COMMANDS {
            let ran = base.project.copy().run(command, "");
            // Neither chat has a compaction that could be taken back.
            let expected = if *command == ["compact", "--undo"] { 1 } else { 0 };
            assert_eq!(ran.code, Some(expected), "chat {}: {ran}", base.name);
        }
    }
}

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap())
}

/// Lists every injury of every file of a chat.
fn cases(base: &Base) -> Vec<Case<'_>> {
    let mut cases = Vec::new();
    let midway = base.name == "in a run";
    let names: BTreeMap<String, Vec<u8>> = base.project.files().into_iter().collect();
    for (name, bytes) in names {
        let is_blob = name.starts_with("blobs/");
        // Only these can tell the two chats apart.
        let matters = name.ends_with("/history.jsonl") || name.ends_with("/run.jsonl");
        if name.starts_with("skills/") || (midway && !matters) {
            continue;
        }
        // These two belong to the project: marks of changes, and the sizes of idle chats.
        let is_shared = name.starts_with("changed/") || name == "idle.jsonl";
        let is_expected = is_blob || is_shared || name.starts_with(CHAT);
        assert!(is_expected, "{name} is a file that nobody expected");
        let older = base.older.get(&name).map_or(0, Vec::len);
        let injuries = Injury::all(&bytes, older, if is_blob { BLOB_LINES } else { usize::MAX });
        cases.extend(injuries.into_iter().map(|injury| Case {
            base,
            file: name.clone(),
            injury,
            number: 0,
        }));
    }
    cases
}

/// Keeps as many cases, of each file about as many.
fn take_sample(cases: &mut Vec<Case<'_>>, count: usize, random: &mut Random) {
    for last in (1..cases.len()).rev() {
        cases.swap(last, random.below(last + 1));
    }
    let mut of_file: BTreeMap<String, usize> = BTreeMap::new();
    cases.sort_by_cached_key(|case| {
        let seen = of_file.entry(format!("{} {}", case.base.name, case.file)).or_default();
        *seen += 1;
        *seen
    });
    cases.truncate(count);
}

/// Judges the cases on all processors. Tells what is wrong as it is found, and how many cases failed.
fn judge_all(cases: &[Case<'_>], seed: u64) -> usize {
    let (next, failed) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let threads = std::thread::available_parallelism().map_or(1, |count| count.get().min(4));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let wrong = judge(case, seed);
                    if !wrong.is_empty() {
                        failed.fetch_add(1, Ordering::Relaxed);
                        eprintln!("{case}\n    {}", wrong.join("\n    "));
                    }
                }
            });
        }
    });
    failed.into_inner()
}
