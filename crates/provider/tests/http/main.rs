//! The clients against hosts that fail in every way we know of, over real sockets. Waits are not waited.

mod breaks;
mod deadlines;
mod environment;
#[expect(clippy::unwrap_used, reason = "a host that cannot be set up fails the test")]
mod host;
mod refusals;
mod requests;
mod retries;
