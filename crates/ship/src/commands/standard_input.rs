//! Reads a text from standard input.

use std::io::{self, Read};
use std::time::Duration;

use crate::failure::Failure;
use crate::output;
use crate::pipe::is_piped;
use crate::session::Session;

/// The time without a byte after which the person is told what the command waits for.
const QUIET: Duration = Duration::from_secs(1);

/// Reads the text that is piped into a command beside its arguments.
pub(crate) async fn read_piped(session: &Session) -> Result<Option<String>, Failure> {
    if !is_piped() {
        return Ok(None);
    }
    let piped = read(session).await?;
    if piped.trim().is_empty() {
        // The command before it has probably failed, or found nothing.
        if !session.json {
            output::print_notice("nothing came through the pipe; only the words are sent");
        }
        return Ok(None);
    }
    Ok(Some(piped))
}

/// Reads standard input to its end. A text that is longer than a message is refused.
pub(crate) async fn read(session: &Session) -> Result<String, Failure> {
    let limit = session.message_bytes_max();
    let mut reading = tokio::task::spawn_blocking(move || read_up_to(limit + 1));
    let read = match tokio::time::timeout(QUIET, &mut reading).await {
        Ok(read) => read,
        Err(_) => {
            output::print_notice("reading standard input to its end; `</dev/null` skips it");
            reading.await
        }
    };
    let bytes = read.map_err(io::Error::from).flatten().map_err(|error| {
        Failure::from_other("input", &error).with_hint("`</dev/null` skips standard input")
    })?;
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
