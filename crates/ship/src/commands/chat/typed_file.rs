//! Keeps what a person has typed ahead in a file, so that it outlives the process.
//!
//! Each process has a file of its own, and holds its lock as long as it lives. A chat that begins takes over the files
//! of ended processes. A file has a line for each change, and the last whole line counts: a torn write takes nothing away
//! that was on disk before.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use ship_agent::{IdSource, RandomIds};
use ship_message::json::{Json, Object};
use ship_store::{ChatKey, Clock as _, SystemClock, Timestamp};

/// The texts that a process has collected for one chat, on disk.
pub(super) struct TypedFile {
    folder: PathBuf,
    chat: String,
    /// The file of this process, if there is anything to keep.
    own: Option<LockedFile>,
    kept: Vec<String>,
}

/// The texts that an ended process has left.
pub(super) struct LeftTexts {
    file: LockedFile,
    /// The texts. The first one may have been on its way into the chat.
    pub(super) texts: Vec<String>,
    /// The time at which they were written.
    pub(super) since: Timestamp,
}

/// A file that no other process reads meanwhile.
struct LockedFile {
    path: PathBuf,
    file: File,
}

impl TypedFile {
    pub(super) fn new(root: &Path, chat: &ChatKey) -> Self {
        let folder = root.join(".ship/typed");
        Self { folder, chat: chat.as_str().to_owned(), own: None, kept: Vec::new() }
    }

    /// Makes the file hold these texts and no others. Then they survive the end of the process, and of the power. What
    /// failed is tried again with other texts.
    pub(super) fn keep(&mut self, texts: Vec<String>) -> io::Result<()> {
        if texts == self.kept {
            return Ok(());
        }
        self.kept = texts;
        match self.kept.is_empty() {
            true => self.own.take().map_or(Ok(()), LockedFile::remove),
            false => self.write(),
        }
    }

    /// Takes over what ended processes have left. The first of their files becomes that of this process, so that a text
    /// is never in two files but for a moment in which there are several.
    pub(super) fn take_over(&mut self, left: Vec<LeftTexts>) -> io::Result<Vec<String>> {
        let texts: Vec<String> = left.iter().flat_map(|left| left.texts.clone()).collect();
        let mut files = left.into_iter().map(|left| left.file);
        if self.own.is_none() {
            self.own = files.next();
        }
        self.keep(texts.clone())?;
        if texts.is_empty() {
            self.own.take().map_or(Ok(()), LockedFile::remove)?;
        }
        files.try_for_each(LockedFile::remove)?;
        Ok(texts)
    }

    /// Finds the texts that ended processes have left for this chat, the oldest first.
    pub(super) fn find_left(&self) -> io::Result<Vec<LeftTexts>> {
        let entries = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut paths = Vec::new();
        for entry in entries {
            let entry = entry?;
            paths.push((entry.metadata()?.modified()?, entry.path()));
        }
        paths.sort();
        let mut left = Vec::new();
        for (_, path) in paths {
            let Some(locked) = LockedFile::try_open(path)? else { continue };
            match locked.path.extension().is_some_and(|extension| extension == "tmp") {
                // Its process ended before there was anything in it that could be read.
                true => locked.remove()?,
                false => left.extend(locked.texts_of(&self.chat)?),
            }
        }
        Ok(left)
    }

    fn write(&mut self) -> io::Result<()> {
        let texts: Vec<Json> = self.kept.iter().map(|text| text.as_str().into()).collect();
        let mut line = Object::from([("chat", self.chat.as_str())]);
        line.set("ts", SystemClock.now().to_json());
        line.set("texts", texts);
        // Behind a line that was torn, this one begins anew.
        let line = format!("\n{}\n", Json::Object(line));
        match &mut self.own {
            Some(own) => own.append(&line),
            None => {
                self.own = Some(LockedFile::create(&self.folder, &line)?);
                Ok(())
            }
        }
    }
}

