//! Reads the lines of the logs, and follows new ones.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use ship_message::json::{Json, Object};

use super::{FOLDER, SUFFIX};
use crate::file_reader::is_missing;

/// The approximate size of a batch, so that a year of logs is never in memory at once.
const BATCH_BYTES: u64 = 1024 * 1024;

/// Reads the logs of a project across days, up to their present end.
///
/// Only whole lines are returned; a line that is being written comes with the next [`poll`](Self::poll).
#[derive(Debug)]
pub struct LogReader {
    folder: PathBuf,
    requests: Option<BTreeSet<String>>,
    /// The offset up to which each file was read. Any file may still grow: a clock that was set back writes
    /// to an earlier day.
    read: BTreeMap<String, u64>,
    unreadable: u64,
}

impl LogReader {
    /// Begins with the first line of the first day.
    pub fn from_start(root: &Path) -> Self {
        let folder = root.join(FOLDER[0]).join(FOLDER[1]);
        Self { folder, requests: None, read: BTreeMap::new(), unreadable: 0 }
    }

    /// Begins after the last line, so that only new lines are read.
    ///
    /// # Errors
    /// Fails if the folder exists and cannot be read.
    pub fn from_end(root: &Path) -> io::Result<Self> {
        let mut reader = Self::from_start(root);
        for name in reader.days()? {
            let length = fs::metadata(reader.folder.join(&name))?.len();
            reader.read.insert(name, length);
        }
        Ok(reader)
    }

    /// Limits the lines to those of these requests.
    #[must_use]
    pub fn only_requests(mut self, ids: impl IntoIterator<Item = String>) -> Self {
        self.requests = Some(ids.into_iter().collect());
        self
    }

    /// Returns the next lines, or none if all were read for now.
    ///
    /// # Errors
    /// Fails if a file cannot be read. Lines that were read before are not returned again.
    pub fn poll(&mut self) -> io::Result<Vec<Object>> {
        loop {
            let mut lines = Vec::new();
            let mut left = BATCH_BYTES;
            for name in self.days()? {
                let read = self.read_day(name, left, &mut lines)?;
                left = left.saturating_sub(read);
                if left == 0 {
                    break;
                }
            }
            let at_end = left > 0;
            // A batch without matching lines is not the end.
            if at_end || !lines.is_empty() {
                return Ok(lines);
            }
        }
    }

    /// Returns the number of lines that were skipped because they are not log lines.
    pub fn unreadable(&self) -> u64 {
        self.unreadable
    }

    /// Returns the names of all days' files, oldest first.
    fn days(&self) -> io::Result<Vec<String>> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if is_missing(&error) => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let names = entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
        let mut days = names.collect::<io::Result<Vec<String>>>()?;
        days.retain(|name| is_day(name));
        days.sort_unstable();
        Ok(days)
    }

    /// Reads whole lines of one file until it ends or `bytes_max` is passed, and returns the number of bytes read.
    fn read_day(
        &mut self,
        name: String,
        bytes_max: u64,
        lines: &mut Vec<Object>,
    ) -> io::Result<u64> {
        let path = self.folder.join(&name);
        let begin = self.read.entry(name).or_insert(0);
        let length = match fs::metadata(&path) {
            Ok(found) if found.is_file() => found.len(),
            Ok(_) => return Ok(0),
            Err(error) if is_missing(&error) => return Ok(0),
            Err(error) => return Err(error),
        };
        if length < *begin {
            // The file was emptied or replaced.
            *begin = 0;
        }
        if length == *begin {
            return Ok(0);
        }
        let mut file = BufReader::new(File::open(path)?);
        file.seek(SeekFrom::Start(*begin))?;
        let mut line = Vec::new();
        let mut read = 0;
        while read < bytes_max {
            line.clear();
            let length = file.read_until(b'\n', &mut line)?;
            if line.pop() != Some(b'\n') {
                break;
            }
            read += length as u64;
            *begin += length as u64;
            match Json::parse_bytes(&line) {
                Ok(Json::Object(line)) if is_wanted(&line, self.requests.as_ref()) => {
                    lines.push(line)
                }
                Ok(Json::Object(_)) => {}
                _ if line.is_empty() => {}
                _ => self.unreadable += 1,
            }
        }
        Ok(read)
    }
}

fn is_wanted(line: &Object, requests: Option<&BTreeSet<String>>) -> bool {
    requests.is_none_or(|ids| line.str("requestId").is_some_and(|id| ids.contains(id)))
}

/// Whether a name is that of a day's file, such as `2026-02-05.jsonl`.
fn is_day(name: &str) -> bool {
    let Some(day) = name.strip_suffix(SUFFIX) else { return false };
    let digit_or_hyphen = |(at, byte): (usize, u8)| match at {
        4 | 7 => byte == b'-',
        _ => byte.is_ascii_digit(),
    };
    day.len() == 10 && day.bytes().enumerate().all(digit_or_hyphen)
}
