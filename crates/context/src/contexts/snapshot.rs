//! A snapshot describes a context, for people, for lists and for searches.
//!
//! An archived context is `contexts/archive/<contextId>.json`; the active one is shown in the same form. A snapshot
//! is derived from the sealed log that it names; if the two differ, the snapshot is made again. It keeps the JSON
//! object it was read from, so that fields of a newer program stay.

use std::borrow::Borrow;

use ship_message::json::{Array, Json, Object};
use ship_message::{UiMessage, names};
use ship_record::{ContextId, SealedName, Timestamp};

use super::plain_text::{preview, without_marks};
use super::story::Story;
use super::utterance::{Utterance, UtteranceLimits, newest_within};

/// The maximal length of a preview.
pub(super) const PREVIEW_CHARS_MAX: usize = 240;

/// The facts about a context besides its messages.
#[derive(Clone, Copy, Debug)]
pub struct ContextFacts<'a> {
    /// The id of the context.
    pub context: &'a ContextId,
    /// The time at which it began.
    pub created_at: Timestamp,
    /// The title, if it was given one.
    pub title: Option<&'a str>,
}

/// The circumstances in which a context was left.
#[derive(Clone, Copy, Debug)]
pub struct ArchiveNote<'a> {
    /// The time at which it was left.
    pub at: Timestamp,
    /// The reason that was given, or else `new`, `load`, `clear`, `fork` or `rewind`.
    pub reason: &'a str,
    /// The sealed log that holds the context.
    pub sealed: Option<&'a SealedName>,
}

/// The limits of a snapshot.
#[derive(Clone, Copy, Debug)]
pub struct SnapshotLimits {
    /// `context.contexts.maxTurns` and `maxChars`: the limits of its utterances.
    pub utterances: UtteranceLimits,
    /// `context.contexts.searchTextMaxChars`: the limit of its search text.
    pub search_text_chars_max: usize,
}

/// The state of a context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The chat works in this context.
    Active,
    /// The context was left.
    Archived,
}

names!(Status { Active = "active", Archived = "archived" });

/// The message at which a context was left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointMessage {
    /// The id of the message.
    pub message_id: String,
    /// The time of the message.
    pub ts: Timestamp,
    /// The beginning of its text.
    pub preview: String,
}

/// The description of a context.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    context: ContextId,
    status: Status,
    object: Object,
}

impl Snapshot {
    /// Describes a context that was left.
    pub fn of_archived<M: Borrow<UiMessage>>(
        messages: &[M],
        facts: ContextFacts<'_>,
        note: ArchiveNote<'_>,
        limits: SnapshotLimits,
    ) -> Self {
        let story = Story::from_messages(messages, facts);
        let search_text = story.search_text(limits.search_text_chars_max);
        let (kept, left_out) = newest_within(story.utterances.clone(), limits.utterances);
        let object = Object::from([
            ("v", Json::from(1u64)),
            ("contextId", facts.context.as_str().into()),
            ("status", Status::Archived.name().into()),
            ("createdAt", facts.created_at.to_json()),
            ("updatedAt", story.updated_at.to_json()),
            ("archivedAt", note.at.to_json()),
            ("archiveReason", note.reason.into()),
            ("title", story.title.as_str().into()),
            ("summary", story.summary.as_str().into()),
            (
                "checkpoint",
                story.checkpoint.as_ref().map_or(Json::Null, CheckpointMessage::to_json),
            ),
            ("turns", kept.iter().map(Utterance::to_json).collect::<Array>().into()),
            ("searchText", search_text.into()),
            ("meta", story.meta(left_out).into()),
            ("sealed", note.sealed.map_or(Json::Null, |name| name.as_str().into())),
        ]);
        Self { context: facts.context.clone(), status: Status::Archived, object }
    }

    /// Describes the active context, within the limits for showing it.
    pub fn of_active<M: Borrow<UiMessage>>(
        messages: &[M],
        facts: ContextFacts<'_>,
        shown: UtteranceLimits,
    ) -> Self {
        let story = Story::from_messages(messages, facts);
        let (kept, left_out) = newest_within(story.utterances.clone(), shown);
        let mut object = Object::from([
            ("v", Json::from(1u64)),
            ("contextId", facts.context.as_str().into()),
            ("status", Status::Active.name().into()),
            ("createdAt", facts.created_at.to_json()),
            ("updatedAt", story.updated_at.to_json()),
            ("title", story.title.as_str().into()),
        ]);
        // The messages that the summary covers are not among the utterances.
        if story.is_compacted {
            object.set("summary", story.summary.as_str());
        }
        object.set("turns", kept.iter().map(Utterance::to_json).collect::<Array>());
        object.set("meta", story.meta(left_out));
        Self { context: facts.context.clone(), status: Status::Active, object }
    }

