//! A project folder with one chat, and the `ship` that is run in it.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::fs::FlockOperation;
use tempfile::TempDir;

use super::ship_process::ShipProcess;
use crate::shim::{CHANGES, Fault};

/// Compacts whatever is older than two messages, and waits for the other process long enough on any machine.
const SETTINGS: &str = r#"{"lock":{"waitMs":15000},"context":{"history":{"keepLastMessages":2}}}"#;

/// A project folder.
pub(super) struct TestProject {
    ship: PathBuf,
    root: PathBuf,
    outputs: PathBuf,
    started: AtomicUsize,
    /// `None` if it is the caller's, or is to be kept.
    folder: Option<TempDir>,
}

impl TestProject {
    /// Makes an empty project for the program `ship`, in memory where that is possible: what a failing call leaves does
    /// not depend on the disk.
    pub(super) fn new(ship: &Path) -> Self {
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let root = folder.path().join("project");
        fs::create_dir(&root).unwrap();
        let outputs = folder.path().to_owned();
        Self { folder: Some(folder), ..Self::at(ship, root, outputs) }
    }

    /// Makes an empty project in a folder of the caller. What its processes print goes to another folder.
    pub(super) fn at(ship: &Path, root: PathBuf, outputs: PathBuf) -> Self {
        fs::write(root.join("ship.json"), SETTINGS).unwrap();
        let started = AtomicUsize::new(0);
        Self { ship: ship.to_owned(), root, outputs, started, folder: None }
    }

    /// Makes a project with the files of this one.
    pub(super) fn copied(&self) -> Self {
        let copy = Self::new(&self.ship);
        copy_folder(&self.root, &copy.root);
        copy
    }

    /// Leaves the project on disk for good. Returns its folder.
    pub(super) fn keep(&mut self) -> &Path {
        self.folder.take().map(TempDir::keep);
        &self.outputs
    }

    /// The folder of the only chat.
    pub(super) fn chat_folder(&self) -> PathBuf {
        self.root.join(".ship/chat/terminal%3Amain")
    }

    /// Starts `ship` with these arguments.
    pub(super) fn start(
        &self,
        arguments: &[&str],
        fault: Option<(&Fault<'_>, &Path)>,
    ) -> ShipProcess {
        let number = self.started.fetch_add(1, Ordering::Relaxed);
        let [stdout, stderr] =
            ["out", "err"].map(|end| self.outputs.join(format!("{number}.{end}")));
        let mut command = Command::new(&self.ship);
        command.args(arguments).current_dir(&self.root).env_clear().env("HOME", &self.outputs);
        // Other commands than a chat would read a pipe to its end.
        let is_chat = arguments.contains(&"chat");
        command.stdin(if is_chat { Stdio::piped() } else { Stdio::null() });
        command.stdout(File::create(&stdout).unwrap()).stderr(File::create(&stderr).unwrap());
        if let Some((fault, shim)) = fault {
            Fault { only: CHANGES, ..fault.clone() }.put_into(&mut command, shim);
        }
        let words = format!("`ship {}`", arguments.join(" "));
        ShipProcess::new(words, command.spawn().unwrap(), stdout, stderr, fault.is_some())
    }

    /// Whether a process holds one of the chat's two rights: `lock` or `lane`.
    pub(super) fn is_held(&self, right: &str) -> bool {
        let Ok(file) = File::open(self.chat_folder().join(right)) else { return false };
        rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_err()
    }

    /// Whether the live ledger has this text.
    pub(super) fn is_accepted(&self, text: &str) -> bool {
        let ledger = fs::read_to_string(self.chat_folder().join("conversations/history.jsonl"));
        ledger.is_ok_and(|ledger| ledger.contains(&format!("\"text\":\"{text}\"")))
    }
}

fn copy_folder(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap() {
        let (path, target) = (entry.as_ref().unwrap().path(), to.join(entry.unwrap().file_name()));
        let kind = fs::symlink_metadata(&path).unwrap().file_type();
        if kind.is_dir() {
            fs::create_dir_all(&target).unwrap();
            copy_folder(&path, &target);
        } else if kind.is_symlink() {
            symlink(fs::read_link(&path).unwrap(), &target).unwrap();
        } else {
            fs::copy(&path, &target).unwrap();
        }
    }
}
