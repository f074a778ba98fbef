//! Lists, finds and reads the sealed logs of a chat.
//!
//! Each log names the one that it replaced. So the newest are listed along this chain without reading the folder,
//! which has a file for every rotation. The name of a sealed log gives its range of lines.

use std::path::Path;

use ship_message::json::Json;

use super::chat::ChatFiles;
use super::log_reading::{first_line, first_two_lines, scan_log};
use super::rotate::sealed_path;
use super::view_cache::ViewCache;
use super::{purge, view};
use crate::line::LineKind;
use crate::rules::read_head;
use crate::scan::{LogScan, ScannedLine, scan};
use crate::{
    Head, MessageId, MessagePlace, ReadError, SealedLog, SealedName, Seq, StorageError,
    StorageProblem, StorageProblemKind, View,
};

impl ChatFiles {
    /// Returns the names of the sealed logs in `messages/archive/`, the oldest first.
    pub(crate) fn sealed_names(&self) -> Result<Vec<SealedName>, StorageError> {
        let names = self.env.list(&self.paths.archive)?;
        let sealed =
            names.iter().filter_map(|name| SealedName::parse(name.strip_suffix(".jsonl")?));
        let mut sealed: Vec<SealedName> = sealed.collect();
        sealed.sort_by_key(SealedName::range);
        Ok(sealed)
    }

    /// Returns the readable sealed logs before another one, or before the live log. A log that cannot be read is
    /// skipped: verification reports it, and the folder gives the one before it.
    pub(crate) fn sealed_logs(
        &self,
        before: Option<&SealedName>,
        limit: usize,
    ) -> Result<Vec<SealedLog>, ReadError> {
        let mut next = match before {
            Some(name) => self.replaced_log(name, self.sealed_log(name)?.as_ref())?,
            None => self.newest_sealed()?,
        };
        let mut sealed = Vec::new();
        while sealed.len() < limit
            && let Some(name) = next.take()
        {
            let log = self.sealed_log(&name)?;
            next = self.replaced_log(&name, log.as_ref())?;
            sealed.extend(log);
        }
        Ok(sealed)
    }

    /// Returns a sealed log with its head; `None` if it is missing or cannot be read.
    pub(super) fn sealed_log(&self, name: &SealedName) -> Result<Option<SealedLog>, StorageError> {
        let path = sealed_path(&self.paths.archive, name);
        let [first, second] = first_two_lines(&self.env, &path)?;
        let head = match first.as_ref().and_then(read_head) {
            Some(head) => head,
            None => match self.head_from_scan(&path)? {
                Some(head) => head,
                None => return Ok(None),
            },
        };
        let purged = purge::read_purge(&self.env, &path, second.as_ref())?;
        let ((first, last), sealed_at) = (name.range(), name.sealed_at());
        Ok(Some(SealedLog { name: name.clone(), first, last, sealed_at, head, purged }))
    }

    /// Returns the log that a sealed one replaced: from its head or, if that cannot be read, from the folder.
    fn replaced_log(
        &self,
        name: &SealedName,
        log: Option<&SealedLog>,
    ) -> Result<Option<SealedName>, StorageError> {
        let first = name.range().0;
        match log {
            // Each log replaces an older one; only a forged chain could form a circle.
            Some(log) => Ok(log.head.sealed.clone().filter(|older| older.range().1 < first)),
            None => self.sealed_before(Some(first)),
        }
    }

    /// Returns the head of a sealed log; `None` if it is missing or cannot be read.
    pub(crate) fn sealed_head(&self, path: &Path) -> Result<Option<Head>, StorageError> {
        if let Some(head) = view::first_head(&self.env, path)? {
            return Ok(Some(head));
        }
        self.head_from_scan(path)
    }

