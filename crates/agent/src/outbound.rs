//! The deliveries of `chat_send`, and which of its calls were answered.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};
use ship_context::{Journal, SentText};
use ship_message::json::{Json, Object, from_json};
use ship_message::{UiMessage, UiPart};

use crate::digest::digest;

/// Something to deliver.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
// An unknown field is ignored when it is read; a model is told to leave it out.
#[schemars(deny_unknown_fields)]
pub struct Outbound {
    /// What the person should read.
    pub text: String,
    /// Files to go with it: paths, or addresses.
    #[serde(default, deserialize_with = "null_is_empty")]
    pub attachments: Vec<String>,
}

fn null_is_empty<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

impl Outbound {
    /// Returns the text with the attachments listed below it, for places that show only text.
    pub(crate) fn text_with_attachments(&self) -> String {
        let attachments = self.attachments.iter().map(String::as_str).collect();
        SentText { text: &self.text, attachments }.with_list()
    }

    /// Returns the digest for the key of the ledger entry. The words around the content are those of the first
    /// version: with another key, a text that an older process had delivered would be delivered again.
    pub(crate) fn digest(&self) -> String {
        let Self { text, attachments } = self;
        let content = format!("Sending {{ text: {text:?}, attachments: {attachments:?} }}");
        digest(content.as_bytes())
    }

    pub(crate) fn meta(&self) -> Object {
        let mut meta = Object::from([("via", "tool")]);
        let attachments: Vec<Json> =
            self.attachments.iter().map(|item| Json::from(item.as_str())).collect();
        meta.set_or_remove("attachments", (!attachments.is_empty()).then(|| attachments.into()));
        meta
    }
}

/// A call that was answered.
pub(crate) struct DeliveredCall {
    pub(crate) call_id: String,
    pub(crate) sending: Outbound,
}

/// The calls of a run that were answered.
pub(crate) struct DeliveredCalls {
    /// The number of calls in messages that are settled.
    earlier: u64,
    pub(crate) calls: Vec<DeliveredCall>,
}

impl DeliveredCalls {
    /// Reads the calls from the run's journal.
    pub(crate) fn from_journal(journal: &Journal) -> Self {
        Self { earlier: journal.start.earlier.sends, calls: delivered_calls(&journal.message) }
    }

    pub(crate) fn count(&self) -> u64 {
        self.earlier + self.calls.len() as u64
    }
}

fn delivered_calls(message: &UiMessage) -> Vec<DeliveredCall> {
    let answered = |part: &UiPart| match part {
        UiPart::Tool(tool) if tool.name() == Some("chat_send") && tool.output().is_some() => {
            let sending = from_json(tool.input()?).ok()?;
            Some(DeliveredCall { call_id: tool.call_id().to_owned(), sending })
        }
        _ => None,
    };
    message.parts().iter().filter_map(answered).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_of_what_is_sent_is_that_of_the_first_version() {
        let outbound = Outbound { text: "ahoy".to_owned(), attachments: vec!["a.png".to_owned()] };
        let first = digest(br#"Sending { text: "ahoy", attachments: ["a.png"] }"#);
        assert_eq!(outbound.digest(), first);
    }
}
