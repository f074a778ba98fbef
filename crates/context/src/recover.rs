//! What is to be done about a chat, from what its logs hold.
//!
//! Asked whenever a lane is taken: after a crash, after a clean stop, and in the middle of a busy day alike.
//! There is no other memory of what was going on.

use ship_message::json::Json;
use ship_message::{ToolState, UiMessage, UiPart};
use ship_store::{LedgerBody, LedgerLine, View};

use crate::shown::INTERRUPTED;
use crate::{Journal, RunStart};

/// What is to be done about a chat.
#[derive(Clone, Debug, PartialEq)]
pub enum Recovery {
    /// Nothing.
    Idle,
    /// Tell the person what a run that ended has said; the ledger does not know of it yet.
    Deliver(UiMessage),
    /// Go on with the run after its last recorded part.
    Continue(Journal),
    /// The run waits for a person's word or a client's tool.
    Parked(Journal),
    /// Run what has come in.
    RunPending,
}

/// What recovery must know of the tools.
pub trait KnownTools {
    /// Whether a call may be made again when nobody knows whether it took effect.
    fn is_safe_to_repeat(&self, name: &str) -> bool;

    /// Whether the tool runs with the client, so that a call of it waits for an answer from outside.
    fn runs_on_client(&self, name: &str) -> bool;
}

/// Decides. `new_lines` are the ledger's lines behind the inbox cursor of the view, and `delivered` tells
/// whether the ledger has what the run has said.
pub fn recover(
    view: Option<&View>,
    new_lines: &[LedgerLine],
    journal: Option<Journal>,
    delivered: impl Fn(&RunStart) -> bool,
    tools: &dyn KnownTools,
) -> Recovery {
    if let Some(mut journal) = journal {
        match final_message(view, &journal) {
            Some(message) if !delivered(&journal.start) => {
                return Recovery::Deliver(message);
            }
            Some(_) => {}
            None if journal.ended => {}
            None if is_parked(&journal.message, tools) => return Recovery::Parked(journal),
            None => {
                settle_calls(&mut journal, tools);
                return Recovery::Continue(journal);
            }
        }
    }
    let waiting = new_lines.iter().any(|line| match &line.body {
        LedgerBody::Entry(entry) => entry.entry.str("role") == Some("user"),
        LedgerBody::Delivery(_) => false,
    });
    if waiting || ends_with_a_question(view) { Recovery::RunPending } else { Recovery::Idle }
}

/// Every run ends with a message of the assistant. A person's message at the end was put into the context by
/// a run that was cut off before it began.
fn ends_with_a_question(view: Option<&View>) -> bool {
    let last = view.and_then(|view| view.messages().next_back());
    last.is_some_and(|message| message.str("role") == Some("user"))
}

/// The message that the run has put into the log, if it has.
fn final_message(view: Option<&View>, journal: &Journal) -> Option<UiMessage> {
    let mut messages = view?.messages();
    let found = messages.find(|message| message.str("id") == Some(&journal.start.message_id))?;
    UiMessage::from_json(Json::Object(found.clone())).ok()
}

/// A run is parked while a call waits for an answer from outside.
fn is_parked(message: &UiMessage, tools: &dyn KnownTools) -> bool {
    message.parts().iter().any(|part| {
        let UiPart::Tool(tool) = part else { return false };
        let on_client = || tool.name().is_some_and(|name| tools.runs_on_client(name));
        tool.state() == ToolState::ApprovalRequested
            || (tool.state() == ToolState::InputAvailable && on_client())
    })
}

/// A call that may have taken effect is not made again: its outcome is unknown. One that had not begun, or
/// that is safe to repeat, stays open and is made.
fn settle_calls(journal: &mut Journal, tools: &dyn KnownTools) {
    for (at, part) in journal.message.parts_mut().iter_mut().enumerate() {
        if let UiPart::Tool(tool) = part
            && !tool.state().is_terminal()
            && journal.begun.contains(&at)
            && !tool.name().is_some_and(|name| tools.is_safe_to_repeat(name))
        {
            tool.set_error(INTERRUPTED);
        }
    }
}
