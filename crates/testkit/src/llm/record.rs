//! Everything that came in.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::watch;

use super::script::Format;

/// A request that came in.
#[derive(Clone, Debug)]
pub struct Received {
    /// Its place among all requests, from 1.
    pub number: usize,
    /// The method of the request.
    pub method: String,
    /// The path of the request.
    pub path: String,
    /// Its headers, in order, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The bytes of its body.
    pub body: Vec<u8>,
    /// When it was there whole.
    pub at: Instant,
    /// The format that its path asks for.
    pub format: Option<Format>,
    /// The rule that it broke, if it was refused.
    pub refused: Option<&'static str>,
    /// Whether its connection has come to an end.
    pub over: bool,
    /// Whether the client closed the connection before the answer was sent whole.
    pub hung_up: bool,
}

impl Received {
    /// Returns a header by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Returns its body as JSON; null if it is none.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

/// The list of all requests, which others can wait on.
#[derive(Debug)]
pub(super) struct Log {
    requests: Mutex<Vec<Received>>,
    changed: watch::Sender<()>,
}

impl Default for Log {
    fn default() -> Self {
        Self { requests: Mutex::default(), changed: watch::Sender::new(()) }
    }
}

impl Log {
    /// Adds a request, giving it its number.
    pub(super) fn add(&self, mut received: Received) -> Received {
        let mut requests = lock(&self.requests);
        received.number = requests.len() + 1;
        requests.push(received.clone());
        drop(requests);
        self.changed.send_replace(());
        received
    }

    /// Notes something about a request.
    pub(super) fn note(&self, number: usize, note: impl FnOnce(&mut Received)) {
        note(&mut lock(&self.requests)[number - 1]);
        self.changed.send_replace(());
    }

    pub(super) fn all(&self) -> Vec<Received> {
        lock(&self.requests).clone()
    }

    /// Waits until the list is as it should be.
    pub(super) async fn wait(&self, is_enough: impl Fn(&[Received]) -> bool) -> Vec<Received> {
        let mut changes = self.changed.subscribe();
        loop {
            changes.borrow_and_update();
            let all = self.all();
            if is_enough(&all) {
                return all;
            }
            // The sender is in `self`, so it cannot be gone.
            let _ = changes.changed().await;
        }
    }
}

/// Locks, even after a panic: a test that panicked with a lock in its hand has failed, and the server can still
/// end in order.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
