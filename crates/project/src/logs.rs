//! What happened: `.ship/logs/<YYYY-MM-DD>.jsonl`, one object a line.
//!
//! A log is looked at when something went wrong, often by somebody else and on another machine. So a line
//! never holds a secret, and holds what people said only while that is wanted: each field says whether it
//! is message text, and one switch leaves all of it out. Nothing ever fails because it could not be logged.

mod entry;
mod read;
mod write;

pub use entry::{Level, LogEntry};
pub use read::LogReader;
pub use write::{LogOptions, LogWriter};

/// Where logs are, in a project.
const FOLDER: [&str; 2] = [".ship", "logs"];

/// What the name of a day's file ends with.
const SUFFIX: &str = ".jsonl";
