//! What `chat_send` delivers to a chat, and which of its calls were answered.

use ship_context::Journal;
use ship_message::json::{Json, Object};
use ship_message::{UiMessage, UiPart};

/// Something to deliver.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outbound {
    /// What the person should read.
    pub text: String,
    /// Files by their path, or anything by its address.
    pub attachments: Vec<String>,
}

impl Outbound {
    /// Reads the input of a call.
    ///
    /// # Errors
    /// When there is nothing to read in it, in words for the model.
    pub(crate) fn read(input: &Json) -> Result<Self, String> {
        let text = string(input, "text")?;
        let wrong = || "`attachments` must be a list of paths or addresses, each a text".to_owned();
        let attachments = match input.get("attachments") {
            None | Some(Json::Null) => Vec::new(),
            Some(list) => {
                let list = list.as_array().ok_or_else(wrong)?;
                let texts = list
                    .iter()
                    .map(|item| item.as_str().filter(|text| !text.is_empty()).map(str::to_owned));
                texts.collect::<Option<_>>().ok_or_else(wrong)?
            }
        };
        Ok(Self { text, attachments })
    }

    /// As it is shown where only text can be: the attachments are listed below it.
    pub(crate) fn shown(&self) -> String {
        let mut shown = self.text.clone();
        for attachment in &self.attachments {
            shown.push_str("\n- ");
            shown.push_str(attachment);
        }
        shown
    }

    pub(crate) fn meta(&self) -> Object {
        let mut meta = Object::from([("via", "tool")]);
        let attachments: Vec<Json> =
            self.attachments.iter().map(|item| Json::from(item.as_str())).collect();
        meta.set_or_remove("attachments", (!attachments.is_empty()).then(|| attachments.into()));
        meta
    }
}

/// A required string of the input.
pub(crate) fn string(input: &Json, key: &str) -> Result<String, String> {
    let text = input.get(key).and_then(Json::as_str).filter(|text| !text.is_empty());
    text.map(str::to_owned)
        .ok_or_else(|| format!("the input needs `{key}`, a text that is not empty"))
}

/// A call that was answered.
pub(crate) struct DeliveredCall {
    pub(crate) call_id: String,
    pub(crate) sending: Outbound,
}

/// The calls of a run that were answered.
pub(crate) struct DeliveredCalls {
    /// How many there were in messages that are settled.
    earlier: u64,
    pub(crate) calls: Vec<DeliveredCall>,
}

impl DeliveredCalls {
    /// As the run's journal tells it.
    pub(crate) fn of(journal: &Journal) -> Self {
        Self { earlier: journal.start.earlier.sends, calls: delivered(&journal.message) }
    }

    pub(crate) fn count(&self) -> u64 {
        self.earlier + self.calls.len() as u64
    }
}

fn delivered(message: &UiMessage) -> Vec<DeliveredCall> {
    let answered = |part: &UiPart| match part {
        UiPart::Tool(tool) if tool.name() == Some("chat_send") && tool.output().is_some() => {
            let sending = Outbound::read(tool.input()?).ok()?;
            Some(DeliveredCall { call_id: tool.call_id().to_owned(), sending })
        }
        _ => None,
    };
    message.parts().iter().filter_map(answered).collect()
}
