//! What the store promises, from the outside.
//!
//! All is one program, which is built once. The tests that start processes are programs of their own: a process that
//! is being started holds the locks of the one that starts it for a moment, and these tests look at locks.

#![expect(
    clippy::unwrap_used,
    reason = "in a test, a panic that shows the error is the best report"
)]

mod behind;
mod chat_list;
mod contract;
mod damage;
mod emptied;
mod faults;
mod files;
mod followed;
mod import;
mod lease;
mod line_pages;
mod long_ledger;
mod memory;
mod mended;
mod min_reader;
mod names;
mod records;
mod rules;
mod sealed;
mod sweep;
mod two_processes;
