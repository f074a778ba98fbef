//! Writes whole batches, each on disk before the call returns. Every write goes through here.
//!
//! `len` is the length up to which every byte is durable. If a write or a sync fails, no byte after `len` is
//! trusted: the bytes are cut off again, at once or, if that fails too, before the next write. So a failed append
//! has no effect, and the next one succeeds as soon as the disk works.

use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use super::entry_scan::{self, Extent, ScanError};
use super::entry_storage::{EntryStorage, Memory, OnDisk, Prefix};
use super::{ContextEntry, LoadConversationError, WriteError};

/// The access to a log.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
}

pub(super) struct EntryFile {
    storage: Box<dyn EntryStorage>,
    path: Option<PathBuf>,
    access: Access,
    len: u64,
    /// Whether there may be bytes after `len`.
    is_unsettled: bool,
}

impl EntryFile {
    pub(super) fn in_memory() -> Self {
        Self::on_storage(Box::new(Memory::default()), None)
    }

    /// Makes a log from a file with `len` whole, synced bytes.
    pub(super) fn on_disk(place: OnDisk, len: u64, access: Access) -> Self {
        let path = Some(place.path.clone());
        Self { access, len, ..Self::on_storage(Box::new(place), path) }
    }

    /// Makes an empty log on any storage.
    pub(super) fn on_storage(place: Box<dyn EntryStorage>, path: Option<PathBuf>) -> Self {
        Self { storage: place, path, access: Access::Write, len: 0, is_unsettled: false }
    }

    pub(super) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// Returns a reader of the first `len` bytes.
    pub(super) fn prefix(&self, len: u64) -> Prefix<'_> {
        Prefix { place: &*self.storage, at: 0, end: len.min(self.len) }
    }

    /// Reads every entry with the offset of its line.
    pub(super) fn read(
        &self,
        each: impl FnMut(u64, ContextEntry),
    ) -> Result<(), LoadConversationError> {
        scan(self.prefix(self.len), &self.path_for_user(), each).map(|_| ())
    }

    /// Appends a batch and returns its offset.
    pub(super) fn append(&mut self, batch: &str) -> Result<u64, WriteError> {
        if self.access == Access::Read {
            return Err(WriteError::ReadOnly { path: self.path_for_user() });
        }
        self.undo_failed_append()
            .map_err(|source| WriteError::Unsettled { path: self.path_for_user(), source })?;
        match self.storage.is_unchanged(self.len) {
            Ok(true) => {}
            Ok(false) => return Err(WriteError::Changed { path: self.path_for_user() }),
            Err(source) => return Err(WriteError::Failed { path: self.path_for_user(), source }),
        }
        // Set before the write: should it fail or panic half way, the next append cuts first.
        self.is_unsettled = true;
        if let Err(source) = self.storage.append(batch.as_bytes()) {
            // If this fails too, the next append tries again before it writes.
            let _ = self.undo_failed_append();
            return Err(WriteError::Failed { path: self.path_for_user(), source });
        }
        self.is_unsettled = false;
        let offset = self.len;
        self.len += batch.len() as u64;
        Ok(offset)
    }

    fn undo_failed_append(&mut self) -> io::Result<()> {
        if self.is_unsettled {
            self.storage.cut(self.len)?;
            self.is_unsettled = false;
        }
        Ok(())
    }

    fn path_for_user(&self) -> PathBuf {
        self.path.clone().unwrap_or_else(|| PathBuf::from("(memory)"))
    }
}

