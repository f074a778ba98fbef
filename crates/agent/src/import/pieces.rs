//! Gives the logs of an import to the store, one message at a time.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use ship_exchange::{ConversationFile, PlannedContext};
use ship_message::UiMessage;
use ship_store::carry::{Beginning, ImportedFrom};
use ship_store::{Gen, Head, ImportPiece, NewLine, NewMessage, Timestamp};

use super::adapted_message::{IdsOfChat, adapt, adapted_id};
use super::decision::ContextToImport;
use super::log_division::LogDivision;
use crate::engine::Engine;

/// The file of an import. It is read again if the first attempt had to be given up.
pub(super) type SharedFile = Arc<Mutex<ConversationFile>>;

/// What makes the pieces of an import.
#[derive(Clone)]
pub(super) struct PieceMaker {
    pub(super) engine: Arc<Engine>,
    pub(super) file: SharedFile,
    pub(super) ids: IdsOfChat,
    /// The generation of the first imported log.
    pub(super) first: Gen,
    pub(super) now: Timestamp,
}

/// The pieces of an import, in order.
pub(super) struct ImportPieces {
    maker: PieceMaker,
    contexts: VecDeque<ContextToImport>,
    open: Option<OpenContext>,
    ready: VecDeque<ImportPiece>,
    logs: u64,
}

/// The context whose messages come now.
struct OpenContext {
    context: ContextToImport,
    planned: Arc<[PlannedContext]>,
    division: LogDivision,
    log: usize,
    message: usize,
    /// The place of the next message in the context.
    nth: usize,
    /// The ids of messages that replace an earlier revision.
    revised: Vec<String>,
}

type Failure = Box<dyn std::error::Error + Send + Sync>;

impl PieceMaker {
    pub(super) fn pieces(self, contexts: &[ContextToImport]) -> ImportPieces {
        let contexts = contexts.iter().cloned().collect();
        let (open, ready) = (None, VecDeque::new());
        ImportPieces { maker: self, contexts, open, ready, logs: 0 }
    }

    /// Returns the lines of the live log above an imported context.
    pub(super) fn live_lines(&self, context: &ContextToImport) -> Result<Vec<NewLine>, Failure> {
        let mut pieces = self.clone().pieces(std::slice::from_ref(context));
        let mut lines = Vec::new();
        while !pieces.is_done() {
            pieces.advance()?;
            pieces.ready.clear();
            if let Some(open) = &mut pieces.open
                && open.is_done()
            {
                let next = open.division.next_log();
                lines = next.into_iter().map(|message| open.line(message)).collect();
            }
        }
        Ok(lines)
    }

    /// Returns the head of a log of an imported context.
    pub(super) fn head(&self, context: &ContextToImport, nth_log: u64, base: Head) -> Head {
        let generation = Gen::new(self.first.get() + nth_log);
        let mut head =
            Head { context: context.context.clone(), title: context.title.clone(), ..base };
        head.carry
            .set_beginning(&Beginning { by: Some("import".to_owned()), at: Some(context.began) });
        head.carry.set_imported_from(&ImportedFrom { generation, ..context.from.clone() });
        // A question at the end is history, and no run answers it by itself.
        let question = context.counts.question.as_deref();
        let question = question.map(|id| adapted_id(id, &context.from, &self.ids));
        head.carry.set_answered(question.as_deref());
        head
    }
}

impl ImportPieces {
    fn is_done(&self) -> bool {
        self.contexts.is_empty() && self.open.is_none() && self.ready.is_empty()
    }

    /// Makes the pieces of the next message.
    fn advance(&mut self) -> Result<(), Failure> {
        if self.open.as_ref().is_some_and(OpenContext::is_done) {
            self.open = None;
        }
        let Some(open) = &mut self.open else {
            let Some(context) = self.contexts.pop_front() else { return Ok(()) };
            self.open = Some(OpenContext::new(&self.maker, context));
            self.begin_log();
            return Ok(());
        };
        if open.is_at_end_of_log() {
            open.log += 1;
            open.message = 0;
            open.division.begin_log();
            self.begin_log();
            return Ok(());
        }
        if open.division.is_full() {
            let again = open.division.next_log();
            let lines: Vec<NewLine> = again.into_iter().map(|message| open.line(message)).collect();
            self.begin_log();
            self.ready.extend(lines.into_iter().map(ImportPiece::Line));
        }
        let Some(open) = &mut self.open else { return Ok(()) };
        for message in open.next_messages(&self.maker)? {
            let message = open.division.add(message);
            let line = open.line(message);
            self.ready.push_back(ImportPiece::Line(line));
        }
        Ok(())
    }

    fn begin_log(&mut self) {
        let Some(open) = &self.open else { return };
        let head = Head::new(open.context.context.clone());
        self.ready.push_back(ImportPiece::Log(self.maker.head(&open.context, self.logs, head)));
        self.logs += 1;
    }
}

impl OpenContext {
    fn new(maker: &PieceMaker, context: ContextToImport) -> Self {
        let planned = maker.file.lock().contexts();
        let short: String = context.context.as_str().chars().skip(2).collect();
        let name = format!("{short}_{}", maker.first);
        let division = LogDivision::new(&maker.engine, name, maker.now);
        Self { context, planned, division, log: 0, message: 0, nth: 0, revised: Vec::new() }
    }

    fn plan(&self) -> &PlannedContext {
        &self.planned[self.context.nth]
    }

    fn is_at_end_of_log(&self) -> bool {
        self.message >= self.plan().logs[self.log].messages.len()
    }

    fn is_done(&self) -> bool {
        self.is_at_end_of_log() && self.log + 1 >= self.plan().logs.len()
    }

    /// Makes the next message of the file, which may be several.
    fn next_messages(&mut self, maker: &PieceMaker) -> Result<Vec<UiMessage>, Failure> {
        let plan = &self.planned[self.context.nth];
        let message = &plan.logs[self.log].messages[self.message];
        let made = maker.file.lock().messages(plan, self.nth, message)?;
        // Only the last message that the chat knows may have grown; what comes behind it is new.
        let is_last_known = self.nth as u64 + 1 == self.context.known_messages;
        self.nth += 1;
        self.message += 1;
        let from = &self.context.from;
        let made: Vec<UiMessage> =
            made.into_iter().map(|message| adapt(message, from, &maker.ids)).collect();
        if is_last_known {
            self.revised.extend(made.iter().filter_map(UiMessage::id).map(str::to_owned));
        }
        Ok(made)
    }

    fn line(&self, message: UiMessage) -> NewLine {
        let id = message.id().unwrap_or_default();
        let is_revised = self.revised.iter().any(|revised| revised == id);
        let rev = if is_revised { self.context.from.growths } else { 0 };
        NewMessage { message: message.into_object(), rev, inbox: None }.into()
    }
}

impl Iterator for ImportPieces {
    type Item = Result<ImportPiece, Failure>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.ready.is_empty() {
            if self.is_done() {
                return None;
            }
            if let Err(failure) = self.advance() {
                return Some(Err(failure));
            }
        }
        self.ready.pop_front().map(Ok)
    }
}
