//! The queue of a chat: the entries in the ledger after the inbox cursor.
//!
//! A run takes in the messages that fit half its budget, in the ledger's order, and leaves the rest to the next
//! run. Only these are read, so ten thousand waiting messages cost each run only its own share. An operation is due
//! when all entries before it were taken in.

use ship_store::{Chat, LedgerBody, LedgerLine, LedgerSeq, ReadError};

use super::operation_entry::{has_outcome, operation_of};
use crate::chat::{LEDGER_PAGE, is_message};
use crate::context_operation::ContextOperation;
use crate::engine::Engine;
use crate::tokens::rough_tokens;

/// The tokens of a message besides its text: the request, the time and the author that stand above it take about 45,
/// and a long name takes more.
const MESSAGE_TOKENS: u64 = 64;

/// The next input of a run from the ledger.
#[derive(Default)]
pub(crate) struct NextInput {
    /// The next lines: messages that fit half a budget, at least one if any waits, and the lines between them.
    pub(crate) lines: Vec<LedgerLine>,
    /// The operation after them.
    pub(crate) operation: Option<(LedgerLine, ContextOperation)>,
}

impl NextInput {
    /// Reads the queue after the inbox cursor.
    pub(crate) async fn read(
        agent: &Engine,
        chat: &dyn Chat,
        inbox: Option<LedgerSeq>,
    ) -> Result<Self, ReadError> {
        let page = chat.ledger().after(inbox, LEDGER_PAGE).await?;
        Self::read_on(agent, chat, page).await
    }

    /// Reads the queue that begins with a page of lines.
    pub(crate) async fn read_on(
        agent: &Engine,
        chat: &dyn Chat,
        mut page: Vec<LedgerLine>,
    ) -> Result<Self, ReadError> {
        let mut queue = Self::default();
        let mut room = HalfBudget::new(agent);
        loop {
            let is_last = page.len() < LEDGER_PAGE;
            for line in page {
                // An operation that the ledger marks as done is not repeated in an older context.
                if let Some(operation) = operation_of(&line)
                    && !has_outcome(chat, &line).await?
                {
                    queue.operation = Some((line, operation));
                    return Ok(queue);
                }
                if !room.fits_message(&line) {
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

    /// Whether there is nothing to do.
    pub(crate) fn is_empty(&self) -> bool {
        self.operation.is_none() && !self.lines.iter().any(is_message)
    }
}

/// The limit of what a run takes in.
struct HalfBudget {
    tokens: u64,
    is_begun: bool,
}

impl HalfBudget {
    fn new(agent: &Engine) -> Self {
        Self { tokens: agent.budget_tokens() / 2, is_begun: false }
    }

    /// Whether a line fits. The first message always fits, because otherwise no run would ever take it in.
    fn fits_message(&mut self, line: &LedgerLine) -> bool {
        let LedgerBody::Entry(entry) = &line.body else { return true };
        if !is_message(line) {
            return true;
        }
        let tokens = rough_tokens(entry.entry.str("text").unwrap_or_default()) + MESSAGE_TOKENS;
        let fits = tokens <= self.tokens || !self.is_begun;
        self.is_begun = true;
        self.tokens = self.tokens.saturating_sub(tokens);
        fits
    }
}
