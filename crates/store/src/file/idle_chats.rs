//! Remembers the sizes at which chats were seen idle: `.ship/idle.jsonl`.
//!
//! The file is derived, and nothing of it is synced: a chat whose note is lost is opened once more. A line is only
//! appended, and the last line of a chat counts. Without a lock, a note may be lost to a process that writes the file
//! anew; it is never wrong, because it holds the sizes that its writer has seen.

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use ship_message::json::{Array, Json, Object};

use super::blobs::create_unfinished;
use super::store_env::{Env, read_from, write_all};
use crate::disk::{DiskFile, OpenMode};
use crate::{ChatSizes, StorageError};

const FOLDER: &str = ".ship";
const FILE: &str = ".ship/idle.jsonl";
/// The length below which the file is not worth being written anew.
const SHORT: u64 = 64 * 1024;

/// The number of chats whose notes are written together.
const WAITING_MAX: usize = 32;

/// The notes of this process. They are written when many wait, before they are read, and when the store is dropped: a
/// chat that goes on changes its note with every turn.
pub(super) struct IdleNotes {
    env: Arc<Env>,
    waiting: Mutex<HashMap<String, ChatSizes>>,
    /// The length of the file when this process last looked whether it is longer than needed.
    needed: AtomicU64,
}

impl IdleNotes {
    pub(super) fn new(env: Arc<Env>) -> Self {
        Self { env, waiting: Mutex::default(), needed: AtomicU64::new(0) }
    }

    /// Notes the sizes at which the chat in a folder was seen idle.
    pub(super) fn note(&self, folder: &str, sizes: ChatSizes) -> Result<(), StorageError> {
        let is_full = {
            let mut waiting = self.waiting.lock();
            waiting.insert(folder.to_owned(), sizes);
            waiting.len() >= WAITING_MAX
        };
        if is_full { self.write() } else { Ok(()) }
    }

    /// Writes the notes that wait.
    pub(super) fn write(&self) -> Result<(), StorageError> {
        let waiting = std::mem::take(&mut *self.waiting.lock());
        if waiting.is_empty() {
            return Ok(());
        }
        let failed = |error| StorageError::io("write", FILE, error);
        let file = open_or_create(&self.env).map_err(failed)?;
        let lines: String = waiting.iter().map(|(folder, sizes)| line(folder, sizes)).collect();
        write_all(&*file, lines.as_bytes()).map_err(failed)?;
        let len = file.stat().map_err(failed)?.len;
        if len > SHORT.max(self.needed.load(Ordering::Relaxed) * 2) {
            self.needed.store(shorten(&self.env)?, Ordering::Relaxed);
        }
        Ok(())
    }
}

impl Drop for IdleNotes {
    fn drop(&mut self) {
        // A chat whose note is lost is opened once more.
        let _ = self.write();
    }
}

/// Reads the notes, each once. A line that is torn or of another program is passed over.
#[derive(Default)]
pub(super) struct IdleReader {
    /// The file that was read, and the length of the lines.
    read: Option<((u64, u64), u64)>,
}

/// The notes that were written since the last look.
#[derive(Default)]
pub(super) struct NewNotes {
    /// Whether these are all notes, because the file is another one than before.
    pub(super) is_whole: bool,
    /// The folder of each chat and the sizes at which it was seen idle. The last note of a chat counts.
    pub(super) notes: Vec<(String, ChatSizes)>,
}

impl IdleReader {
    /// Reads the notes since the last look.
    pub(super) fn read_new(&mut self, env: &Env) -> Result<NewNotes, StorageError> {
        let before = self.read.take();
        let Some(file) = env.open(Path::new(FILE), OpenMode::Read)? else {
            return Ok(NewNotes { is_whole: before.is_some(), ..NewNotes::default() });
        };
        let failed = |error| StorageError::io("read", FILE, error);
        let look = file.stat_when_opened().map_err(failed)?;
        let goes_on = before.filter(|(known, len)| *known == look.file && *len <= look.len);
        let from = goes_on.map_or(0, |(_, len)| len);
        let mut bytes = read_from(&*file, from, look.len).map_err(failed)?;
        bytes.truncate(memchr::memrchr(b'\n', &bytes).map_or(0, |at| at + 1));
        self.read = Some((look.file, from + bytes.len() as u64));
        let notes = bytes.split(|&byte| byte == b'\n').filter_map(read_line).collect();
        Ok(NewNotes { is_whole: goes_on.is_none(), notes })
    }
}

