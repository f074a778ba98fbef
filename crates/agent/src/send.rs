//! What `chat_send` does: deliver to this chat, as often as it may, and nothing twice by accident.

use ship_context::Journal;
use ship_message::json::{Json, Object};
use ship_message::{UiMessage, UiPart};

use crate::events::RunEvent;
use crate::work::ActiveRun;

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
        let text = crate::tools::string(input, "text")?;
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

    fn meta(&self) -> Object {
        let mut meta = Object::from([("via", "tool")]);
        let attachments: Vec<Json> =
            self.attachments.iter().map(|item| Json::from(item.as_str())).collect();
        meta.set_or_remove("attachments", (!attachments.is_empty()).then(|| attachments.into()));
        meta
    }
}

/// A call that was answered.
struct DeliveredCall {
    call_id: String,
    sending: Outbound,
}

/// The calls of a run that were answered.
pub(crate) struct DeliveredCalls {
    /// How many there were in messages that are settled.
    earlier: u64,
    calls: Vec<DeliveredCall>,
}

impl DeliveredCalls {
    /// As the run's journal tells it.
    pub(crate) fn of(journal: &Journal) -> Self {
        Self { earlier: journal.start.earlier.sends, calls: delivered(&journal.message) }
    }

    fn count(&self) -> u64 {
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

/// Answers a call.
pub(crate) async fn send(
    work: &ActiveRun,
    before: &mut DeliveredCalls,
    call_id: String,
    sending: Outbound,
) -> Result<Json, String> {
    let rules = &work.agent.rules;
    if before.count() >= rules.chat_sends_max as u64 {
        return Err(format!(
            "chat_send may be called {} times in one run, and was. Finish your answer instead.",
            rules.chat_sends_max
        ));
    }
    let said_before = before.calls.iter().any(|delivered| match rules.chat_send_once {
        true => delivered.sending == sending,
        false => delivered.call_id == call_id,
    });
    if !said_before {
        // The key names what is sent, so that a call that is made again after a crash sends nothing.
        let what = match rules.chat_send_once {
            true => crate::digest(format!("{sending:?}").as_bytes()),
            false => call_id.clone(),
        };
        let key = format!("send:{}:{what}", work.request_id);
        let recorded = work.record_sent(key, &sending.text, Some(sending.meta())).await;
        if recorded.map_err(|error| error.to_string())? {
            work.tell(&RunEvent::Sent(sending.shown()));
        }
    }
    before.calls.push(DeliveredCall { call_id, sending });
    // The same answer whether it was delivered now or before: a call that is made again after a crash must
    // not differ from one that was made once.
    Ok(Json::Object(Object::from([("delivered", true)])))
}