    /// Returns the snapshot with the name of its sealed log, which is known after sealing.
    #[must_use]
    pub fn with_sealed_log(mut self, log: &SealedName) -> Self {
        self.object.set("sealed", log.as_str());
        self
    }

    /// Reads a snapshot; `None` if the object is not one, or has an unknown version.
    pub fn read(object: Object) -> Option<Self> {
        let context = object.str("contextId")?.parse().ok()?;
        let status = Status::named(object.str("status")?)?;
        let is_known = object.get("v")?.as_u64()? == 1 && object.get("turns")?.as_array().is_some();
        is_known.then_some(Self { context, status, object })
    }

    /// Returns the object in the form of its file.
    pub fn to_object(&self) -> &Object {
        &self.object
    }

    /// Returns the id of the context.
    pub fn context(&self) -> &ContextId {
        &self.context
    }

    /// Returns whether the chat works in the context.
    pub fn status(&self) -> Status {
        self.status
    }

    /// Returns the time at which the context began.
    pub fn created_at(&self) -> Option<Timestamp> {
        self.object.get("createdAt").and_then(Timestamp::from_json)
    }

    /// Returns the time of the last message.
    pub fn updated_at(&self) -> Option<Timestamp> {
        self.object.get("updatedAt").and_then(Timestamp::from_json)
    }

    /// Returns the time at which the context was left.
    pub fn archived_at(&self) -> Option<Timestamp> {
        self.object.get("archivedAt").and_then(Timestamp::from_json)
    }

    /// Returns the reason for which the context was left.
    pub fn archive_reason(&self) -> Option<&str> {
        self.object.str("archiveReason")
    }

    /// Returns the title of the context.
    pub fn title(&self) -> &str {
        self.object.str("title").unwrap_or_default()
    }

    /// Returns the summary of the context.
    pub fn summary(&self) -> &str {
        self.object.str("summary").unwrap_or_default()
    }

    /// Returns the beginning of the summary on one line, without headings.
    pub fn summary_preview(&self) -> String {
        let says =
            |line: &&str| !line.trim_start().starts_with('#') && line.trim() != "- (nothing)";
        let lines = self.summary().lines().filter(says).map(without_marks);
        let lines: Vec<String> = lines.filter(|line| !line.is_empty()).collect();
        preview(&lines.join(" "), PREVIEW_CHARS_MAX)
    }

    /// Returns the message at which the context was left.
    pub fn checkpoint(&self) -> Option<CheckpointMessage> {
        let object = self.object.get("checkpoint")?.as_object()?;
        Some(CheckpointMessage {
            message_id: object.str("messageId")?.to_owned(),
            ts: object.get("ts").and_then(Timestamp::from_json)?,
            preview: object.str("preview").unwrap_or_default().to_owned(),
        })
    }

    /// Returns the newest utterances. Those that cannot be read are left out.
    pub fn utterances(&self) -> Vec<Utterance> {
        let items = self.object.get("turns").and_then(Json::as_array).unwrap_or_default();
        items.iter().filter_map(Utterance::from_json).collect()
    }

    /// Returns the text that a search uses.
    pub fn search_text(&self) -> &str {
        self.object.str("searchText").unwrap_or_default()
    }

    /// Returns the number of messages, including those that a summary covers.
    pub fn message_count(&self) -> u64 {
        self.meta("messageCount").and_then(Json::as_u64).unwrap_or_default()
    }

    /// Returns the number of utterances that are older than those it shows.
    pub fn utterances_left_out(&self) -> u64 {
        self.meta("turnsLeftOut").and_then(Json::as_u64).unwrap_or_default()
    }

    /// Returns the beginning of the person's last message.
    pub fn last_user_text_preview(&self) -> Option<&str> {
        self.meta("lastUserTextPreview").and_then(Json::as_str)
    }

    /// Whether the older part of the context is only in the summary.
    pub fn is_compacted(&self) -> bool {
        self.meta("compacted").and_then(Json::as_bool) == Some(true)
    }

    /// Returns the sealed log that holds the context.
    pub fn sealed_log(&self) -> Option<SealedName> {
        self.object.str("sealed").and_then(SealedName::parse)
    }

    fn meta(&self, key: &str) -> Option<&Json> {
        self.object.get("meta")?.get(key)
    }
}

impl CheckpointMessage {
    fn to_json(&self) -> Json {
        Json::Object(Object::from([
            ("messageId", Json::from(self.message_id.as_str())),
            ("ts", self.ts.to_json()),
            ("preview", self.preview.as_str().into()),
        ]))
    }
}

#[cfg(test)]
mod tests;
