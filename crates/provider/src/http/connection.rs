//! The connection to a provider: one client for all requests, and a deadline for every wait.
//!
//! Three waits can hang: until there is a connection, until the answer begins, and until it continues. Each has its
//! own deadline. There is none for the whole, because a long answer is not a late one. Dropping the future at any
//! point closes the connection.
//!
//! The client is made when the first request is sent, because reading the system's certificates takes longer than
//! the rest of a start. Redirects are not followed: they would carry the key to another host.

use std::error::Error;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::OnceLock;
use std::time::Duration;

use reqwest::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE, HeaderMap};
use reqwest::{Certificate, Client, ClientBuilder, Response, Url, redirect};
use tokio::time::{Instant, timeout};

use super::settings::HttpSettings;
use crate::Deadline;

/// The number of bytes that are read of an error's body: messages are short, but pages are not.
pub(crate) const ERROR_BYTES_MAX: usize = 64 * 1024;

/// The number of times that comments, pings and empty events may lengthen a wait for the answer to continue: a host
/// that sends nothing else does not work on it any more.
const KEPT_ALIVE_TIMES: u32 = 5;

/// The longest interval of a wait.
const INTERVAL_MAX: Duration = Duration::from_secs(1);

/// A failure of a connection.
#[derive(Debug)]
pub(crate) enum ConnectionError {
    /// A deadline has passed.
    Late(Deadline, Duration),
    /// There is no connection: the host is unknown, refuses, or is not trusted.
    Unreachable(String),
    /// The connection broke during the answer.
    Broken(String),
    /// The HTTP client could not be made.
    NoClient(String),
}

/// The connection to one address.
#[derive(Debug)]
pub(crate) struct Connection {
    url: Url,
    headers: HeaderMap,
    connect: Duration,
    first_byte: Duration,
    idle: Duration,
    client: OnceLock<Result<Client, String>>,
}

impl Connection {
    pub(crate) fn new(url: Url, headers: HeaderMap, settings: &HttpSettings) -> Self {
        Self {
            url,
            headers,
            connect: settings.connect,
            first_byte: settings.first_byte,
            idle: settings.idle,
            client: OnceLock::new(),
        }
    }

