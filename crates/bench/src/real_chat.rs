//! Leads a chat with the real `ship` at whatever host, and reads what `ship` tells about it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use ship_message::json::Json;
use ship_testkit::llm::{LlmServer, Piece, Speech};

/// A project with one chat.
pub(crate) struct RealChat {
    ship: PathBuf,
    root: PathBuf,
    /// Calls the tools, which a model this small does not do reliably.
    scripted: LlmServer,
}

impl RealChat {
    pub(crate) fn new(ship: &Path, root: PathBuf) -> io::Result<Self> {
        fs::create_dir_all(&root)?;
        Ok(Self { ship: ship.to_owned(), root, scripted: LlmServer::start() })
    }

    /// Sends a text to the host at `url`.
    pub(crate) fn say(
        &self,
        url: &str,
        max_tokens: u32,
        temperature: f32,
        text: &str,
    ) -> io::Result<()> {
        let settings = format!(
            r#"{{"llm": {{"provider": "openai", "baseUrl": "{url}", "apiKey": "any",
              "model": "smollm2", "window": 8192,
              "maxTokens": {max_tokens}, "temperature": {temperature}, "firstByteMs": 600000, "retries": 0}},
              "context": {{"history": {{"keepLastMessages": 6}}}}}}"#
        );
        fs::write(self.root.join("ship.json"), settings)?;
        self.run(&["send", text]).map(drop)
    }

    /// Sends a text that gets no answer.
    pub(crate) fn say_in_vain(&self, text: &str) -> io::Result<()> {
        match self.say(&LlmServer::refused_url(), 100, 0.0, text) {
            Ok(()) => Err(io::Error::other("an answer came from an address without a host")),
            Err(_) => Ok(()),
        }
    }

    /// Has the model call a tool, and end with these words or none.
    pub(crate) fn call(&self, tool: &str, input: &str, last_words: &str) -> io::Result<()> {
        // Without usage, because the cached share is that of the real hosts.
        let call = Speech::new([Piece::call(tool, input)]).without_usage();
        self.scripted.then(call).then(Speech::text(last_words).without_usage());
        self.say(&self.scripted.url_v1(), 100, 0.0, &format!("Please use {tool}."))?;
        match self.scripted.answers_left() {
            0 => Ok(()),
            left => Err(io::Error::other(format!("{left} scripted answers were not asked for"))),
        }
    }

    /// Runs a command of `ship` and returns its output.
    pub(crate) fn run(&self, arguments: &[&str]) -> io::Result<String> {
        let mut command = Command::new(&self.ship);
        command.args(arguments).current_dir(&self.root).env_clear().env("HOME", &self.root);
        let output = command.output()?;
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        if output.status.success() {
            return Ok(printed);
        }
        let errors = String::from_utf8_lossy(&output.stderr);
        Err(io::Error::other(format!("ship {}: {printed}{errors}", arguments.join(" "))))
    }

    /// Runs a command of `ship` that prints lines of JSON.
    pub(crate) fn run_json(&self, arguments: &[&str]) -> io::Result<Vec<Json>> {
        let printed = self.run(&[arguments, &["--json"]].concat())?;
        printed.lines().map(|line| Json::parse(line).map_err(io::Error::other)).collect()
    }

    /// Returns the words of the real model in every answer so far. Only real hosts tell what an answer cost.
    pub(crate) fn answers(&self) -> io::Result<Vec<String>> {
        let is_real = |line: &Json| {
            line.get("kind").and_then(Json::as_str) == Some("llm_response")
                && line.get("inputTokens").is_some_and(|it| it.as_u64().is_some())
        };
        let log = self.run_json(&["logs"])?;
        Ok(log.iter().filter(|line| is_real(line)).map(|line| texts(line.get("parts"))).collect())
    }
}

/// Joins the texts of a message's parts.
pub(crate) fn texts(parts: Option<&Json>) -> String {
    let parts = parts.and_then(Json::as_array).unwrap_or_default();
    let texts = parts.iter().filter_map(|part| part.get("text")?.as_str());
    texts.collect::<Vec<_>>().join("\n")
}
