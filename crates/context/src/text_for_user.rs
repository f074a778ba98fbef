//! The texts that a person got by a message: the agent's texts and the deliveries of `chat_send`.
//!
//! There are two rules. [`texts_for_user`] is for `ship`, which shows a message itself: everything in its order, and a
//! repeated send as often as the project delivers it. [`text_received`] is for snapshots and references, which say
//! what the person got on its channel: one such as Telegram delivers only what was sent. It knows no settings, and
//! it leaves every repetition out, because a repetition tells a reader nothing new.

use ship_message::json::Json;
use ship_message::{ToolPart, ToolState, UiMessage, UiPart};
use ship_record::{Metadata, without_notices};

use crate::OutputRules;

/// Returns the texts that a person got by a message. `once` is the project's `chatSendIdempotency`: with it, a
/// repeated send delivered nothing.
///
/// The ledger entry of an answer differs: it has the answer's text alone, because each send has an entry of its own.
pub fn texts_for_user(message: &UiMessage, once: bool) -> Vec<String> {
    let mut sent = SentTexts::new(once);
    let texts = message.parts().iter().filter_map(|part| match part {
        UiPart::Text(text) if !text.text().trim().is_empty() => Some(text.text().to_owned()),
        UiPart::Tool(tool) => sent.text_of_call(tool).map(|sent| sent.with_list()),
        UiPart::Text(_)
        | UiPart::Reasoning(_)
        | UiPart::File(_)
        | UiPart::SourceUrl(_)
        | UiPart::SourceDocument(_)
        | UiPart::StepStart(_)
        | UiPart::Data(_)
        | UiPart::Unknown(_) => None,
    });
    texts.collect()
}

/// Returns what a person received of an answer, for a later look: what was sent, or else the text. A channel that shows
/// the text as it is written has shown both.
pub(crate) fn text_received(message: &UiMessage) -> String {
    let mut sent = SentTexts::new(true);
    let delivered = message.parts().iter().filter_map(|part| {
        let UiPart::Tool(tool) = part else { return None };
        sent.text_of_call(tool).filter(|sent| !sent.text.trim().is_empty())
    });
    let mut got: Vec<String> = delivered.map(|sent| sent.with_files()).collect();
    let channel = Metadata::of(message).channel();
    let streamed = channel.is_some() && OutputRules::of_channel(channel) == OutputRules::Streamed;
    let text = without_notices(message).text();
    if (got.is_empty() || streamed) && !got.contains(&text) && !text.trim().is_empty() {
        got.push(text);
    }
    got.join("\n")
}

/// A text that `chat_send` delivers, with the names of its files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentText<'m> {
    /// The text as the model wrote it.
    pub text: &'m str,
    /// The names of the files.
    pub attachments: Vec<&'m str>,
}

impl SentText<'_> {
    /// Returns the text with the attachments listed below it, for places that show only text.
    pub fn with_list(&self) -> String {
        let lines = self.attachments.iter().map(|name| format!("\n- {name}"));
        self.text.to_owned() + &lines.collect::<String>()
    }

    /// Returns the text in the form for snapshots and references.
    pub(crate) fn with_files(&self) -> String {
        let lines = self.attachments.iter().map(|name| format!("\n[file {name}]"));
        self.text.to_owned() + &lines.collect::<String>()
    }
}

/// The texts that `chat_send` has delivered in one message, call by call.
#[derive(Debug)]
pub struct SentTexts<'m> {
    only_once: bool,
    earlier: Vec<SentText<'m>>,
}

impl<'m> SentTexts<'m> {
    /// Begins with the first call of a message. With `once`, a repeated send is left out.
    pub fn new(once: bool) -> Self {
        Self { only_once: once, earlier: Vec::new() }
    }

    /// Returns the text that a call has delivered, if it is a successful send.
    pub fn text_of_call(&mut self, tool: &'m ToolPart) -> Option<SentText<'m>> {
        let is_it = tool.name() == Some("chat_send") && tool.state() == ToolState::OutputAvailable;
        let input = tool.input().filter(|_| is_it)?;
        let text = input.get("text")?.as_str()?;
        let attachments = input.get("attachments").and_then(Json::as_array).unwrap_or_default();
        let attachments = attachments.iter().filter_map(Json::as_str).collect();
        let sent = SentText { text, attachments };
        if self.only_once && self.earlier.contains(&sent) {
            return None;
        }
        self.earlier.push(sent.clone());
        Some(sent)
    }
}

#[cfg(test)]
mod tests {
    use ship_message::Role;
    use ship_message::json::Object;

    use super::*;

    #[test]
    fn what_was_delivered_is_told_once_or_as_often_as_the_project_says() {
        let send = |id: &str, state: &str| {
            format!(
                r#"{{"type":"tool-chat_send","toolCallId":"{id}","state":"{state}","input":{{"text":"a","attachments":["b.png"]}}}}"#
            )
        };
        let message = format!(
            r#"{{"id":"m","role":"assistant","parts":[{},{},{},{{"type":"text","text":" "}},{{"type":"text","text":"c"}}]}}"#,
            send("1", "output-available"),
            send("2", "output-error"),
            send("3", "output-available"),
        );
        let message = UiMessage::parse(&message).unwrap();
        assert_eq!(texts_for_user(&message, true), ["a\n- b.png", "c"]);
        assert_eq!(texts_for_user(&message, false), ["a\n- b.png", "a\n- b.png", "c"]);
    }

    fn sent_part(text: &str) -> UiPart {
        let mut input = Json::Object(Object::from([("text", text)]));
        if let Some(object) = input.as_object_mut() {
            object.set("attachments", vec![Json::from("map.png")]);
        }
        let mut call = ToolPart::new("chat_send", "c", input);
        call.set_output(Json::from("delivered"));
        UiPart::Tool(call)
    }

    #[test]
    fn what_was_sent_comes_before_what_was_only_written() {
        let mut refused = ToolPart::new("chat_send", "c", Json::parse(r#"{"text":"no"}"#).unwrap());
        refused.set_error("too often");
        let parts = vec![
            sent_part("Sent."),
            UiPart::Tool(refused),
            sent_part("Sent."),
            UiPart::text("Written."),
        ];
        let mut answer = UiMessage::new("a", Role::Assistant, parts);
        assert_eq!(
            text_received(&answer),
            "Sent.\n[file map.png]",
            "nobody knows whether the text was shown"
        );
        for (channel, got) in
            [("telegram", "Sent.\n[file map.png]"), ("terminal", "Sent.\n[file map.png]\nWritten.")]
        {
            answer.set_metadata(Json::Object(Object::from([("channel", channel)])));
            assert_eq!(text_received(&answer), got, "{channel}");
        }
    }
}
