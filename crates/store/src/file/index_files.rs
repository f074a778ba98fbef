//! Keeps search indexes in `.ship/index`, a folder for each chat.
//!
//! Nothing is synced: after a power cut a piece may be missing or empty, and its reader makes the index again.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::chat_list::CHATS;
use super::store::blocking;
use super::store_env::Env;
use crate::chat_folder::folder_name;
use crate::{ChatKey, IndexFiles, ReadError, RecordName, StorageError, StoreFuture};

const FOLDER: &str = ".ship/index";

/// The indexes of a project on files.
pub(super) struct FileIndexes(Arc<Env>);

impl FileIndexes {
    pub(super) fn new(env: Arc<Env>) -> Self {
        Self(env)
    }

    fn run<T: Send + 'static, E: Send + 'static>(
        &self,
        work: impl FnOnce(&Env) -> Result<T, E> + Send + 'static,
    ) -> StoreFuture<'_, T, E> {
        let env = Arc::clone(&self.0);
        blocking(move || work(&env))
    }
}

fn folder_of(chat: &ChatKey) -> PathBuf {
    Path::new(FOLDER).join(folder_name(chat))
}

impl IndexFiles for FileIndexes {
    fn read_all(
        &self,
        chats: Vec<ChatKey>,
        piece: &RecordName,
    ) -> StoreFuture<'_, Vec<Option<Vec<u8>>>, ReadError> {
        let piece = piece.clone();
        self.run(move |env| {
            let read = |chat: &ChatKey| env.read(&folder_of(chat).join(piece.as_str()));
            let read = |chat| Ok(read(chat)?.map(|(_, bytes)| bytes));
            chats.iter().map(read).collect()
        })
    }

    fn put(
        &self,
        chat: &ChatKey,
        piece: &RecordName,
        bytes: Vec<u8>,
    ) -> StoreFuture<'_, (), StorageError> {
        let (folder, piece) = (folder_of(chat), piece.clone());
        self.run(move |env| {
            env.ensure_folder(Path::new(".ship"))?;
            env.ensure_folder(Path::new(FOLDER))?;
            env.ensure_folder(&folder)?;
            env.replace_unsynced(&folder.join(piece.as_str()), &bytes)
        })
    }

    fn keep_only(
        &self,
        chat: &ChatKey,
        pieces: Vec<RecordName>,
    ) -> StoreFuture<'_, (), StorageError> {
        let folder = folder_of(chat);
        self.run(move |env| {
            let is_kept = |name: &String| pieces.iter().any(|piece| piece.as_str() == name);
            let mut other = env.list(&folder)?.into_iter().filter(|name| !is_kept(name));
            other.try_for_each(|name| env.remove(&folder.join(name)))
        })
    }

    fn drop_strays(&self) -> StoreFuture<'_, (), StorageError> {
        self.run(move |env| {
            let indexes = env.list(Path::new(FOLDER))?;
            if indexes.is_empty() {
                return Ok(());
            }
            let chats: HashSet<String> = env.list(Path::new(CHATS))?.into_iter().collect();
            for stray in indexes.into_iter().filter(|name| !chats.contains(name)) {
                let folder = Path::new(FOLDER).join(stray);
                for name in env.list(&folder)? {
                    env.remove(&folder.join(name))?;
                }
                let removed = env.disk.remove_folder(&folder);
                removed.map_err(|error| StorageError::io("remove", &folder, error))?;
            }
            Ok(())
        })
    }
}
