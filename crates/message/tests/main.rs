//! What messages promise, from the outside. All is one program, which is built once.

#![expect(
    clippy::unwrap_used,
    reason = "in a test, a panic that shows the error is the best report"
)]

mod random_message;
mod random_stream;
mod replay;
mod robust;
mod samples;
#[cfg(feature = "serde")]
mod serde;
