//! A project in a folder of its own, and the real `ship` in it, within limits.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, prlimit};
use ship_message::json::Json;

/// The processor time that a command may use: what is promised, and a guard against endless loops in a debug build.
const CPU_SECONDS: u64 = if cfg!(debug_assertions) { 20 } else { 2 };
/// How long a command may take on a busy machine before it counts as hanging.
const WALL: Duration = Duration::from_secs(60);

/// A project folder beside an empty home.
pub(crate) struct Project {
    folder: tempfile::TempDir,
}

impl Project {
    pub(crate) fn new() -> Self {
        let memory = Path::new("/dev/shm");
        let folder = if memory.is_dir() {
            tempfile::tempdir_in(memory).unwrap()
        } else {
            tempfile::tempdir().unwrap()
        };
        for name in ["home", "project"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        Self { folder }
    }

    /// Makes a copy in another folder.
    pub(crate) fn copy(&self) -> Self {
        let copy = Self::new();
        copy_folder(&self.root(), &copy.root());
        copy
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    /// Returns where a file of the store is, by its path below `.ship`.
    pub(crate) fn path(&self, file: &str) -> PathBuf {
        self.root().join(".ship").join(file)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.root().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Runs a command to its end, with `input` on its standard input.
    pub(crate) fn run(&self, arguments: &[&str], input: &str) -> Ran {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ship"));
        command.args(arguments).current_dir(self.root()).env_clear();
        command.env("HOME", self.folder.path().join("home"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let pid = Pid::from_child(&child);
        let limit = Rlimit { current: Some(CPU_SECONDS), maximum: Some(CPU_SECONDS + 1) };
        // A command that has ended already needs no limit.
        let _ = prlimit(Some(pid), Resource::Cpu, limit);
        let mut stdin = child.stdin.take().unwrap();
        // A command that does not read its input need not.
        let _ = stdin.write_all(input.as_bytes());
        drop(stdin);
        let (ended, end) = channel::<()>();
        let guard = std::thread::spawn(move || {
            let hangs = end.recv_timeout(WALL) == Err(RecvTimeoutError::Timeout);
            if hangs {
                let _ = kill_process(pid, Signal::KILL);
            }
            hangs
        });
        let output = child.wait_with_output().unwrap();
        drop(ended);
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Ran {
            name: arguments.iter().map(|word| word.chars().take(40).collect::<String>()).collect(),
            code: output.status.code(),
            hung: guard.join().unwrap(),
            out: text(output.stdout),
            err: text(output.stderr),
        }
    }

    /// Runs a command that must succeed.
    #[track_caller]
    pub(crate) fn done(&self, arguments: &[&str]) -> String {
        let ran = self.run(arguments, "");
        assert_eq!(ran.code, Some(0), "{ran}");
        ran.out
    }

    /// Returns every file below `.ship` but the logs of the program, by its path there, with its bytes.
    pub(crate) fn files(&self) -> Vec<(String, Vec<u8>)> {
        let mut files = Vec::new();
        let root = self.root().join(".ship");
        gather(&root, &root, &mut files);
        files.retain(|(name, _)| !name.starts_with("logs/"));
        files.sort();
        files
    }
}

fn gather(root: &Path, folder: &Path, files: &mut Vec<(String, Vec<u8>)>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            gather(root, &entry.path(), files);
        } else if kind.is_file() {
            let name = entry.path().strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            files.push((name, std::fs::read(entry.path()).unwrap()));
        }
    }
}

fn copy_folder(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            std::fs::create_dir(&target).unwrap();
            copy_folder(&path, &target);
        } else if kind.is_symlink() {
            std::os::unix::fs::symlink(std::fs::read_link(path).unwrap(), target).unwrap();
        } else {
            std::fs::copy(path, target).unwrap();
        }
    }
}

/// A command that ended.
#[must_use]
pub(crate) struct Ran {
    name: Vec<String>,
    /// The exit code; none when a signal ended it.
    pub(crate) code: Option<i32>,
    /// Whether it had to be killed because it hung.
    hung: bool,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    /// Says how it ended, unless it ended by itself within its limits and without a panic.
    pub(crate) fn bad_end(&self) -> Option<String> {
        if self.hung {
            return Some(format!("{self} hung for {} s", WALL.as_secs()));
        }
        match self.code {
            None => Some(format!("{self} was ended by a signal (over {CPU_SECONDS} s CPU?)")),
            Some(0..=2) if !self.err.contains("panicked") => None,
            Some(_) => Some(format!("{self} panicked or ended with an unknown code")),
        }
    }

    /// The error and its hint, of a command that was run with `--json` or failed in words.
    pub(crate) fn error(&self) -> Refusal {
        let said = |error: &Json, key: &str| {
            error.get(key).and_then(Json::as_str).unwrap_or_default().to_owned()
        };
        let last = self.out.lines().last().and_then(|line| Json::parse(line).ok());
        if let Some(error) = last.as_ref().and_then(|json| json.get("error")) {
            let [code, message, hint] = ["code", "message", "hint"].map(|key| said(error, key));
            return Refusal { code, message, hint };
        }
        let hint = self.err.split_once("hint:").map_or("", |(_, hint)| hint);
        let one_line = hint.split_whitespace().collect::<Vec<_>>().join(" ");
        Refusal { code: String::new(), message: self.err.clone(), hint: one_line }
    }
}

impl std::fmt::Display for Ran {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let cut = |text: &str| text.trim_end().chars().take(700).collect::<String>();
        write!(f, "`ship {}` ({:?}) said {:?}", self.name.join(" "), self.code, cut(&self.out))?;
        write!(f, " and {:?}", cut(&self.err))
    }
}

/// What a command refused with.
pub(crate) struct Refusal {
    code: String,
    message: String,
    pub(crate) hint: String,
}

impl Refusal {
    /// Whether it is an answer: the context is clean already, its originals were purged when it was compacted, or its
    /// only log is gone, which a copy alone can bring back.
    pub(crate) fn is_ordinary(&self) -> bool {
        let names_a_file = ["damage", ".jsonl", ".json", "sealed", "cannot be read"];
        let names_none = !names_a_file.iter().any(|word| self.message.contains(word));
        let is_gone = self.hint.contains("restore it from a copy, or go on without it");
        self.code == "purged" || (self.code == "not_done" && (names_none || is_gone))
    }
}
