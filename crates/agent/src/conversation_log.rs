//! A conversation as the engine's context.
//!
//! The conversation is the only truth: what the engine reads is derived from it, and a message that the engine appends
//! is on disk before any other part knows of it. Only a skill that a run loads or unloads waits in memory, as the
//! run's journal does: its lines stand among those of the answer, and are written with it.
//!
//! A line has an id, a time, a role and content, in the form that other programs read. The engine's other knowledge
//! of a message (the request, the run, the chat) is valid only in this process and is not written. Nor does the
//! engine read the agent's own system line, because its text comes with every request anyway.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use ship_message::json::Json;
use ship_message::{Role, UiMessage};
use ship_store::conversation::view::{recorded_lines, without_record};
use ship_store::conversation::{
    CompactError, Conversation, NewViewMessage, SkillChange, WriteError,
};
use ship_store::{
    AppendError, ChatKey, ContextBody, ContextEvent, ContextId, ContextLine, ContextLog, Gen, Head,
    LedgerSeq, LogFeatures, LogPiece, MessageKind, Metadata, NewLine, NewMetadata, Position,
    ReadError, RefusedInput, RotateError, Rotated, Rotation, SealedLog, SealedName, Seq,
    StorageError, StoreFuture, Timestamp, View,
};

use crate::chat::MessageIds;
use crate::chat::skill_changes::{change_of_event, divide_answer};

/// Runs `work` on a blocking thread, to its end even if the caller stops waiting.
pub(crate) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(error) => panic!("a conversation needs its runtime to the end: {error}"),
        },
    }
}

/// The chat that a conversation is to the engine.
pub(crate) fn conversation_chat() -> ChatKey {
    "conversation".parse().expect("a plain word is a chat key")
}

/// A conversation that an agent uses. Clones share it.
#[derive(Clone)]
pub(crate) struct ConversationLog(Arc<Mutex<ConversationContext>>);

/// The context: a conversation, and what the engine must know besides.
pub(crate) struct ConversationContext {
    pub(crate) conversation: Conversation,
    id: ContextId,
    /// The number of compactions since it was opened, in the engine's count of rotations.
    generation: Gen,
    /// The number of lines that the context has had since, in the engine's count.
    lines: u64,
    /// The events of skills that a run has changed and whose answer is not written yet.
    unwritten: Vec<ContextEvent>,
    /// The last ledger message that is in the context, or will never be.
    inbox: Option<LedgerSeq>,
}

impl ConversationLog {
    pub(crate) fn new(conversation: Conversation, id: ContextId) -> Self {
        let mut context = ConversationContext {
            conversation,
            id,
            generation: Gen::new(1),
            lines: 0,
            unwritten: Vec::new(),
            inbox: None,
        };
        context.lines = context.line_count();
        Self(Arc::new(Mutex::new(context)))
    }

    /// Works on the context on a blocking thread, to the end even if the caller stops waiting.
    pub(crate) async fn with<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut ConversationContext) -> T + Send + 'static,
    ) -> T {
        let kept = self.clone();
        blocking(move || work(&mut kept.0.lock())).await
    }
}

/// Takes ids from the conversation's own count: `m001`, `m002`, …
impl MessageIds for ConversationLog {
    fn inbound_id(&self, _seq: LedgerSeq, nth: usize) -> String {
        self.0.lock().conversation.next_ids().nth(nth).unwrap_or_default()
    }

    fn answer_id(&self, _run: u64) -> String {
        self.0.lock().conversation.next_ids().next().unwrap_or_default()
    }
}

impl ContextLog for ConversationLog {
    /// Lines for other programs have no room for the engine's own metadata and events, and none is ever taken away.
    fn features(&self) -> LogFeatures {
        LogFeatures { holds_events: false, holds_metadata: false, shrinks: false }
    }

    fn view(&self) -> StoreFuture<'_, Option<View>, ReadError> {
        Box::pin(async move { Ok(Some(self.with(|context| context.view()).await)) })
    }

    /// A compaction marks lines and seals none.
    fn sealed(&self) -> StoreFuture<'_, Vec<SealedLog>, ReadError> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn sealed_view(&self, name: &SealedName) -> StoreFuture<'_, View, ReadError> {
        let name = name.to_string();
        Box::pin(async move { Err(ReadError::NoSealedLog { chat: conversation_chat(), name }) })
    }
}

impl ConversationContext {
    /// Returns the messages that a model is shown besides the system blocks.
    pub(crate) fn messages(&self) -> Vec<UiMessage> {
        self.shown().iter().map(|message| self.in_engines_form(message)).collect()
    }

