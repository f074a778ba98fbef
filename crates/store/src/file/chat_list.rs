//! Lists the folders of chats by pages.
//!
//! The order comes from what is known of all chats. Only the chats of a page are looked into.

use std::cmp::Reverse;
use std::path::Path;
use std::sync::Arc;

use super::known_chats::{ChatListEntry, FolderPlace, KnownChats};
use super::store::FileStore;
use super::store_env::Env;
use crate::disk::{FolderLooks, TimedLook};
use crate::{ChatCursor, ChatLook, ChatPage, ChatSizes, OverviewPage, StorageError, Timestamp};

/// The folder that has a folder for each chat.
pub(super) const CHATS: &str = ".ship/chat";

/// Looks at the logs of a chat. A folder or a log that cannot be looked at counts as empty.
pub(super) fn look_at_logs(env: &Env, folder: &str) -> (ChatSizes, Option<Timestamp>) {
    let looks = env.disk.looks_below(Path::new(CHATS)).ok().flatten();
    look_with(env, looks.as_deref(), folder)
}

/// Looks at the logs of a chat, through the open folder of all chats if the disk has one.
pub(super) fn look_with(
    env: &Env,
    looks: Option<&dyn FolderLooks>,
    folder: &str,
) -> (ChatSizes, Option<Timestamp>) {
    let look = |log: &str| -> Option<TimedLook> {
        let path = Path::new(folder).join(log);
        match looks {
            Some(looks) => looks.look(&path).ok(),
            None => {
                let path = Path::new(CHATS).join(path);
                let modified = env.disk.modified(&path).ok().flatten();
                Some(TimedLook { look: env.disk.stat(&path).ok()?, modified })
            }
        }
    };
    let logs = ["messages/history.jsonl", "conversations/history.jsonl", "messages/run.jsonl"];
    let logs = logs.map(look);
    let len = |nth: usize| logs[nth].as_ref().map_or(0, |log| log.look.len);
    let sizes = ChatSizes { context_bytes: len(0), ledger_bytes: len(1), journal_bytes: len(2) };
    (sizes, logs.iter().flatten().filter_map(|log| log.modified).max())
}

impl FileStore {
    /// Returns the page of at most `limit` chats behind a place.
    pub(super) fn chat_page(
        &self,
        after: Option<&ChatCursor>,
        limit: usize,
    ) -> Result<ChatPage, StorageError> {
        let (listed, next) = self.listed(after, limit, KnownChats::look_at_changed, |_| true)?;
        Ok(ChatPage { chats: self.look_at_listed(listed), next })
    }

    /// Returns a page of the chats in which something may be left to do. The first one looks at every chat: it decides
    /// about work, and not only about the order.
    pub(super) fn page_with_work(
        &self,
        after: Option<&ChatCursor>,
        limit: usize,
    ) -> Result<ChatPage, StorageError> {
        if after.is_none() {
            // A process that looks for work waits for changes afterwards, and its next list should know them.
            self.env.begin_watch();
        }
        let (listed, next) =
            self.listed(after, limit, KnownChats::look_at_all, ChatListEntry::may_have_work)?;
        Ok(ChatPage { chats: self.look_at_listed(listed), next })
    }

    /// Returns the page of at most `limit` chats behind a place, with what a list shows of each.
    pub(super) fn overview_page(
        &self,
        after: Option<&ChatCursor>,
        limit: usize,
    ) -> Result<OverviewPage, StorageError> {
        let (listed, next) = self.listed(after, limit, KnownChats::look_at_changed, |_| true)?;
        let chats = listed.iter().filter_map(|listed| self.overview(listed)).collect();
        Ok(OverviewPage { chats, next })
    }

    /// Returns the wanted chats behind a place, and the place behind them if others follow. `begin` brings the list up
    /// to date for a first page.
    fn listed(
        &self,
        after: Option<&ChatCursor>,
        limit: usize,
        begin: impl FnOnce(&mut KnownChats, &Env) -> Result<(), StorageError>,
        is_wanted: impl Fn(&ChatListEntry) -> bool,
    ) -> Result<(Vec<ChatListEntry>, Option<ChatCursor>), StorageError> {
        let after = after.and_then(read_cursor);
        // A chat whose note is lost counts as one with work.
        let _ = self.idle.write();
        let mut known = self.known.lock();
        match after {
            None => begin(&mut known, &self.env)?,
            Some(_) => known.go_on(&self.env)?,
        }
        let mut behind = known.after(after.as_ref()).filter(is_wanted);
        let page: Vec<ChatListEntry> = behind.by_ref().take(limit.max(1)).collect();
        let has_more = behind.next().is_some();
        let next = page.last().filter(|_| has_more).map(|last| cursor_at(&last.place));
        Ok((page, next))
    }

    fn look_at_listed(&self, listed: Vec<ChatListEntry>) -> Vec<ChatLook> {
        listed.iter().filter_map(|listed| self.look_at_folder(listed)).collect()
    }
}

fn cursor_at((Reverse(activity), folder): &FolderPlace) -> ChatCursor {
    let millis = activity.map_or_else(|| "-".to_owned(), |time| time.millis().to_string());
    ChatCursor::new(format!("{millis} {folder}"))
}

/// Reads a cursor; `None` for a text that is none of ours, so that the list begins again.
fn read_cursor(cursor: &ChatCursor) -> Option<FolderPlace> {
    let (millis, folder) = cursor.as_str().split_once(' ')?;
    let activity = match millis {
        "-" => None,
        millis => Some(Timestamp::from_millis(millis.parse().ok()?)),
    };
    Some((Reverse(activity), Arc::from(folder)))
}