impl LockedFile {
    /// Creates a file. Others find it once it is locked and whole.
    fn create(folder: &Path, content: &str) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        let name = format!("{:016x}.jsonl", RandomIds.next());
        let unfinished = folder.join(format!("{name}.tmp"));
        // Others on the machine do not read along.
        let file =
            OpenOptions::new().append(true).create_new(true).mode(0o600).open(&unfinished)?;
        flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        let mut created = Self { path: unfinished, file };
        if let Err(error) = created.append(content) {
            // There is nothing in it that could be read.
            let _ = fs::remove_file(&created.path);
            return Err(error);
        }
        let path = folder.join(name);
        fs::rename(&created.path, &path)?;
        created.path = path;
        File::open(folder)?.sync_all()?;
        Ok(created)
    }

    /// Opens a file; `None` if its process lives, or another one has just taken it.
    fn try_open(path: PathBuf) -> io::Result<Option<Self>> {
        let file = match OpenOptions::new().read(true).append(true).open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        let is_free = flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok();
        Ok(is_free.then_some(Self { path, file }))
    }

    /// Returns the texts of the last whole line, if they were typed for this chat.
    fn texts_of(mut self, chat: &str) -> io::Result<Option<LeftTexts>> {
        let mut bytes = Vec::new();
        self.file.read_to_end(&mut bytes)?;
        let lines = bytes.split(|byte| *byte == b'\n').rev();
        let last =
            lines.filter(|line| !line.is_empty()).find_map(|line| Json::parse_bytes(line).ok());
        let Some(last) = last.filter(|last| last.get("chat").and_then(Json::as_str) == Some(chat))
        else {
            return Ok(None);
        };
        let texts = last.get("texts").and_then(Json::as_array).unwrap_or_default().iter();
        let texts = texts.filter_map(Json::as_str).map(str::to_owned).collect();
        let since = last.get("ts").and_then(Timestamp::from_json);
        Ok(Some(LeftTexts { file: self, texts, since: since.unwrap_or(Timestamp::from_millis(0)) }))
    }

    fn append(&mut self, content: &str) -> io::Result<()> {
        self.file.write_all(content.as_bytes())?;
        self.file.sync_data()
    }

    /// Removes the file. A process that has opened it meanwhile finds nothing in it.
    fn remove(self) -> io::Result<()> {
        self.file.set_len(0)?;
        fs::remove_file(&self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(root: &Path) -> TypedFile {
        TypedFile::new(root, &"terminal:main".parse().unwrap())
    }

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    fn files(root: &Path) -> Vec<PathBuf> {
        let entries = fs::read_dir(root.join(".ship/typed")).unwrap();
        entries.map(|entry| entry.unwrap().path()).collect()
    }

    fn take_left(file: &mut TypedFile) -> Vec<String> {
        let left = file.find_left().unwrap();
        file.take_over(left).unwrap()
    }

    #[test]
    fn texts_are_taken_over_once_their_process_has_ended_and_only_once() {
        let root = tempfile::tempdir().unwrap();
        let mut first = open(root.path());
        first.keep(texts(&["one"])).unwrap();
        first.keep(texts(&["one", "two\nlines"])).unwrap();
        assert_eq!(take_left(&mut open(root.path())), texts(&[]), "its process lives");
        drop(first);
        let mut other = TypedFile::new(root.path(), &"terminal:other".parse().unwrap());
        assert_eq!(take_left(&mut other), texts(&[]), "it was typed in another chat");
        let mut second = open(root.path());
        assert_eq!(take_left(&mut second), texts(&["one", "two\nlines"]));
        assert_eq!(take_left(&mut open(root.path())), texts(&[]));
        drop(second);
        let mut third = open(root.path());
        assert_eq!(take_left(&mut third), texts(&["one", "two\nlines"]));
        third.keep(texts(&[])).unwrap();
        assert!(files(root.path()).is_empty());
    }

    #[test]
    fn a_torn_line_takes_nothing_away() {
        let root = tempfile::tempdir().unwrap();
        open(root.path()).keep(texts(&["one"])).unwrap();
        let path = files(root.path()).pop().unwrap();
        let whole = fs::read(&path).unwrap();
        let second = br#"{"chat":"terminal:main","texts":["one","two"]}"#;
        for end in 0..second.len() {
            fs::write(&path, [&whole[..], b"\n", &second[..end]].concat()).unwrap();
            let left = open(root.path()).find_left().unwrap();
            assert_eq!(left[0].texts, texts(&["one"]), "cut at {end}");
        }
    }
}
