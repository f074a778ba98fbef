//! `./soak [SECONDS] [SEED]`: kills, power cuts, races and large property runs.

#![expect(clippy::print_stdout, reason = "printing is what it is for")]

use std::process::ExitCode;
use std::time::{Duration, Instant};

use ship_bench::{build_tests, compact_soak, message_soak, provider_soak, store_soak};

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

/// Gives a third of the time to the store, a third to the requests, and a sixth each to the messages and to
/// compactions.
fn soak(seconds: u64, seed: u64) -> Result<String, String> {
    build_tests()?;
    let start = Instant::now();
    let after = |sixths: u64| start + Duration::from_millis(seconds * sixths * 1000 / 6);
    let requests = provider_soak::soak(seed, after(2))?;
    println!("requests: {requests:?}");
    let store = store_soak::soak(seed, after(4))?;
    println!("store: {store:?}");
    let messages = message_soak::soak(seed, after(5))?;
    println!("messages: {messages:?}");
    let compacted = compact_soak::soak(seed, after(6))?;
    println!("compactions: {compacted:?}");
    Ok(format!(
        "{} scripts of writes with {} faults and {} disks judged, {} rounds of killed processes, \
         {} histories judged in both formats, {} property cases, {} cases beside npm, \
         {} turns in {} outgrown chats with {} kills and {} compactions undone",
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
        compacted.undone
    ))
}

/// A seed that differs from run to run, printed so that the run can be repeated.
fn random_seed() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    std::hash::RandomState::new().build_hasher().finish() % 1_000_000_000
}
