//! Running the tests of a crate, with more cases and other seeds than in `./check`.

use std::process::Command;

/// Runs one test file of a crate.
///
/// # Errors
/// What the test printed, when it failed.
pub(crate) fn run(package: &str, test: &str, settings: &[(&str, u64)]) -> Result<(), String> {
    let mut command = Command::new(env!("CARGO"));
    command
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["test", "--release", "--quiet", "--all-features", "-p", package, "--test", test])
        .envs(settings.iter().map(|(key, value)| (*key, value.to_string())));
    let output = command.output().map_err(|error| format!("cargo could not be run: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stdout);
    Err(format!("`{test}` of {package} failed with {settings:?}:\n{text}"))
}
