//! Work that would block a thread which serves other chats: counting, compiling and digesting large requests.

use tokio::runtime::{Handle, RuntimeFlavor};

/// The bytes of a request from which its body is written and digested where blocking is allowed: several milliseconds.
const LARGE_BODY: usize = 1024 * 1024;

/// Does work on a thread that may block. Small work is done where it is: to change threads costs tens of microseconds.
pub(crate) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(error) => panic!("an agent needs its runtime to the end: {error}"),
        },
    }
}

/// Whether so many bytes of a request are written and digested where blocking is allowed.
pub(crate) fn is_large(bytes: usize) -> bool {
    bytes >= LARGE_BODY
}

/// Does work on so many bytes of a request: many where blocking is allowed, and few where it is.
pub(crate) async fn blocking_if_large<T: Send + 'static>(
    bytes: usize,
    work: impl FnOnce() -> T + Send + 'static,
) -> T {
    match is_large(bytes) {
        false => work(),
        true => blocking(work).await,
    }
}

/// Does work like [`in_place`], or as if it were small.
pub(crate) fn in_place_if<T>(is_large: bool, work: impl FnOnce() -> T) -> T {
    match is_large {
        true => in_place(work),
        false => work(),
    }
}

/// Does work on this thread while another one takes over what else it serves, so the work may borrow. A runtime with one
/// thread has no other: what is often large goes to [`blocking`] instead.
///
/// A `LocalSet` cannot be taken over either: tokio panics if one is run by a runtime with several threads.
pub(crate) fn in_place<T>(work: impl FnOnce() -> T) -> T {
    let flavor = Handle::try_current().map(|handle| handle.runtime_flavor());
    match flavor {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(work),
        _ => work(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn other_tasks_go_on_while_one_works_in_place() {
        let (sender, receiver) = std::sync::mpsc::channel();
        let waiting = tokio::spawn(async move { in_place(|| receiver.recv()) });
        tokio::spawn(async move { sender.send(7) }).await.unwrap().unwrap();
        assert_eq!(waiting.await.unwrap(), Ok(7));
    }

    #[tokio::test]
    async fn a_runtime_with_one_thread_does_the_work_itself() {
        let here = std::thread::current().id();
        assert_eq!(in_place(|| std::thread::current().id()), here);
        assert_ne!(blocking(|| std::thread::current().id()).await, here);
    }
}
