//! The message crate under long random runs: its own properties, and the npm package beside it.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

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
        run("robust", &[("PROPTEST_CASES", PROPERTY_CASES)])?;
        counts.property_cases += PROPERTY_CASES * PROPERTIES;
        if has_npm {
            // The oracle takes a seed of 32 bits, and a range of them.
            let first = seed % (1 << 31);
            run("npm", &[("SHIP_SEED", first), ("SHIP_CASES", NPM_CASES)])?;
            counts.npm_cases += NPM_CASES * NPM_KINDS;
            seed = seed.wrapping_add(NPM_CASES);
        }
        if Instant::now() >= deadline {
            return Ok(counts);
        }
    }
}

/// Runs one test file of the message crate.
fn run(test: &str, settings: &[(&str, u64)]) -> Result<(), String> {
    let mut command = Command::new(env!("CARGO"));
    command
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args([
            "test",
            "--release",
            "--quiet",
            "-p",
            "ship-message",
            "--features",
            "npm",
            "--test",
            test,
        ])
        .envs(settings.iter().map(|(key, value)| (*key, value.to_string())));
    let output = command.output().map_err(|error| format!("cargo could not be run: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stdout);
    Err(format!("`{test}` of ship-message failed with {settings:?}:\n{text}"))
}
