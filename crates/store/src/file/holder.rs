//! Asks the system about the process that holds a right.

use std::fs;
use std::os::unix::fs::MetadataExt as _;

/// Whether a process of this machine is stopped, as by Ctrl-Z, and has `file` open (given by
/// device and inode number).
///
/// The pid of a process on another machine or in another container may belong to an unrelated process here, and a
/// system without `/proc` gives no answer. In both cases this returns false.
pub(super) fn is_stopped(pid: u32, file: (u64, u64)) -> bool {
    let state = fs::read_to_string(format!("/proc/{pid}/stat")).ok();
    let state = state.as_deref().and_then(process_state);
    matches!(state, Some('T' | 't')) && has_open(pid, file)
}

/// Returns the state of a process. Its name precedes the state in brackets and can contain brackets itself.
fn process_state(stat: &str) -> Option<char> {
    stat.rsplit_once(')')?.1.trim_start().chars().next()
}

fn has_open(pid: u32, file: (u64, u64)) -> bool {
    // The process may have ended, or belong to another account.
    let Ok(open) = fs::read_dir(format!("/proc/{pid}/fd")) else { return false };
    // A file may have been closed since the folder was listed.
    let is_file = |path| fs::metadata(path).is_ok_and(|it| (it.dev(), it.ino()) == file);
    open.flatten().any(|entry| is_file(entry.path()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_stands_behind_the_name_whatever_the_name_is() {
        assert_eq!(process_state("42 (ship) T 1 42"), Some('T'));
        assert_eq!(process_state("42 (a) R b) S 1 42"), Some('S'));
        assert_eq!(process_state(""), None);
    }
}
