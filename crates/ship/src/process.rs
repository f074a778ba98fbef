//! Prepares the process before a command begins.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::process::Signal;
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{SignalKind, signal};

use crate::failure::Failure;

/// The number of files that a command may have open at once, besides the three standard streams.
const OPEN_FILES: usize = 16;

/// The threads of a runtime, besides those on which work may block.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum RuntimeThreads {
    /// For a command that does one thing: more threads would only make its start longer.
    One,
    /// For a program that goes on while something large is counted or written.
    Several,
}

/// The most threads: they wait for the disk and for models, and what computes for long has threads of its own.
const THREADS_MAX: usize = 4;

/// The most threads on which work may block. Some of them wait: for the keyboard, or for a file that another process has
/// locked, and those must not hold up the others. Each has a share of the allocator's memory.
const BLOCKING_THREADS_MAX: usize = 64;

/// The tasks that run between two looks at timers and files. A look costs little, and what is due waits for so many.
const POLLS_BETWEEN_EVENTS: u32 = 3;

/// Builds the runtime of a command, in a process that has the resources for it.
pub(crate) fn runtime(threads: RuntimeThreads) -> Result<Runtime, Failure> {
    check_open_files()?;
    let mut builder = match threads {
        RuntimeThreads::One => Builder::new_current_thread(),
        RuntimeThreads::Several => Builder::new_multi_thread(),
    };
    if threads == RuntimeThreads::Several {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        builder.worker_threads(processors.min(THREADS_MAX));
        builder.max_blocking_threads(BLOCKING_THREADS_MAX);
        builder.event_interval(POLLS_BETWEEN_EVENTS);
    }
    let runtime = builder.enable_all().build();
    let runtime = runtime.map_err(|error| {
        Failure::new("system", format!("the system does not let ship begin: {error}"))
    })?;
    survive_file_size_limit(&runtime)?;
    Ok(runtime)
}

/// Refuses to begin if too few files can be opened. The runtime would panic, and an agent would miss those of its
/// texts that could not be opened.
fn check_open_files() -> Result<(), Failure> {
    let stdin = io::stdin();
    let opened: Vec<OwnedFd> =
        (0..OPEN_FILES).map_while(|_| stdin.as_fd().try_clone_to_owned().ok()).collect();
    if opened.len() == OPEN_FILES {
        return Ok(());
    }
    Err(too_few_files(opened.len()))
}

fn too_few_files(left: usize) -> Failure {
    let files = match left {
        0 => "no more files".to_owned(),
        1 => "only 1 more file".to_owned(),
        _ => format!("only {left} more files"),
    };
    let message = format!("{files} can be opened at once, but ship needs {OPEN_FILES}");
    Failure::new("open_files", message).with_hint("raise the limit with `ulimit -n 256`")
}

/// Makes a write beyond the file size limit fail. Without a handler, the signal would end the process.
fn survive_file_size_limit(runtime: &Runtime) -> Result<(), Failure> {
    let _inside = runtime.enter();
    let kind = SignalKind::from_raw(Signal::XFSZ.as_raw());
    // The handler stays installed when its stream is dropped.
    signal(kind).map(drop).map_err(|error| Failure::from_other("system", &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_files_and_the_word_agree() {
        for (left, wanted) in
            [(0, "no more files can"), (1, "only 1 more file can"), (2, "only 2 more files can")]
        {
            let failure = too_few_files(left);
            assert_eq!(failure.code, "open_files");
            assert!(failure.sentence().starts_with(wanted), "{failure:?}");
        }
    }
}
