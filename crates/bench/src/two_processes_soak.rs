//! Two real processes on one chat: a window of failing calls at every call of one of them, and a volume that fills
//! up below both.

use std::path::PathBuf;

use ship_testkit::shim::shim;
use ship_testkit::two_processes::{Sweep, SweepCounts, thin_volume};

/// Runs every window once. `None` without a C compiler.
///
/// # Errors
/// The cases that broke a promise, and how.
pub fn soak(seed: u64) -> Result<Option<SweepCounts>, String> {
    let ship = built_ship()?;
    let Some(shim) = shim() else { return Ok(None) };
    let sweep = Sweep::new(&ship, shim).map_err(|wrong| wrong.to_string())?;
    let counts = sweep.run_every_window(seed);
    counts.map(Some).map_err(|wrong| format!("two processes, seed {seed}: {wrong}"))
}

/// Fills up and extends a thin volume below both processes. `None` where none can be mounted.
///
/// # Errors
/// How a promise was broken.
pub fn soak_thin_volume() -> Result<Option<SweepCounts>, String> {
    thin_volume(&built_ship()?).map_err(|wrong| format!("a thin volume: {wrong}"))
}

/// The `ship` that was built beside this program.
fn built_ship() -> Result<PathBuf, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    Ok(program.with_file_name("ship"))
}
