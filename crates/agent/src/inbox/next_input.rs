//! The next input of a run, from the ledger entries after the inbox cursor.
//!
//! A run takes in the messages that have room in its request, in the ledger's order, and leaves the rest to the next
//! run. Only these are read, so ten thousand waiting messages cost each run only its own share. Talk between people is
//! no part of it. An operation is due when all entries before it were taken in.

use ship_context::is_question;
use ship_store::{Chat, LedgerLine, LedgerSeq, ReadError};

use super::input_room::InputRoom;
use super::operation_entry::{has_outcome, operation_of};
use super::unread_lines::UnreadLines;
use crate::chat::is_message;
use crate::context_operation::ContextOperation;
use crate::engine::{ActiveRun, Engine};

/// The next input of a run from the ledger.
#[derive(Default)]
pub(crate) struct NextInput {
    /// The next lines: messages that have room, at least one if any waits, and the lines between them.
    pub(crate) lines: Vec<LedgerLine>,
    /// The operation after them.
    pub(crate) operation: Option<(LedgerLine, ContextOperation)>,
}

impl NextInput {
    /// Reads the queue behind a run.
    pub(crate) async fn read_during(work: &ActiveRun) -> Result<Self, ReadError> {
        let (engine, chat) = (&work.locked.engine, &*work.locked.chat);
        let mut unread = UnreadLines::new(engine, chat, work.inbox().await);
        let Some(first) = unread.next_page().await? else {
            return Ok(Self::default());
        };
        let blocks = work.blocks().await;
        Self::take(chat, first, unread, InputRoom::new(engine, || blocks)).await
    }

    /// Reads the queue in these lines.
    pub(crate) async fn read_on(
        chat: &dyn Chat,
        mut unread: UnreadLines<'_>,
        room: InputRoom<'_>,
    ) -> Result<Self, ReadError> {
        let first = unread.next_page().await?.unwrap_or_default();
        Self::take(chat, first, unread, room).await
    }

    async fn take(
        chat: &dyn Chat,
        first: Vec<LedgerLine>,
        mut unread: UnreadLines<'_>,
        mut room: InputRoom<'_>,
    ) -> Result<Self, ReadError> {
        let mut queue = Self::default();
        let mut page = Some(first);
        while let Some(lines) = page {
            for line in lines {
                if let Some(operation) = due_operation(chat, &line).await? {
                    queue.operation = Some((line, operation));
                    return Ok(queue);
                }
                if is_message(&line) && !room.take(&line) {
                    return Ok(queue);
                }
                queue.lines.push(line);
            }
            page = unread.next_page().await?;
        }
        Ok(queue)
    }
}

/// Whether anything waits after the inbox cursor.
pub(crate) async fn has_input(
    engine: &Engine,
    chat: &dyn Chat,
    inbox: Option<LedgerSeq>,
) -> Result<bool, ReadError> {
    waits(engine, chat, inbox, is_message).await
}

/// Whether an operation waits after the inbox cursor.
pub(crate) async fn has_operation(
    engine: &Engine,
    chat: &dyn Chat,
    inbox: Option<LedgerSeq>,
) -> Result<bool, ReadError> {
    waits(engine, chat, inbox, |_| false).await
}

/// Whether an operation or a wanted line waits after the inbox cursor.
async fn waits(
    engine: &Engine,
    chat: &dyn Chat,
    inbox: Option<LedgerSeq>,
    is_wanted: impl Fn(&LedgerLine) -> bool,
) -> Result<bool, ReadError> {
    let mut unread = UnreadLines::new(engine, chat, inbox);
    while let Some(page) = unread.next_page().await? {
        for line in &page {
            if is_wanted(line) || due_operation(chat, line).await?.is_some() {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// Whether a person has asked something after an entry of the ledger.
pub(crate) async fn has_question(
    engine: &Engine,
    chat: &dyn Chat,
    after: Option<LedgerSeq>,
) -> Result<bool, ReadError> {
    let mut unread = UnreadLines::new(engine, chat, after);
    while let Some(page) = unread.next_page().await? {
        if page.iter().any(is_question) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the operation that a line asks for. One that the ledger marks as done is not repeated in an older context.
pub(super) async fn due_operation(
    chat: &dyn Chat,
    line: &LedgerLine,
) -> Result<Option<ContextOperation>, ReadError> {
    match operation_of(line) {
        Some(operation) if !has_outcome(chat, line).await? => Ok(Some(operation)),
        _ => Ok(None),
    }
}
