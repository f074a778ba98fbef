//! Counts the allocations of a real process.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::shim::compile;

const SOURCE: &str = include_str!("../shim/allocations.c");

/// Lets a process count its allocations. Returns false if there is no C compiler, or no glibc.
///
/// # Panics
/// When the compiler refuses the source.
pub fn count_in(command: &mut Command) -> bool {
    static COUNTER: OnceLock<Option<PathBuf>> = OnceLock::new();
    let has_glibc = cfg!(all(target_os = "linux", target_env = "gnu"));
    let counter =
        COUNTER.get_or_init(|| has_glibc.then(|| compile("allocations", SOURCE)).flatten());
    let Some(counter) = counter.as_deref() else { return false };
    command.env("LD_PRELOAD", counter as &Path);
    true
}

/// Returns the allocations that a process has counted, if it has come to its end.
pub fn counted(stderr: &str) -> Option<u64> {
    stderr.lines().find_map(|line| line.strip_prefix("ALLOCATIONS ")?.parse().ok())
}
