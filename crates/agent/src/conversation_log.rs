//! A conversation as the engine's context.
//!
//! The conversation is the only truth: what the engine reads is derived from it, and what the engine appends is on
//! disk before any other part knows of it. So nothing can be in memory that is not in the file.
//!
//! A line has an id, a time, a role and content, in the form that other programs read. The engine's other knowledge
//! of a message (the request, the run, the chat) is valid only in this process and is not written. Nor does the
//! engine read the agent's own system line, because its text comes with every request anyway.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use ship_message::json::{Json, Object};
use ship_message::{Role, UiMessage};
use ship_store::conversation::view::{recorded_lines, without_record};
use ship_store::conversation::{CompactError, Conversation, WriteError};
use ship_store::{
    AppendError, ChatKey, ContextBody, ContextEvent, ContextId, ContextLine, ContextLog, Gen, Head,
    LedgerSeq, LogFeatures, LogPiece, MessageKind, NewLine, NewMetadata, Position, ReadError,
    RefusedInput, RotateError, Rotated, Rotation, SealedLog, SealedName, Seq, StorageError,
    StoreFuture, Timestamp, View,
};

use crate::chat::{MessageIds, loaded_skills};

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
    /// The last ledger message that is in the context, or will never be.
    inbox: Option<LedgerSeq>,
}

impl ConversationLog {
    pub(crate) fn new(conversation: Conversation, id: ContextId) -> Self {
        let lines = conversation.view().len() as u64;
        Self(Arc::new(Mutex::new(ConversationContext {
            conversation,
            id,
            generation: Gen::new(1),
            lines,
            inbox: None,
        })))
    }

    /// Works on the context on a blocking thread, to the end even if the caller stops waiting.
    pub(crate) async fn with<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut ConversationContext) -> T + Send + 'static,
    ) -> T {
        let kept = self.clone();
        blocking(move || work(&mut kept.context())).await
    }

    fn context(&self) -> MutexGuard<'_, ConversationContext> {
        // A conversation trusts only what it has written, so a panic leaves it valid.
        self.0.lock()
    }
}

/// Takes ids from the conversation's own count: `m001`, `m002`, …
impl MessageIds for ConversationLog {
    fn inbound_id(&self, _seq: LedgerSeq, nth: usize) -> String {
        self.context().conversation.next_ids().nth(nth).unwrap_or_default()
    }

    fn answer_id(&self, _run: u64) -> String {
        self.context().conversation.next_ids().next().unwrap_or_default()
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
    /// Returns the messages, each with its time, and with summaries marked.
    pub(crate) fn messages(&self) -> Vec<UiMessage> {
        let marked = |message: &UiMessage| {
            let mut read = with_time(message);
            if message.id().is_some_and(|id| self.conversation.is_summary(id)) {
                NewMetadata::edit(&mut read, |metadata| metadata.set_kind(MessageKind::Summary));
            }
            read
        };
        self.shown().iter().map(marked).collect()
    }

    /// Returns the messages with the record of their lines, without the agent's own system line.
    fn shown(&self) -> Vec<UiMessage> {
        let system = self.conversation.agent_system_id();
        let mut messages = self.conversation.view();
        messages.retain(|message| message.id().is_none() || message.id() != system);
        messages
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
        let line = |(seq, message)| ContextLine {
            seq: Seq::new(seq),
            rev: 0,
            inbox: None,
            body: ContextBody::Message(message),
        };
        View {
            head,
            position: self.position(),
            crc: 0,
            inbox: self.inbox,
            lines: (1..).zip(self.messages()).map(line).map(Arc::new).collect(),
            problems: Vec::new(),
        }
    }

    fn position(&self) -> Position {
        Position { generation: self.generation, seq: Seq::new(self.lines) }
    }

    /// Appends messages or an event; one batch of a conversation can be either.
    pub(crate) fn append(
        &mut self,
        batch: Vec<NewLine>,
        expected: Position,
    ) -> Result<Position, AppendError> {
        let found = self.position();
        if found != expected {
            return Err(AppendError::Moved { chat: conversation_chat(), expected, found });
        }
        let lines = batch.len() as u64;
        let mut inbox = self.inbox;
        let mut messages = Vec::new();
        let mut events = Vec::new();
        for entry in batch {
            match entry {
                NewLine::Message(new) => {
                    inbox = inbox.max(new.inbox);
                    messages.push(file_message(new.message));
                }
                NewLine::Event(event) => events.push(event),
            }
        }
        let written = match (messages.is_empty(), events.pop()) {
            (false, None) => self.conversation.append_view(&messages).map(|_| ()),
            (true, Some(event)) if events.is_empty() => self.record(event).map(|_| ()),
            (true, None) => return Err(RefusedInput::Empty.into()),
            (_, Some(_)) => return Err(RefusedInput::NotAMessage("an event among messages").into()),
        };
        written.map_err(|error| self.append_error(error))?;
        self.inbox = inbox;
        self.lines += lines;
        Ok(self.position())
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
        self.lines = self.shown().len() as u64;
        self.generation = self.generation.next();
        Ok(self.position())
    }

    /// Keeps a ledger message from coming in later. Returns whether it had already come in.
    pub(crate) fn skip_entry(&mut self, seq: LedgerSeq) -> bool {
        let came_in = self.inbox >= Some(seq);
        self.inbox = self.inbox.max(Some(seq));
        came_in
    }

    /// Records an event. Skills have the event names of the file; any other event keeps its own.
    fn record(&mut self, event: ContextEvent) -> Result<String, WriteError> {
        let name = match event.event.as_str() {
            loaded_skills::LOADED => "skill_activated",
            loaded_skills::UNLOADED => "skill_deactivated",
            other => other,
        };
        let data = match event.data {
            Json::Object(data) => data,
            other => Object::from([("value", other)]),
        };
        let about = event.ref_msg_id.as_ref().map(|id| id.as_str());
        self.conversation.record_event(name, data, about)
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

/// Returns a message in the form of the file.
fn file_message(message: Object) -> UiMessage {
    let mut message = UiMessage::from_object(message);
    NewMetadata::edit(&mut message, NewMetadata::retain_outcome);
    message
}

/// Returns a message in the engine's form: without the record of its lines, but with the time of the first.
fn with_time(message: &UiMessage) -> UiMessage {
    let time = timestamp_of(message);
    let mut message = without_record(message);
    if let Some(time) = time {
        NewMetadata::edit(&mut message, |metadata| metadata.set_ts(time));
    }
    message
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
