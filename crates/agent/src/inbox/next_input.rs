//! The queue of a chat: what waits in the ledger behind the inbox cursor.
//!
//! A run takes in the messages that fit half its budget, in the ledger's order, and leaves the rest to the next
//! run. Nothing more than that is read, so ten thousand waiting messages cost each run what it takes of them.
//! An operation has its turn when all that stands before it was taken in.

use ship_store::{Chat, LedgerBody, LedgerLine, LedgerSeq, ReadError};

use super::operation_entry::{operation_of, was_done};
use crate::chat::{LEDGER_PAGE, is_message};
use crate::context_operation::ContextOperation;
use crate::engine::Engine;
use crate::tokens::rough;

/// What a provider adds to each message: who says it, and when.
const MESSAGE_TOKENS: u64 = 16;

/// What of the ledger is to be done next.
#[derive(Default)]
pub(crate) struct NextInput {
    /// The lines that come next: messages that fit half a budget, at least one if any waits, and what stands
    /// between them.
    pub(crate) lines: Vec<LedgerLine>,
    /// The operation behind them.
    pub(crate) operation: Option<(LedgerLine, ContextOperation)>,
}

impl NextInput {
    /// Reads the queue behind the inbox cursor.
    pub(crate) async fn read(
        agent: &Engine,
        chat: &dyn Chat,
        inbox: Option<LedgerSeq>,
    ) -> Result<Self, ReadError> {
        let page = chat.ledger_after(inbox, LEDGER_PAGE).await?;
        Self::read_on(agent, chat, page).await
    }

    /// Reads the queue that begins with a page of lines.
    pub(crate) async fn read_on(
        agent: &Engine,
        chat: &dyn Chat,
        mut page: Vec<LedgerLine>,
    ) -> Result<Self, ReadError> {
        let mut queue = Self::default();
        let mut room = HalfBudget::of(agent);
        loop {
            let is_last = page.len() < LEDGER_PAGE;
            for line in page {
                // One that the ledger says was done is not done again in an older context.
                if let Some(operation) = operation_of(&line)
                    && !was_done(chat, &line).await?
                {
                    queue.operation = Some((line, operation));
                    return Ok(queue);
                }
                if !room.takes(&line) {
                    return Ok(queue);
                }
                queue.lines.push(line);
            }
            if is_last {
                return Ok(queue);
            }
            page = chat.ledger_after(queue.lines.last().map(|line| line.seq), LEDGER_PAGE).await?;
        }
    }

    /// Whether nothing is to be done.
    pub(crate) fn is_empty(&self) -> bool {
        self.operation.is_none() && !self.lines.iter().any(is_message)
    }
}

/// How much a run takes in.
pub(crate) struct HalfBudget {
    tokens: u64,
    is_begun: bool,
}

impl HalfBudget {
    pub(crate) fn of(agent: &Engine) -> Self {
        Self { tokens: agent.budget_tokens() / 2, is_begun: false }
    }

    /// Whether a line fits. The first message always does: nothing else would ever take it in.
    fn takes(&mut self, line: &LedgerLine) -> bool {
        !is_message(line) || self.takes_any(line)
    }

    /// The same, whatever the line says.
    pub(crate) fn takes_any(&mut self, line: &LedgerLine) -> bool {
        let LedgerBody::Entry(entry) = &line.body else { return true };
        let tokens = rough(entry.entry.str("text").unwrap_or_default()) + MESSAGE_TOKENS;
        let fits = tokens <= self.tokens || !self.is_begun;
        self.is_begun = true;
        self.tokens = self.tokens.saturating_sub(tokens);
        fits
    }
}
