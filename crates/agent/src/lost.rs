//! What has come in and waits, also in a chat whose context log is gone.
//!
//! The context log tells how far the ledger was read. If somebody took that log away, the ledger still tells
//! what was answered: nothing that was answered is run again.

use std::collections::HashMap;

use ship_store::{Chat, LedgerBody, LedgerLine, LedgerSeq, ReadError, View};

use crate::queue::Queue;
use crate::run::{Inner, LEDGER_PAGE, is_message};

/// What the ledger holds that no run has read.
pub(crate) struct Unread {
    /// How far it was read.
    pub(crate) inbox: Option<LedgerSeq>,
    /// What comes next behind that.
    pub(crate) queue: Queue,
}

impl Unread {
    /// Finds it, from the first page of the lines behind the context's cursor.
    pub(crate) async fn of(
        agent: &Inner,
        chat: &dyn Chat,
        view: Option<&View>,
        first: Vec<LedgerLine>,
    ) -> Result<Self, ReadError> {
        if let Some(view) = view {
            let queue = Queue::read_on(agent, chat, first).await?;
            return Ok(Self { inbox: view.inbox, queue });
        }
        let inbox = answered(chat).await?;
        Ok(Self { inbox, queue: Queue::read(agent, chat, inbox).await? })
    }
}

/// The last message that was answered, as the ledger alone tells it: an answer names the request of the last
/// message that it answers. One that came in while the answer was written stands before it and is not
/// answered.
async fn answered(chat: &dyn Chat) -> Result<Option<LedgerSeq>, ReadError> {
    let mut asked: HashMap<String, LedgerSeq> = HashMap::new();
    let (mut answered, mut after) = (None, None);
    loop {
        let page = chat.ledger_after(after, LEDGER_PAGE).await?;
        for line in &page {
            let LedgerBody::Entry(entry) = &line.body else { continue };
            let Some(request) = entry.entry.str("requestId") else { continue };
            if is_message(line) {
                asked.insert(request.to_owned(), line.seq);
            } else if entry.key.starts_with(ANSWER) {
                answered = answered.max(asked.get(request).copied());
            }
        }
        if page.len() < LEDGER_PAGE {
            return Ok(answered);
        }
        after = page.last().map(|line| line.seq);
    }
}

/// What the ledger keys of answers begin with.
const ANSWER: &str = "answer:";

/// The ledger key of what a run's answer told the person.
pub(crate) fn answer_key(run_id: &str) -> String {
    format!("{ANSWER}{run_id}")
}
