//! A host that does exactly what a script says, byte by byte: no HTTP library would cut an answer in the
//! middle of an event.
//!
//! It is not the server of the testkit, because that judges every request and would refuse most of these: they have
//! no messages, or name the host of a proxy.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use ship_message::{Chunk, FinishReason};
use ship_provider::{AnswerEnd, ApiKey, HttpProvider, HttpSettings, Pace, ProviderError};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

/// One thing that a host does.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    Send(Vec<u8>),
    /// Breaks the connection, as a crashed machine or a firewall does.
    Reset,
    /// Says nothing more until the client has gone.
    Hang,
    /// Says the same once a second until the client has gone. The clock of its test stands.
    Repeat(&'static str),
}

/// Sends a text.
pub(crate) fn send(text: impl Into<String>) -> Act {
    Act::Send(text.into().into_bytes())
}

/// An answer with a status, headers (each with its line end) and a body, then the end.
pub(crate) fn reply(status: &str, headers: &str, body: &str) -> Vec<Act> {
    vec![send(format!(
        "HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {}\r\n{headers}\r\n{body}",
        body.len()
    ))]
}

/// The head of a stream whose end is the end of the connection.
pub(crate) const STREAM: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";

/// A good answer.
pub(crate) fn hello() -> Vec<Act> {
    vec![send(format!(
        "{STREAM}data: {{\"choices\":[{{\"delta\":{{\"content\":\"hello\"}},\"finish_reason\":\"stop\"}}]}}\n\ndata: [DONE]\n\n"
    ))]
}

/// The beginning of an answer: some text, and no end.
pub(crate) fn half() -> Act {
    send(format!("{STREAM}data: {{\"choices\":[{{\"delta\":{{\"content\":\"hal\"}}}}]}}\n\n"))
}

/// A host on this machine that plays one script for each connection, and the last for all further ones.
pub(crate) struct Host {
    pub(crate) address: String,
    /// What was asked, head and body.
    pub(crate) requests: Arc<Mutex<Vec<String>>>,
    /// Gets a word whenever the host begins to hang.
    pub(crate) hangs: mpsc::UnboundedReceiver<()>,
    /// Gets a word whenever a client that was left hanging has gone.
    pub(crate) gone: mpsc::UnboundedReceiver<()>,
}

/// The other ends of what a host tells.
#[derive(Clone)]
struct Watched {
    hangs: mpsc::UnboundedSender<()>,
    gone: mpsc::UnboundedSender<()>,
}

impl Host {
    pub(crate) async fn playing(scripts: Vec<Vec<Act>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (tell_hangs, hangs) = mpsc::unbounded_channel();
        let (tell_gone, gone) = mpsc::unbounded_channel();
        let watched = Watched { hangs: tell_hangs, gone: tell_gone };
        let asked = Arc::clone(&requests);
        tokio::spawn(async move {
            let mut played = 0;
            while let Ok((stream, _)) = listener.accept().await {
                let script = scripts[played.min(scripts.len() - 1)].clone();
                played += 1;
                tokio::spawn(play(stream, script, Arc::clone(&asked), watched.clone()));
            }
        });
        Self { address, requests, hangs, gone }
    }

    pub(crate) fn asked(&self) -> usize {
        self.requests.lock().unwrap().len()
    }
}

