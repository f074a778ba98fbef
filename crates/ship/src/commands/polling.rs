//! The pauses between two looks at what sends no events: files that other processes write, and the keyboard.

use std::time::Duration;

/// Waits for the next read.
#[expect(clippy::disallowed_methods, reason = "another process gives no event")]
pub(super) async fn until_next_read() {
    tokio::time::sleep(Duration::from_millis(200)).await;
}

/// Waits for the next look at the keyboard. Keys of one look came in one burst: no person types as fast.
#[expect(
    clippy::disallowed_methods,
    reason = "only unsafe code can wait for a key beside other events"
)]
pub(super) async fn until_next_look() {
    tokio::time::sleep(Duration::from_millis(10)).await;
}
