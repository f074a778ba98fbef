//! Reads the entries of conversations in files of their own.
//!
//! The last line with an id counts, at the place of the first. A compaction ends a log: the next one has the summary, the
//! messages that it does not cover, and what came after it.

use std::collections::{HashMap, HashSet};

use ship_message::json::{Json, Object};
use ship_message::{Role, UiMessage, UiPart};
use ship_record::{MessageKind, NewMetadata};

use super::FormatReader;
use crate::message_builder::parse_time;
use crate::plan::{Piece, PlannedContext, PlannedMessage};

/// Makes messages of entries. The store knows their rules.
pub type EntryReader = fn(&[Json]) -> Result<Vec<UiMessage>, String>;

pub(super) struct Entries {
    to_messages: EntryReader,
    lines: Vec<EntryLine>,
    places: HashMap<String, usize>,
    summaries: HashSet<String>,
}

/// An entry, as far as the order depends on it.
struct EntryLine {
    id: String,
    /// The value that counts.
    item: u32,
    kind: EntryKind,
    is_compacted: bool,
    began: Option<ship_record::Timestamp>,
}

#[derive(Clone, Copy, PartialEq)]
enum EntryKind {
    /// It begins a message.
    Said,
    Assistant,
    Result,
    Event,
}

impl Entries {
    pub(super) fn new(to_messages: EntryReader) -> Self {
        let (places, summaries) = (HashMap::new(), HashSet::new());
        Self { to_messages, lines: Vec::new(), places, summaries }
    }
}

impl FormatReader for Entries {
    fn look(&mut self, item: u32, _bytes: u32, value: &Json) -> Result<(), String> {
        (self.to_messages)(std::slice::from_ref(value))?;
        let text = |key: &str| value.get(key).and_then(Json::as_str);
        let kind = match (text("type"), text("role")) {
            (Some("evt"), _) => EntryKind::Event,
            (_, Some("assistant")) => EntryKind::Assistant,
            (_, Some("tool")) => EntryKind::Result,
            _ => EntryKind::Said,
        };
        if text("event") == Some("compaction")
            && let Some(summary) = value.get("data").and_then(|data| data.get("summary")?.as_str())
        {
            self.summaries.insert(summary.to_owned());
        }
        let id = text("id").unwrap_or_default().to_owned();
        let is_compacted = value.get("compacted").and_then(Json::as_bool) == Some(true);
        match self.places.get(&id).map(|at| &mut self.lines[*at]) {
            // The mark repeats the line; the original has it all.
            Some(known) if is_compacted => known.is_compacted = true,
            Some(known) => known.item = item,
            None => {
                self.places.insert(id.clone(), self.lines.len());
                let began = parse_time(value.get("ts"));
                self.lines.push(EntryLine { id, item, kind, is_compacted, began });
            }
        }
        Ok(())
    }

    fn finish(&mut self) -> Vec<PlannedContext> {
        let mut planned = PlannedEntries::default();
        for line in &self.lines {
            match self.summaries.contains(&line.id) {
                true => planned.add_summary(line, &self.lines),
                false => planned.add(line),
            }
        }
        self.places = HashMap::new();
        let context = planned.into_context();
        Some(context).filter(|context| !context.is_empty()).into_iter().collect()
    }

    fn build(&self, fallback: String, is_summary: bool, pieces: &[(&Json, u32)]) -> Vec<UiMessage> {
        let entries: Vec<Json> = pieces.iter().map(|(entry, _)| without_mark(entry)).collect();
        if is_summary {
            return entries.first().map(|entry| summary(entry, fallback)).into_iter().collect();
        }
        (self.to_messages)(&entries).unwrap_or_default()
    }
}

/// The context of the entries so far.
struct PlannedEntries {
    context: PlannedContext,
    /// The kind of the last entry of a message.
    last: EntryKind,
    /// Events that belong to the next message, because the last one is in an earlier log as well.
    early: Vec<Piece>,
    is_last_complete: bool,
}

impl Default for PlannedEntries {
    fn default() -> Self {
        let (context, early) = (PlannedContext::default(), Vec::new());
        Self { context, last: EntryKind::Said, early, is_last_complete: true }
    }
}

impl PlannedEntries {
    /// Adds an entry: a result and the step after it belong to the assistant's message.
    fn add(&mut self, line: &EntryLine) {
        let piece = Piece { item: line.item, part: 0 };
        self.context.began = self.context.began.or(line.began);
        let joins = match line.kind {
            EntryKind::Said => false,
            EntryKind::Assistant => self.last == EntryKind::Result,
            EntryKind::Result => self.last != EntryKind::Said,
            EntryKind::Event => true,
        };
        match (line.kind, self.is_last_complete || !joins) {
            (_, false) => {
                self.context.add(piece);
            }
            (EntryKind::Event, true) => self.early.push(piece),
            (_, true) => {
                let mut pieces = std::mem::take(&mut self.early);
                pieces.push(piece);
                self.context.push(PlannedMessage::new(pieces, false));
                self.is_last_complete = false;
            }
        }
        if line.kind != EntryKind::Event {
            self.last = line.kind;
        }
    }

    /// Begins a log with a summary, and with the messages that it does not cover.
    fn add_summary(&mut self, line: &EntryLine, lines: &[EntryLine]) {
        let covered: HashSet<u32> =
            lines.iter().filter(|line| line.is_compacted).map(|line| line.item).collect();
        let is_covered = |piece: &Piece| covered.contains(&piece.item);
        let before = self.context.logs.last().map_or(&[][..], |log| &log.messages[..]);
        let stays = |message: &&PlannedMessage| {
            !message.is_summary && !message.pieces.iter().any(is_covered)
        };
        let kept: Vec<PlannedMessage> = before.iter().filter(stays).cloned().collect();
        self.context.begin_log(Piece { item: line.item, part: 0 });
        kept.into_iter().for_each(|message| self.context.push(message));
        (self.last, self.is_last_complete) = (EntryKind::Said, true);
    }

    fn into_context(mut self) -> PlannedContext {
        for piece in std::mem::take(&mut self.early) {
            self.context.add(piece);
        }
        self.context
    }
}

/// Returns an entry as it was before a compaction marked it: the log that it is in has the originals.
fn without_mark(entry: &Json) -> Json {
    let mut entry = entry.clone();
    if let Some(object) = entry.as_object_mut() {
        object.remove("compacted");
    }
    entry
}

fn summary(entry: &Json, fallback: String) -> UiMessage {
    let text = entry.get("content").map_or_else(String::new, |content| {
        content.as_str().map_or_else(|| content.to_string(), str::to_owned)
    });
    let id = entry.get("id").and_then(Json::as_str).map_or(fallback, str::to_owned);
    let mut message = UiMessage::new(id, Role::Assistant, vec![UiPart::text(text)]);
    let mut metadata = NewMetadata::from_object(Object::new());
    metadata.set_kind(MessageKind::Summary);
    if let Some(ts) = parse_time(entry.get("ts")) {
        metadata.set_ts(ts);
    }
    metadata.write_to(&mut message);
    message
}
