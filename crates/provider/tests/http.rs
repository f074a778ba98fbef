//! The clients against hosts that fail in every way we know of, over real sockets. Waits are not waited.

mod breaks;
mod deadlines;
mod environment;
mod forms;
mod host;
mod odd_hosts;
mod refusals;
mod requests;
mod retries;