    /// Returns the head of a sealed log from all that is left of the log.
    fn head_from_scan(&self, path: &Path) -> Result<Option<Head>, StorageError> {
        match view::read_view(&self.env, path) {
            Ok(view) => Ok(view.map(|view| view.head)),
            Err(StorageError::Damaged { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the log that the live one replaced: from its head or, if that is lost, from the folder.
    pub(crate) fn newest_sealed(&self) -> Result<Option<SealedName>, StorageError> {
        if let Some(head) = view::first_head(&self.env, &self.paths.live)? {
            return Ok(head.sealed);
        }
        let Some((_, bytes)) = self.env.read(&self.paths.live)? else {
            return self.sealed_before(None);
        };
        let first =
            scan_log(&self.paths.live, &bytes).lines.first().map(|found| Seq::new(found.line.seq));
        self.sealed_before(first)
    }

    /// Returns the newest sealed log in the folder that ends before a line.
    pub(crate) fn sealed_before(
        &self,
        seq: Option<Seq>,
    ) -> Result<Option<SealedName>, StorageError> {
        let before = |name: &SealedName| seq.is_none_or(|seq| name.range().1 < seq);
        Ok(self.sealed_names()?.into_iter().rfind(before))
    }

    pub(crate) fn sealed_view(&self, name: &SealedName) -> Result<View, ReadError> {
        let path = sealed_path(&self.paths.archive, name);
        let mut view = match ViewCache::default().read(&self.env, &path) {
            // Nothing of it can be read, and a repair cannot change that.
            Ok(None) | Err(StorageError::Damaged { .. }) => {
                return Err(self.no_sealed_log_error(name));
            }
            Ok(Some(view)) => view,
            Err(error) => return Err(error.into()),
        };
        // Unreadable lines at the end are among the problems already.
        if view.position.seq < name.range().1 && view.problems.is_empty() {
            view.problems.push(early_end(&path, view.position.seq, name.range().1));
        }
        match purge::purge_in_view(&view) {
            Some(purged) => Err(self.purged_log_error(name, purged)),
            None => Ok(view),
        }
    }

    pub(crate) fn no_sealed_log_error(&self, name: &SealedName) -> ReadError {
        ReadError::NoSealedLog { chat: self.key.clone(), name: name.as_str().to_owned() }
    }

    pub(crate) fn purged_log_error(&self, name: &SealedName, purged: crate::Purged) -> ReadError {
        ReadError::Purged { chat: self.key.clone(), name: name.as_str().to_owned(), purged }
    }

    /// Returns the place of a message in the newest log that has it.
    pub(crate) fn find(
        &self,
        id: &MessageId,
        before: Option<&SealedName>,
    ) -> Result<Option<MessagePlace>, ReadError> {
        if before.is_none()
            && let Some(seq) = self.view()?.and_then(|view| view.line_of(id))
        {
            return Ok(Some(MessagePlace { log: None, seq }));
        }
        // A log that begins behind the live one is not published.
        let live = first_line(&self.env, &self.paths.live)?.map_or(u64::MAX, |line| line.seq);
        let older = |name: &SealedName| match before {
            Some(before) => name.range() < before.range(),
            None => name.range().0.get() <= live,
        };
        for name in self.sealed_names()?.into_iter().rev().filter(older) {
            if let Some(seq) = self.line_in_sealed(&name, id)? {
                return Ok(Some(MessagePlace { log: Some(name), seq }));
            }
        }
        Ok(None)
    }

    /// Returns the line of a message in a sealed log; `None` if it has none or cannot be read.
    fn line_in_sealed(
        &self,
        name: &SealedName,
        id: &MessageId,
    ) -> Result<Option<Seq>, StorageError> {
        let path = sealed_path(&self.paths.archive, name);
        let Some((_, bytes)) = self.env.read(&path)? else { return Ok(None) };
        // Most logs do not have the message, and a search for its id is cheaper than a scan.
        let field = format!("\"id\":{}", Json::from(id.as_str()));
        if !contains(&bytes, field.as_bytes()) {
            return Ok(None);
        }
        let is_it = |found: &&ScannedLine| {
            found.line.kind == LineKind::Message && found.line.body.str("id") == Some(id.as_str())
        };
        let lines = scan(&bytes, None).lines;
        Ok(lines.iter().find(is_it).map(|found| Seq::new(found.line.seq)))
    }
}

/// Reports a sealed log that ends before the last line in its name.
pub(crate) fn missing_end_problem(
    path: &Path,
    bytes: &[u8],
    scan: &LogScan,
    (_, last): (Seq, Seq),
) -> Option<StorageProblem> {
    // Unreadable lines at the end are damage of their own.
    let given = Seq::new(scan.given);
    (given < last).then(|| early_end(path, given, last).at(bytes.len() as u64))
}

pub(super) fn early_end(path: &Path, found: Seq, last: Seq) -> StorageProblem {
    let message = format!("it should end with line {last}, but its last readable line is {found}");
    let remedy = "compare it with a backup; the lines before are still read";
    let file = path.display().to_string();
    StorageProblem::new(file, StorageProblemKind::Damage, message, remedy)
}

/// Whether `bytes` contain a pattern. Its last byte is compared first, which rules out most places.
fn contains(bytes: &[u8], pattern: &[u8]) -> bool {
    let Some(last) = pattern.last() else { return true };
    let ends = bytes.iter().enumerate().skip(pattern.len() - 1).filter(|(_, byte)| *byte == last);
    ends.into_iter().any(|(at, _)| bytes[..=at].ends_with(pattern))
}
