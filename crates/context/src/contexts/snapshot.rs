//! A snapshot: what is written down of a context, for people, for lists and for searches.
//!
//! An archived context is `contexts/archive/<contextId>.json`; the active one is shown in the same shape. A
//! snapshot is derived: the sealed log it names is the truth, and when the two differ the snapshot is made
//! again. It stands on the JSON object it was read from, so that what a newer program has put into it stays.

use std::borrow::Borrow;

use ship_message::UiMessage;
use ship_message::json::{Array, Json, Object};
use ship_record::{ContextBody, ContextId, SealedName, Timestamp, View};

use super::story::Story;
use super::text::{preview, without_marks};
use super::turn::{Utterance, UtteranceLimits, millis, moment, newest};

/// A preview is at most this long.
pub(super) const PREVIEW_CHARS_MAX: usize = 240;

/// What is known of a context beside what was said in it.
#[derive(Clone, Copy, Debug)]
pub struct ContextFacts<'a> {
    /// The context.
    pub context: &'a ContextId,
    /// When it began.
    pub created_at: Timestamp,
    /// Its title, if it was given one.
    pub title: Option<&'a str>,
}

/// How a context was left.
#[derive(Clone, Copy, Debug)]
pub struct ArchiveNote<'a> {
    /// When.
    pub at: Timestamp,
    /// Why: what whoever left it said, or else `new`, `load`, `clear`, `fork` or `rewind`.
    pub reason: &'a str,
    /// The sealed log that holds it.
    pub sealed: Option<&'a SealedName>,
}

/// How much of a context is written down.
#[derive(Clone, Copy, Debug)]
pub struct SnapshotLimits {
    /// `context.contexts.maxTurns` and `maxChars`
    pub turns: UtteranceLimits,
    /// `context.contexts.searchTextMaxChars`
    pub search_text_chars_max: usize,
}

/// Whether a context is the one that the chat works in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It is.
    Active,
    /// It was left.
    Archived,
}

/// The message that a context was left at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointMessage {
    /// The message.
    pub message_id: String,
    /// When it was said.
    pub ts: Timestamp,
    /// How it begins.
    pub preview: String,
}

/// What is written down of a context.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    context: ContextId,
    status: Status,
    object: Object,
}

/// The messages of a view.
pub fn view_messages(view: &View) -> Vec<UiMessage> {
    let message = |object: &Object| UiMessage::from_json(Json::Object(object.clone())).ok();
    let lines = view.lines.iter().filter_map(|line| match &line.body {
        ContextBody::Message(object) => message(object),
        ContextBody::Event(_) => None,
    });
    lines.collect()
}

impl Snapshot {
    /// Writes down a context that was left.
    pub fn archived<M: Borrow<UiMessage>>(
        messages: &[M],
        known: ContextFacts<'_>,
        left: ArchiveNote<'_>,
        limits: SnapshotLimits,
    ) -> Self {
        let story = Story::of(messages, known);
        let search_text = story.search_text(limits.search_text_chars_max);
        let (kept, left_out) = newest(story.turns.clone(), limits.turns);
        let object = Object::from([
            ("v", Json::from(1u64)),
            ("contextId", known.context.as_str().into()),
            ("status", "archived".into()),
            ("createdAt", millis(known.created_at)),
            ("updatedAt", millis(story.updated_at)),
            ("archivedAt", millis(left.at)),
            ("archiveReason", left.reason.into()),
            ("title", story.title.as_str().into()),
            ("summary", story.summary.as_str().into()),
            (
                "checkpoint",
                story.checkpoint.as_ref().map_or(Json::Null, CheckpointMessage::to_json),
            ),
            ("turns", kept.iter().map(Utterance::to_json).collect::<Array>().into()),
            ("searchText", search_text.into()),
            ("meta", story.meta(left_out).into()),
            ("sealed", left.sealed.map_or(Json::Null, |name| name.as_str().into())),
        ]);
        Self { context: known.context.clone(), status: Status::Archived, object }
    }

    /// Writes down the active context, as far as somebody wants to look at it.
    pub fn active<M: Borrow<UiMessage>>(
        messages: &[M],
        known: ContextFacts<'_>,
        shown: UtteranceLimits,
    ) -> Self {
        let story = Story::of(messages, known);
        let (kept, left_out) = newest(story.turns.clone(), shown);
        let mut object = Object::from([
            ("v", Json::from(1u64)),
            ("contextId", known.context.as_str().into()),
            ("status", "active".into()),
            ("createdAt", millis(known.created_at)),
            ("updatedAt", millis(story.updated_at)),
            ("title", story.title.as_str().into()),
        ]);
        // What stands in no turn any more.
        if story.is_compacted {
            object.set("summary", story.summary.as_str());
        }
        object.set("turns", kept.iter().map(Utterance::to_json).collect::<Array>());
        object.set("meta", story.meta(left_out));
        Self { context: known.context.clone(), status: Status::Active, object }
    }

