//! Finds the unread entries of the ledger, even if the context log is gone or older than it was.
//!
//! The context log says how far the ledger was read. If that log was removed or replaced by an older one, the
//! ledger still says what was answered: no answered message runs again.

use std::collections::{HashSet, VecDeque};

use ship_context::contexts::is_reference;
use ship_context::{SystemBlock, ends_with_question};
use ship_message::json::Object;
use ship_message::{Role, StepStartPart, UiMessage, UiPart};
use ship_project::TextsAndSkills;
use ship_store::{
    ANSWER_KEY, AnsweredEntries, Chat, ChatState, ContextLine, LedgerBody, LedgerEntry, LedgerLine,
    LedgerSeq, MessageSource, Metadata, NewMessage, NewMetadata, NoticeKind, ReadError, VIA_NOTICE,
    View,
};

use super::input_room::InputRoom;
use super::next_input::NextInput;
use super::unread_lines::UnreadLines;
use crate::chat::{LaterPages, is_message, promoted_messages, skill_changes, view_messages};
use crate::engine::{ChatMemory, Engine, SystemSources};

/// The entries of the ledger that no run has read.
pub(crate) struct UnreadLedger {
    /// The last entry that was read.
    pub(crate) inbox: Option<LedgerSeq>,
    /// The next input after that.
    pub(crate) queue: NextInput,
}

impl UnreadLedger {
    /// Finds the unread entries of a chat, whose first page may have been read with its state.
    pub(crate) async fn find(
        engine: &Engine,
        chat: &dyn Chat,
        state: &ChatState,
        first: Option<Vec<LedgerLine>>,
    ) -> Result<Self, ReadError> {
        // The blocks are needed only if a second message waits.
        let may_need_blocks = first.as_ref().is_none_or(|first| first.len() > 1);
        let sources = match may_need_blocks || state.view.is_none() {
            true => {
                let memory = ChatMemory::read(engine, chat.key()).await;
                (engine.project_texts(chat.key()).await, memory)
            }
            false => Default::default(),
        };
        let room = InputRoom::new(engine, || blocks(engine, chat, state, sources));
        let inbox = last_read(chat, state.view.as_ref()).await?;
        let unread = match (&state.view, first) {
            (None, _) => UnreadLines::with_talk(engine, chat, inbox),
            (Some(_), Some(first)) => UnreadLines::new(engine, chat, inbox).with_first_page(first),
            (Some(_), None) => UnreadLines::new(engine, chat, inbox),
        };
        Ok(Self { inbox, queue: NextInput::read_on(chat, unread, room).await? })
    }
}

/// Returns the system blocks of the next run in a chat.
fn blocks(
    engine: &Engine,
    chat: &dyn Chat,
    state: &ChatState,
    (texts, memory): (TextsAndSkills, ChatMemory),
) -> Vec<SystemBlock> {
    let messages = state.view.as_ref().map(view_messages).unwrap_or_default();
    let loaded = state.view.as_ref().map(skill_changes::skills_in_blocks).unwrap_or_default();
    let sources = SystemSources::new(engine, state.about.clone(), &messages, texts, memory);
    sources.blocks(engine, chat.key(), &loaded)
}

/// Returns the last entry that was read: the context tells, or the ledger alone if there is no context.
pub(crate) async fn last_read(
    chat: &dyn Chat,
    view: Option<&View>,
) -> Result<Option<LedgerSeq>, ReadError> {
    match view {
        Some(view) => Ok(view.inbox),
        None => last_answered(chat).await,
    }
}

/// Returns the last message that was answered, from the ledger alone.
async fn last_answered(chat: &dyn Chat) -> Result<Option<LedgerSeq>, ReadError> {
    let (mut answered, mut pages) = (AnsweredEntries::default(), LaterPages::new(chat, None));
    while let Some(page) = pages.next().await? {
        for line in &page {
            answered.take(line);
        }
    }
    Ok(answered.last())
}

/// The answers in the ledger that the context lacks.
pub(crate) struct MissedAnswers {
    /// The messages and answers that an older context lacks, in order. In the context they are history: the cursor
    /// is after them, and no run answers them. Too many for a request are compacted like any others.
    pub(crate) messages: Vec<NewMessage>,
    /// The last entry with an answer in the context whose question is on a damaged line: the cursor was lost with
    /// that line. The question is not restored, because it would stand after its answer.
    pub(crate) answered: Option<LedgerSeq>,
}

