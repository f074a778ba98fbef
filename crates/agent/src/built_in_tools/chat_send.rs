//! The tool `chat_send`, which delivers a text to this chat at once.

use crate::outbound::Outbound;
use crate::tool::Tool;

const DESCRIPTION: &str =
    "Delivers a text, with attachments if there are any, to the person in this chat at once.";

/// Makes the tool. It is safe to repeat, because the ledger prevents a second delivery.
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
