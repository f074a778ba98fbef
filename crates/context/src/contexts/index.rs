//! The list of archived contexts, as `contexts/index.json` stores it and as people and models see it.

use std::collections::HashSet;

use ship_message::json::{Array, Json, Object};
use ship_record::{ContextId, Timestamp};

use super::snapshot::Snapshot;

/// The number of contexts that are listed by default.
const LISTED: usize = 20;

/// The number of contexts that are listed at most.
pub const LISTED_MAX: usize = 200;

/// One archived context in the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexItem {
    /// The id of the context.
    pub context: ContextId,
    /// The title of the context.
    pub title: String,
    /// The time at which it began.
    pub created_at: Timestamp,
    /// The time at which it was left.
    pub archived_at: Timestamp,
    /// The number of messages in it.
    pub message_count: u64,
    /// The beginning of its summary on one line.
    pub summary_preview: String,
}

impl IndexItem {
    /// Makes the item of a snapshot; `None` if the context was not left.
    pub fn from_snapshot(snapshot: &Snapshot) -> Option<Self> {
        let archived_at = snapshot.archived_at()?;
        Some(Self {
            context: snapshot.context().clone(),
            title: snapshot.title().to_owned(),
            created_at: snapshot.created_at().unwrap_or(archived_at),
            archived_at,
            message_count: snapshot.message_count(),
            summary_preview: snapshot.summary_preview(),
        })
    }

    /// Returns the item in the form that files, tools and commands show.
    pub fn to_json(&self) -> Json {
        Json::Object(Object::from([
            ("contextId", Json::from(self.context.as_str())),
            ("title", self.title.as_str().into()),
            ("createdAt", self.created_at.to_json()),
            ("archivedAt", self.archived_at.to_json()),
            ("messageCount", self.message_count.into()),
            ("summaryPreview", self.summary_preview.as_str().into()),
        ]))
    }

    fn from_json(json: &Json) -> Option<Self> {
        let object = json.as_object()?;
        Some(Self {
            context: object.str("contextId")?.parse().ok()?,
            title: object.str("title")?.to_owned(),
            created_at: object.get("createdAt").and_then(Timestamp::from_json)?,
            archived_at: object.get("archivedAt").and_then(Timestamp::from_json)?,
            message_count: object.get("messageCount")?.as_u64()?,
            summary_preview: object.str("summaryPreview")?.to_owned(),
        })
    }
}

/// The archived contexts of a chat, the one left last first. This order does not depend on their times, because a
/// clock may be set back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Index {
    items: Vec<IndexItem>,
}

impl Index {
    /// Reads a list; `None` if it is not one or has an invalid item. Then the caller makes it again.
    pub fn read(object: &Object) -> Option<Self> {
        let known = object.get("v")?.as_u64()? == 1;
        let items = object.get("items").filter(|_| known)?.as_array()?;
        let items = items.iter().map(IndexItem::from_json).collect::<Option<Vec<_>>>()?;
        let mut seen = HashSet::new();
        // The context that was left last stands first, so the first of two items is the newer one.
        let is_first = |item: &IndexItem| seen.insert(item.context.clone());
        Some(Self { items: items.into_iter().filter(is_first).collect() })
    }

    /// Returns the list in the form of its file.
    pub fn to_object(&self) -> Object {
        let items: Array = self.items.iter().map(IndexItem::to_json).collect();
        Object::from([("v", Json::from(1u64)), ("items", items.into())])
    }

    /// Adds the context that was left last, and replaces its older item.
    pub fn add(&mut self, item: IndexItem) {
        self.remove(&item.context);
        self.items.insert(0, item);
    }

    /// Adds a context that was left before all others in the list.
    pub fn add_older(&mut self, item: IndexItem) {
        self.items.push(item);
    }

    /// Removes a context that is active again.
    pub fn remove(&mut self, context: &ContextId) {
        self.items.retain(|item| item.context != *context);
    }

