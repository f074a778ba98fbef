//! The message crate under long random runs: its own properties, and the npm package beside it.

use std::path::Path;
use std::time::Instant;

use crate::tests::{run, run_module};

/// What a run did.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Random cases compared with the npm package.
    pub npm_cases: u64,
    /// Random cases of our own properties.
    pub property_cases: u64,
}

const NPM_CASES: u64 = 5_000;
const NPM_KINDS: u64 = 4;
const PROPERTY_CASES: u64 = 20_000;
const PROPERTIES: u64 = 4;

/// Runs until `deadline`, at least once.
///
/// # Errors
/// The name of the part that failed, and the seed that makes it fail again.
pub fn soak(mut seed: u64, deadline: Instant) -> Result<Counts, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../message/tests/npm/node_modules/ai");
    let has_npm = folder.is_dir();
    let mut counts = Counts::default();
    loop {
        let settings = [("PROPTEST_CASES", PROPERTY_CASES), ("PROPTEST_RNG_SEED", seed)];
        run_module("ship-message", "robust", &settings)?;
        counts.property_cases += PROPERTY_CASES * PROPERTIES;
        if has_npm {
            // The oracle takes a seed of 32 bits, and a range of them.
            let first = seed % (1 << 31);
            run("ship-message", "npm", &[("SHIP_SEED", first), ("SHIP_CASES", NPM_CASES)])?;
            counts.npm_cases += NPM_CASES * NPM_KINDS;
        }
        seed = seed.wrapping_add(NPM_CASES);
        if Instant::now() >= deadline {
            return Ok(counts);
        }
    }
}
