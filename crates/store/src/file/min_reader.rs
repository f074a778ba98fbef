//! The `minReader` in `chat.json`: the reader version that a program needs for the chat.

use std::path::Path;

use ship_message::json::{Json, Object};

use super::chat::ChatFiles;
use super::store_env::Env;
use crate::StorageError;
use crate::error::place;
use crate::line::UnnumberedLine;
use crate::rules::{READER_VERSION, missing_reader, raised_min_reader, reader_needed};

/// The field of `chat.json`.
const FIELD: &str = "minReader";

/// Returns the `minReader` of a chat from its `chat.json`.
pub(super) fn min_reader_in(about: &Object) -> Option<u64> {
    about.get(FIELD).and_then(Json::as_u64)
}

/// Refuses a chat whose lines this program does not know.
pub(super) fn check_min_reader(path: &Path, about: &Object) -> Result<(), StorageError> {
    match missing_reader(min_reader_in(about)) {
        Some(needed) => {
            let (place, own) = (place(path), READER_VERSION);
            Err(StorageError::ReaderTooOld { place, needed, own })
        }
        None => Ok(()),
    }
}

/// Raises the `minReader` in the `chat.json` at `path`, durably, before these lines are written. The
/// caller has the write right.
pub(super) fn raise_min_reader(
    env: &Env,
    path: &Path,
    lines: &[UnnumberedLine],
) -> Result<(), StorageError> {
    let Some(needed) = reader_needed(lines) else { return Ok(()) };
    let about = env.read(path)?.and_then(|(_, bytes)| Json::parse_bytes(&bytes).ok());
    let Some(Json::Object(mut about)) = about else {
        let what = "it cannot say which programs may read the chat".to_owned();
        return Err(StorageError::damaged(path, what));
    };
    let Some(raised) = raised_min_reader(min_reader_in(&about), needed) else { return Ok(()) };
    about.set(FIELD, raised);
    env.replace(path, format!("{}\n", Json::from(about)).as_bytes())
}

impl ChatFiles {
    /// Refuses the chat if another program has raised its `minReader` since it was opened.
    pub(super) fn check_reader(&self) -> Result<(), StorageError> {
        match self.stored_about()? {
            Some(about) => check_min_reader(&self.paths.about, &about),
            None => Ok(()),
        }
    }

    /// Returns the `minReader` of the chat, which outlives a change of its description.
    pub(super) fn min_reader(&self) -> Result<Option<u64>, StorageError> {
        Ok(self.stored_about()?.as_ref().and_then(min_reader_in))
    }

    /// Returns the object in `chat.json`, if there is one.
    pub(super) fn stored_about(&self) -> Result<Option<Object>, StorageError> {
        let read = self.about_file.read(&self.env, &self.paths.about)?;
        let about = read.map(|bytes| Json::parse_bytes(&bytes));
        Ok(match about {
            Some(Ok(Json::Object(about))) => Some(about),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::disk::MemoryDisk;
    use crate::file::right::Attempt;
    use crate::{About, ContextEvent, ContextId, Head, NewLine, Rotation, StoreOptions, Timestamp};

    fn chat_on(disk: &MemoryDisk) -> ChatFiles {
        let env = Arc::new(Env::new(Box::new(disk.clone()), StoreOptions::default()));
        ChatFiles::new(env, "a".parse().unwrap())
    }

    fn event(name: &str) -> NewLine {
        let (id, ts) = (format!("e-{name}"), Timestamp::from_millis(0));
        let (event, data) = (name.to_owned(), Json::from(Object::new()));
        ContextEvent { id, ts, event, data, ref_msg_id: None, inbox: None }.into()
    }

    fn about(chat: &ChatFiles) -> String {
        String::from_utf8(chat.env.read(&chat.paths.about).unwrap().unwrap().1).unwrap()
    }

    #[test]
    fn the_first_strict_line_raises_what_later_programs_need_and_this_one_refuses_the_chat() {
        let disk = MemoryDisk::new();
        let chat = chat_on(&disk);
        chat.create(&About { model: Some("m".to_owned()), ..About::default() }).unwrap();
        let head = Head::new(ContextId::new(Timestamp::from_millis(0), 1));
        let first = Rotation { expected: None, head, pieces: Vec::new() };
        let begun = chat.rotate(first, &|_| Ok(None)).unwrap();
        let end = chat.append(vec![event("renamed")], begun.position).unwrap();
        assert_eq!(about(&chat), "{\"v\":1,\"chatKey\":\"a\",\"model\":\"m\"}\n");

        // Where it cannot be raised, nothing is written.
        let whole = about(&chat);
        chat.env.replace(&chat.paths.about, b"{").unwrap();
        let log = chat.env.read(&chat.paths.live).unwrap().unwrap().1;
        assert!(chat.append(vec![event("strict")], end).is_err());
        assert_eq!(chat.env.read(&chat.paths.live).unwrap().unwrap().1, log);
        chat.env.replace(&chat.paths.about, whole.as_bytes()).unwrap();

        chat.append(vec![event("strict")], end).unwrap();
        let raised = "{\"v\":1,\"chatKey\":\"a\",\"model\":\"m\",\"minReader\":2}\n";
        assert_eq!(about(&chat), raised);
        let refused = chat.try_lane("run", Attempt::Only).err().unwrap().to_string();
        assert!(refused.contains("needs reader version 2, and this program has 1"), "{refused}");
        assert!(chat_on(&disk).find_about().is_err());
        assert!(chat_on(&disk).take_write_right("test").is_err());
    }
}
