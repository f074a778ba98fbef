//! Finds the messages that a damaged log has lost and the snapshot of its context still tells.
//!
//! A snapshot has the text of each message and neither its id nor its calls. The ledger knows the id of a question and
//! the run of an answer, so a message that both tell comes back under its own id.

use std::collections::HashSet;
use std::sync::Arc;

use ship_context::compact::is_summary;
use ship_context::contexts::{Snapshot, Speaker, Utterance, newest_within, utterances};
use ship_message::json::Json;
use ship_message::{Role, UiMessage, UiPart};
use ship_store::{
    ANSWER_KEY, ContextLine, Derived, LedgerBody, LedgerLine, MessageKind, MessageSource, Metadata,
    NewMetadata, Position, SealedLog, SealedName, Seq, SourceRange, Timestamp, View,
};

use super::operate::OperationInProgress;
use crate::chat::{LaterPages, is_message, promoted_messages};
use crate::error::RunError;

/// So many equal characters at the beginning, said at the same time, are the same message.
const BEGINNING_CHARS: usize = 200;

/// The messages that come back into a context, in order.
#[derive(Default)]
pub(super) struct LostMessages {
    pub(super) messages: Vec<LostMessage>,
    /// The end of the log that the snapshot was made from; `None` if no snapshot of this log was found, or it tells
    /// more of a message than the log, of which a blob is missing.
    pub(super) snapshot_end: Option<(Position, u32)>,
}

/// A message that comes back, and its place in the log.
pub(super) struct LostMessage {
    /// The line that it stands before; `None` for the end of the log.
    pub(super) before: Option<Seq>,
    pub(super) message: UiMessage,
}

impl LostMessages {
    /// Returns all messages of a context: those of its log, and those that come back.
    pub(super) fn among<'m>(&'m self, view: &'m View) -> Vec<&'m UiMessage> {
        let mut all = Vec::new();
        let mut lost = self.messages.iter().peekable();
        for line in &view.lines {
            while let Some(here) = lost.next_if(|lost| lost.before.is_some_and(|it| it <= line.seq))
            {
                all.push(&here.message);
            }
            all.extend(line.message());
        }
        all.extend(lost.map(|lost| &lost.message));
        all
    }
}

