//! Work that would block a thread which serves other chats.

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
