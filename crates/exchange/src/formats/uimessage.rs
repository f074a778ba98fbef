//! Reads messages of the AI SDK, one value for each, or conversations of them.

use std::collections::HashSet;

use ship_message::json::{Json, Object};
use ship_message::{UiMessage, ValidateOptions, validate_messages};
use ship_record::Metadata;

use super::FormatReader;
use super::container::{Conversations, messages_of, part_of};

#[derive(Default)]
pub(super) struct UiMessages {
    conversations: Conversations,
    ids: HashSet<String>,
}

impl FormatReader for UiMessages {
    fn look(&mut self, item: u32, _bytes: u32, value: &Json) -> Result<(), String> {
        let Self { conversations, ids } = self;
        // Ids are unique in a conversation, and not in a file of several.
        let mut ids_of_one = HashSet::new();
        let ids = if messages_of(value).is_some() { &mut ids_of_one } else { ids };
        conversations.look(item, value, |context, piece, message| {
            let message = read(message)?;
            let id = message.id().unwrap_or_default();
            if !id.is_empty() && !ids.insert(id.to_owned()) {
                return Err(format!("another message has the id `{id}`"));
            }
            context.began = context.began.or(Metadata::of(&message).ts());
            context.begin(piece);
            Ok(())
        })
    }

    fn finish(&mut self) -> Vec<crate::plan::PlannedContext> {
        self.conversations.finish()
    }

    fn build(
        &self,
        fallback: String,
        _is_summary: bool,
        pieces: &[(&Json, u32)],
    ) -> Vec<UiMessage> {
        let messages = pieces.iter().filter_map(|(value, part)| read(part_of(value, *part)).ok());
        let named = messages.map(|mut message| {
            if message.id().is_none_or(str::is_empty) {
                message.set_id(fallback.clone());
            }
            message
        });
        named.collect()
    }
}

/// Reads a message and checks it. A message without an id gets one later.
fn read(value: &Json) -> Result<UiMessage, String> {
    let Json::Object(fields) = value else { return Err("it is not an object".to_owned()) };
    let message = UiMessage::from_object(with_id(fields));
    let checked = message.clone();
    match validate_messages(vec![checked], &ValidateOptions::default()) {
        Ok(_) => Ok(message),
        Err(error) => Err(error.to_string().replace("messages[0]", "the message")),
    }
}

fn with_id(fields: &Object) -> Object {
    let mut fields = fields.clone();
    if !fields.has("id") {
        fields.set("id", "");
    }
    fields
}
