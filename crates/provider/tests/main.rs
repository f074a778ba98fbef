//! What the providers promise, from the outside. All is one program, which is built once.

#![expect(
    clippy::unwrap_used,
    reason = "in a test, a panic that shows the error is the best report"
)]

mod compile;
mod http;
mod odd_requests;
mod overflow;
mod wire;
