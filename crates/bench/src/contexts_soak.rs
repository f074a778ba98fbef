//! Contexts under long random lives: operations by people and models, compactions, kills and restarts. Then runs,
//! switches and compactions that are killed at other calls to the disk than in `./check`, leases that run out at others,
//! and searches in chats with lives of their own.

use std::time::Instant;

use crate::tests::run_module;

/// What a run did.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Random lives of a chat.
    pub lives: u64,
}

const LIVES: u64 = 500;

/// Runs until `deadline`, at least once.
///
/// # Errors
/// What the test printed, and the seed that makes it fail again.
pub fn soak(mut seed: u64, deadline: Instant) -> Result<Counts, String> {
    let mut counts = Counts::default();
    loop {
        let kills = ("SHIP_SEED", seed);
        let settings = [("PROPTEST_CASES", LIVES), ("PROPTEST_RNG_SEED", seed), kills];
        run_module("ship-agent", "contexts", &settings)?;
        run_module("ship-agent", "compaction", &[kills])?;
        run_module("ship-agent", "runs", &[kills])?;
        run_module("ship-agent", "leases", &[kills])?;
        run_module("ship-agent", "search", &[kills])?;
        counts.lives += LIVES;
        seed = seed.wrapping_add(1);
        if Instant::now() >= deadline {
            return Ok(counts);
        }
    }
}
