//! Two real processes on one chat, with a window of failing calls at every call of one of them.

use ship_testkit::shim::shim;
use ship_testkit::two_processes::{Sweep, SweepCounts};

/// Runs every window once, with the `ship` that was built beside this program. `None` without a C compiler.
///
/// # Errors
/// The cases that broke a promise, and how.
pub fn soak(seed: u64) -> Result<Option<SweepCounts>, String> {
    let ship = std::env::current_exe().map_err(|error| error.to_string())?.with_file_name("ship");
    let Some(shim) = shim() else { return Ok(None) };
    let sweep = Sweep::new(&ship, shim).map_err(|wrong| wrong.to_string())?;
    let counts = sweep.run_every_window(seed);
    counts.map(Some).map_err(|wrong| format!("two processes, seed {seed}: {wrong}"))
}
