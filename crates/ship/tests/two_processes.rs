//! Two `ship` processes on one chat, with failing file calls in one of them.
//!
//! `SWEEP_SEED` and `SWEEP_CASES` choose other cases, and more of them; `SWEEP_CASE` runs one again, by the words of its
//! failure.

use std::path::Path;

use ship_testkit::shim::shim;
use ship_testkit::two_processes::{Sweep, thin_volume};

/// Cases of each command: what `./check` has time for.
const CASES: usize = 16;

fn number(name: &str) -> Option<usize> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn two_processes_lose_and_repeat_nothing_when_calls_of_one_fail() {
    let Some(shim) = shim() else { return };
    let sweep = match Sweep::new(Path::new(env!("CARGO_BIN_EXE_ship")), shim) {
        Ok(sweep) => sweep,
        Err(wrong) => panic!("{wrong}"),
    };
    if let Ok(words) = std::env::var("SWEEP_CASE") {
        sweep.run_again(&words).unwrap_or_else(|wrong| panic!("{words}: {wrong}"));
        return;
    }
    let seed = number("SWEEP_SEED").unwrap_or(1);
    let cases = number("SWEEP_CASES").unwrap_or(CASES);
    match sweep.run_some(seed as u64, cases) {
        Ok(counts) => eprintln!("seed {seed}: {counts}, of {} cases", sweep.len()),
        Err(wrong) => panic!("seed {seed}: {wrong}"),
    }
}

#[test]
fn two_processes_lose_and_repeat_nothing_on_a_thin_volume_that_fills_up_and_is_extended() {
    match thin_volume(Path::new(env!("CARGO_BIN_EXE_ship"))) {
        Ok(Some(counts)) => eprintln!("thin volume: {counts}"),
        // Said already.
        Ok(None) => {}
        Err(wrong) => panic!("{wrong}"),
    }
}
