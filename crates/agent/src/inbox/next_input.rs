//! The queue of a chat: the entries in the ledger after the inbox cursor.
//!
//! A run takes in the messages that have room in its request, in the ledger's order, and leaves the rest to the next
//! run. Only these are read, so ten thousand waiting messages cost each run only its own share. An operation is due
//! when all entries before it were taken in.

use ship_context::is_question;
use ship_store::{Chat, LedgerLine, LedgerSeq, ReadError};

use super::input_room::InputRoom;
use super::operation_entry::{has_outcome, operation_of};
use crate::chat::{LEDGER_PAGE, is_message};
use crate::context_operation::ContextOperation;
use crate::engine::ActiveRun;

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
        let chat = &*work.locked.chat;
        let page = chat.ledger().after(work.inbox().await, LEDGER_PAGE).await?;
        if page.is_empty() {
            return Ok(Self::default());
        }
        let blocks = work.blocks().await;
        Self::read_on(chat, page, InputRoom::new(&work.locked.engine, || blocks)).await
    }

    /// Reads the queue after the inbox cursor.
    pub(crate) async fn read(
        chat: &dyn Chat,
        inbox: Option<LedgerSeq>,
        room: InputRoom<'_>,
    ) -> Result<Self, ReadError> {
        let page = chat.ledger().after(inbox, LEDGER_PAGE).await?;
        Self::read_on(chat, page, room).await
    }

    /// Reads the queue that begins with a page of lines.
    pub(crate) async fn read_on(
        chat: &dyn Chat,
        mut page: Vec<LedgerLine>,
        mut room: InputRoom<'_>,
    ) -> Result<Self, ReadError> {
        let mut queue = Self::default();
        loop {
            let is_last = page.len() < LEDGER_PAGE;
            for line in page {
                if let Some(operation) = due_operation(chat, &line).await? {
                    queue.operation = Some((line, operation));
                    return Ok(queue);
                }
                if is_message(&line) && !room.take(&line) {
                    return Ok(queue);
                }
                queue.lines.push(line);
            }
            if is_last {
                return Ok(queue);
            }
            page =
                chat.ledger().after(queue.lines.last().map(|line| line.seq), LEDGER_PAGE).await?;
        }
    }
}

/// Whether anything waits after the inbox cursor.
pub(crate) async fn has_input(
    chat: &dyn Chat,
    mut inbox: Option<LedgerSeq>,
) -> Result<bool, ReadError> {
    loop {
        let page = chat.ledger().after(inbox, LEDGER_PAGE).await?;
        for line in &page {
            if is_message(line) || due_operation(chat, line).await?.is_some() {
                return Ok(true);
            }
        }
        if page.len() < LEDGER_PAGE {
            return Ok(false);
        }
        inbox = page.last().map(|line| line.seq);
    }
}

/// Whether a person has asked something after an entry of the ledger.
pub(crate) async fn has_question(
    chat: &dyn Chat,
    mut after: Option<LedgerSeq>,
) -> Result<bool, ReadError> {
    loop {
        let page = chat.ledger().after(after, LEDGER_PAGE).await?;
        if page.iter().any(is_question) || page.len() < LEDGER_PAGE {
            return Ok(page.iter().any(is_question));
        }
        after = page.last().map(|line| line.seq);
    }
}

/// Returns the operation that a line asks for. One that the ledger marks as done is not repeated in an older context.
async fn due_operation(
    chat: &dyn Chat,
    line: &LedgerLine,
) -> Result<Option<ContextOperation>, ReadError> {
    match operation_of(line) {
        Some(operation) if !has_outcome(chat, line).await? => Ok(Some(operation)),
        _ => Ok(None),
    }
}
