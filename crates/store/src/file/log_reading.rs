//! What any reader of a log needs: whether its head is known, the problems of a scan, and single lines by their place.

use std::io;
use std::path::Path;

use super::quarantine::live_log;
use super::store_env::{Env, read_from};
use crate::disk::{DiskFile, OpenMode};
use crate::error::place;
use crate::line::RawLine;
use crate::scan::{LogFault, LogScan, scan};
use crate::{FORMAT_VERSION, StorageError, StorageProblem, StorageProblemKind};

/// The kinds of logs, each with the field that only its heads have.
const MARKS: [(LogKind, &str); 3] =
    [(LogKind::Context, "contextId"), (LogKind::Ledger, "archives"), (LogKind::Journal, "about")];

/// Tells apart the logs of a chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LogKind {
    Context,
    Ledger,
    Journal,
}

impl LogKind {
    /// Returns the kind of the log that belongs at a path.
    fn at(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        let folder = path.parent()?.file_name()?.to_str()?;
        match live_log(folder, name).unwrap_or((folder, name)) {
            ("messages", "history.jsonl") => Some(Self::Context),
            ("conversations", "history.jsonl") => Some(Self::Ledger),
            ("messages", "run.jsonl" | "requests.jsonl") => Some(Self::Journal),
            _ => None,
        }
    }
}

/// Whether the first line of the log at `path` is the head of a log of another kind: then the file was copied to the
/// wrong place, and nothing of it belongs to this log.
fn is_of_other_kind(path: &Path, first: &RawLine) -> bool {
    let data = first.body.get("data").filter(|_| first.event() == Some("head"));
    let Some((data, kind)) = data.zip(LogKind::at(path)) else { return false };
    let mut marks = MARKS.into_iter().filter(|(_, mark)| data.get(mark).is_some()).peekable();
    marks.peek().is_some() && marks.all(|(marked, _)| marked != kind)
}

/// Scans a log from its start. A log of another kind counts as wholly unreadable.
pub(crate) fn scan_log(path: &Path, bytes: &[u8]) -> LogScan {
    only_own_kind(path, scan(bytes, None), bytes.len())
}

/// Returns the scan of a log with this length; that of a log of another kind has no lines.
pub(crate) fn only_own_kind(path: &Path, found: LogScan, len: usize) -> LogScan {
    match found.lines.first() {
        Some(first) if is_of_other_kind(path, &first.line) => LogScan::unreadable(len),
        _ => found,
    }
}

/// Refuses a log that does not begin with a head that we understand.
pub(crate) fn check_head(path: &Path, scan: &LogScan) -> Result<(), StorageError> {
    let head = scan.lines.first().filter(|found| found.line.event() == Some("head"));
    if head.is_some_and(|found| is_of_other_kind(path, &found.line)) {
        return Err(StorageError::damaged(path, "it is a log of another kind"));
    }
    let version = head.and_then(|found| found.line.body.get("data")?.get("v")?.as_u64());
    match version {
        Some(version) if version > FORMAT_VERSION => {
            Err(StorageError::Newer { place: place(path), found: version, known: FORMAT_VERSION })
        }
        Some(_) => Ok(()),
        None => Err(StorageError::damaged(path, "it does not begin with a head")),
    }
}

/// Describes the problems that a scan of `len` bytes has found.
pub(crate) fn scan_problems(
    path: &Path,
    len: usize,
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
        let remedy =
            "compare it with a backup; the bytes are kept, and the lines around them are read";
        problem(damage.offset, StorageProblemKind::Damage, message, remedy)
    });
    let glued = scan.glued.iter().map(|&offset| {
        let message = "a line does not begin on its own line".to_owned();
        problem(offset, StorageProblemKind::Glued, message, "nothing to do: it is still read")
    });
    let torn = (scan.good_len < len).then(|| {
        let message = format!("{} bytes of an unfinished write", len - scan.good_len);
        let remedy = "the next write moves them to `quarantine/`; they were never acknowledged";
        problem(scan.good_len, StorageProblemKind::TornTail, message, remedy)
    });
    damage.chain(glued).chain(torn).collect()
}

/// Reads the first line of a log, without the rest; `None` if there is no file or no such line, or if the file is a log
/// of another kind.
pub(crate) fn first_line(env: &Env, path: &Path) -> Result<Option<RawLine>, StorageError> {
    Ok(line_at(env, path, 0)?.filter(|first| !is_of_other_kind(path, first)))
}

/// Reads the line that begins at `offset`; `None` if there is no file or no such line.
pub(crate) fn line_at(
    env: &Env,
    path: &Path,
    offset: u64,
) -> Result<Option<RawLine>, StorageError> {
    let line = lines_at(env, path, offset, 1)?.pop();
    Ok(line.and_then(|bytes| crate::line::decode(&bytes)))
}

/// Reads the first two lines of a log: its head, and the line that tells whether the log was purged.
pub(crate) fn first_two_lines(
    env: &Env,
    path: &Path,
) -> Result<[Option<RawLine>; 2], StorageError> {
    let mut lines = lines_at(env, path, 0, 2)?.into_iter();
    let mut next = || lines.next().and_then(|bytes| crate::line::decode(&bytes));
    Ok([next(), next()])
}

/// Reads the bytes of the lines from `offset` on, at most `count` and without their newlines. A line that lacks its
/// newline does not count.
fn lines_at(
    env: &Env,
    path: &Path,
    offset: u64,
    count: usize,
) -> Result<Vec<Vec<u8>>, StorageError> {
    let Some(file) = env.open(path, OpenMode::Read)? else { return Ok(Vec::new()) };
    lines_in(&*file, offset, count).map_err(|error| StorageError::io("read", path, error))
}

/// Reads the bytes of lines of an open log, like [`lines_at`].
pub(crate) fn lines_in(file: &dyn DiskFile, offset: u64, count: usize) -> io::Result<Vec<Vec<u8>>> {
    // The heads of all sealed logs are read in some commands, and most fit in the first block.
    let mut block_len = 4 * 1024;
    let mut lines = Vec::new();
    let (mut from, mut line) = (offset, Vec::new());
    while lines.len() < count {
        let block = read_from(file, from, from + block_len)?;
        if block.is_empty() {
            break;
        }
        for piece in block.split_inclusive(|&byte| byte == b'\n') {
            line.extend_from_slice(piece);
            if line.pop_if(|byte| *byte == b'\n').is_some() {
                lines.push(std::mem::take(&mut line));
            }
        }
        from += block.len() as u64;
        block_len = 16 * 1024;
    }
    lines.truncate(count);
    Ok(lines)
}
