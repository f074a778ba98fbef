//! What has come in and waits, also in a chat whose context log is gone.
//!
//! The context log tells how far the ledger was read. If somebody took that log away, the ledger still tells
//! what was answered: nothing that was answered is run again.

use std::collections::HashMap;

use ship_store::{Chat, LedgerBody, LedgerLine, LedgerSeq, ReadError, View};

use crate::run::{LEDGER_PAGE, is_message, new_lines};

/// What the ledger holds that no run has read.
pub(crate) struct Unread {
    /// How far it was read.
    pub(crate) inbox: Option<LedgerSeq>,
    /// Everything behind that.
    pub(crate) lines: Vec<LedgerLine>,
}

impl Unread {
    /// Finds it, from the first page of the lines behind the context's cursor.
    pub(crate) async fn of(
        chat: &dyn Chat,
        view: Option<&View>,
        first: Vec<LedgerLine>,
    ) -> Result<Self, ReadError> {
        let inbox = view.and_then(|view| view.inbox);
        let mut lines = first;
        if lines.len() >= LEDGER_PAGE {
            let more = new_lines(chat, lines.last().map(|line| line.seq)).await?;
            lines.extend(more);
        }
        if view.is_some() {
            return Ok(Self { inbox, lines });
        }
        let answered = answered(&lines);
        lines.retain(|line| Some(line.seq) > answered);
        Ok(Self { inbox: answered, lines })
    }
}

/// The last message that was answered, as the ledger alone tells it: an answer names the request of the last
/// message that it answers. One that came in while the answer was written stands before it and is not
/// answered.
fn answered(lines: &[LedgerLine]) -> Option<LedgerSeq> {
    let mut asked: HashMap<&str, LedgerSeq> = HashMap::new();
    let mut answered = None;
    for line in lines {
        let LedgerBody::Entry(entry) = &line.body else { continue };
        let Some(request) = entry.entry.str("requestId") else { continue };
        if is_message(line) {
            asked.insert(request, line.seq);
        } else if entry.key.starts_with(ANSWER) {
            answered = answered.max(asked.get(request).copied());
        }
    }
    answered
}

/// What the ledger keys of answers begin with.
const ANSWER: &str = "answer:";

/// The ledger key of what a run's answer told the person.
pub(crate) fn answer_key(run_id: &str) -> String {
    format!("{ANSWER}{run_id}")
}
