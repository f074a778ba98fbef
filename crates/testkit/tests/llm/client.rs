//! A client that reads a socket byte by byte and believes nothing, with a parser of events by the book.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};
use ship_testkit::llm::{Answer, Format, LlmServer};

/// What came back.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
    pub(crate) end: End,
}

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The body was whole.
    Whole,
    /// The connection was closed before the body was whole.
    Closed,
    /// The connection was reset.
    Reset,
    /// Nothing more came.
    Silent,
}

impl Reply {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// The data of each event that is JSON.
    pub(crate) fn events(&self) -> Vec<Value> {
        let data = events(&self.body).into_iter();
        data.filter_map(|data| serde_json::from_str(&data).ok()).collect()
    }

    /// The words that its events hold, in either format.
    pub(crate) fn words(&self) -> String {
        let events = self.events();
        let word = |event: &Value| {
            let openai = event["choices"][0]["delta"]["content"].as_str();
            openai.or(event["delta"]["text"].as_str()).unwrap_or_default().to_owned()
        };
        events.iter().map(word).collect()
    }
}

/// Both formats.
pub(crate) const FORMATS: [Format; 2] = [Format::OpenAi, Format::Anthropic];

/// A plain request in a format.
pub(crate) fn request(format: Format, stream: bool) -> Value {
    let messages = json!([{"role": "user", "content": "hi"}]);
    let request = json!({"model": "m", "messages": messages, "max_tokens": 100, "stream": stream});
    match (format, stream) {
        (Format::OpenAi, true) => {
            crate::cases::with(request, json!({"stream_options": {"include_usage": true}}))
        }
        _ => request,
    }
}

/// Asks a fresh server that answers with this.
pub(crate) fn ask(answer: Answer, format: Format) -> Reply {
    ask_until(answer, &request(format, true), format, End::Whole)
}

/// Asks a fresh server that answers with this, and waits no longer than it takes to hear an expected silence.
pub(crate) fn ask_until(answer: Answer, body: &Value, format: Format, end: End) -> Reply {
    let server = LlmServer::start();
    server.then(answer);
    let patience = Duration::from_secs(if end == End::Silent { 1 } else { 20 });
    read_within(patience, begin(&server, format, body))
}

/// Sends a request with the right headers and reads what comes back.
pub(crate) fn post(server: &LlmServer, format: Format, body: &Value) -> Reply {
    read(begin(server, format, body))
}

fn begin(server: &LlmServer, format: Format, body: &Value) -> TcpStream {
    let (path, headers) = match format {
        Format::OpenAi => ("/v1/chat/completions", "authorization: Bearer k\r\n"),
        Format::Anthropic => ("/v1/messages", "x-api-key: k\r\nanthropic-version: 2023-06-01\r\n"),
    };
    send(server, "POST", path, headers, body.to_string().as_bytes())
}

/// Sends a request and returns the connection.
pub(crate) fn send(
    server: &LlmServer,
    method: &str,
    path: &str,
    headers: &str,
    body: &[u8],
) -> TcpStream {
    let mut stream = TcpStream::connect(server.address()).unwrap();
    let length = body.len();
    let head =
        format!("{method} {path} HTTP/1.1\r\nhost: x\r\n{headers}content-length: {length}\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(body).unwrap();
    stream
}

/// Reads until the end.
pub(crate) fn read(stream: TcpStream) -> Reply {
    read_within(Duration::from_secs(20), stream)
}

/// Reads until the end, or until nothing came for a while.
fn read_within(patience: Duration, mut stream: TcpStream) -> Reply {
    stream.set_read_timeout(Some(patience)).unwrap();
    let mut bytes = Vec::new();
    let end = match stream.read_to_end(&mut bytes) {
        Ok(_) => End::Closed,
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
            End::Silent
        }
        Err(_) => End::Reset,
    };
    let Some(split) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else {
        return Reply { status: 0, head: String::new(), body: bytes, end };
    };
    let body = bytes.split_off(split + 4);
    let head = String::from_utf8(bytes).unwrap();
    let status = head[9..12].parse().unwrap();
    let (body, is_whole) = match length(&head) {
        Some(length) => (body.clone(), body.len() == length),
        None => unchunk(&body),
    };
    let end = if is_whole && end == End::Closed { End::Whole } else { end };
    Reply { status, head, body, end }
}

fn length(head: &str) -> Option<usize> {
    head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok())
}

/// Takes chunks of HTTP apart, and says whether the last one came.
fn unchunk(mut bytes: &[u8]) -> (Vec<u8>, bool) {
    let mut body = Vec::new();
    while let Some(line) = bytes.windows(2).position(|two| two == b"\r\n") {
        let size = std::str::from_utf8(&bytes[..line]).unwrap();
        let size = usize::from_str_radix(size, 16).unwrap();
        if size == 0 {
            return (body, true);
        }
        body.extend_from_slice(&bytes[line + 2..][..size]);
        bytes = &bytes[line + 2 + size + 2..];
    }
    (body, false)
}

/// Reads a stream of events as the specification of them says, and returns the data of each.
pub(crate) fn events(body: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(body).replace("\r\n", "\n").replace('\r', "\n");
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let mut events = Vec::new();
    let mut data: Vec<&str> = Vec::new();
    for line in text.split('\n') {
        if line.is_empty() && !data.is_empty() {
            events.push(data.join("\n"));
            data.clear();
        }
        if let Some(more) = line.strip_prefix("data:") {
            data.push(more.strip_prefix(' ').unwrap_or(more));
        }
    }
    events
}
