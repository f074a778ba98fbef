//! Remembers which unrepairable problems a person has seen, in `quarantine/seen.jsonl`.
//!
//! A problem is identified by a file, an offset and the checksum of the line there, or by a blob and the checksum of
//! its bytes, because many lines can refer to one blob. Lines that are missing are identified by their numbers. New damage is at another place or leaves other bytes, so it is
//! not among them.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use ship_message::json::{Json, Object};

use super::chat::ChatFiles;
use super::store_env::read_from;
use super::{blobs, quarantine};
use crate::disk::OpenMode;
use crate::{RepairEffect, StorageError, StorageProblem, StorageProblemKind};

/// The place of a problem.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct SeenPlace {
    /// The path relative to the folder of the chat; that of a blob is relative to the project.
    file: String,
    offset: u64,
    crc: u32,
    kind: String,
}

impl SeenPlace {
    fn read(line: &[u8]) -> Option<Self> {
        let line = Json::parse_bytes(line).ok()?;
        let text = |key: &str| line.get(key)?.as_str();
        Some(Self {
            file: text("file")?.to_owned(),
            offset: line.get("offset")?.as_u64()?,
            crc: u32::from_str_radix(text("crc")?, 16).ok()?,
            kind: text("kind")?.to_owned(),
        })
    }

    fn to_line(&self, ts: &str) -> String {
        let mut object = Object::from([("file", Json::from(self.file.as_str()))]);
        object.set("offset", self.offset);
        object.set("crc", format!("{:08x}", self.crc));
        object.set("kind", self.kind.as_str());
        object.set("ts", ts);
        format!("{}\n", Json::from(object))
    }

    /// Returns the same place under the name that the file had before it was sealed.
    fn before_sealing(&self) -> Option<Self> {
        let (folder, name) = self.file.rsplit_once('/')?;
        let (folder, name) = quarantine::live_log(folder.rsplit('/').next()?, name)?;
        Some(Self { file: format!("{folder}/{name}"), ..self.clone() })
    }
}

impl ChatFiles {
    /// Marks the problems that a person has seen.
    pub(crate) fn mark_known(&self, problems: &mut [StorageProblem]) -> Result<(), StorageError> {
        let markable =
            problems.iter_mut().filter(|problem| problem.repair == RepairEffect::MarksKnown);
        let mut markable = markable.peekable();
        // Mostly there are none, and then the file is not read.
        if markable.peek().is_none() {
            return Ok(());
        }
        let seen: HashSet<SeenPlace> = self.seen_places()?.into_iter().collect();
        for problem in markable {
            let place = self.place_of(problem)?;
            let before = place.before_sealing();
            problem.is_reported =
                seen.contains(&place) || before.is_some_and(|it| seen.contains(&it));
        }
        Ok(())
    }

    /// Records that a person has seen these problems. Problems that a repair heals are not recorded.
    pub(crate) fn acknowledge(&self, problems: &[StorageProblem]) -> Result<(), StorageError> {
        let _right = self.take_write_right("acknowledge")?;
        let path = self.seen_path();
        let mut bytes = self.env.read(&path)?.map(|(_, bytes)| bytes).unwrap_or_default();
        // A person may have edited the file.
        if !bytes.is_empty() && !bytes.ends_with(b"\n") {
            bytes.push(b'\n');
        }
        let mut seen: HashSet<SeenPlace> = self.seen_places()?.into_iter().collect();
        let ts = self.env.options.now().to_string();
        let mut is_changed = false;
        for problem in problems.iter().filter(|problem| problem.repair == RepairEffect::MarksKnown)
        {
            let place = self.place_of(problem)?;
            if seen.insert(place.clone()) {
                bytes.extend(place.to_line(&ts).into_bytes());
                is_changed = true;
            }
        }
        if !is_changed {
            return Ok(());
        }
        self.env.ensure_folder(&self.paths.quarantine)?;
        self.env.replace(&path, &bytes)
    }

    fn seen_path(&self) -> PathBuf {
        self.paths.quarantine.join("seen.jsonl")
    }

    /// Reads the recorded places. A place on an unreadable line counts as not seen.
    fn seen_places(&self) -> Result<Vec<SeenPlace>, StorageError> {
        let Some((_, bytes)) = self.env.read(&self.seen_path())? else { return Ok(Vec::new()) };
        Ok(bytes.split(|&byte| byte == b'\n').filter_map(SeenPlace::read).collect())
    }

    fn place_of(&self, problem: &StorageProblem) -> Result<SeenPlace, StorageError> {
        let kind = problem.kind.name().to_owned();
        if let Some(blob) = problem.blob.as_deref().and_then(blobs::path_of) {
            let bytes = self.env.read(&blob)?.map(|(_, bytes)| bytes).unwrap_or_default();
            let (file, crc) = (blob.display().to_string(), crc32c::crc32c(&bytes));
            return Ok(SeenPlace { file, offset: 0, crc, kind });
        }
        let path = Path::new(&problem.place);
        let crc = match problem.kind {
            // What is missing is named by the numbers in the message; the line at that place may change.
            StorageProblemKind::Missing if self.env.stat(path)?.is_some() => {
                crc32c::crc32c(problem.message.as_bytes())
            }
            _ => self.line_checksum(path, problem.offset)?,
        };
        let file = path.strip_prefix(&self.paths.chat).unwrap_or(path).display().to_string();
        Ok(SeenPlace { file, offset: problem.offset, crc, kind })
    }

    /// Returns the checksum from an offset to the end of the line; 0 if there is no such file.
    fn line_checksum(&self, path: &Path, offset: u64) -> Result<u32, StorageError> {
        const BLOCK: u64 = 64 * 1024;
        let Some(file) = self.env.open(path, OpenMode::Read)? else { return Ok(0) };
        let (mut crc, mut from) = (0, offset);
        loop {
            let block = read_from(&*file, from, from + BLOCK)
                .map_err(|error| StorageError::io("read", path, error))?;
            let newline = block.iter().position(|&byte| byte == b'\n');
            crc = crc32c::crc32c_append(crc, &block[..newline.unwrap_or(block.len())]);
            if newline.is_some() || block.is_empty() {
                return Ok(crc);
            }
            from += block.len() as u64;
        }
    }
}
