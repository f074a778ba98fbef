//! Running the tests of a crate, with more cases and other seeds than in `./check`.

use std::process::Command;

/// The test files that a soak runs.
const RUN: [(&str, &str); 9] = [
    ("ship", "injuries"),
    ("ship-agent", "compaction"),
    ("ship-agent", "contexts"),
    ("ship-agent", "runs"),
    ("ship-store", "process"),
    ("ship-message", "robust"),
    ("ship-message", "npm"),
    ("ship-provider", "compile"),
    ("ship-provider", "npm"),
];

/// Builds what a soak runs, so that building does not use up its time.
///
/// # Errors
/// What the compiler said, when it failed.
pub fn build_tests() -> Result<(), String> {
    RUN.into_iter().try_for_each(|(package, test)| {
        cargo_test(package, test, &["--no-run"], &[])
            .map_err(|said| format!("`{test}` of {package} cannot be built:\n{said}"))
    })
}

/// Runs one test file of a crate.
///
/// # Errors
/// What the test printed, when it failed.
pub(crate) fn run(package: &str, test: &str, settings: &[(&str, u64)]) -> Result<(), String> {
    cargo_test(package, test, &[], settings)
        .map_err(|said| format!("`{test}` of {package} failed with {settings:?}:\n{said}"))
}

fn cargo_test(
    package: &str,
    test: &str,
    arguments: &[&str],
    settings: &[(&str, u64)],
) -> Result<(), String> {
    let mut command = Command::new(env!("CARGO"));
    command
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["test", "--release", "--quiet", "-p", package, "--test", test])
        .args(arguments)
        .envs(settings.iter().map(|(key, value)| (*key, value.to_string())));
    let output = command.output().map_err(|error| format!("cargo could not be run: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let [stdout, stderr] =
        [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    Err(format!("{stdout}{stderr}"))
}
