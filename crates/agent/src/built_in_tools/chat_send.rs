//! `chat_send`: deliver a text to this chat, now.

use std::sync::Arc;

use ship_message::json::{Json, Object};
use ship_provider::ToolSpec;

use crate::outbound::Outbound;
use crate::tool::{Tool, ToolContext, ToolFuture};

pub(crate) struct ChatSend;

impl Tool for ChatSend {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "chat_send".to_owned(),
            description: "Delivers a text, with attachments if there are any, to the person in this chat at once."
                .to_owned(),
            input_schema: schema(),
        }
    }

    /// The ledger knows what was sent, so that sending again sends nothing.
    fn is_safe_to_repeat(&self) -> bool {
        true
    }

    fn run(self: Arc<Self>, input: Json, context: ToolContext) -> ToolFuture {
        Box::pin(async move { context.deliver(Outbound::read(&input)?).await })
    }
}

/// A text, and attachments that may be left out.
fn schema() -> Json {
    let mut schema = super::strings_schema(&[("text", "What the person should read.")]);
    let attachments = Object::from([
        ("type", Json::from("array")),
        ("items", Object::from([("type", "string")]).into()),
        ("description", "Files to go with it: paths, or addresses.".into()),
    ]);
    if let Some(Json::Object(properties)) =
        schema.as_object_mut().and_then(|schema| schema.get_mut("properties"))
    {
        properties.set("attachments", attachments);
    }
    schema
}