impl OperationInProgress<'_> {
    /// Finds the messages that the snapshot of a context tells and its damaged sealed log does not.
    pub(super) async fn lost_messages(
        &self,
        log: &SealedName,
        view: &View,
    ) -> Result<LostMessages, RunError> {
        if view.problems.is_empty() {
            return Ok(LostMessages::default());
        }
        let which = Derived::Context(view.head.context.clone());
        let Some(state) = self.locked.chat.derived().read(which).await? else {
            return Ok(LostMessages::default());
        };
        let end = (state.position, state.crc);
        let snapshot =
            // A context may have been sealed again since, and then the snapshot is that of another log.
            Snapshot::read(state.value).filter(|it| it.sealed_log().as_ref() == Some(log));
        let log = self.locked.chat.log().sealed_log(log).await?;
        let Some((snapshot, log)) = snapshot.zip(log) else { return Ok(LostMessages::default()) };
        let lost = self.lost_utterances(&snapshot, &log, view);
        let mut messages: Vec<LostMessage> =
            self.lost_summary(&snapshot, &log, view).into_iter().collect();
        messages.extend(self.messages_of(lost, view).await?);
        let utterances = snapshot.utterances();
        let is_whole = |message: &UiMessage| {
            !utterances.iter().any(|utterance| {
                self.is_message_of(message, utterance) && !self.has_words(message, utterance)
            })
        };
        Ok(LostMessages { messages, snapshot_end: view.messages().all(is_whole).then_some(end) })
    }

    /// Makes the summary of a compacted context again if the log has lost it.
    fn lost_summary(
        &self,
        snapshot: &Snapshot,
        log: &SealedLog,
        view: &View,
    ) -> Option<LostMessage> {
        if !snapshot.is_compacted() || view.messages().any(is_summary) {
            return None;
        }
        let first = view.lines.iter().position(|line| line.message().is_some());
        let before = place_between(&view.lines, (0, first.unwrap_or(view.lines.len())), log);
        let ts = snapshot.created_at().unwrap_or(Timestamp::from_millis(0));
        let text = snapshot.summary().to_owned();
        let utterance = Utterance { ts, speaker: Speaker::Assistant, text };
        let mut message = self.message_of_utterance(&utterance);
        let shown = snapshot.utterances().len() as u64 + snapshot.utterances_left_out();
        let covered = snapshot.message_count().saturating_sub(shown);
        NewMetadata::edit(&mut message, |metadata| {
            metadata.set_kind(MessageKind::Summary);
            metadata.set_source_range(&SourceRange { count: covered, ..SourceRange::default() });
        });
        Some(LostMessage { before, message })
    }

    /// Compares a snapshot with its log, and returns each utterance that the log lacks, with its place.
    fn lost_utterances(
        &self,
        snapshot: &Snapshot,
        log: &SealedLog,
        view: &View,
    ) -> Vec<(Option<Seq>, Utterance)> {
        let utterances = snapshot.utterances();
        let (mut lost, mut known, mut after) = (Vec::new(), 0, 0);
        let mut lose = |utterances: &[Utterance], after: usize, until: usize| {
            let before = place_between(&view.lines, (after, until), log);
            lost.extend(utterances.iter().map(|utterance| (before, utterance.clone())));
        };
        for (at, line) in view.lines.iter().enumerate() {
            let Some(message) = line.message() else { continue };
            let found = utterances[known..]
                .iter()
                .position(|utterance| self.is_message_of(message, utterance));
            let Some(found) = found else { continue };
            lose(&utterances[known..known + found], after, at);
            (known, after) = (known + found + 1, at + 1);
        }
        lose(&utterances[known..], after, view.lines.len());
        lost
    }

    /// Whether an utterance is that of this message. If a blob is missing, the message has only its beginning and end.
    fn is_message_of(&self, message: &UiMessage, utterance: &Utterance) -> bool {
        match Metadata::of(message).ts() {
            Some(ts) if ts != utterance.ts => false,
            Some(_) => has_beginning(message, utterance) || self.has_words(message, utterance),
            None => self.has_words(message, utterance),
        }
    }

    /// Whether a message has the words of an utterance. A snapshot shortens a text that alone is too long for it.
    fn has_words(&self, message: &UiMessage, utterance: &Utterance) -> bool {
        let Some(in_message) = utterances(&[message], utterance.ts).pop() else { return false };
        let limits = self.locked.engine.rules.contexts.snapshot.utterances;
        let is_same =
            |other: &Utterance| other.speaker == utterance.speaker && other.text == utterance.text;
        is_same(&in_message) || newest_within(vec![in_message], limits).0.iter().any(is_same)
    }

    /// Makes the messages of lost utterances: from the ledger if it has them, or else with their text alone.
    async fn messages_of(
        &self,
        lost: Vec<(Option<Seq>, Utterance)>,
        view: &View,
    ) -> Result<Vec<LostMessage>, RunError> {
        let mut found: Vec<Option<UiMessage>> = vec![None; lost.len()];
        // A message that moves along, or that the log still has, does not come back a second time.
        let mut ids: HashSet<String> = self.moving.current.iter().cloned().collect();
        ids.extend(view.messages().filter_map(UiMessage::id).map(str::to_owned));
        let mut pages = LaterPages::new(&*self.locked.chat, None);
        while found.iter().any(Option::is_none)
            && let Some(page) = pages.next().await?
        {
            for line in &page {
                let Some(message) = self.message_of_entry(line, view) else { continue };
                let is_it = |at: &usize| {
                    let utterance = &lost[*at].1;
                    found[*at].is_none() && self.is_from_entry(line, &message, utterance)
                };
                if let Some(at) = (0..lost.len()).find(is_it)
                    && ids.insert(message.id().unwrap_or_default().to_owned())
                {
                    found[at] = Some(with_time(message, lost[at].1.ts));
                }
            }
        }
        let message =
            |((before, utterance), found): ((_, Utterance), Option<UiMessage>)| LostMessage {
                before,
                message: found.unwrap_or_else(|| self.message_of_utterance(&utterance)),
            };
        Ok(lost.into_iter().zip(found).map(message).collect())
    }

    /// Makes the message of a question or an answer in the ledger, as it was in the context.
    fn message_of_entry(&self, line: &LedgerLine, view: &View) -> Option<UiMessage> {
        let LedgerBody::Entry(entry) = &line.body else { return None };
        let ids = &*self.locked.engine.message_ids;
        let mut message = match entry.key.strip_prefix(ANSWER_KEY) {
            Some(run) => {
                let number = u64::from_str_radix(run.strip_prefix("run_")?, 16).ok()?;
                let text = entry.entry.str("text")?;
                let id = ids.answer_id(number);
                let mut message = UiMessage::new(id, Role::Assistant, vec![UiPart::text(text)]);
                let mut metadata = NewMetadata::of_entry(entry);
                metadata.set_run_id(run);
                metadata.write_to(&mut message);
                message
            }
            None if is_message(line) => {
                let promoted =
                    promoted_messages(ids, &view.head, None, [line].into_iter()).pop()?;
                UiMessage::from_object(promoted.message)
            }
            None => return None,
        };
        NewMetadata::edit(&mut message, |metadata| metadata.set_source(MessageSource::Ledger));
        Some(message)
    }

    /// Whether an utterance is that of a ledger entry. An answer is recorded after its message.
    fn is_from_entry(&self, line: &LedgerLine, message: &UiMessage, utterance: &Utterance) -> bool {
        let LedgerBody::Entry(entry) = &line.body else { return false };
        let ts = entry.entry.get("ts").and_then(Json::as_number).map(|ts| ts as i64);
        let is_then = match utterance.speaker {
            Speaker::User => ts == Some(utterance.ts.millis()),
            Speaker::Assistant => ts >= Some(utterance.ts.millis()),
        };
        is_then && self.has_words(message, utterance)
    }

    /// Builds a message from its snapshot entry.
    fn message_of_utterance(&self, utterance: &Utterance) -> UiMessage {
        let role = match utterance.speaker {
            Speaker::User => Role::User,
            Speaker::Assistant => Role::Assistant,
        };
        let id = format!("h_{:016x}", self.locked.engine.ids.next());
        let mut message = UiMessage::new(id, role, vec![UiPart::text(utterance.text.as_str())]);
        let mut metadata = NewMetadata::new(utterance.ts);
        metadata.set_chat_key(Some(self.locked.chat.key().as_str()));
        metadata.set_kind(MessageKind::Normal);
        metadata.set_source(MessageSource::Snapshot);
        metadata.write_to(&mut message);
        message
    }
}

