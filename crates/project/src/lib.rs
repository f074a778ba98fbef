//! What a project folder says and keeps beside its chats.
//!
//! Nothing in this crate reads the process environment, the home folder or the clock by itself: they are
//! arguments, so that two projects can live in one process and a test owns everything it sees.

mod root;
mod secrets;

pub use root::find_root;
pub use secrets::{Secret, Secrets};