    /// Returns the messages in which a run has answered, from the one with this id.
    pub(crate) fn answer(&self, message_id: &str) -> Vec<UiMessage> {
        let messages = self.messages().into_iter();
        let answer = messages.skip_while(|message| message.id() != Some(message_id));
        answer.filter(|message| message.role() == Role::Assistant).collect()
    }

    /// Returns the messages with the record of their lines, without the agent's own system line.
    fn shown(&self) -> Vec<UiMessage> {
        let system = self.conversation.agent_system_id();
        let mut messages = self.conversation.view();
        messages.retain(|message| message.id().is_none() || message.id() != system);
        messages
    }

    /// Returns a message without the record of its lines, but with the time of the first and its note. Summaries and prompts of
    /// skills are marked. A prompt has no time: it must read like the one that the model was shown in the run.
    fn in_engines_form(&self, message: &UiMessage) -> UiMessage {
        let id = message.id().unwrap_or_default();
        let skill = self.conversation.skill_of_prompt(id);
        let time = timestamp_of(message).filter(|_| skill.is_none());
        let mut read = without_record(message);
        NewMetadata::edit(&mut read, |metadata| {
            if let Some(time) = time {
                metadata.set_ts(time);
            }
            if self.conversation.is_summary(id) {
                metadata.set_kind(MessageKind::Summary);
            }
            metadata.set_note_to_model(note_of(message));
            metadata.set_prompt_of_skill(skill);
        });
        read
    }

    /// Returns the number of lines in the engine's count.
    fn line_count(&self) -> u64 {
        (self.shown().len() + self.unwritten.len()) as u64
    }

    /// Returns the path of the file, or `memory`.
    pub(crate) fn place(&self) -> PathBuf {
        self.conversation.path().map_or_else(|| "memory".into(), PathBuf::from)
    }

    pub(crate) fn view(&self) -> View {
        let active = self.conversation.active_skills();
        let mut head = Head::new(self.id.clone());
        head.generation = self.generation;
        head.carry.set_skills(active);
        let events = self.unwritten.iter().cloned().map(ContextBody::Event);
        let bodies = self.messages().into_iter().map(ContextBody::Message).chain(events);
        let line = |(seq, body)| ContextLine { seq: Seq::new(seq), rev: 0, inbox: None, body };
        View {
            head,
            position: self.position(),
            crc: 0,
            inbox: self.inbox,
            lines: (1..).zip(bodies).map(line).map(Arc::new).collect(),
            problems: Vec::new(),
        }
    }

    fn position(&self) -> Position {
        Position { generation: self.generation, seq: Seq::new(self.lines) }
    }

    /// Appends messages, or the event of a skill, which waits for the answer that has its call.
    pub(crate) fn append(
        &mut self,
        batch: Vec<NewLine>,
        expected: Position,
    ) -> Result<Position, AppendError> {
        let found = self.position();
        if found != expected {
            return Err(AppendError::Moved { chat: conversation_chat(), expected, found });
        }
        let mut inbox = self.inbox;
        let mut messages = Vec::new();
        let mut events = Vec::new();
        for entry in batch {
            match entry {
                NewLine::Message(new) => {
                    inbox = inbox.max(new.inbox);
                    messages.push(UiMessage::from_object(new.message));
                }
                NewLine::Event(event) if change_of_event(&event).is_some() => events.push(event),
                NewLine::Event(_) => return Err(RefusedInput::NotAMessage("an event").into()),
            }
        }
        if messages.is_empty() && events.is_empty() {
            return Err(RefusedInput::Empty.into());
        }
        self.write(&messages).map_err(|error| self.append_error(error))?;
        let added = (messages.len() + events.len()) as u64;
        self.unwritten.extend(events);
        self.inbox = inbox;
        // A message can become several, and the count must never stay the same.
        self.lines = (self.lines + added).max(self.line_count());
        Ok(self.position())
    }

    /// Writes messages to the file, with the skills that their calls have changed.
    fn write(&mut self, messages: &[UiMessage]) -> Result<(), WriteError> {
        if messages.is_empty() {
            return Ok(());
        }
        let mut changes: Vec<SkillChange> =
            self.unwritten.iter().filter_map(change_of_event).collect();
        let mut pieces: Vec<_> =
            messages.iter().flat_map(|message| divide_answer(message, &changes)).collect();
        changes.retain(|change| !pieces.iter().any(|piece| piece.skill_changes.contains(change)));
        let answer = pieces.iter_mut().rfind(|piece| piece.message.role() == Role::Assistant);
        let is_answer = answer.is_some();
        if let Some(answer) = answer {
            // A tool that goes on after its call may change a skill as well.
            answer.skill_changes.extend(changes);
        }
        pieces.iter_mut().for_each(keep_for_file);
        self.conversation.append_with_skills(&pieces)?;
        if is_answer {
            self.unwritten.clear();
        }
        Ok(())
    }

