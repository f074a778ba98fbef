//! HTTP as far as a provider needs it: one request on a connection, read by hand, answered step by step.
//!
//! A library for servers would see to it that every response is well-formed, which is what must not happen here.

use std::io;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::net::tcp::{ReadHalf, WriteHalf};

use super::script::Step;

const HEAD_MAX: usize = 64 << 10;
/// Twice of what any provider takes, so that a body that is too large can be refused in words.
const BODY_MAX: usize = 64 << 20;

/// A request as it came.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

impl Request {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// Reads one request.
///
/// # Errors
///
/// Fails when the client goes away before it is whole, or sends something that is not HTTP.
pub(super) async fn read(stream: &mut TcpStream) -> io::Result<Request> {
    let mut bytes = Vec::new();
    let (mut request, length) = loop {
        if let Some(parsed) = parse_head(&bytes)? {
            break parsed;
        }
        if bytes.len() > HEAD_MAX {
            return Err(broken("the head of the request is too long"));
        }
        more(stream, &mut bytes).await?;
    };
    bytes.drain(..length);
    if request.header("expect").is_some_and(|value| value.eq_ignore_ascii_case("100-continue")) {
        stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
    }
    let chunked =
        request.header("transfer-encoding").is_some_and(|value| value.contains("chunked"));
    request.body = if chunked {
        read_chunks(stream, bytes).await?
    } else {
        let length = request.header("content-length").and_then(|value| value.trim().parse().ok());
        read_length(stream, bytes, length.unwrap_or(0)).await?
    };
    Ok(request)
}

/// Returns the head and its length, once it is there.
fn parse_head(bytes: &[u8]) -> io::Result<Option<(Request, usize)>> {
    let mut headers = [httparse::EMPTY_HEADER; 128];
    let mut head = httparse::Request::new(&mut headers);
    match head.parse(bytes) {
        Ok(httparse::Status::Partial) => Ok(None),
        Ok(httparse::Status::Complete(length)) => {
            let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
            let headers = head.headers.iter();
            let headers = headers.map(|header| (header.name.to_lowercase(), text(header.value)));
            let request = Request {
                method: head.method.unwrap_or_default().to_owned(),
                path: head.path.unwrap_or_default().to_owned(),
                headers: headers.collect(),
                body: Vec::new(),
            };
            Ok(Some((request, length)))
        }
        Err(error) => Err(broken(&error.to_string())),
    }
}

async fn read_length(
    stream: &mut TcpStream,
    mut body: Vec<u8>,
    length: usize,
) -> io::Result<Vec<u8>> {
    if length > BODY_MAX {
        return Err(broken("the body of the request is too long"));
    }
    while body.len() < length {
        more(stream, &mut body).await?;
    }
    body.truncate(length);
    Ok(body)
}

async fn read_chunks(stream: &mut TcpStream, mut bytes: Vec<u8>) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        match httparse::parse_chunk_size(&bytes) {
            Ok(httparse::Status::Partial) => more(stream, &mut bytes).await?,
            Ok(httparse::Status::Complete((_, 0))) => return Ok(body),
            Ok(httparse::Status::Complete((head, size))) => {
                let size = usize::try_from(size).unwrap_or(usize::MAX);
                if size.saturating_add(body.len()) > BODY_MAX {
                    return Err(broken("the body of the request is too long"));
                }
                while bytes.len() < head + size + 2 {
                    more(stream, &mut bytes).await?;
                }
                body.extend_from_slice(&bytes[head..head + size]);
                bytes.drain(..head + size + 2);
            }
            Err(_) => return Err(broken("the request has a broken chunk")),
        }
    }
}

async fn more(stream: &mut TcpStream, bytes: &mut Vec<u8>) -> io::Result<()> {
    match stream.read_buf(bytes).await? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        _ => Ok(()),
    }
}

fn broken(reason: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

/// Does the steps on a connection. Returns whether the client hung up before the last one.
pub(super) async fn play(mut stream: TcpStream, steps: Vec<Step>) -> bool {
    let (mut reader, mut writer) = stream.split();
    for step in steps {
        let done = tokio::select! {
            biased;
            () = gone(&mut reader) => return true,
            done = act(&mut writer, &step) => done,
        };
        match (done, step) {
            (Err(_), _) => return true,
            (Ok(()), Step::Reset | Step::Close) => return false,
            (Ok(()), Step::Bytes(_) | Step::Wait(_) | Step::Hang) => {}
        }
    }
    // Whether the client has gone by now is its own affair: everything was sent.
    let _ = writer.shutdown().await;
    false
}

async fn act(writer: &mut WriteHalf<'_>, step: &Step) -> io::Result<()> {
    match step {
        Step::Bytes(bytes) => writer.write_all(bytes).await,
        Step::Wait(gate) => {
            gate.passed().await;
            Ok(())
        }
        // On one machine, bytes that were sent before are there already, and can still be read after the reset.
        Step::Reset => writer.as_ref().set_zero_linger(),
        Step::Close => writer.shutdown().await,
        Step::Hang => std::future::pending().await,
    }
}

/// Waits until the client closes its side. What it sends besides is of no interest.
async fn gone(reader: &mut ReadHalf<'_>) {
    let mut unread = [0; 1024];
    while reader.read(&mut unread).await.is_ok_and(|length| length > 0) {}
}
