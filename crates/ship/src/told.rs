//! Finds what a message told the person: the agent's texts and the deliveries of `chat_send`, in order.

use ship_message::json::Json;
use ship_message::{ToolPart, ToolState, UiMessage, UiPart};
use ship_project::Settings;

use crate::markdown::Markdown;
use crate::output;

/// Returns the texts that a message told the person, under these settings.
pub(crate) fn told(message: &UiMessage, settings: &Settings) -> Vec<String> {
    let mut deliveries = Deliveries::new(settings);
    let text = |part: &UiPart| match part {
        UiPart::Text(text) => Some(text.text().to_owned()).filter(|text| !text.trim().is_empty()),
        UiPart::Tool(tool) => deliveries.of(tool),
        _ => None,
    };
    message.parts().iter().filter_map(text).collect()
}

/// The deliveries of `chat_send` in one message, call by call.
pub(crate) struct Deliveries {
    /// Whether a repeated text delivers nothing.
    once: bool,
    before: Vec<String>,
}

impl Deliveries {
    pub(crate) fn new(settings: &Settings) -> Self {
        let once = settings.context.chat_egress.chat_send_idempotency;
        Self { once, before: Vec::new() }
    }

    /// Returns the text that this call delivered, with its attachments listed below it.
    pub(crate) fn of(&mut self, tool: &ToolPart) -> Option<String> {
        let is_it = tool.name() == Some("chat_send") && tool.state() == ToolState::OutputAvailable;
        let input = tool.input().filter(|_| is_it)?;
        let mut text = input.get("text")?.as_str()?.to_owned();
        let attached = input.get("attachments").and_then(Json::as_array).unwrap_or_default();
        for attachment in attached.iter().filter_map(Json::as_str) {
            text.push_str("\n- ");
            text.push_str(attachment);
        }
        if self.once && self.before.contains(&text) {
            return None;
        }
        self.before.push(text.clone());
        Some(text)
    }
}

/// Renders a text for the terminal, where nothing in it may move the cursor.
pub(crate) fn shown(text: &str) -> String {
    Markdown::of_stdout().whole(&output::visible(text))
}

/// The end of the run that wrote a message.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum End<'a> {
    /// The run ended normally.
    Whole,
    /// The person stopped the run.
    Stopped,
    /// The run failed, with this sentence.
    Failed(&'a str),
}

impl<'a> End<'a> {
    pub(crate) fn of(message: &'a UiMessage) -> Self {
        let mark = |key| message.metadata().and_then(|metadata| metadata.get(key));
        if let Some(sentence) = mark("error").and_then(Json::as_str) {
            return Self::Failed(sentence);
        }
        match mark("interrupted").and_then(Json::as_bool) {
            Some(true) => Self::Stopped,
            _ => Self::Whole,
        }
    }

    /// Returns the words about the end that the message itself carries after its text.
    pub(crate) fn words(self) -> Option<&'a str> {
        match self {
            Self::Whole => None,
            Self::Stopped => Some(ship_agent::STOPPED),
            Self::Failed(sentence) => Some(sentence),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_delivered_is_told_once_or_as_often_as_the_project_says() {
        let call = |id: &str| {
            let part = format!(
                r#"{{"type":"tool-chat_send","toolCallId":"{id}","state":"output-available","input":{{"text":"a","attachments":["b.png"]}},"output":{{}}}}"#
            );
            Json::parse(&part).unwrap()
        };
        let mut message = Json::parse(r#"{"id":"m","role":"assistant","parts":[]}"#).unwrap();
        let parts =
            vec![call("1"), call("2"), Json::parse(r#"{"type":"text","text":"c"}"#).unwrap()];
        message.as_object_mut().unwrap().set("parts", parts);
        let message = UiMessage::from_json(message).unwrap();
        let mut settings = Settings::default();
        assert_eq!(told(&message, &settings), ["a\n- b.png", "c"]);
        settings.context.chat_egress.chat_send_idempotency = false;
        assert_eq!(told(&message, &settings), ["a\n- b.png", "a\n- b.png", "c"]);
    }
}
