//! Examples of the workspace, run as programs.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Builds an example and gives its program.
///
/// It is built now, because cargo builds examples for some ways of running tests and not for others, and an old program
/// would be judged in its place. It is built for the workspace, as `./check` does: built for its crate alone, its
/// dependencies would have fewer features and be compiled a second time.
///
/// # Panics
/// When it does not build.
pub fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let profile = test.parent().and_then(Path::parent).expect("target/<profile>/deps");
    let mut build = Command::new(env!("CARGO"));
    build.args(["build", "--quiet", "--workspace", "--example", name]);
    if profile.ends_with("release") {
        build.arg("--release");
    }
    let built = build.arg("--target-dir").arg(profile.parent().expect("target")).status().unwrap();
    assert!(built.success(), "the example `{name}` does not build");
    profile.join("examples").join(name)
}
