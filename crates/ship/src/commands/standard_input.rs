//! Reads a text from standard input.

use std::io::{self, Read};
use std::os::fd::AsFd;
use std::time::Duration;

use rustix::fs::{FileType, fstat};

use crate::failure::Failure;
use crate::output;
use crate::session::Session;

/// The time without a byte after which the person is told what the command waits for.
const QUIET: Duration = Duration::from_secs(1);

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

/// Reads the text that is piped into a command beside its arguments.
pub(crate) async fn read_piped(session: &Session) -> Result<Option<String>, Failure> {
    if !is_piped() {
        return Ok(None);
    }
    let piped = read(session).await?;
    Ok(Some(piped).filter(|piped| !piped.trim().is_empty()))
}

/// Reads standard input to its end. A text that is longer than a message is refused.
pub(crate) async fn read(session: &Session) -> Result<String, Failure> {
    let limit = session.message_bytes_max();
    let mut reading = tokio::task::spawn_blocking(move || read_up_to(limit + 1));
    let read = match tokio::time::timeout(QUIET, &mut reading).await {
        Ok(read) => read,
        Err(_) => {
            output::print_notice("reading standard input to its end; `</dev/null` leaves it out");
            reading.await
        }
    };
    let bytes = read
        .map_err(io::Error::from)
        .flatten()
        .map_err(|error| Failure::from_other("input", &error).with_hint("send what can be read"))?;
    if bytes.len() as u64 > limit {
        return Err(Failure::too_long(None, limit));
    }
    String::from_utf8(bytes)
        .map_err(|error| error.utf8_error().valid_up_to() as u64)
        .map_err(|offset| Failure::not_utf8(offset, "nothing was sent"))
}

fn read_up_to(limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    io::stdin().lock().take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}
