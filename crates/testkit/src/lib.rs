//! For tests only: time that stands still, disks that fail, providers that follow a script, and the promises that every
//! store must keep.
//!
//! A test of the store whose process is killed before one call to the disk, once for each of three calls:
//!
//! ```
//! use ship_testkit::sim::Fault;
//! use ship_testkit::sweep::{Script, block_on, faults};
//!
//! let script = Script::short().up_to(2);
//! let tally = block_on(faults(&script, &[Fault::KillBefore], 5..8))?;
//! assert_eq!(tally.faults, 3);
//! # Ok::<(), String>(())
//! ```

#![expect(
    clippy::unwrap_used,
    reason = "in a test, a panic that shows the error is the best report"
)]

pub mod allocations;
pub mod chat;
pub mod clock;
pub mod contract;
pub mod example;
pub mod histories;
pub mod interleaving;
pub mod llm;
pub mod map_store;
pub mod power;
pub mod random;
pub mod runtime;
pub mod sample;
#[cfg(feature = "agent")]
pub mod scripted_model;
pub mod search_sets;
pub mod shim;
pub mod sim;
pub mod summary;
pub mod sweep;
pub mod terminal;
pub mod tested;
pub mod texts;
pub mod two_processes;
