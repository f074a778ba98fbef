//! The pauses between two reads of a ledger that other processes write to. Files send no events.

use std::time::Duration;

/// Waits for the next read while a caller waits for what another process does.
#[expect(clippy::disallowed_methods, reason = "another process gives no event")]
pub(super) async fn until_next_read() {
    tokio::time::sleep(Duration::from_millis(50)).await;
}

/// Waits for the next read beside an answer or a tool call, whose work comes first.
#[expect(clippy::disallowed_methods, reason = "another process gives no event")]
pub(super) async fn until_next_read_beside_work() {
    tokio::time::sleep(Duration::from_millis(300)).await;
}