/// Whether a message begins like a long utterance.
fn has_beginning(message: &UiMessage, utterance: &Utterance) -> bool {
    let Some(in_message) = utterances(&[message], utterance.ts).pop() else { return false };
    let mut both = in_message.text.chars().zip(utterance.text.chars()).take(BEGINNING_CHARS);
    in_message.speaker == utterance.speaker
        && utterance.text.chars().count() > BEGINNING_CHARS
        && both.all(|(one, other)| one == other)
}

/// Gives a message the time at which it was written, instead of that of its ledger entry.
fn with_time(mut message: UiMessage, ts: Timestamp) -> UiMessage {
    NewMetadata::edit(&mut message, |metadata| metadata.set_ts(ts));
    message
}

/// Returns the line before which lost lines stood, among those with the indexes of `range`: the last one with missing
/// numbers before it, or else the last of the range. `None` is the end of the log.
fn place_between(
    lines: &[Arc<ContextLine>],
    range: (usize, usize),
    log: &SealedLog,
) -> Option<Seq> {
    let seq = |at: usize| lines.get(at).map_or(log.last.get() + 1, |line| line.seq.get());
    let before = |at: usize| at.checked_sub(1).map_or(log.first.get(), &seq);
    let mut places = (range.0..=range.1).rev();
    let at = places.find(|at| seq(*at) > before(*at) + 1).unwrap_or(range.1);
    lines.get(at).map(|line| line.seq)
}
