//! Divides a long context into logs, as compactions would have divided it.
//!
//! A log that was once live is no longer than a live log may be. So the next log begins with an extract of all that is
//! older, and the newest messages. It is cheap to load, and a reader of the history never has a long log in memory.

use std::collections::VecDeque;
use std::sync::Arc;

use ship_context::compact::{
    Summary, extract, is_summary, split_off_summary, summary_message, transcript_entry,
};
use ship_message::{Role, UiMessage};
use ship_store::{Metadata, NewMetadata, SourceRange, Timestamp};

use crate::chat::LogSize;
use crate::engine::Engine;

/// The number of messages that are extracted at once.
const COVERED_AT_ONCE: usize = 256;

/// The maximal length of an extract.
const EXTRACT_TOKENS: u64 = 4_000;

/// The log of a context that is being imported, as far as the next log depends on it.
pub(super) struct LogDivision {
    engine: Arc<Engine>,
    /// The name of the import in the ids of extracts.
    name: String,
    now: Timestamp,
    size: LogSize,
    /// The number of messages that were added since the log began.
    added: usize,
    /// The messages before the recent ones, as one.
    summary: Option<UiMessage>,
    /// Messages that are not in the summary yet.
    covered: Vec<UiMessage>,
    /// The newest messages.
    recent: VecDeque<UiMessage>,
    /// The messages of the context, for a summary that came with it.
    range: SourceRange,
    extracts: u64,
}

impl LogDivision {
    pub(super) fn new(engine: &Arc<Engine>, name: String, now: Timestamp) -> Self {
        Self {
            engine: Arc::clone(engine),
            name,
            now,
            size: LogSize::default(),
            added: 0,
            summary: None,
            covered: Vec::new(),
            recent: VecDeque::new(),
            range: SourceRange::default(),
            extracts: 0,
        }
    }

    /// Begins the next log with a summary that came with the context.
    pub(super) fn begin_log(&mut self) {
        self.size = LogSize::default();
        self.added = 0;
    }

    /// Adds a message, and returns it as it is in the log.
    pub(super) fn add(&mut self, mut message: UiMessage) -> UiMessage {
        if is_summary(&message) {
            if Metadata::of(&message).source_range().is_none() {
                let range = self.range.clone();
                NewMetadata::edit(&mut message, |metadata| metadata.set_source_range(&range));
            }
            self.covered.clear();
            self.recent.clear();
            self.summary = Some(message.clone());
        } else {
            let id = || message.id().map(str::to_owned);
            self.range.from_id = self.range.from_id.take().or_else(id);
            self.range.to_id = id();
            self.range.count += 1;
            self.recent.push_back(message.clone());
            if self.recent.len() > self.engine.rules.keep_last_messages {
                self.covered.extend(self.recent.pop_front());
            }
            if self.covered.len() >= COVERED_AT_ONCE {
                self.extract();
            }
        }
        let added = LogSize::of_messages([&message].into_iter());
        self.added += 1;
        self.size.lines += added.lines;
        self.size.bytes += added.bytes;
        message
    }

    /// Whether the next message begins another log. Half of a live log's size leaves room for what is said in it later.
    pub(super) fn is_full(&self) -> bool {
        let has_new = self.added > self.engine.rules.keep_last_messages;
        has_new && !self.size.is_half_of(&self.engine.rules)
    }

    /// Returns the messages with which the next log begins.
    pub(super) fn next_log(&mut self) -> Vec<UiMessage> {
        // An answer alone would need an invented question before it.
        if self.recent.iter().any(|message| message.role() == Role::User)
            && !self.covered.is_empty()
        {
            while self.recent.front().is_some_and(|message| message.role() != Role::User) {
                self.covered.extend(self.recent.pop_front());
            }
        }
        self.extract();
        let messages: Vec<UiMessage> = self.summary.iter().chain(&self.recent).cloned().collect();
        self.size = LogSize::of_messages(messages.iter());
        self.added = 0;
        messages
    }

    /// Puts the covered messages into the summary.
    fn extract(&mut self) {
        if self.covered.is_empty() {
            return;
        }
        let older: Vec<&UiMessage> = self.summary.iter().chain(&self.covered).collect();
        let count = |text: &str| self.engine.token_meter.count(text);
        let (previous, others) = split_off_summary(&older);
        let prose = extract(previous.as_deref(), &others, EXTRACT_TOKENS, &count);
        let source = others.iter().map(|message| transcript_entry(message));
        let summary = Summary::new(prose, source, previous.as_deref());
        let text = summary.text(EXTRACT_TOKENS, &count);
        self.extracts += 1;
        let id = format!("s_{}_{}", self.name, self.extracts);
        let summary = summary_message(id, text, &older, self.now);
        self.summary = Some(summary);
        self.covered.clear();
    }
}
