//! What any reader of a log needs: whether its head is known, the problems of a scan, and single lines by their place.

use std::path::Path;

use super::env::{Env, read_from};
use crate::disk::OpenMode;
use crate::line::RawLine;
use crate::scan::{LogFault, LogScan};
use crate::{FORMAT_VERSION, StorageError, StorageProblem, StorageProblemKind};

/// Refuses a log that does not begin with a head that we understand.
pub(crate) fn check_head(path: &Path, scan: &LogScan) -> Result<(), StorageError> {
    let head = scan.lines.first().filter(|found| found.line.event() == Some("head"));
    let version = head.and_then(|found| found.line.body.get("data")?.get("v")?.as_u64());
    match version {
        Some(version) if version > FORMAT_VERSION => Err(StorageError::Newer {
            path: path.to_owned(),
            found: version,
            known: FORMAT_VERSION,
        }),
        Some(_) => Ok(()),
        None => Err(StorageError::Damaged {
            path: path.to_owned(),
            what: "it does not begin with a head".to_owned(),
        }),
    }
}

/// Describes the problems that a scan has found.
pub(crate) fn problems(
    path: &Path,
    bytes: &[u8],
    scan: &LogScan,
    from: u64,
) -> Vec<StorageProblem> {
    let problem = |offset: usize, kind, message: String, remedy: &str| {
        let file = path.display().to_string();
        StorageProblem::new(file, kind, message, remedy).at(from + offset as u64)
    };
    let damage = scan.damage.iter().map(|damage| {
        let message = match damage.fault {
            LogFault::Unreadable => match damage.len {
                1 => "one byte cannot be read as a line".to_owned(),
                bytes => format!("{bytes} bytes cannot be read as lines"),
            },
            LogFault::OutOfOrder => "a line repeats an earlier number".to_owned(),
            LogFault::Gap => "lines are missing before this one".to_owned(),
        };
        let remedy = "compare with a copy; the bytes are kept, and the lines around them are read";
        problem(damage.offset, StorageProblemKind::Damage, message, remedy)
    });
    let glued = scan.glued.iter().map(|&offset| {
        let message = "a line does not begin on its own line".to_owned();
        problem(
            offset,
            StorageProblemKind::Glued,
            message,
            "nothing to do: it is read all the same",
        )
    });
    let torn = (scan.good_len < bytes.len()).then(|| {
        let message = format!("{} bytes of an unfinished write", bytes.len() - scan.good_len);
        let remedy = "the next write moves them to `quarantine/`; they were never acknowledged";
        problem(scan.good_len, StorageProblemKind::TornTail, message, remedy)
    });
    damage.chain(glued).chain(torn).collect()
}

/// Reads the first line of a log, without the rest; `None` if there is no file or no such line.
pub(crate) fn first_line(env: &Env, path: &Path) -> Result<Option<RawLine>, StorageError> {
    line_at(env, path, 0)
}

/// Reads the line that begins at `offset`; `None` if there is no file or no such line.
pub(crate) fn line_at(
    env: &Env,
    path: &Path,
    offset: u64,
) -> Result<Option<RawLine>, StorageError> {
    Ok(bytes_at(env, path, offset)?.and_then(|bytes| crate::line::decode(&bytes)))
}

/// Reads the bytes of the line that begins at `offset`, without its newline; `None` if the file or
/// the newline is missing.
pub(crate) fn bytes_at(
    env: &Env,
    path: &Path,
    offset: u64,
) -> Result<Option<Vec<u8>>, StorageError> {
    const BLOCK: u64 = 16 * 1024;
    let Some(file) = env.open(path, OpenMode::Read)? else { return Ok(None) };
    let mut bytes: Vec<u8> = Vec::new();
    loop {
        let from = offset + bytes.len() as u64;
        let block = read_from(&*file, from, from + BLOCK)
            .map_err(|error| StorageError::io("read", path, error))?;
        let newline = block.iter().position(|&byte| byte == b'\n');
        bytes.extend_from_slice(&block[..newline.unwrap_or(block.len())]);
        if newline.is_some() || block.is_empty() {
            return Ok(newline.map(|_| bytes));
        }
    }
}
