//! Running the tests of a crate, with more cases and other seeds than in `./check`.

use std::process::Command;

/// The test programs that a soak runs.
const PROGRAMS: [(&str, &str); 8] = [
    ("ship", "injuries"),
    ("ship-agent", "all"),
    ("ship-store", "all"),
    ("ship-store", "process"),
    ("ship-message", "all"),
    ("ship-message", "npm"),
    ("ship-provider", "all"),
    ("ship-provider", "npm"),
];

/// Builds what a soak runs, so that building does not use up its time.
///
/// # Errors
/// What the compiler said, when it failed.
pub fn build_tests() -> Result<(), String> {
    PROGRAMS.into_iter().try_for_each(|(package, program)| {
        cargo_test(package, program, &["--no-run"], &[])
            .map_err(|said| format!("`{program}` of {package} cannot be built:\n{said}"))
    })
}

/// Runs one test program of a crate.
///
/// # Errors
/// What the tests printed, when one failed.
pub(crate) fn run(package: &str, program: &str, settings: &[(&str, u64)]) -> Result<(), String> {
    cargo_test(package, program, &[], settings)
        .map_err(|said| format!("`{program}` of {package} failed with {settings:?}:\n{said}"))
}

/// Runs one module of the tests that a crate has in one program.
///
/// # Errors
/// What the tests printed, when one failed.
pub(crate) fn run_module(
    package: &str,
    module: &str,
    settings: &[(&str, u64)],
) -> Result<(), String> {
    cargo_test(package, "all", &[&format!("{module}::")], settings)
        .map_err(|said| format!("`{module}` of {package} failed with {settings:?}:\n{said}"))
}

fn cargo_test(
    package: &str,
    program: &str,
    arguments: &[&str],
    settings: &[(&str, u64)],
) -> Result<(), String> {
    let mut command = Command::new(env!("CARGO"));
    command
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["test", "--release", "--quiet", "-p", package, "--test", program])
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
