//! `chat_send`: deliver a text to this chat, now.

use std::sync::Arc;

use ship_message::json::Json;
use ship_provider::ToolSpec;

use crate::tool::Running;
use crate::{Tool, ToolContext};

pub(super) struct ChatSend;

impl Tool for ChatSend {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "chat_send".to_owned(),
            description: "Delivers a text to the person in this chat at once. The same text is delivered once."
                .to_owned(),
            input_schema: super::strings_schema(&[("text", "What the person should read.")]),
        }
    }

    /// The ledger knows what was sent, so that sending again sends nothing.
    fn is_safe_to_repeat(&self) -> bool {
        true
    }

    fn run(self: Arc<Self>, input: Json, context: ToolContext) -> Running {
        Box::pin(async move { context.deliver(super::string(&input, "text")?).await })
    }
}
