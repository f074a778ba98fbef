//! A project folder, an empty home, and the real `ship` in them.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};

use ship_message::json::Json;
use ship_store::{FileStore, LogPiece, Rotation, Store as _, StoreOptions};
use ship_testkit::terminal::Terminal;

/// A fresh machine with one project on it.
pub(crate) struct TestShip {
    folder: tempfile::TempDir,
    environment: Vec<(String, String)>,
}

impl TestShip {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["home", "project"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        Self { folder, environment: Vec::new() }
    }

    /// One with this ship.json.
    pub(crate) fn with_settings(text: &str) -> Self {
        Self::new().file("ship.json", text)
    }

    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Writes a file of the project.
    pub(crate) fn file(self, name: &str, text: &str) -> Self {
        self.write(name, text);
        self
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.root().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ship"));
        command.args(arguments).current_dir(self.root()).env_clear().env("HOME", self.home());
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs a command to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        Ran(self.command(arguments).output().unwrap())
    }

    /// Runs a command that reads this.
    pub(crate) fn piped(&self, arguments: &[&str], input: impl AsRef<[u8]>) -> Ran {
        let mut child = self.command(arguments).stdin(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // Who does not want to read it all need not.
        let _ = stdin.write_all(input.as_ref());
        drop(stdin);
        Ran(child.wait_with_output().unwrap())
    }

    /// Starts a command and leaves it running.
    pub(crate) fn start(&self, arguments: &[&str]) -> Running {
        let mut command = self.command(arguments);
        // Other commands than a chat would read a pipe to its end.
        if arguments == ["chat"] {
            command.stdin(Stdio::piped());
        }
        let mut child = command.spawn().unwrap();
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Running { child, stdin, stdout }
    }

    /// Starts a command in a terminal of this width.
    pub(crate) fn terminal(&self, columns: u16, arguments: &[&str]) -> Terminal {
        Terminal::open(self.command(arguments), columns)
    }

    /// The messages of the chat, as `(role, text)`.
    pub(crate) fn said(&self) -> Vec<(String, String)> {
        let lines = self.run(&["history", "--json", "--last", "1000"]).json_lines();
        lines.iter().map(|message| (text(message, "role"), message_text(message))).collect()
    }

    /// Seals the active log, and keeps the last of its messages in the new one.
    pub(crate) fn seal(&self, keep: usize) {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async {
            let store = FileStore::new(&self.root(), StoreOptions::default()).unwrap();
            let chat = store.open(&"terminal:main".parse().unwrap()).await.unwrap().unwrap();
            let view = chat.log().view().await.unwrap().unwrap();
            let first_kept = view.lines[view.lines.len() - keep].seq;
            let rotation = Rotation {
                expected: Some(view.position.generation),
                head: view.head,
                pieces: vec![LogPiece::KeepFrom(first_kept)],
            };
            chat.lane("a test").await.unwrap().rotate(rotation).await.unwrap();
        });
    }

    /// All that stands in files below a folder of the project, names included.
    pub(crate) fn contents(&self, folder: &str) -> String {
        let mut found = String::new();
        gather(&self.root().join(folder), &mut found);
        found
    }
}

fn gather(path: &Path, found: &mut String) {
    if path.is_dir() {
        let mut entries: Vec<PathBuf> =
            std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
        entries.sort();
        entries.iter().for_each(|entry| gather(entry, found));
    } else if let Ok(bytes) = std::fs::read(path) {
        found.push_str(&format!("{}\n{}", path.display(), String::from_utf8_lossy(&bytes)));
    }
}

/// A command that ended.
#[must_use = "look at what it said, or that it succeeded"]
pub(crate) struct Ran(pub(crate) Output);

impl Ran {
    pub(crate) fn code(&self) -> i32 {
        self.0.status.code().expect("it ended by itself")
    }

    pub(crate) fn out(&self) -> String {
        String::from_utf8(self.0.stdout.clone()).unwrap()
    }

    pub(crate) fn err(&self) -> String {
        String::from_utf8(self.0.stderr.clone()).unwrap()
    }