/// Reads the sizes at which each chat was last seen idle, by its folder.
fn read(env: &Env) -> Result<HashMap<String, ChatSizes>, StorageError> {
    Ok(IdleReader::default().read_new(env)?.notes.into_iter().collect())
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

    fn notes() -> (Arc<Env>, IdleNotes) {
        let env = Arc::new(Env::new(Box::new(MemoryDisk::new()), StoreOptions::default()));
        env.ensure_folder(Path::new(FOLDER)).unwrap();
        (Arc::clone(&env), IdleNotes::new(env))
    }

    fn sizes(bytes: u64) -> ChatSizes {
        ChatSizes { context_bytes: bytes, ledger_bytes: 2, journal_bytes: 3 }
    }

    #[test]
    fn the_last_note_of_a_chat_counts_and_a_torn_or_foreign_line_is_passed_over() {
        let (env, notes) = notes();
        for (folder, bytes) in [("a", 1), ("b", 2), ("a", 4)] {
            notes.note(folder, sizes(bytes)).unwrap();
            notes.write().unwrap();
        }
        let expected = HashMap::from([("a".to_owned(), sizes(4)), ("b".to_owned(), sizes(2))]);
        assert_eq!(read(&env).unwrap(), expected);
        let file = env.disk.open(Path::new(FILE), OpenMode::Append).unwrap();
        write_all(&*file, b"\0\0\n{\"chat\":\"c\"}\n[1]\n{\"chat\":\"b\",\"sizes\":[1,").unwrap();
        assert_eq!(read(&env).unwrap(), expected);
    }

    #[test]
    fn each_note_is_read_once_until_the_file_is_another_one() {
        let ((env, notes), mut reader) = (notes(), IdleReader::default());
        let note = |folder: &str, bytes: u64| {
            notes.note(folder, sizes(bytes)).and_then(|()| notes.write()).unwrap();
        };
        let mut read_new = |is_whole: bool| {
            let new = reader.read_new(&env).unwrap();
            assert_eq!(new.is_whole, is_whole);
            new.notes.into_iter().map(|(folder, _)| folder).collect::<Vec<String>>()
        };
        assert!(read_new(false).is_empty(), "there is no file");
        note("a", 1);
        assert_eq!(read_new(true), ["a"]);
        note("b", 2);
        let file = env.disk.open(Path::new(FILE), OpenMode::Append).unwrap();
        let (begin, end) = (b"{\"chat\":\"c\",", b"\"sizes\":[1,2,3]}\n");
        write_all(&*file, begin).unwrap();
        assert_eq!(read_new(false), ["b"], "a line without its end is not read");
        write_all(&*file, end).unwrap();
        assert_eq!(read_new(false), ["c"]);
        assert!(read_new(false).is_empty());
        env.replace(Path::new(FILE), line("d", &sizes(1)).as_bytes()).unwrap();
        assert_eq!(read_new(true), ["d"]);
    }

    #[test]
    fn the_file_stays_short_however_often_a_chat_is_idle() {
        let (env, notes) = notes();
        for bytes in 0..5_000 {
            notes.note("a", sizes(bytes)).unwrap();
            notes.write().unwrap();
        }
        assert!(env.stat(Path::new(FILE)).unwrap().unwrap().len <= SHORT);
        assert_eq!(read(&env).unwrap(), HashMap::from([("a".to_owned(), sizes(4_999))]));
        assert_eq!(env.list(Path::new(FOLDER)).unwrap(), ["idle.jsonl"], "nothing is left over");
    }
}
