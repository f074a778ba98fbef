//! The request compiler under long random runs: histories whose requests are judged, and requests that the npm
//! packages write as well.

use std::path::Path;
use std::time::Instant;

use crate::tests::{run, run_module};

/// What a run did.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Random histories whose requests were judged, in both formats.
    pub histories: u64,
    /// Random requests compared with the npm packages.
    pub npm_cases: u64,
}

const HISTORIES: u64 = 25_000;
const NPM_CASES: u64 = 3_000;
/// The turns of the talk with a host of which nothing is configured.
const TURNS: u64 = 300;

/// Runs until `deadline`, at least once.
///
/// # Errors
/// The name of the part that failed, and the seed that makes it fail again.
pub fn soak(mut seed: u64, deadline: Instant) -> Result<Counts, String> {
    let folder =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../provider/tests/npm/node_modules/ai");
    let has_npm = folder.is_dir();
    let mut counts = Counts::default();
    run_module("ship-agent", "hosts", &[("SHIP_CASES", TURNS)])?;
    loop {
        run_module("ship-provider", "compile", &[("SHIP_SEED", seed), ("SHIP_CASES", HISTORIES)])?;
        counts.histories += HISTORIES;
        if has_npm {
            // The oracle takes a seed of 32 bits, and a range of them.
            let first = seed % (1 << 31);
            run("ship-provider", "npm", &[("SHIP_SEED", first), ("SHIP_CASES", NPM_CASES)])?;
            counts.npm_cases += NPM_CASES;
        }
        seed = seed.wrapping_add(HISTORIES);
        if Instant::now() >= deadline {
            return Ok(counts);
        }
    }
}