    /// What it printed, having succeeded.
    #[track_caller]
    pub(crate) fn text(&self) -> String {
        assert_eq!(self.code(), 0, "stdout: {}\nstderr: {}", self.out(), self.err());
        self.out()
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Json {
        Json::parse(self.text().trim_end()).expect("one JSON value")
    }

    #[track_caller]
    pub(crate) fn json_lines(&self) -> Vec<Json> {
        self.text().lines().map(|line| Json::parse(line).expect("a JSON value a line")).collect()
    }

    /// The error that `--json` gave, having failed.
    #[track_caller]
    pub(crate) fn error(&self) -> Json {
        self.error_with(1)
    }

    /// The error that `--json` gave, having failed with this code.
    #[track_caller]
    pub(crate) fn error_with(&self, code: i32) -> Json {
        assert_eq!(self.code(), code, "stdout: {}\nstderr: {}", self.out(), self.err());
        let printed = Json::parse(self.out().trim_end()).expect("one JSON value");
        // An unfinished answer stands before it.
        assert_eq!(keys(&printed).last().map(String::as_str), Some("error"));
        let error = printed.get("error").unwrap().clone();
        assert_eq!(keys(&error), ["code", "message", "hint"]);
        error
    }

    /// What it complained of, having failed with 1.
    #[track_caller]
    pub(crate) fn complaint(&self) -> String {
        self.complaint_with(1)
    }

    /// What it complained of, having failed with this code.
    #[track_caller]
    pub(crate) fn complaint_with(&self, code: i32) -> String {
        assert_eq!(self.code(), code, "stdout: {}\nstderr: {}", self.out(), self.err());
        self.err()
    }
}

/// A command that goes on. Dropped, it is killed.
pub(crate) struct Running {
    pub(crate) child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl Running {
    pub(crate) fn say(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    /// Reads on until `wanted` has been printed, and not further.
    #[track_caller]
    pub(crate) fn until(&mut self, wanted: &str) -> String {
        let mut read = Vec::new();
        while !read.ends_with(wanted.as_bytes()) {
            let mut byte = [0];
            let end = self.stdout.read(&mut byte).unwrap() == 0;
            assert!(!end, "it ended without {wanted:?}: {}", String::from_utf8_lossy(&read));
            read.push(byte[0]);
        }
        String::from_utf8_lossy(&read).into_owned()
    }

    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        line
    }

    /// Ends its input and reads the rest.
    #[track_caller]
    pub(crate) fn finish(self) -> String {
        self.ended().text()
    }

    /// Presses Ctrl-C.
    pub(crate) fn press_ctrl_c(&self) {
        self.signal("INT");
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, name: &str) {
        let kill = format!("kill -{name} {}", self.pid());
        assert!(Command::new("/bin/sh").args(["-c", &kill]).status().unwrap().success());
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What the system says it does: `R` it runs, `S` it sleeps, `T` it is stopped.
    pub(crate) fn state(&self) -> char {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.pid())).unwrap();
        stat.rsplit_once(") ").unwrap().1.chars().next().unwrap()
    }

    /// Presses Ctrl-C, and gives how it ended and what it had printed.
    pub(crate) fn interrupt(self) -> Ran {
        self.press_ctrl_c();
        self.read_out()
    }

    /// Ends its input, waits until it ends, and gives what it has printed.
    pub(crate) fn ended(mut self) -> Ran {
        drop(self.stdin.take());
        self.read_out()
    }

    fn read_out(mut self) -> Ran {
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        self.stdout.read_to_end(&mut stdout).unwrap();
        self.child.stderr.take().unwrap().read_to_end(&mut stderr).unwrap();
        Ran(Output { status: self.child.wait().unwrap(), stdout, stderr })
    }

    /// Kills it as `kill -9` does.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // One that has ended cannot be killed, and need not be.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn keys(json: &Json) -> Vec<String> {
    json.as_object().expect("an object").keys().map(str::to_owned).collect()
}

pub(crate) fn text(json: &Json, key: &str) -> String {
    json.get(key).and_then(Json::as_str).unwrap_or_default().to_owned()
}

pub(crate) fn number(json: &Json, key: &str) -> u64 {
    json.get(key).and_then(Json::as_u64).unwrap_or_else(|| panic!("no number `{key}` in {json}"))
}

pub(crate) fn array<'a>(json: &'a Json, key: &str) -> &'a [Json] {
    json.get(key).and_then(Json::as_array).unwrap_or_else(|| panic!("no array `{key}` in {json}"))
}

/// The text parts of a message.
pub(crate) fn message_text(message: &Json) -> String {
    array(message, "parts").iter().map(|part| text(part, "text")).collect()
}

/// What the offline model makes of a message.
pub(crate) fn echo(text: &str) -> String {
    format!(
        "I am the offline model, a small stand-in without a language model. You said: {}",
        text.trim()
    )
}

/// Pairs of role and text, to compare with [`TestShip::said`].
pub(crate) fn talk(lines: &[(&str, &str)]) -> Vec<(String, String)> {
    lines.iter().map(|(role, text)| ((*role).to_owned(), (*text).to_owned())).collect()
}
