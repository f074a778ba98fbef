//! Leads a chat with the real `ship` at whatever host, and reads what `ship` tells about it.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use ship_message::json::Json;
use ship_testkit::llm::{Answer, LlmServer, Piece, Speech, Status, Step, faults};

/// The time until a request must have come, also on a busy machine.
const REQUEST_MAX: Duration = Duration::from_secs(60);

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

    /// Sends a text to the host at `url`. The answer may be cut at `max_tokens`, for which `ship` exits with 1.
    pub(crate) fn say(
        &self,
        url: &str,
        max_tokens: u32,
        temperature: f32,
        text: &str,
    ) -> io::Result<()> {
        self.set_host(url, max_tokens, temperature)?;
        let output = self.command(&["send", text, "--json"]).output()?;
        let printed = [output.stdout, output.stderr].concat();
        let printed = String::from_utf8_lossy(&printed);
        if output.status.success() || printed.contains(r#""ship":{"notice":"cut"}"#) {
            return Ok(());
        }
        Err(io::Error::other(format!("ship send {text}: {printed}")))
    }

    fn set_host(&self, url: &str, max_tokens: u32, temperature: f32) -> io::Result<()> {
        let settings = format!(
            r#"{{"llm": {{"provider": "openai", "baseUrl": "{url}", "apiKey": "any",
              "model": "smollm2", "window": 8192,
              "maxTokens": {max_tokens}, "temperature": {temperature}, "firstByteMs": 600000, "retries": 0}},
              "context": {{"history": {{"keepLastMessages": 6}}}}}}"#
        );
        fs::write(self.root.join("ship.json"), settings)
    }

    /// Sends a text that gets no answer.
    pub(crate) fn say_in_vain(&self, text: &str) -> io::Result<()> {
        match self.say(&LlmServer::refused_url(), 100, 0.0, text) {
            Ok(()) => Err(io::Error::other("an answer came from an address without a host")),
            Err(_) => Ok(()),
        }
    }

    /// Stops the model after its first words.
    pub(crate) fn say_and_stop(&self, text: &str) -> io::Result<()> {
        let asked = self.scripted.requests().len() + 2;
        let words = Piece::Text("Let me see.".to_owned());
        self.scripted.then(Speech::new([words, Piece::call("skills_list", "{}")]).without_usage());
        self.scripted.then(faults::no_answer());
        self.set_host(&self.scripted.url_v1(), 100, 0.0)?;
        let mut command = self.command(&["send", text]);
        let mut send = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        // The words have come when the second request is there.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let coming = self.scripted.wait_for(asked);
        let came = runtime.block_on(async { tokio::time::timeout(REQUEST_MAX, coming).await });
        kill_process(Pid::from_child(&send), Signal::INT)?;
        let ended = send.wait()?;
        came.map_err(io::Error::other)?;
        match ended.success() {
            true => Err(io::Error::other("a run that was stopped has ended well")),
            false => Ok(()),
        }
    }

    /// Has the model call a tool. The host at `url` is asked with the result.
    pub(crate) fn call(&self, url: &str, tool: &str, input: &str) -> io::Result<()> {
        let host = url.to_owned();
        self.scripted.otherwise(Answer::judge(move |exchange| {
            relay(&host, &exchange.request.body).unwrap_or_else(|error| bad_gateway(&error))
        }));
        self.call_and_end(tool, input, None)
    }

    /// Has the model call a tool, and end with these words or none.
    pub(crate) fn call_and_say(&self, tool: &str, input: &str, words: &str) -> io::Result<()> {
        self.call_and_end(tool, input, Some(words))
    }

    fn call_and_end(&self, tool: &str, input: &str, last_words: Option<&str>) -> io::Result<()> {
        // Without usage, because the cached share is that of the real hosts.
        self.scripted.then(Speech::new([Piece::call(tool, input)]).without_usage());
        if let Some(words) = last_words {
            self.scripted.then(Speech::text(words).without_usage());
        }
        self.say(&self.scripted.url_v1(), 12, 0.0, &format!("Please use {tool}."))?;
        match self.scripted.answers_left() {
            0 => Ok(()),
            left => Err(io::Error::other(format!("{left} scripted answers were not asked for"))),
        }
    }

    /// Runs a command of `ship` and returns its output.
    pub(crate) fn run(&self, arguments: &[&str]) -> io::Result<String> {
        let output = self.command(arguments).output()?;
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        if output.status.success() {
            return Ok(printed);
        }
        let errors = String::from_utf8_lossy(&output.stderr);
        Err(io::Error::other(format!("ship {}: {printed}{errors}", arguments.join(" "))))
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.ship);
        command.args(arguments).current_dir(&self.root).env_clear().env("HOME", &self.root);
        command
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

/// Sends a request to the host at `url`, and returns its answer as it came.
fn relay(url: &str, body: &[u8]) -> io::Result<Answer> {
    let address = url.trim_start_matches("http://").trim_end_matches("/v1");
    let mut host = TcpStream::connect(address)?;
    let length = body.len();
    write!(
        host,
        "POST /v1/chat/completions HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer any\r\n\
         Content-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    )?;
    host.write_all(body)?;
    let mut answer = Vec::new();
    host.read_to_end(&mut answer)?;
    Ok(Answer::Raw(vec![Step::Bytes(answer)]))
}

fn bad_gateway(error: &io::Error) -> Answer {
    let body = format!("the host cannot be asked: {error}").into_bytes();
    Answer::Status(Status { status: 502, headers: Vec::new(), body })
}

/// Joins the texts of a message's parts.
pub(crate) fn texts(parts: Option<&Json>) -> String {
    let parts = parts.and_then(Json::as_array).unwrap_or_default();
    let texts = parts.iter().filter_map(|part| part.get("text")?.as_str());
    texts.collect::<Vec<_>>().join("\n")
}
