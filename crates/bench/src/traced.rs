//! The system calls of a command, as `strace` sees them.

use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

/// The calls of a command that has ended well.
pub(crate) struct Trace {
    lines: Vec<String>,
}

impl Trace {
    /// Runs a command and notes the calls of all its threads; `None` if `strace` is missing or not allowed here.
    pub(crate) fn of(command: &Command) -> io::Result<Option<Self>> {
        Self::during(command, |mut traced| {
            let ended = traced.stdin(Stdio::null()).stdout(Stdio::null()).status()?;
            if ended.success() { Ok(()) } else { Err(io::Error::other(format!("{ended}"))) }
        })
    }

    /// Notes the calls of a command while it is run to its end; `None` if `strace` is missing or not allowed here.
    pub(crate) fn during(
        command: &Command,
        run: impl FnOnce(Command) -> io::Result<()>,
    ) -> io::Result<Option<Self>> {
        if !is_there() {
            return Ok(None);
        }
        let notes = tempfile::tempdir()?;
        let mut traced = Command::new("strace");
        // A file for each thread, so that no call is noted in two halves. The files behind numbers are named.
        traced.args(["-ff", "-y", "-s0", "-o"]).arg(notes.path().join("calls"));
        traced.arg(command.get_program()).args(command.get_args());
        traced.current_dir(command.get_current_dir().unwrap_or(Path::new("."))).env_clear();
        traced.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
        traced.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        run(traced).map_err(|error| io::Error::other(format!("a traced command: {error}")))?;
        let mut lines = Vec::new();
        for thread in fs::read_dir(notes.path())? {
            lines.extend(fs::read_to_string(thread?.path())?.lines().map(str::to_owned));
        }
        Ok(Some(Self { lines }))
    }

    /// The number of all calls.
    pub(crate) fn calls(&self) -> usize {
        self.lines.iter().filter(|line| line.contains('(')).count()
    }

    /// The number of syncs of files and folders.
    pub(crate) fn syncs(&self) -> usize {
        self.calls_of(&["fsync", "fdatasync"]).count()
    }

    /// The bytes that were read of files whose path ends like this.
    pub(crate) fn bytes_read_of(&self, path: &str) -> u64 {
        let file = format!("{path}>");
        self.bytes_read(|line| line.contains(&file))
    }

    /// The bytes that were read of files in a folder.
    pub(crate) fn bytes_read_below(&self, folder: &Path) -> u64 {
        let below = format!("<{}/", folder.display());
        self.bytes_read(|line| line.contains(&below))
    }

    fn bytes_read(&self, is_counted: impl Fn(&str) -> bool) -> u64 {
        let reads = self.calls_of(&["read", "pread64"]).filter(|line| is_counted(line));
        reads.filter_map(|line| line.rsplit_once("= ")?.1.trim().parse::<u64>().ok()).sum()
    }

    fn calls_of<'a>(&'a self, names: &'a [&str]) -> impl Iterator<Item = &'a String> {
        self.lines.iter().filter(move |line| {
            line.split_once('(').is_some_and(|(called, _)| names.contains(&called))
        })
    }
}

/// Whether anything can be traced here.
fn is_there() -> bool {
    let mut trial = Command::new("strace");
    trial.args(["-o", "/dev/null", "true"]).stdout(Stdio::null()).stderr(Stdio::null());
    trial.status().is_ok_and(|ended| ended.success())
}