    /// The same, in this sealed log: the name is known once it is sealed.
    #[must_use]
    pub fn sealed_as(mut self, log: &SealedName) -> Self {
        self.object.set("sealed", log.as_str());
        self
    }

    /// Reads a snapshot; none when the object is something else, or of a version that we do not know.
    pub fn read(object: Object) -> Option<Self> {
        let context = object.str("contextId")?.parse().ok()?;
        let status = match object.str("status")? {
            "active" => Status::Active,
            "archived" => Status::Archived,
            _ => return None,
        };
        let known = object.get("v")?.as_u64()? == 1 && object.get("turns")?.as_array().is_some();
        known.then_some(Self { context, status, object })
    }

    /// Returns the object, as it goes into a file.
    pub fn to_object(&self) -> &Object {
        &self.object
    }

    /// The context.
    pub fn context(&self) -> &ContextId {
        &self.context
    }

    /// Whether the chat works in it.
    pub fn status(&self) -> Status {
        self.status
    }

    /// When it began.
    pub fn created_at(&self) -> Option<Timestamp> {
        self.object.get("createdAt").and_then(moment)
    }

    /// When something was last said in it.
    pub fn updated_at(&self) -> Option<Timestamp> {
        self.object.get("updatedAt").and_then(moment)
    }

    /// When it was left.
    pub fn archived_at(&self) -> Option<Timestamp> {
        self.object.get("archivedAt").and_then(moment)
    }

    /// Why it was left.
    pub fn archive_reason(&self) -> Option<&str> {
        self.object.str("archiveReason")
    }

    /// Its title.
    pub fn title(&self) -> &str {
        self.object.str("title").unwrap_or_default()
    }

    /// What happened in it, in short.
    pub fn summary(&self) -> &str {
        self.object.str("summary").unwrap_or_default()
    }

    /// The beginning of the summary on one line, without headings.
    pub fn summary_preview(&self) -> String {
        let says =
            |line: &&str| !line.trim_start().starts_with('#') && line.trim() != "- (nothing)";
        let lines = self.summary().lines().filter(says).map(without_marks);
        let lines: Vec<String> = lines.filter(|line| !line.is_empty()).collect();
        preview(&lines.join(" "), PREVIEW_CHARS_MAX)
    }

    /// The message it was left at.
    pub fn checkpoint(&self) -> Option<CheckpointMessage> {
        let object = self.object.get("checkpoint")?.as_object()?;
        Some(CheckpointMessage {
            message_id: object.str("messageId")?.to_owned(),
            ts: object.get("ts").and_then(moment)?,
            preview: object.str("preview").unwrap_or_default().to_owned(),
        })
    }

    /// What was said in it, the newest part. What cannot be read is left out.
    pub fn turns(&self) -> Vec<Utterance> {
        let turns = self.object.get("turns").and_then(Json::as_array).unwrap_or_default();
        turns.iter().filter_map(Utterance::from_json).collect()
    }

    /// What a search looks through.
    pub fn search_text(&self) -> &str {
        self.object.str("searchText").unwrap_or_default()
    }

    /// How many messages were said in it, those behind a summary included.
    pub fn message_count(&self) -> u64 {
        self.meta("messageCount").and_then(Json::as_u64).unwrap_or_default()
    }

    /// How many turns it had that are older than those it shows.
    pub fn turns_left_out(&self) -> u64 {
        self.meta("turnsLeftOut").and_then(Json::as_u64).unwrap_or_default()
    }

    /// How the last thing that a person said begins.
    pub fn last_user_text_preview(&self) -> Option<&str> {
        self.meta("lastUserTextPreview").and_then(Json::as_str)
    }

    /// Whether its older part is only in the summary.
    pub fn is_compacted(&self) -> bool {
        self.meta("compacted").and_then(Json::as_bool) == Some(true)
    }

    /// The sealed log that holds it.
    pub fn sealed(&self) -> Option<SealedName> {
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
            ("ts", millis(self.ts)),
            ("preview", self.preview.as_str().into()),
        ]))
    }
}

#[cfg(test)]
mod tests;
