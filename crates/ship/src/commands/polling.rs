//! The pauses between two looks at the keyboard, which sends no events.

use std::time::Duration;

/// Waits for the next look at the keyboard. Keys of one look came in one burst: no person types as fast.
#[expect(
    clippy::disallowed_methods,
    reason = "only unsafe code can wait for a key beside other events"
)]
pub(super) async fn until_next_look() {
    tokio::time::sleep(Duration::from_millis(10)).await;
}
