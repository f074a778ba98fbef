//! A shim around the file calls of a real process: the n-th goes wrong.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use sha2::{Digest, Sha256};

const SOURCE: &str = include_str!("../shim/faults.c");

/// Every function that changes a file, in the shim's own words.
pub const CHANGES: &str =
    "write,pwrite,writev,fdatasync,fsync,ftruncate,renameat,rename,linkat,link";

/// What goes wrong in a process, and when. `shim/faults.c` tells the words.
#[derive(Clone, Debug, Default)]
pub struct Fault<'a> {
    /// What happens; empty if nothing does and calls are only counted.
    pub what: &'a str,
    /// The first call that it happens to, counted from 1.
    pub at: usize,
    /// How many calls in a row fail.
    pub window: usize,
    /// Whether the process stops behind the window, until it is told to continue.
    pub then_stop: bool,
    /// The functions that count; empty if all do.
    pub only: &'a str,
}

impl Fault<'_> {
    /// Lets a process begin with this fault.
    pub fn put_into<'c>(&self, command: &'c mut Command, shim: &Path) -> &'c mut Command {
        command.env("LD_PRELOAD", shim).env("FAULT_DO", self.what);
        command.env("FAULT_AT", self.at.to_string());
        command.env("FAULT_WINDOW", self.window.max(1).to_string());
        if self.then_stop {
            command.env("FAULT_THEN", "stop");
        }
        if !self.only.is_empty() {
            command.env("FAULT_ONLY", self.only);
        }
        command
    }
}

/// How many calls a process has counted, if it has come to its end.
pub fn counted_calls(stderr: &str) -> Option<usize> {
    stderr.lines().find_map(|line| line.strip_prefix("CALLS ")?.parse().ok())
}

/// Compiles the shim once; `None`, and a word on standard error, if there is no C compiler.
///
/// # Panics
/// When the compiler refuses the source.
pub fn shim() -> Option<&'static Path> {
    static SHIM: OnceLock<Option<PathBuf>> = OnceLock::new();
    SHIM.get_or_init(|| compile("faults", SOURCE)).as_deref()
}

/// Compiles a library of C to preload. It stays beside the test program, under a name that says which source it was
/// made from.
pub(crate) fn compile(name: &str, source: &str) -> Option<PathBuf> {
    let digest = Sha256::digest(source.as_bytes());
    let name =
        format!("{name}-{:02x}{:02x}{:02x}{:02x}", digest[0], digest[1], digest[2], digest[3]);
    let program = std::env::current_exe().unwrap();
    let library = program.with_file_name(format!("{name}.so"));
    if library.is_file() {
        return Some(library);
    }
    let mine = program.with_file_name(format!("{name}-{}.tmp", std::process::id()));
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-O1", "-x", "c", "-", "-ldl", "-o"]).arg(&mine);
    match compiler.stdin(Stdio::piped()).spawn() {
        Ok(mut child) => {
            use std::io::Write as _;
            child.stdin.take().unwrap().write_all(source.as_bytes()).unwrap();
            assert!(child.wait().unwrap().success(), "the shim does not compile");
        }
        Err(error) => {
            eprintln!("skipped: there is no C compiler to make the shim with ({error})");
            return None;
        }
    }
    // Of two programs that compile at once, one replaces the other's library by the same.
    std::fs::rename(&mine, &library).unwrap();
    Some(library)
}
