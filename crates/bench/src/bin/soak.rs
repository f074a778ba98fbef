//! `./soak [SECONDS] [SEED]`: kills, power cuts, races and large property runs.

#![expect(clippy::print_stdout, reason = "printing is what it is for")]

use std::process::ExitCode;
use std::time::{Duration, Instant};

use ship_bench::{
    build_tests, compact_soak, contexts_soak, injuries_soak, message_soak, provider_soak,
    real_model_soak, store_soak, strict_hosts_soak, two_processes_soak,
};
use ship_testkit::two_processes::SweepCounts;

const SECONDS: u64 = 60;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<u64>());
    let (seconds, seed) = match (arguments.next(), arguments.next(), arguments.next()) {
        (None, None, None) => (SECONDS, random_seed()),
        (Some(Ok(seconds)), None, None) => (seconds, random_seed()),
        (Some(Ok(seconds)), Some(Ok(seed)), None) => (seconds, seed),
        _ => {
            eprintln!("soak: the arguments are not whole numbers\nhint: ./soak [SECONDS] [SEED]");
            return ExitCode::from(2);
        }
    };
    println!("soak for about {seconds} s with seed {seed}");
    match soak(seconds, seed) {
        Ok(counts) => {
            println!("seed {seed}: {counts}, 0 failures");
            ExitCode::SUCCESS
        }
        Err(error) => {
            println!("{error}\nseed {seed}: FAILED");
            ExitCode::FAILURE
        }
    }
}

/// Gives two sevenths of the time each to the store and to the requests, and one each to the messages, to
/// compactions and to contexts. Every window of failing calls and every injury is run, and a real model has a turn
/// for each second, however long that takes.
fn soak(seconds: u64, seed: u64) -> Result<String, String> {
    build_tests()?;
    let start = Instant::now();
    let after = |sevenths: u64| start + Duration::from_millis(seconds * sevenths * 1000 / 7);
    let requests = provider_soak::soak(seed, after(2))?;
    println!("requests: {requests:?}");
    let store = store_soak::soak(seed, after(4))?;
    println!("store: {store:?}");
    let messages = message_soak::soak(seed, after(5))?;
    println!("messages: {messages:?}");
    let compacted = compact_soak::soak(seed, after(6))?;
    println!("compactions: {compacted:?}");
    let contexts = contexts_soak::soak(seed, after(7))?;
    println!("contexts: {contexts:?}");
    let two = two_processes_soak::soak(seed)?;
    let printed = |counts: Option<SweepCounts>| {
        counts.map_or("skipped".to_owned(), |counts| counts.to_string())
    };
    println!("two processes: {}", printed(two));
    println!("on a thin volume: {}", printed(two_processes_soak::soak_thin_volume()?));
    injuries_soak::soak(seed)?;
    println!("injuries: all");
    let real = real_model_soak::soak(seed, seconds)?;
    println!("real model: {}", real.map_or("skipped".to_owned(), |counts| format!("{counts:?}")));
    let strict = strict_hosts_soak::soak(seed)?;
    println!("strict hosts: {}", strict.map_or("skipped".to_owned(), |it| format!("{it:?}")));
    Ok(format!(
        "{} scripts of writes with {} faults and {} disks judged, {} rounds of killed processes, \
         {} histories judged in both formats, {} property cases, {} cases beside npm, \
         {} turns in {} outgrown chats with {} kills and {} compactions undone, \
         {} lives of chats with several contexts, \
         {} windows of failing calls in one of two processes, all injuries of files, \
         {}",
        store.scripts,
        store.faults,
        store.disks,
        store.process_rounds,
        requests.histories,
        messages.property_cases,
        messages.npm_cases + requests.npm_cases,
        compacted.turns,
        compacted.chats,
        compacted.kills,
        compacted.undone,
        contexts.lives,
        two.map_or(0, |counts| counts.cases),
        match (real, strict) {
            (Some(real), Some(strict)) => format!(
                "{} answers of a real model and {} at strict hosts, which refused {} requests",
                real.answers, strict.answers, strict.refused
            ),
            _ => "real model skipped".to_owned(),
        }
    ))
}

/// A seed that differs from run to run, printed so that the run can be repeated.
fn random_seed() -> u64 {
    getrandom::u64().expect("the system gives random numbers") % 1_000_000_000
}