    /// Returns the host and port, as errors name them.
    pub(crate) fn host(&self) -> String {
        let host = self.url.host_str().unwrap_or_default();
        match self.url.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        }
    }

    /// Sends a request, and returns the answer as soon as it begins.
    pub(crate) async fn post(&self, body: String) -> Result<Incoming, ConnectionError> {
        let client = self.client.get_or_init(|| self.client()).as_ref();
        let client = client.map_err(|problem| ConnectionError::NoClient(problem.clone()))?;
        let request = client
            .post(self.url.clone())
            .headers(self.headers.clone())
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "text/event-stream, application/json")
            // A compressed stream arrives late and in lumps. A proxy that compresses all the same is understood.
            .header(ACCEPT_ENCODING, "identity")
            .body(body);
        let Some((sent, left)) = wait_up_to(self.first_byte, request.send()).await else {
            return Err(ConnectionError::Late(Deadline::FirstByte, self.first_byte));
        };
        match sent {
            // A connection that timed out counts as both; its own deadline is the better reason.
            Err(error) if error.is_connect() && error.is_timeout() => {
                Err(ConnectionError::Late(Deadline::Connect, self.connect))
            }
            Err(error) if error.is_connect() => {
                Err(ConnectionError::Unreachable(innermost_cause(&error)))
            }
            Err(error) => Err(ConnectionError::Broken(innermost_cause(&error))),
            Ok(response) => Ok(Incoming {
                response,
                waited: Duration::ZERO,
                first: Some((left, self.first_byte)),
                idle: self.idle,
            }),
        }
    }

    fn client(&self) -> Result<Client, String> {
        // A machine without certificates of its own, as in the smallest containers, gets Mozilla's.
        let mozillas = || {
            let known = webpki_root_certs::TLS_SERVER_ROOT_CERTS.iter();
            known.filter_map(|der| Certificate::from_der(der).ok())
        };
        self.builder()
            .build()
            .or_else(|_| self.builder().tls_certs_only(mozillas()).build())
            .map_err(|error| innermost_cause(&error))
    }

    fn builder(&self) -> ClientBuilder {
        let builder = Client::builder()
            .user_agent(concat!("shipmate/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(self.connect)
            .redirect(redirect::Policy::none());
        // A proxy of the environment is meant for other machines, with or without `NO_PROXY`.
        if is_this_machine(&self.url) { builder.no_proxy() } else { builder }
    }
}

/// An answer that is being received.
pub(crate) struct Incoming {
    response: Response,
    /// The time that was waited since the answer has made progress.
    waited: Duration,
    /// Before its first piece: the rest of the deadline, and its whole length.
    first: Option<(Duration, Duration)>,
    idle: Duration,
}

impl Incoming {
    pub(crate) fn status(&self) -> reqwest::StatusCode {
        self.response.status()
    }

    pub(crate) fn headers(&self) -> &HeaderMap {
        self.response.headers()
    }

    /// Returns the next piece, or `None` when the sender has ended the answer.
    pub(crate) async fn next(
        &mut self,
    ) -> Result<Option<impl AsRef<[u8]> + use<>>, ConnectionError> {
        let (left, late) = match self.first {
            Some((left, whole)) => (left, ConnectionError::Late(Deadline::FirstByte, whole)),
            None => {
                let longest = self.idle.saturating_mul(KEPT_ALIVE_TIMES);
                match longest.saturating_sub(self.waited) {
                    left if left < self.idle => {
                        (left, ConnectionError::Late(Deadline::KeptAlive, longest))
                    }
                    _ => (self.idle, ConnectionError::Late(Deadline::Idle, self.idle)),
                }
            }
        };
        match wait_up_to(left, self.response.chunk()).await {
            None => Err(late),
            Some((Err(error), _)) => Err(ConnectionError::Broken(innermost_cause(&error))),
            Some((Ok(piece), rest)) => {
                self.waited += left.saturating_sub(rest);
                self.first = None;
                Ok(piece)
            }
        }
    }

    /// Begins a new wait, because the last piece has continued the answer.
    pub(crate) fn note_progress(&mut self) {
        self.waited = Duration::ZERO;
    }

    /// Returns the body of an error, as far as it is wanted and arrives in time.
    pub(crate) async fn error_body(mut self) -> Vec<u8> {
        let mut body = Vec::new();
        let idle = self.idle;
        let read = async {
            while let Ok(Some(piece)) = self.response.chunk().await {
                let room = ERROR_BYTES_MAX - body.len();
                body.extend_from_slice(&piece[..piece.len().min(room)]);
                if body.len() == ERROR_BYTES_MAX {
                    break;
                }
            }
        };
        // Late or broken, the received part has to do. One host sends an empty body when a request is too long, so
        // a body that never arrived gets other words.
        if wait_up_to(idle, read).await.is_none() && body.trim_ascii().is_empty() {
            return b"(the text of the error did not arrive in time)".to_vec();
        }
        body
    }
}

/// Waits for a result up to a limit, and returns the time that was left too. A time in which the process was stopped
/// does not count: it lengthens one of the intervals that make up the limit.
async fn wait_up_to<T>(limit: Duration, result: impl Future<Output = T>) -> Option<(T, Duration)> {
    let mut result = pin!(result);
    let mut left = limit;
    loop {
        let (began, interval) = (Instant::now(), left.min(INTERVAL_MAX));
        if let Ok(result) = timeout(interval, &mut result).await {
            return Some((result, left - began.elapsed().min(interval)));
        }
        left -= interval;
        if left.is_zero() {
            return None;
        }
    }
}

/// Whether an address is on this machine.
fn is_this_machine(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    let is_loopback = host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    is_loopback || host == "localhost" || host.ends_with(".localhost")
}

/// Returns the innermost cause, which has the reason. The address is not repeated.
fn innermost_cause(error: &reqwest::Error) -> String {
    let mut causes = Vec::new();
    let mut cause = error.source();
    while let Some(error) = cause {
        causes.push(error.to_string());
        cause = error.source();
    }
    causes.pop().unwrap_or_else(|| "the request could not be sent".to_owned())
}

#[cfg(test)]
mod tests {
    use tokio::time::{advance, sleep};

    use super::*;

    #[test]
    fn this_machine_is_known_under_all_its_names() {
        for url in [
            "http://127.0.0.1:1/v1",
            "http://127.9.9.9",
            "http://[::1]:2",
            "http://localhost:11434",
        ] {
            assert!(is_this_machine(&Url::parse(url).unwrap()), "{url}");
        }
        for url in ["http://10.0.0.1", "http://localhost.example.com", "https://api.openai.com"] {
            assert!(!is_this_machine(&Url::parse(url).unwrap()), "{url}");
        }
    }

    #[tokio::test(start_paused = true)]
    #[expect(clippy::disallowed_methods, reason = "the clock is paused")]
    async fn a_wait_does_not_count_the_time_in_which_the_process_was_stopped() {
        let limit = Duration::from_secs(60);
        let answer = async {
            sleep(Duration::from_secs(20)).await;
            // When a stopped process goes on, the clock has moved and every timer is due.
            advance(Duration::from_secs(24 * 3600)).await;
            sleep(Duration::from_secs(20)).await;
        };
        let (_, left) = wait_up_to(limit, answer).await.unwrap();
        assert!(left.as_secs().abs_diff(20) <= 1, "{left:?}");

        let began = Instant::now();
        assert_eq!(wait_up_to(limit, std::future::pending::<()>()).await, None);
        assert_eq!(began.elapsed().as_secs(), 60);
    }
}
