//! Tells pipes from other streams.

use std::io;
use std::os::fd::AsFd;

use rustix::fs::{FileType, fstat};

/// Whether a text is piped into a command. Only a pipe and a file are meant for it: a terminal, `/dev/null` and a
/// socket are inherited by most commands, and a socket may never end.
pub(crate) fn is_piped() -> bool {
    is_pipe(io::stdin()) || file_type(io::stdin()) == Some(FileType::RegularFile)
}

/// Whether a stream is a pipe.
pub(crate) fn is_pipe(stream: impl AsFd) -> bool {
    file_type(stream) == Some(FileType::Fifo)
}

fn file_type(stream: impl AsFd) -> Option<FileType> {
    fstat(stream).ok().map(|stat| FileType::from_raw_mode(stat.st_mode))
}
