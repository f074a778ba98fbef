//! Every injury of every file of a chat, judged with the real program.

use crate::tests::run;

/// Inflicts all injuries once; the seed decides about the commands after each.
///
/// # Errors
/// What the test printed, and the seed that makes it fail again.
pub fn soak(seed: u64) -> Result<(), String> {
    // 0 is all of them.
    run("ship", "injuries", &[("INJURY_CASES", 0), ("INJURY_SEED", seed)])
}