/// Compares a context with the answers in the ledger.
pub(crate) async fn missed_answers(
    engine: &Engine,
    chat: &dyn Chat,
    view: &View,
) -> Result<MissedAnswers, ReadError> {
    let mut answered = AnsweredEntries::default();
    // An answer to the last question counts as missed if the context ends with that question, also if an operation has
    // moved the cursor past that answer. Others before the cursor belong to other contexts.
    let mut last = None;
    if let Some((request, seq)) = last_question(view) {
        answered.know(&request, seq);
        last = (ends_with_question(Some(view)) && !is_asked_again(view)).then_some(seq);
    }
    let (mut waiting, mut missed) = (VecDeque::new(), Vec::new());
    let (after, mut known) = (last.map_or(view.inbox, |seq| view.inbox.min(Some(seq))), None);
    let mut unread = UnreadLines::new(engine, chat, after);
    while let Some(page) = unread.next_page().await? {
        for line in page {
            if let Some(to) = answered.take(&line) {
                if Some(to) > view.inbox || Some(to) == last {
                    let count = waiting.partition_point(|line: &LedgerLine| line.seq <= to);
                    let questions = waiting.drain(..count);
                    if has_answer(view, &line) {
                        known = Some(to);
                    } else {
                        missed.extend(questions);
                        missed.push(LedgerLine { seq: to, ..line });
                        last = last.filter(|last| *last != to);
                    }
                }
            } else if is_message(&line) && Some(line.seq) > view.inbox {
                waiting.push_back(line);
            }
        }
    }
    Ok(MissedAnswers { messages: messages_of_lines(engine, view, &missed), answered: known })
}

/// Whether a context has the message of an answer, by the run that gave it.
fn has_answer(view: &View, line: &LedgerLine) -> bool {
    let LedgerBody::Entry(entry) = &line.body else { return false };
    let Some(run) = entry.key.strip_prefix(ANSWER_KEY) else { return false };
    view.messages().map(Metadata::of).any(|metadata| {
        // A message that the run settled on its way is not its answer.
        metadata.run_id() == Some(run) && metadata.settled_parts().is_none()
    })
}

/// Whether a context ends with a question that a person wants answered once more.
fn is_asked_again(view: &View) -> bool {
    let last = view.messages().rfind(|message| !is_reference(message));
    last.and_then(UiMessage::id).is_some_and(|id| view.head.carry.asked_again() == Some(id))
}

/// Returns the request and the ledger position of the person's last message in a context.
fn last_question(view: &View) -> Option<(String, LedgerSeq)> {
    let question = |line: &ContextLine| {
        let message = line.message()?;
        let request = Metadata::of(message).request_id()?;
        (message.role() == Role::User).then(|| Some((request.to_owned(), line.inbox?)))?
    };
    view.lines.iter().rev().find_map(|line| question(line))
}

/// Returns ledger lines as messages: each question as it would have been put into the context, each answer with the
/// text that the person was told.
fn messages_of_lines(engine: &Engine, view: &View, lines: &[LedgerLine]) -> Vec<NewMessage> {
    // Nothing is missed almost always, and the ids of a long context need not be looked at.
    if lines.is_empty() {
        return Vec::new();
    }
    let message = |line: &LedgerLine| match &line.body {
        LedgerBody::Entry(entry) if entry.key.starts_with(ANSWER_KEY) => {
            let message = answer_from_ledger(entry)?;
            // An entry before the cursor was promoted once, and must not be promoted again.
            let inbox = Some(line.seq).filter(|_| Some(line.seq) > view.inbox);
            Some(NewMessage { message, rev: 0, inbox })
        }
        _ => promoted_messages(&*engine.message_ids, &view.head, None, [line].into_iter()).pop(),
    };
    // A message whose id already exists would be a conflict and not a repair.
    let known: HashSet<&str> = view.messages().filter_map(UiMessage::id).collect();
    let is_there = |new: &NewMessage| new.message.str("id").is_some_and(|id| known.contains(id));
    lines.iter().filter_map(message).filter(|message| !is_there(message)).collect()
}

/// Makes the message of an answer that only the ledger still has.
fn answer_from_ledger(entry: &LedgerEntry) -> Option<Object> {
    let text = entry.entry.str("text").unwrap_or_default();
    let part = match text.is_empty() {
        true => UiPart::StepStart(StepStartPart::default()),
        // The ledger does not tell what it was about; that an answer is missing is always true.
        false if entry.via() == Some(VIA_NOTICE) => NoticeKind::Failed.part(text),
        false => UiPart::text(text),
    };
    let run = entry.key.strip_prefix(ANSWER_KEY)?;
    let mut message = UiMessage::new(format!("h_{run}"), Role::Assistant, vec![part]);
    let mut metadata = NewMetadata::of_entry(entry);
    metadata.set_source(MessageSource::Ledger);
    metadata.write_to(&mut message);
    Some(message.into_object())
}

/// Returns the ledger key for the text of a run's answer.
pub(crate) fn answer_key(run_id: &str) -> String {
    format!("{ANSWER_KEY}{run_id}")
}
