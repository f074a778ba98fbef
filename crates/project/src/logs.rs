//! Writes and reads the project's logs: `.ship/logs/<YYYY-MM-DD>.jsonl`, one object on each line.
//!
//! A log is read after a failure, often by another person on another machine. So a line never contains a secret,
//! and contains message text only while that is wanted: each field says whether it is message text, and one switch
//! leaves all of it out. No operation fails because it could not be logged.

mod entry;
mod log_files;
mod log_queue;
mod log_reader;
mod log_writer;
mod request_lines;

pub use entry::{Level, LogEntry};
pub use log_reader::LogReader;
pub use log_writer::{LogOptions, LogWriter};

/// The folder of the logs in a project.
const FOLDER: [&str; 2] = [".ship", "logs"];

/// The end of the name of a day's file.
const SUFFIX: &str = ".jsonl";
