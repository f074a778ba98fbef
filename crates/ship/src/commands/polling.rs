//! The pause between two reads of files that other processes write. Files send no events.

use std::time::Duration;

/// Waits for the next read.
#[expect(clippy::disallowed_methods, reason = "another process gives no event")]
pub(super) async fn until_next_read() {
    tokio::time::sleep(Duration::from_millis(200)).await;
}
