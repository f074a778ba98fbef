//! Lists the folders of chats by pages, with three calls for each.
//!
//! A page costs one look at every chat, and only the chats of the page are looked into. Nothing is kept in memory
//! between two pages.

use std::cmp::Reverse;
use std::path::Path;

use super::idle_chats;
use super::store::FileStore;
use super::store_env::Env;
use crate::disk::TimedLook;
use crate::{ChatCursor, ChatLook, ChatPage, ChatSizes, StorageError, Timestamp};

const FOLDER: &str = ".ship/chat";

/// The place of a folder in the list: the newest activity first, and those without any last.
type FolderPlace = (Reverse<Option<Timestamp>>, String);

/// Looks at the logs of a chat. A folder or a log that cannot be looked at counts as empty.
pub(super) fn look_at_logs(env: &Env, folder: &str) -> (ChatSizes, Option<Timestamp>) {
    let looks = env.disk.looks_below(Path::new(FOLDER)).ok().flatten();
    look_with(env, looks.as_deref(), folder)
}

fn look_with(
    env: &Env,
    looks: Option<&dyn crate::disk::FolderLooks>,
    folder: &str,
) -> (ChatSizes, Option<Timestamp>) {
    let look = |log: &str| -> Option<TimedLook> {
        let path = Path::new(folder).join(log);
        match looks {
            Some(looks) => looks.look(&path).ok(),
            None => {
                let path = Path::new(FOLDER).join(path);
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
        let after = after.and_then(read_cursor);
        let idle = idle_chats::read(&self.env)?;
        let looks = self.env.disk.looks_below(Path::new(FOLDER)).ok().flatten();
        let mut folders: Vec<(FolderPlace, ChatSizes)> = Vec::new();
        for folder in self.env.list(Path::new(FOLDER))? {
            let (sizes, activity) = look_with(&self.env, looks.as_deref(), &folder);
            folders.push(((Reverse(activity), folder), sizes));
        }
        folders.retain(|(place, _)| after.as_ref().is_none_or(|after| place > after));
        folders.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        let mut page = ChatPage { chats: Vec::new(), next: None };
        let mut last = None;
        for (place, sizes) in folders {
            if page.chats.len() >= limit.max(1) {
                page.next = last.as_ref().map(cursor_at);
                break;
            }
            if let Some(look) = self.look_at_folder(&place.1) {
                let may_have_work = idle.get(&place.1) != Some(&sizes);
                page.chats.push(ChatLook { sizes, activity: place.0.0, may_have_work, ..look });
            }
            last = Some(place);
        }
        Ok(page)
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
    Some((Reverse(activity), folder.to_owned()))
}
