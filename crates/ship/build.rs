//! Tells the program its version, with the commit where one is known: `0.1.0 (2fd3729 2026-11-16)`.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let version = env!("CARGO_PKG_VERSION");
    match commit() {
        Some(commit) => println!("cargo::rustc-env=SHIP_VERSION={version} ({commit})"),
        None => println!("cargo::rustc-env=SHIP_VERSION={version}"),
    }
}

/// Returns the abbreviated hash and the date of the commit that is built. `None` without git, and where this source
/// is not of a repository of its own: the unpacked sources of a release may lie in a repository of something else.
fn commit() -> Option<String> {
    git(&["ls-files", "--error-unmatch", "build.rs"])?;
    let commit = git(&["log", "-1", "--abbrev=7", "--format=%h %cs"])?;
    watch(&git(&["rev-parse", "--git-path", "HEAD"])?);
    if let Some(branch) = git(&["symbolic-ref", "--quiet", "HEAD"]) {
        watch_branch(&branch)?;
    }
    Some(commit)
}

/// Asks for another run when the branch moves. A branch without a file of its own is in `packed-refs`, and gets its
/// file with the next commit, in the folder that is watched.
fn watch_branch(branch: &str) -> Option<()> {
    let file = git(&["rev-parse", "--git-path", branch])?;
    if Path::new(&file).exists() {
        watch(&file);
        return Some(());
    }
    watch(&git(&["rev-parse", "--git-path", "packed-refs"])?);
    let folder = Path::new(&file).ancestors().skip(1).find(|folder| folder.exists())?;
    watch(&folder.to_string_lossy());
    Some(())
}

/// Asks for another run when a file changes. One that is missing would make every build stale.
fn watch(file: &str) {
    if Path::new(file).exists() {
        println!("cargo::rerun-if-changed={file}");
    }
}

/// Returns the output of git, or `None` if it fails or is not there.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
