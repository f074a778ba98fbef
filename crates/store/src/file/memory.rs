//! The memory of a chat: `memory/Primary.md`, which people edit, too.
//!
//! A person may put the file there before the chat exists, or a link to a file of the project in its place.

use std::io;
use std::path::{Path, PathBuf};

use super::chat::ChatFiles;
use super::store_env::{Env, read_from};
use crate::chat_folder::chat_folder;
use crate::disk::{DiskFile, LinkedFile, NodeKind, OpenMode};
use crate::{ChatKey, FileError, MemoryError, StorageError, TEXT_BYTES_MAX, text_of_file};

/// Returns the text of a file of which these are the first bytes.
fn text_of(mut bytes: Vec<u8>) -> Option<String> {
    let is_cut = bytes.len() as u64 > TEXT_BYTES_MAX;
    bytes.truncate(TEXT_BYTES_MAX as usize);
    text_of_file(bytes, is_cut)
}

fn memory_path(chat: &ChatKey) -> PathBuf {
    chat_folder(chat).join("memory/Primary.md")
}

/// Opens the file, also through a link that stays in the project.
fn open(env: &Env, path: &Path) -> Result<Option<Box<dyn DiskFile>>, FileError> {
    let error = match env.disk.open(path, OpenMode::Read) {
        Ok(file) => return Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => error,
        // A link in the place of the file or of its folder, or no file at all.
        Err(_) => match env.disk.open_linked(path) {
            Ok(LinkedFile::Inside(file)) => return Ok(Some(file)),
            Ok(LinkedFile::Outside(target)) => {
                return Err(FileError::Outside { file: path.to_owned(), target });
            }
            Ok(LinkedFile::NotAFile) => return Err(FileError::NotAFile { file: path.to_owned() }),
            Err(error) => match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => return Ok(None),
                _ => error,
            },
        },
    };
    Err(FileError::Unreadable { file: path.to_owned(), source: error })
}

impl ChatFiles {
    /// Returns the memory of the chat if one look shows that there is none, or that the file has not changed.
    pub(super) fn known_memory(&self) -> Option<Option<String>> {
        match self.env.glance(&memory_path(&self.key)) {
            Ok(None) => Some(None),
            Ok(Some(look)) => self.memory_file.bytes_of(look).map(|bytes| text_of(bytes.to_vec())),
            // The reading finds out what is wrong.
            Err(_) => None,
        }
    }

    /// Reads the memory of the chat; `None` if there is none.
    pub(super) fn read_memory(&self) -> Result<Option<String>, MemoryError> {
        let path = memory_path(&self.key);
        let unreadable = |source| FileError::Unreadable { file: path.clone(), source };
        let Some(file) = open(&self.env, &path)? else { return Ok(None) };
        let look = file.stat_when_opened().map_err(unreadable)?;
        let len = look.len.min(TEXT_BYTES_MAX + 1);
        let bytes = read_from(&*file, 0, len).map_err(unreadable)?;
        Ok(text_of(self.memory_file.keep(look, bytes).to_vec()))
    }

    /// Replaces the memory of the chat. A link or a folder in its place stays.
    pub(super) fn set_memory(&self, text: &str) -> Result<(), MemoryError> {
        let (chat, len) = (&self.key, text.len() as u64);
        if len > TEXT_BYTES_MAX {
            return Err(MemoryError::TooLong { chat: chat.clone(), len });
        }
        self.make_folders()?;
        let _right = self.take_write_right("memory")?;
        let path = memory_path(chat);
        if self.env.stat(&path)?.is_some_and(|look| look.node != NodeKind::File) {
            return Err(StorageError::NotPlain { path, expected: "file" }.into());
        }
        Ok(self.env.replace(&path, text.as_bytes())?)
    }
}
