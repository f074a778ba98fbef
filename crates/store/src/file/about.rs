//! The description of a chat, `chat.json`: reads it, checks whose it is, and makes it anew from the ledger.

use std::path::PathBuf;

use ship_message::json::{Json, Object};

use super::chat::ChatFiles;
use super::ledger;
use super::log_reading::first_line;
use super::min_reader::check_min_reader;
use super::overview::read_about;
use super::quarantine;
use crate::{About, FORMAT_VERSION, LedgerBody, LedgerLine, StorageError};

/// The number of ledger lines that are searched for the description of a chat.
const ABOUT_LINES: usize = 20;

impl ChatFiles {
    /// Reads `chat.json`; `None` if there is none. Refuses a folder of another chat.
    pub(crate) fn read_about(&self) -> Result<Option<About>, StorageError> {
        let path = &self.paths.about;
        let Some(bytes) = self.about_file.read(&self.env, path)? else { return Ok(None) };
        let about = Json::parse_bytes(&bytes).ok();
        let object = about.as_ref().and_then(Json::as_object);
        let owner = object.and_then(|object| object.str("chatKey"));
        let Some((object, owner)) = object.zip(owner) else {
            let what = "it is not JSON with a `chatKey`".to_owned();
            return Err(StorageError::damaged(path, what));
        };
        if owner != self.key.as_str() {
            let (path, owner, wanted) = (path.clone(), owner.to_owned(), self.key.clone());
            // The folder of another chat, copied or renamed, has its logs, too.
            if self.log_owners()?.iter().any(|(_, owner)| owner == wanted.as_str()) {
                let what = format!("it names chat `{owner}`, but the logs beside it name this one");
                return Err(StorageError::damaged(&path, what));
            }
            return Err(StorageError::OtherChat { path, owner, wanted });
        }
        check_min_reader(path, object)?;
        Ok(Some(read_about(object)))
    }

    pub(super) fn ensure_about(&self, about: &About) -> Result<(), StorageError> {
        match self.read_whole_about()? {
            // Its name may not last, though it is there: only a new one can be made to.
            Some(known) if self.env.is_unsynced(&self.paths.chat) => self.write_about(&known),
            Some(_) => Ok(()),
            None => self.write_about_anew(about),
        }
    }

    /// Returns what `chat.json` says; `None` also if it is empty or half written.
    pub(crate) fn read_whole_about(&self) -> Result<Option<About>, StorageError> {
        match self.read_about() {
            Err(StorageError::Damaged { .. }) => Ok(None),
            read => read,
        }
    }

    /// Returns the description of the chat; `None` if there is no such chat. A chat that has lost its `chat.json`
    /// exists as long as its logs do.
    pub(crate) fn find_about(&self) -> Result<Option<About>, StorageError> {
        if let Some(about) = self.read_whole_about()? {
            return Ok(Some(about));
        }
        if !self.has_logs()? {
            return Ok(None);
        }
        self.check_logs()?;
        Ok(Some(self.about_in_ledger()))
    }

    pub(crate) fn has_logs(&self) -> Result<bool, StorageError> {
        let live = [self.paths.live.clone(), ledger::live_path(&self.paths.conversations)];
        for path in live {
            if self.env.stat(&path)?.is_some_and(|look| look.len > 0) {
                return Ok(true);
            }
        }
        let archives = ledger::newest_archive(&self.env, &self.paths.conversations)?;
        Ok(archives > 0 || !self.sealed_names()?.is_empty())
    }

    /// Reads the description of the chat from the newest entry of the ledger.
    pub(super) fn about_in_ledger(&self) -> About {
        let channel = |line: &LedgerLine| match &line.body {
            LedgerBody::Entry(entry) => entry.entry.str("channel").map(str::to_owned),
            LedgerBody::Delivery(_) => None,
        };
        // What is wrong with the ledger is told where that is looked at.
        let lines = self.ledger_before(None, ABOUT_LINES).unwrap_or_default();
        About { channel: lines.iter().rev().find_map(channel), ..About::default() }
    }

    /// Writes `chat.json` if it is missing or cannot be read. The unreadable file is set aside.
    pub(super) fn write_about_anew(&self, about: &About) -> Result<(), StorageError> {
        self.check_logs()?;
        if let Some((_, bytes)) = self.env.read(&self.paths.about)? {
            quarantine::quarantine_bytes(
                &self.env,
                &self.paths.quarantine,
                &self.paths.about,
                0,
                &bytes,
            )?;
        }
        self.write_about(about)
    }

    /// Refuses to make a chat of logs that belong to another.
    fn check_logs(&self) -> Result<(), StorageError> {
        let owners = self.log_owners()?;
        match owners.into_iter().find(|(_, owner)| owner != self.key.as_str()) {
            Some((path, owner)) => {
                Err(StorageError::OtherChat { path, owner, wanted: self.key.clone() })
            }
            None => Ok(()),
        }
    }

    /// Returns the chats that the heads of the live logs name.
    fn log_owners(&self) -> Result<Vec<(PathBuf, String)>, StorageError> {
        let mut owners = Vec::new();
        for path in [self.paths.live.clone(), ledger::live_path(&self.paths.conversations)] {
            let head = first_line(&self.env, &path)?;
            let owner = head
                .and_then(|line| Some(line.body.get("data")?.get("chatKey")?.as_str()?.to_owned()));
            owners.extend(owner.map(|owner| (path, owner)));
        }
        Ok(owners)
    }

    /// Replaces the description of the chat.
    pub(crate) fn set_about(&self, about: &About) -> Result<(), StorageError> {
        let _right = self.take_write_right("describe")?;
        match self.read_whole_about()? {
            Some(_) => self.write_about(about),
            None => self.write_about_anew(about),
        }
    }

    fn write_about(&self, about: &About) -> Result<(), StorageError> {
        let mut object = Object::new();
        object.set("v", FORMAT_VERSION);
        object.set("chatKey", self.key.as_str());
        object.set_or_remove("channel", about.channel.as_deref().map(Json::from));
        object.set_or_remove("target", about.target.clone());
        object.set_or_remove("model", about.model.as_deref().map(Json::from));
        object.set_or_remove("minReader", self.min_reader()?.map(Json::from));
        let text = format!("{}\n", Json::from(object));
        self.env.replace(&self.paths.about, text.as_bytes())?;
        self.env.mark_synced(&self.paths.chat);
        Ok(())
    }
}
