//! The long sweeps of the store: random scripts of writes, something going wrong at every call, and the
//! power cut after every change, for as long as there is time.

use std::time::Instant;

use ship_testkit::sweep::{
    Script, Step, Tally, all_faults, block_on, calls, faults, power_cuts, second_lives,
};

use crate::tests::{run, run_module};

/// The store's own sweep takes one call in four, and four seeds in a row take all calls.
const SWEEP_SAMPLES: u64 = 4;

/// What a run did.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Random scripts of writes.
    pub scripts: u64,
    /// Things that went wrong, one at a time.
    pub faults: usize,
    /// Disks that were looked at afterwards.
    pub disks: usize,
    /// Real processes that were killed, failed and frozen: how often the whole of that was done.
    pub process_rounds: u64,
}

/// Sweeps until `deadline`, at least once, beginning with `seed`; then runs the sweep of `./check` at all of its
/// calls, and lets real processes be killed.
///
/// # Errors
/// The broken promise, and the seed that shows it.
pub fn soak(seed: u64, deadline: Instant) -> Result<Counts, String> {
    let mut counts = Counts::default();
    loop {
        let seed = seed.wrapping_add(counts.scripts);
        let tally = block_on(sweep(&script(seed)))
            .map_err(|wrong| format!("a script of the store, seed {seed}: {wrong}"))?;
        counts.scripts += 1;
        counts.faults += tally.faults;
        counts.disks += tally.disks;
        if Instant::now() >= deadline {
            break;
        }
    }
    for sample in 0..SWEEP_SAMPLES {
        run_module("ship-store", "sweep", &[("SHIP_SEED", seed.wrapping_add(sample))])?;
    }
    run("ship-store", "process", &[])?;
    counts.process_rounds += 1;
    Ok(counts)
}

async fn sweep(script: &Script) -> Result<Tally, String> {
    let mut total = Tally::default();
    let calls = calls(script).await;
    let tallies = [
        power_cuts(script).await?,
        faults(script, &all_faults(), 0..calls).await?,
        second_lives(script, 0..calls).await?,
    ];
    for tally in tallies {
        total.faults += tally.faults;
        total.disks += tally.disks;
    }
    Ok(total)
}

/// A script of a dozen writes; the same seed gives the same.
fn script(seed: u64) -> Script {
    let mut random = seed;
    let mut roll = |sides: u64| {
        // Splitmix: good enough to vary scripts, and the same everywhere.
        random = random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % sides
    };
    let mut said = 0;
    let mut say = |count: u64| -> Vec<String> {
        let first = said;
        said += count;
        (first..said).map(|number| format!("m{number}")).collect()
    };
    let steps = (0..12).map(|number| match roll(8) {
        0..3 => Step::Say(say(1)),
        3 => Step::Say(say(3)),
        4 => Step::SayLong(say(1).remove(0)),
        5 => Step::Accept(format!("k{}", roll(4))),
        6 => Step::Journal(format!("p{number}")),
        _ => Step::Compact(format!("s{number}"), roll(4) as usize),
    });
    Script(steps.collect())
}
