//! For tests only: time that stands still, disks that fail, and the promises that every store must keep.

#![expect(
    clippy::unwrap_used,
    reason = "in a test, a panic that shows the error is the best report"
)]

pub mod chat;
pub mod clock;
pub mod contract;
pub mod power;
pub mod sim;
pub mod sweep;