    /// Returns all archived contexts.
    pub fn items(&self) -> &[IndexItem] {
        &self.items
    }

    /// Returns the newest contexts: as many as were asked for, from 1 to [`LISTED_MAX`].
    pub fn newest(&self, limit: Option<u64>) -> &[IndexItem] {
        let limit = limit.map_or(LISTED, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
        let shown = limit.clamp(1, LISTED_MAX).min(self.items.len());
        &self.items[..shown]
    }
}

/// Returns the result of `chat_context_list` and `ship context list --json`.
pub fn listing_json(active: &Snapshot, index: &Index, limit: Option<u64>) -> Json {
    let time = |ts: Option<Timestamp>| ts.map_or(Json::Null, Timestamp::to_json);
    let active = Object::from([
        ("contextId", Json::from(active.context().as_str())),
        ("title", active.title().into()),
        ("createdAt", time(active.created_at())),
        ("updatedAt", time(active.updated_at())),
        ("messageCount", active.message_count().into()),
    ]);
    let items: Array = index.newest(limit).iter().map(IndexItem::to_json).collect();
    Json::Object(Object::from([("active", Json::from(active)), ("items", items.into())]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(id: &str, archived_at: i64) -> IndexItem {
        IndexItem {
            context: format!("c_20260205_{id}").parse().unwrap(),
            title: id.to_owned(),
            created_at: Timestamp::from_millis(0),
            archived_at: Timestamp::from_millis(archived_at),
            message_count: 2,
            summary_preview: "…".to_owned(),
        }
    }

    fn index(items: &[(&str, i64)]) -> Index {
        let mut index = Index::default();
        for (id, archived_at) in items {
            index.add(item(id, *archived_at));
        }
        index
    }

    fn titles(items: &[IndexItem]) -> Vec<&str> {
        items.iter().map(|item| item.title.as_str()).collect()
    }

    #[test]
    fn the_context_left_last_is_first_whatever_the_clock_showed_and_each_is_there_once() {
        let mut index = index(&[("a", 4), ("b", 9), ("c", 1), ("a", 2)]);
        assert_eq!(titles(index.items()), ["a", "c", "b"]);
        assert_eq!(
            Index::read(&index.to_object()).as_ref(),
            Some(&index),
            "read as it was written"
        );
        index.remove(&item("b", 0).context);
        assert_eq!(titles(index.items()), ["a", "c"]);
        index.add_older(item("d", 99));
        assert_eq!(titles(index.items()), ["a", "c", "d"]);
    }

    #[test]
    fn a_list_reads_back_and_something_else_is_none() {
        let index = index(&[("a", 1), ("b", 3)]);
        assert_eq!(Index::read(&index.to_object()), Some(index.clone()));
        assert_eq!(
            Json::Object(index.to_object()).to_string(),
            r#"{"v":1,"items":[{"contextId":"c_20260205_b","title":"b","createdAt":0,"archivedAt":3,"messageCount":2,"summaryPreview":"…"},{"contextId":"c_20260205_a","title":"a","createdAt":0,"archivedAt":1,"messageCount":2,"summaryPreview":"…"}]}"#
        );
        for other in ["{}", r#"{"v":2,"items":[]}"#, r#"{"v":1,"items":[7]}"#] {
            let other = Json::parse(other).unwrap();
            assert_eq!(Index::read(other.as_object().unwrap()), None, "{other}");
        }
    }

    #[test]
    fn a_list_is_as_long_as_was_asked_for_within_reason() {
        let mut index = Index::default();
        for n in 0..300 {
            index.add(item(&format!("x{n}"), n));
        }
        for (asked, given) in [(None, 20), (Some(0), 1), (Some(7), 7), (Some(u64::MAX), 200)] {
            assert_eq!(index.newest(asked).len(), given, "{asked:?}");
        }
        assert!(Index::default().newest(Some(5)).is_empty());
    }
}