#[expect(clippy::disallowed_methods, reason = "the clock is paused where a host repeats itself")]
async fn play(
    mut stream: TcpStream,
    script: Vec<Act>,
    asked: Arc<Mutex<Vec<String>>>,
    watched: Watched,
) {
    let Some(request) = read_request(&mut stream).await else { return };
    asked.lock().unwrap().push(request);
    for act in script {
        match act {
            Act::Send(bytes) => {
                let _ = stream.write_all(&bytes).await;
            }
            Act::Reset => {
                // What was sent before is there already, and can still be read.
                stream.set_zero_linger().unwrap();
                return;
            }
            Act::Repeat(text) => {
                while stream.write_all(text.as_bytes()).await.is_ok() {
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
                return;
            }
            Act::Hang => {
                let _ = watched.hangs.send(());
                let mut rest = [0; 64];
                while stream.read(&mut rest).await.is_ok_and(|read| read > 0) {}
                let _ = watched.gone.send(());
                return;
            }
        }
    }
}

/// Reads a request, head and body, or nothing if it is not HTTP.
async fn read_request(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    loop {
        let mut piece = [0; 4096];
        let read = stream.read(&mut piece).await.ok().filter(|read| *read > 0)?;
        bytes.extend_from_slice(&piece[..read]);
        let text = String::from_utf8_lossy(&bytes);
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let head = head.to_ascii_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "))?;
        if body.len() >= length.parse::<usize>().ok()? {
            return Some(text.into_owned());
        }
    }
}

/// Time that passes only by waiting, and a draw that is always a half.
#[derive(Default)]
pub(crate) struct Watch(Mutex<Vec<Duration>>);

impl Watch {
    pub(crate) fn waits_ms(&self) -> Vec<u128> {
        self.0.lock().unwrap().iter().map(Duration::as_millis).collect()
    }
}

impl Pace for Watch {
    fn now(&self) -> Duration {
        self.0.lock().unwrap().iter().sum()
    }

    fn random(&self) -> u64 {
        1 << 63
    }

    fn wait(&self, duration: Duration) -> std::pin::Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        self.0.lock().unwrap().push(duration);
        Box::pin(std::future::ready(()))
    }
}

pub(crate) const KEY: &str = "sk-test-7Kq2Zr9x";
pub(crate) const BODY: &str = r#"{"model":"m","max_tokens":9,"stream":true,"messages":[]}"#;

/// What came of asking once.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) chunks: Vec<Chunk>,
    pub(crate) answered: Result<AnswerEnd, ProviderError>,
    pub(crate) waits_ms: Vec<u128>,
}

impl Asked {
    /// The text that was given.
    pub(crate) fn text(&self) -> String {
        let delta = |chunk: &Chunk| match chunk {
            Chunk::TextDelta(_, delta) => Some(delta.as_str().to_owned()),
            _ => None,
        };
        self.chunks.iter().filter_map(delta).collect()
    }

    /// Whether any call of a tool was given.
    pub(crate) fn has_calls(&self) -> bool {
        let is_call = |chunk: &Chunk| {
            matches!(chunk, Chunk::ToolInputAvailable { .. } | Chunk::ToolInputError { .. })
        };
        self.chunks.iter().any(is_call)
    }

    /// The code and the sentence of the error.
    pub(crate) fn error(&self) -> (&'static str, String) {
        let error = self.answered.as_ref().unwrap_err();
        let told = format!("{error} | {}", error.remedy().unwrap_or_default());
        assert!(!told.contains("7Kq2"), "a part of the key is told: {told}");
        (error.code(), error.to_string())
    }

    pub(crate) fn is_hello(&self) -> bool {
        self.text() == "hello"
            && self.answered.as_ref().is_ok_and(|it| it.finish_reason == FinishReason::Stop)
    }
}

pub(crate) fn settings(address: &str) -> HttpSettings {
    HttpSettings {
        base_url: format!("http://{address}/v1"),
        key: Some(ApiKey::new(KEY)),
        ..HttpSettings::openai("m")
    }
}

pub(crate) fn openai(settings: HttpSettings) -> HttpProvider {
    HttpProvider::openai(settings).unwrap()
}

/// Asks once, with a watch for time.
pub(crate) async fn ask(provider: HttpProvider) -> Asked {
    let watch = Arc::new(Watch::default());
    let provider = provider.with_pace(watch.clone());
    let mut chunks = Vec::new();
    let answered = provider.ask(BODY, &mut |chunk| chunks.push(chunk)).await;
    Asked { chunks, answered, waits_ms: watch.waits_ms() }
}

/// Asks a host that plays these scripts. Gives what came, and how often it was asked.
pub(crate) async fn play_openai(scripts: Vec<Vec<Act>>) -> (Asked, Host) {
    let host = Host::playing(scripts).await;
    let asked = ask(openai(settings(&host.address))).await;
    (asked, host)
}
