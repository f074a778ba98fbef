//! Starts real hosts of a small model: a llama.cpp server, and a LiteLLM proxy in front of one.
//!
//! The hosts log every request that they refuse, and these lines are counted: a client that repeats a refused request
//! in another form cannot hide it.

use std::fs::{self, File};
use std::io;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// The scripts and settings of the hosts.
const FILES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/real_model");

/// A busy machine takes a while to import LiteLLM.
const START_MAX: Duration = Duration::from_secs(180);

/// The programs that real chats need, and a folder for chats and logs.
pub(crate) struct RealSetup {
    programs: PathBuf,
    /// The `ship` that was built beside this program.
    pub(crate) ship: PathBuf,
    folder: TempDir,
}

impl RealSetup {
    /// Finds the programs. `None` where `./soak` could not install the model and its hosts.
    pub(crate) fn find() -> io::Result<Option<Self>> {
        let ship = crate::ship::built().ok_or(io::ErrorKind::NotFound)?;
        let installed = ship.parent().and_then(Path::parent).map(|it| it.join("real-model"));
        let Some(installed) = installed.filter(|it| it.join("installed").is_file()) else {
            return Ok(None);
        };
        Ok(Some(Self { programs: installed.join("bin"), ship, folder: tempfile::tempdir()? }))
    }

    /// Returns the path of a chat or a log.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Passes a result on, and keeps the folder of a failure.
    pub(crate) fn finish<T>(self, result: io::Result<T>) -> Result<T, String> {
        result.map_err(|wrong| {
            format!("{wrong}\nThe chats and logs are in {}", self.folder.keep().display())
        })
    }
}

/// A host that runs until it is dropped.
pub(crate) struct Host {
    process: Child,
    log: PathBuf,
    /// The address for `llm.baseUrl`.
    pub(crate) url: String,
    is_refusal: fn(&str) -> bool,
}

impl Host {
    /// Starts a llama.cpp server with the model's own template, or with another one.
    pub(crate) fn llama(setup: &RealSetup, seed: u64, template: Option<&str>) -> io::Result<Self> {
        let port = free_port()?;
        let mut command = Command::new(setup.programs.join("python"));
        command.arg(format!("{FILES}/serve.py")).args([port.to_string(), seed.to_string()]);
        command.args(template.map(|name| format!("{FILES}/{name}")));
        Self::start(command, setup.path("llama.log"), port, |line| {
            line.contains("got exception: {")
        })
    }

    /// Starts a LiteLLM proxy in front of another host.
    pub(crate) fn litellm(setup: &RealSetup, behind: &Self) -> io::Result<Self> {
        let port = free_port()?;
        let mut command = Command::new(setup.programs.join("litellm"));
        command.args(["--config", &format!("{FILES}/litellm.yaml"), "--host", "127.0.0.1"]);
        command.args(["--port", &port.to_string(), "--telemetry", "False"]);
        command.env("MODEL_URL", &behind.url).env("LITELLM_LOCAL_MODEL_COST_MAP", "True");
        Self::start(command, setup.path("litellm.log"), port, |line| {
            line.contains("POST /v1/chat/completions") && !line.contains("\" 200")
        })
    }

    /// Starts a host, and waits until it listens.
    #[expect(clippy::disallowed_methods, reason = "the log of a host is read until it says so")]
    fn start(
        mut command: Command,
        log: PathBuf,
        port: u16,
        is_refusal: fn(&str) -> bool,
    ) -> io::Result<Self> {
        let output = File::create(&log)?;
        command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output);
        let url = format!("http://127.0.0.1:{port}/v1");
        let mut host = Self { process: command.spawn()?, log, url, is_refusal };
        let start = Instant::now();
        while !host.read_log()?.contains(&format!("on http://127.0.0.1:{port}")) {
            if host.process.try_wait()?.is_some() || start.elapsed() > START_MAX {
                let log = host.read_log()?;
                return Err(io::Error::other(format!("{command:?} does not listen:\n{log}")));
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(host)
    }

    /// Returns the lines of the host's log about requests that it refused.
    pub(crate) fn refusals(&self) -> io::Result<Vec<String>> {
        let log = self.read_log()?;
        Ok(log.lines().filter(|line| (self.is_refusal)(line)).map(str::to_owned).collect())
    }

    fn read_log(&self) -> io::Result<String> {
        Ok(String::from_utf8_lossy(&fs::read(&self.log)?).into_owned())
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // A host that has ended already cannot be ended, and that is all that can go wrong.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}