    /// Puts a summary in the place of older messages, by marking them as compacted. Lines are never replaced, so
    /// there is no other rotation.
    pub(crate) fn rotate(&mut self, rotation: &Rotation) -> Result<Rotated, RotateError> {
        let failed = |path, source| StorageError::Io { doing: "compact", path, source };
        let pieces = &rotation.pieces;
        let copies =
            |piece: &LogPiece| matches!(piece, LogPiece::Sealed { .. } | LogPiece::Of { .. });
        let summary = pieces.iter().find_map(summary_text).filter(|_| !pieces.iter().any(copies));
        let Some(summary) = summary else {
            let why = "a conversation's lines are only added to, never replaced";
            let source = io::Error::new(io::ErrorKind::Unsupported, why);
            return Err(failed(self.place(), source).into());
        };
        let position = self
            .compact(|seq| pieces.iter().any(|piece| keeps_line(piece, seq)), &summary)
            .map_err(|error| failed(self.place(), io::Error::other(error)))?;
        Ok(Rotated { position, sealed: None, sealed_crc: 0, damage: Vec::new() })
    }

    /// Puts a summary in the place of all messages except those that stay. They must be the last ones, because a
    /// conversation marks one range.
    fn compact(
        &mut self,
        stays: impl Fn(Seq) -> bool,
        summary: &str,
    ) -> Result<Position, CompactError> {
        let view = self.shown();
        let goes: Vec<&UiMessage> = (1..)
            .zip(&view)
            .filter(|(seq, message)| message.role() != Role::System && !stays(Seq::new(*seq)))
            .map(|(_, message)| message)
            .collect();
        let ids = |message: Option<&&UiMessage>| message.map(|it| line_ids(it)).unwrap_or_default();
        let from = ids(goes.first()).into_iter().next().unwrap_or_default();
        let to = ids(goes.last()).pop().unwrap_or_default();
        // The next id is promised to the answer that is being written.
        let id = self.conversation.next_ids().nth(1).unwrap_or_default();
        self.conversation.mark_compacted_as(id, &from, &to, summary)?;
        self.lines = self.line_count();
        self.generation = self.generation.next();
        Ok(self.position())
    }

    /// Keeps a ledger message from coming in later. Returns whether it had already come in.
    pub(crate) fn skip_entry(&mut self, seq: LedgerSeq) -> bool {
        let came_in = self.inbox >= Some(seq);
        self.inbox = self.inbox.max(Some(seq));
        came_in
    }

    fn append_error(&self, error: WriteError) -> AppendError {
        let source = io::Error::other(error);
        StorageError::Io { doing: "append to", path: self.place(), source }.into()
    }
}

/// The text of a piece that is a new message.
fn summary_text(piece: &LogPiece) -> Option<String> {
    let LogPiece::New(NewLine::Message(new)) = piece else { return None };
    Some(UiMessage::from_object(new.message.clone()).text())
}

/// Whether a piece keeps the line of this number.
fn keeps_line(piece: &LogPiece, seq: Seq) -> bool {
    match piece {
        LogPiece::Keep(first, last) => (*first..=*last).contains(&seq),
        LogPiece::KeepFrom(first) => seq >= *first,
        LogPiece::New(_) | LogPiece::Sealed { .. } | LogPiece::Of { .. } => false,
    }
}

/// The field of a person's line that tells the model how its last answer ended.
const NOTE_TO_MODEL: &str = "note_to_model";

/// Keeps of a message's metadata what its lines hold: how the run ended, and what the model must know of that.
fn keep_for_file(new: &mut NewViewMessage) {
    let note = Metadata::of(&new.message).note_to_model().map(Json::from);
    new.other.set_or_remove(NOTE_TO_MODEL, note);
    NewMetadata::edit(&mut new.message, NewMetadata::retain_outcome);
}

fn note_of(message: &UiMessage) -> Option<&str> {
    recorded_lines(message).first()?.get(NOTE_TO_MODEL)?.as_str()
}

/// Returns the ids of the lines of a message, in order.
fn line_ids(message: &UiMessage) -> Vec<String> {
    let id = |line: &Json| Some(line.get("id")?.as_str()?.to_owned());
    recorded_lines(message).iter().filter_map(id).collect()
}

fn timestamp_of(message: &UiMessage) -> Option<Timestamp> {
    let text = recorded_lines(message).first()?.get("ts")?.as_str()?;
    // Other programs write whole seconds.
    let in_seconds = || Timestamp::parse(&format!("{}.000Z", text.strip_suffix('Z')?));
    Timestamp::parse(text).or_else(in_seconds)
}