/// Reads every entry with the offset of its line.
pub(super) fn scan(
    bytes: impl io::Read,
    path: &Path,
    each: impl FnMut(u64, ContextEntry),
) -> Result<Extent, LoadConversationError> {
    let path = || path.to_owned();
    entry_scan::scan_entries(BufReader::new(bytes), each).map_err(|error| match error {
        ScanError::Io(source) => LoadConversationError::Io { doing: "read", path: path(), source },
        ScanError::Damaged { line, cause } => {
            LoadConversationError::Damaged { path: path(), line, source: cause }
        }
    })
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::conversation::{Conversation, NewConversationMessage};

    /// A storage that fails on command and shows its bytes.
    #[derive(Clone, Default)]
    struct Faulty(Arc<Mutex<Script>>);

    #[derive(Default)]
    struct Script {
        bytes: Vec<u8>,
        written_before_append_fails: Option<usize>,
        cut_fails: bool,
    }

    impl EntryStorage for Faulty {
        fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
            let mut script = self.0.lock().unwrap();
            let written = script.written_before_append_fails.unwrap_or(bytes.len());
            script.bytes.extend_from_slice(&bytes[..written]);
            match script.written_before_append_fails.take() {
                Some(_) => Err(io::ErrorKind::StorageFull.into()),
                None => Ok(()),
            }
        }

        fn cut(&mut self, len: u64) -> io::Result<()> {
            let mut script = self.0.lock().unwrap();
            if script.cut_fails {
                return Err(io::ErrorKind::StorageFull.into());
            }
            script.bytes.truncate(usize::try_from(len).unwrap());
            Ok(())
        }

        fn is_unchanged(&self, len: u64) -> io::Result<bool> {
            Ok(self.0.lock().unwrap().bytes.len() as u64 == len)
        }

        fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
            let bytes = &self.0.lock().unwrap().bytes;
            io::Read::read(&mut &bytes[usize::try_from(offset).unwrap()..], buffer)
        }
    }

    fn bytes(place: &Faulty) -> String {
        String::from_utf8(place.0.lock().unwrap().bytes.clone()).unwrap()
    }

    #[test]
    fn a_write_that_fails_anywhere_is_taken_back_and_the_next_one_works() {
        // Five of five written: the sync failed, and the bytes may or may not be on disk.
        for written in 0..=5 {
            let place = Faulty::default();
            let mut log = EntryFile::on_storage(Box::new(place.clone()), None);
            log.append("one\n").unwrap();

            place.0.lock().unwrap().written_before_append_fails = Some(written);
            assert!(matches!(log.append("fail\n"), Err(WriteError::Failed { .. })));
            assert_eq!(bytes(&place), "one\n");

            assert_eq!(log.append("two\n").unwrap(), 4);
            assert_eq!(bytes(&place), "one\ntwo\n");
        }
    }

    #[test]
    fn a_conversation_whose_append_failed_is_as_it_was() {
        let place = Faulty::default();
        let log = EntryFile::on_storage(Box::new(place.clone()), None);
        let mut chat = Conversation::new(log, Arc::new(crate::SystemClock));
        place.0.lock().unwrap().written_before_append_fails = Some(9);
        assert!(chat.append(NewConversationMessage::user("lost")).is_err());
        assert_eq!(chat.llm_messages().len(), 0);

        assert_eq!(chat.append(NewConversationMessage::user("kept")).unwrap(), "m001");
        assert_eq!(bytes(&place), chat.entries().unwrap()[0].to_string() + "\n");
    }

    #[test]
    fn nothing_is_written_until_a_failed_write_is_taken_back() {
        let place = Faulty::default();
        let mut log = EntryFile::on_storage(Box::new(place.clone()), None);
        log.append("one\n").unwrap();
        {
            let mut script = place.0.lock().unwrap();
            script.written_before_append_fails = Some(3);
            script.cut_fails = true;
        }
        assert!(matches!(log.append("fail\n"), Err(WriteError::Failed { .. })));
        assert!(matches!(log.append("two\n"), Err(WriteError::Unsettled { .. })));
        assert_eq!(bytes(&place), "one\nfai");

        place.0.lock().unwrap().cut_fails = false;
        log.append("two\n").unwrap();
        assert_eq!(bytes(&place), "one\ntwo\n");
    }
}
