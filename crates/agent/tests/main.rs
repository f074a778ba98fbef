//! What the agent promises, from the outside.
//!
//! All is one program, which is built once. The examples, which are started as processes, have one of their own.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

mod compaction;
mod contexts;
mod conversations;
mod harness;
mod hosts;
mod imports;
mod leases;
mod providers;
mod runs;
mod search;
mod seen;
