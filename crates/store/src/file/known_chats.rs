//! Remembers the chats of a project in the order of their activity, so that not every page costs a look at all of them.
//!
//! A first page looks at every chat, unless this process watches the changes of others and has looked before: then it
//! looks at those that have changed since, and at folders that are new. Only the order depends on what is remembered.
//! The sizes of the chats on a page are looked at again.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;

use super::chat_list::{CHATS, look_with};
use super::idle_chats::IdleReader;
use super::store_env::Env;
use crate::chat_folder::folder_name;
use crate::disk::FolderLooks;
use crate::{ChatSizes, Moment, StorageError, Timestamp};

/// The place of a folder in the list: the newest activity first, and those without any last.
pub(super) type FolderPlace = (Reverse<Option<Timestamp>>, Arc<str>);

/// The folders of the chats, in their order.
#[derive(Default)]
pub(super) struct KnownChats {
    /// The moment up to which changes are in the list; `None` if they were not watched when it was made.
    moment: Option<Moment>,
    /// The time of the last change of the folder that has all chats.
    changed: Option<Timestamp>,
    order: BTreeSet<FolderPlace>,
    chats: HashMap<Arc<str>, KnownChat>,
    idle: IdleReader,
}

#[derive(Default)]
struct KnownChat {
    activity: Option<Timestamp>,
    sizes: ChatSizes,
    /// The sizes at which the chat was last seen idle.
    idle: Option<ChatSizes>,
}

/// A chat in the list, as it was last looked at.
pub(super) struct ChatListEntry {
    pub(super) place: FolderPlace,
    pub(super) sizes: ChatSizes,
    pub(super) idle: Option<ChatSizes>,
}

impl ChatListEntry {
    pub(super) fn may_have_work(&self) -> bool {
        self.idle != Some(self.sizes)
    }
}

impl KnownChats {
    /// Looks at every chat.
    pub(super) fn look_at_all(&mut self, env: &Env) -> Result<(), StorageError> {
        let moment = env.watched_moment();
        let changed = folder_changed(env);
        let looks = env.disk.looks_below(Path::new(CHATS)).ok().flatten();
        let known = |folder: String| {
            let (sizes, activity) = look_with(env, looks.as_deref(), &folder);
            (Arc::from(folder), KnownChat { activity, sizes, idle: None })
        };
        let chats: HashMap<Arc<str>, KnownChat> =
            env.list(Path::new(CHATS))?.into_iter().map(known).collect();
        let place = |(folder, known): (&Arc<str>, &KnownChat)| place_of(known, folder);
        let order = chats.iter().map(place).collect();
        *self = Self { moment, changed, order, chats, idle: IdleReader::default() };
        self.read_idle_notes(env)
    }

    /// Looks at what has changed since the last look, or at every chat if nothing tells what has.
    pub(super) fn look_at_changed(&mut self, env: &Env) -> Result<(), StorageError> {
        let Some(moment) = self.moment else { return self.look_at_all(env) };
        let changes = env.changes.changed_since(moment);
        if changes.is_partial {
            return self.look_at_all(env);
        }
        let looks = env.disk.looks_below(Path::new(CHATS)).ok().flatten();
        let changed = folder_changed(env);
        if changed.is_none() || changed != self.changed {
            self.look_for_folders(env, looks.as_deref())?;
            self.changed = changed;
        }
        for chat in &changes.chats {
            self.look_again(env, looks.as_deref(), folder_name(chat).into());
        }
        self.moment = Some(changes.moment);
        self.read_idle_notes(env)
    }

    /// Goes on with the list of an earlier page. Only what is known to have changed is looked at.
    pub(super) fn go_on(&mut self, env: &Env) -> Result<(), StorageError> {
        match (self.moment, self.changed) {
            (Some(_), _) => self.look_at_changed(env),
            (None, Some(_)) => Ok(()),
            (None, None) => self.look_at_all(env),
        }
    }

    /// Takes in the folders that are new, and drops those that are gone.
    fn look_for_folders(
        &mut self,
        env: &Env,
        looks: Option<&dyn FolderLooks>,
    ) -> Result<(), StorageError> {
        let there: HashSet<String> = env.list(Path::new(CHATS))?.into_iter().collect();
        let order = &mut self.order;
        self.chats.retain(|folder, known| {
            let stays = there.contains(&**folder);
            if !stays {
                order.remove(&place_of(known, folder));
            }
            stays
        });
        for folder in there {
            if !self.chats.contains_key(&*folder) {
                self.look_again(env, looks, folder.into());
            }
        }
        Ok(())
    }

    fn look_again(&mut self, env: &Env, looks: Option<&dyn FolderLooks>, folder: Arc<str>) {
        let (sizes, activity) = look_with(env, looks, &folder);
        let before = self.chats.remove(&folder);
        if let Some(before) = &before {
            self.order.remove(&place_of(before, &folder));
        }
        let known = KnownChat { activity, sizes, idle: before.and_then(|before| before.idle) };
        self.order.insert(place_of(&known, &folder));
        self.chats.insert(folder, known);
    }

    fn read_idle_notes(&mut self, env: &Env) -> Result<(), StorageError> {
        let new = self.idle.read_new(env)?;
        if new.is_whole {
            self.chats.values_mut().for_each(|known| known.idle = None);
        }
        for (folder, sizes) in new.notes {
            if let Some(known) = self.chats.get_mut(&*folder) {
                known.idle = Some(sizes);
            }
        }
        Ok(())
    }

    /// Returns the chats behind a place, in their order.
    pub(super) fn after(
        &self,
        place: Option<&FolderPlace>,
    ) -> impl Iterator<Item = ChatListEntry> + use<'_> {
        let from = place.map_or(Bound::Unbounded, |place| Bound::Excluded(place.clone()));
        self.order.range((from, Bound::Unbounded)).map(|place| {
            let KnownChat { sizes, idle, .. } = self.chats[&place.1];
            ChatListEntry { place: place.clone(), sizes, idle }
        })
    }
}

fn place_of(known: &KnownChat, folder: &Arc<str>) -> FolderPlace {
    (Reverse(known.activity), Arc::clone(folder))
}

/// Returns the time at which a folder was last added to the chats or removed; `None` on a disk that does not keep it.
fn folder_changed(env: &Env) -> Option<Timestamp> {
    env.modified(Path::new(CHATS)).ok().flatten()
}
