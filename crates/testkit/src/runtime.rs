//! Runs the futures of a test.

use std::future::Future;
use std::pin::{Pin, pin};

/// Runs a future to its end on a small runtime.
pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    // Behind a pointer all futures are one type: the runtime is compiled once, and not for each of them.
    let future: Pin<&mut dyn Future<Output = T>> = pin!(future);
    runtime.expect("a runtime needs no more than memory").block_on(future)
}
