//! `chat_send`: deliver a text to this chat, now.

use crate::outbound::Outbound;
use crate::tool::Tool;

const DESCRIPTION: &str =
    "Delivers a text, with attachments if there are any, to the person in this chat at once.";

/// The tool. The ledger knows what was sent, so that sending again sends nothing.
pub(super) fn chat_send() -> Tool {
    Tool::new("chat_send", DESCRIPTION, |outbound: Outbound, context| async move {
        if outbound.text.is_empty() {
            return Err("`text` is empty; say what the person should read".to_owned());
        }
        if outbound.attachments.iter().any(String::is_empty) {
            return Err("an attachment is empty; each is a path or an address".to_owned());
        }
        context.deliver(outbound).await
    })
    .safe_to_repeat()
}
