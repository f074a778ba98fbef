//! Remembers the sizes at which chats were seen idle: `.ship/idle.jsonl`.
//!
//! The file is derived, and nothing of it is synced: a chat whose note is lost is opened once more. A line is only
//! appended, and the last line of a chat counts. Without a lock, a note may be lost to a process that writes the file
//! anew; it is never wrong, because it holds the sizes that its writer has seen.

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use ship_message::json::{Array, Json, Object};

use super::blobs::create_unfinished;
use super::store_env::{Env, write_all};
use crate::disk::{DiskFile, OpenMode};
use crate::{ChatSizes, StorageError};

const FOLDER: &str = ".ship";
const FILE: &str = ".ship/idle.jsonl";
/// The length below which the file is not worth being written anew.
const SHORT: u64 = 64 * 1024;

/// The length of the file when this process last looked whether it is longer than needed.
#[derive(Default)]
pub(super) struct IdleNotes {
    needed: AtomicU64,
}

impl IdleNotes {
    /// Notes the sizes at which the chat in a folder was seen idle.
    pub(super) fn note(
        &self,
        env: &Env,
        folder: &str,
        sizes: ChatSizes,
    ) -> Result<(), StorageError> {
        let failed = |error| StorageError::io("write", FILE, error);
        let file = open_or_create(env).map_err(failed)?;
        write_all(&*file, line(folder, &sizes).as_bytes()).map_err(failed)?;
        let len = file.stat().map_err(failed)?.len;
        if len > SHORT.max(self.needed.load(Ordering::Relaxed) * 2) {
            self.needed.store(shorten(env)?, Ordering::Relaxed);
        }
        Ok(())
    }
}

/// Reads the sizes at which each chat was last seen idle, by its folder. A line that is torn or of
/// another program is passed over.
pub(super) fn read(env: &Env) -> Result<HashMap<String, ChatSizes>, StorageError> {
    let bytes = env.read(Path::new(FILE))?.map(|(_, bytes)| bytes).unwrap_or_default();
    Ok(bytes.split(|&byte| byte == b'\n').filter_map(read_line).collect())
}

fn read_line(line: &[u8]) -> Option<(String, ChatSizes)> {
    let line = Json::parse_bytes(line).ok()?;
    let sizes = line.get("sizes")?.as_array()?;
    let size = |nth: usize| sizes.get(nth)?.as_u64();
    let (context_bytes, ledger_bytes, journal_bytes) = (size(0)?, size(1)?, size(2)?);
    let sizes = ChatSizes { context_bytes, ledger_bytes, journal_bytes };
    Some((line.get("chat")?.as_str()?.to_owned(), sizes))
}

fn line(folder: &str, sizes: &ChatSizes) -> String {
    let ChatSizes { context_bytes, ledger_bytes, journal_bytes } = *sizes;
    let sizes = [context_bytes, ledger_bytes, journal_bytes].map(Json::from);
    let line =
        Object::from([("chat", Json::from(folder)), ("sizes", Array::from(sizes.to_vec()).into())]);
    format!("{}\n", Json::from(line))
}

fn open_or_create(env: &Env) -> io::Result<Box<dyn DiskFile>> {
    let path = Path::new(FILE);
    match env.disk.open(path, OpenMode::Append) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        opened => return opened,
    }
    match env.disk.open(path, OpenMode::Create) {
        // Another process has just made it.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            env.disk.open(path, OpenMode::Append)
        }
        created => created,
    }
}

/// Writes the file anew if it is more than twice as long as needed. Returns the needed length.
fn shorten(env: &Env) -> Result<u64, StorageError> {
    let notes = read(env)?;
    let text: String = notes.iter().map(|(folder, sizes)| line(folder, sizes)).collect();
    let needed = text.len() as u64;
    if env.stat(Path::new(FILE))?.is_some_and(|look| look.len > needed * 2) {
        let failed = |error| StorageError::io("write", FILE, error);
        let (aside, file) = create_unfinished(env, Path::new(FOLDER)).map_err(failed)?;
        write_all(&*file, text.as_bytes())
            .and_then(|()| env.disk.rename(&aside, Path::new(FILE)))
            .map_err(failed)?;
    }
    Ok(needed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StoreOptions;
    use crate::disk::MemoryDisk;

    fn env() -> Env {
        let env = Env::new(Box::new(MemoryDisk::new()), StoreOptions::default());
        env.ensure_folder(Path::new(FOLDER)).unwrap();
        env
    }

    fn sizes(bytes: u64) -> ChatSizes {
        ChatSizes { context_bytes: bytes, ledger_bytes: 2, journal_bytes: 3 }
    }

    #[test]
    fn the_last_note_of_a_chat_counts_and_a_torn_or_foreign_line_is_passed_over() {
        let (env, notes) = (env(), IdleNotes::default());
        for (folder, bytes) in [("a", 1), ("b", 2), ("a", 4)] {
            notes.note(&env, folder, sizes(bytes)).unwrap();
        }
        let expected = HashMap::from([("a".to_owned(), sizes(4)), ("b".to_owned(), sizes(2))]);
        assert_eq!(read(&env).unwrap(), expected);
        let file = env.disk.open(Path::new(FILE), OpenMode::Append).unwrap();
        write_all(&*file, b"\0\0\n{\"chat\":\"c\"}\n[1]\n{\"chat\":\"b\",\"sizes\":[1,").unwrap();
        assert_eq!(read(&env).unwrap(), expected);
    }

    #[test]
    fn the_file_stays_short_however_often_a_chat_is_idle() {
        let (env, notes) = (env(), IdleNotes::default());
        for bytes in 0..5_000 {
            notes.note(&env, "a", sizes(bytes)).unwrap();
        }
        assert!(env.stat(Path::new(FILE)).unwrap().unwrap().len <= SHORT);
        assert_eq!(read(&env).unwrap(), HashMap::from([("a".to_owned(), sizes(4_999))]));
        assert_eq!(env.list(Path::new(FOLDER)).unwrap(), ["idle.jsonl"], "nothing is left over");
    }
}
