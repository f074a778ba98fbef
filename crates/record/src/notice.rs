//! Notices: what the agent itself tells the person about an answer.
//!
//! A notice is a text part of its own, marked in `providerMetadata.ship.notice`. Every client shows it, and no model
//! is sent it: a model that reads "My answer was cut off" among its own words begins to write that itself. Older
//! programs did not mark their notices; those are recognised by the metadata of the message.

use std::borrow::Cow;

use ship_message::json::{Json, Object};
use ship_message::{FinishReason, PartFields, TextPart, UiMessage, UiPart, names};

use crate::Metadata;

/// The kind of a notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoticeKind {
    /// The person stopped the run before it said anything.
    Stopped,
    /// The answer reached the limit of its length.
    Cut,
    /// The run failed.
    Failed,
}

names!(NoticeKind { Stopped = "stopped", Cut = "cut", Failed = "failed" });

impl NoticeKind {
    /// Returns the provider metadata of a notice's text part.
    pub fn provider_metadata(self) -> Json {
        Object::from([("ship", Object::from([("notice", self.name())]))]).into()
    }

    /// Makes the part of a notice.
    pub fn part(self, text: &str) -> UiPart {
        let mut part = Object::from([("type", Json::from("text")), ("text", text.into())]);
        part.set("providerMetadata", self.provider_metadata());
        UiPart::from_json(part.into())
    }
}

/// The text of the notice in a message of a run that was stopped before it said anything.
pub const STOPPED: &str = "(stopped)";

/// The beginning of the notice that older programs put behind an answer that was too long.
const OLD_CUT: &str = "(My answer was cut off here: it may have ";

/// Returns the texts of the notices in a message.
pub fn notices(message: &UiMessage) -> impl Iterator<Item = &str> {
    let texts = message.parts().iter().filter_map(|part| match part {
        UiPart::Text(text) => Some(text),
        _ => None,
    });
    texts.filter(move |text| is_notice(message, text)).map(TextPart::text)
}

/// Returns a message without its notices, as models and tools of history read it.
pub fn without_notices(message: &UiMessage) -> Cow<'_, UiMessage> {
    if notices(message).next().is_none() {
        return Cow::Borrowed(message);
    }
    let mut rest = message.clone();
    rest.parts_mut().retain(|part| !matches!(part, UiPart::Text(text) if is_notice(message, text)));
    Cow::Owned(rest)
}

/// Whether a message has a notice with the mark. An older program recorded its notices in the entry of the answer.
pub fn has_marked_notice(message: &UiMessage) -> bool {
    message.parts().iter().any(|part| matches!(part, UiPart::Text(text) if is_marked(text)))
}

fn is_notice(message: &UiMessage, part: &TextPart) -> bool {
    is_marked(part) || is_old_notice(message, part.text())
}

fn is_marked(part: &TextPart) -> bool {
    part.provider_metadata().is_some_and(has_notice_mark)
}

/// Whether the provider metadata of a text, stored or streamed, has the mark of a notice.
pub fn has_notice_mark(provider_metadata: &Json) -> bool {
    provider_metadata.get("ship").and_then(|ship| ship.get("notice")).is_some()
}

fn is_old_notice(message: &UiMessage, text: &str) -> bool {
    let metadata = Metadata::of(message);
    metadata.error() == Some(text)
        || metadata.is_interrupted() && text == STOPPED
        || metadata.finish_reason() == Some(FinishReason::Length) && text.starts_with(OLD_CUT)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(parts: &str, metadata: &str) -> UiMessage {
        let text =
            format!(r#"{{"id":"m","role":"assistant","parts":[{parts}],"metadata":{metadata}}}"#);
        UiMessage::parse(&text).unwrap()
    }

    #[test]
    fn a_notice_is_a_part_of_its_own_that_is_left_out_and_the_words_of_the_model_stay() {
        let mut answer = message(r#"{"type":"text","text":"Half"}"#, "{}");
        assert!(matches!(without_notices(&answer), Cow::Borrowed(_)));
        answer.parts_mut().push(NoticeKind::Cut.part("(cut)"));
        assert_eq!(
            answer.parts()[1].clone().into_json().to_string(),
            r#"{"type":"text","text":"(cut)","providerMetadata":{"ship":{"notice":"cut"}}}"#
        );
        assert_eq!(notices(&answer).collect::<Vec<_>>(), ["(cut)"]);
        assert_eq!(without_notices(&answer).text(), "Half");
    }

    #[test]
    fn a_notice_of_an_older_program_is_known_by_the_metadata_of_its_message() {
        let part = |text: &str| format!(r#"{{"type":"text","text":"{text}"}}"#);
        let cut = "(My answer was cut off here: it may have 9 tokens (`llm.maxTokens`), or …)";
        for (text, metadata) in [
            ("(stopped)", r#"{"interrupted":true}"#),
            ("I could not answer: no.", r#"{"error":"I could not answer: no."}"#),
            (cut, r#"{"finishReason":"length"}"#),
        ] {
            let parts = format!("{},{}", part("Half"), part(text));
            assert_eq!(without_notices(&message(&parts, metadata)).text(), "Half", "{text}");
            // The same words of a model are its own.
            let said = message(&parts, r#"{"finishReason":"stop"}"#);
            assert_eq!(without_notices(&said), Cow::Borrowed(&said), "{text}");
        }
    }
}
