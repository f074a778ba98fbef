//! Utterances: what a person said or was told, message by message.
//!
//! People and models look at utterances when they look back. They contain no tool output: of an answer they keep
//! what the person received. The sealed log keeps the rest.

use std::borrow::Borrow;

use ship_message::json::{Json, Object};
use ship_message::{Role, UiMessage, UiPart, names};
use ship_record::{Metadata, Timestamp};

use super::moved_messages::own_messages;
use super::plain_text::cut_to_chars;
use crate::compact::is_summary;
use crate::shown_references::is_reference;
use crate::text_for_user::text_received;

/// One message to or from a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Utterance {
    /// The time of the message.
    pub ts: Timestamp,
    /// The author of the message.
    pub speaker: Speaker,
    /// The text of the message.
    pub text: String,
}

/// The author of an utterance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Speaker {
    /// The person in the chat.
    User,
    /// The agent of the chat.
    Assistant,
}

names!(Speaker { User = "user", Assistant = "assistant" });

impl Utterance {
    pub(super) fn to_json(&self) -> Json {
        Json::Object(Object::from([
            ("v", Json::from(1u64)),
            ("ts", self.ts.to_json()),
            ("role", self.speaker.name().into()),
            ("text", self.text.as_str().into()),
        ]))
    }

    pub(super) fn from_json(json: &Json) -> Option<Self> {
        let object = json.as_object()?;
        let speaker = Speaker::named(object.str("role")?)?;
        let ts = object.get("ts").and_then(Timestamp::from_json)?;
        Some(Self { ts, speaker, text: object.str("text")?.to_owned() })
    }
}

/// Whether a message was said by a person or the agent. Summaries and references were not.
pub(super) fn is_utterance(message: &UiMessage) -> bool {
    let speaks = matches!(message.role(), Role::User | Role::Assistant);
    speaks && !is_summary(message) && !is_reference(message)
}

/// Returns the messages that were said in a context and belong to it.
pub(super) fn spoken_messages<M: Borrow<UiMessage>>(messages: &[M]) -> Vec<&UiMessage> {
    own_messages(messages).into_iter().filter(|message| is_utterance(message)).collect()
}

/// Returns the utterances of a context, the oldest first. A message without a time gets that of the message before
/// it, and the first that of the context's beginning.
pub fn utterances<M: Borrow<UiMessage>>(messages: &[M], created_at: Timestamp) -> Vec<Utterance> {
    iter_utterances(&spoken_messages(messages), created_at).collect()
}

/// Makes the utterances of messages one by one, as they are asked for.
pub(super) fn iter_utterances<'m>(
    spoken: &'m [&UiMessage],
    created_at: Timestamp,
) -> impl Iterator<Item = Utterance> + Clone + 'm {
    let mut last = created_at;
    spoken.iter().filter_map(move |message| {
        last = Metadata::of(message).ts().unwrap_or(last);
        let (speaker, text) = match message.role() {
            Role::User => (Speaker::User, text_of_person(message)),
            Role::Assistant => (Speaker::Assistant, text_received(message)),
            Role::System | Role::Unknown => return None,
        };
        (!text.trim().is_empty()).then_some(Utterance { ts: last, speaker, text })
    })
}

/// Returns a person's message: the text, and the names of the files.
pub(super) fn text_of_person(message: &UiMessage) -> String {
    let mut lines = vec![message.text()];
    for part in message.parts() {
        if let UiPart::File(file) = part {
            lines.push(format!("[file {}]", file.filename().unwrap_or(file.media_type())));
        }
    }
    lines.retain(|line| !line.is_empty());
    lines.join("\n")
}

/// The limits of the utterances that are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UtteranceLimits {
    /// The number of utterances.
    pub utterances_max: usize,
    /// The number of characters in all of them.
    pub chars_max: usize,
}

/// Keeps the newest utterances within the limits, and returns the number of the others. The newest one is always
/// kept, cut in the middle if necessary.
pub fn newest_within(
    mut utterances: Vec<Utterance>,
    bounds: UtteranceLimits,
) -> (Vec<Utterance>, usize) {
    let mut chars = 0;
    let mut kept = 0;
    for turn in utterances.iter().rev().take(bounds.utterances_max) {
        chars += turn.text.chars().count();
        if chars > bounds.chars_max {
            break;
        }
        kept += 1;
    }
    let all = utterances.len();
    if kept == 0
        && bounds.utterances_max > 0
        && let Some(last) = utterances.last_mut()
    {
        last.text = cut_to_chars(&last.text, bounds.chars_max);
        kept = 1;
    }
    (utterances.split_off(all - kept), all - kept)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use ship_message::ToolPart;

    use super::*;

    fn message(text: &str) -> UiMessage {
        UiMessage::parse(text).unwrap()
    }

    fn all(messages: &[UiMessage]) -> Vec<(i64, &'static str, String)> {
        let utterances = utterances(messages, Timestamp::from_millis(5));
        utterances
            .into_iter()
            .map(|turn| (turn.ts.millis(), turn.speaker.name(), turn.text))
            .collect()
    }

    #[test]
    fn utterances_are_what_people_said_and_got_and_hold_no_tool_output() {
        let mut look = ToolPart::new("look", "c1", Json::Null);
        look.set_output(Json::from("RAW"));
        let answer = vec![UiPart::Tool(look), UiPart::text("A ship.")];
        let utterances = all(&[
            message(
                r#"{"id":"s","role":"assistant","parts":[{"type":"text","text":"Facts"}],"metadata":{"kind":"summary"}}"#,
            ),
            message(
                r#"{"id":"u","role":"user","parts":[{"type":"text","text":"What is there?"},{"type":"file","mediaType":"image/png","url":"data:,x","filename":"sea.png"}],"metadata":{"ts":7}}"#,
            ),
            message(
                r#"{"id":"r","role":"assistant","parts":[{"type":"text","text":"以下是"}],"metadata":{"kind":"reference"}}"#,
            ),
            UiMessage::new("a", Role::Assistant, answer),
            message(r#"{"id":"x","role":"system","parts":[{"type":"text","text":"odd"}]}"#),
        ]);
        assert_eq!(
            utterances,
            [
                (7, "user", "What is there?\n[file sea.png]".to_owned()),
                (7, "assistant", "A ship.".to_owned())
            ]
        );
    }

    #[test]
    fn a_message_that_a_switch_took_along_belongs_to_where_it_was_taken() {
        let utterances = all(&[
            message(r#"{"id":"u1","role":"user","parts":[{"type":"text","text":"old"}]}"#),
            message(r#"{"id":"u2","role":"user","parts":[{"type":"text","text":"new"}]}"#),
            message(r#"{"id":"a","role":"assistant","parts":[],"metadata":{"moved":["u2"]}}"#),
        ]);
        assert_eq!(utterances, [(5, "user", "old".to_owned())]);
    }

    fn of_texts(texts: &[String]) -> Vec<Utterance> {
        let ts = Timestamp::from_millis(0);
        let turn = |text: &String| Utterance { ts, speaker: Speaker::User, text: text.clone() };
        texts.iter().map(turn).collect()
    }

    #[test]
    fn a_turn_that_is_too_long_alone_is_cut_and_not_lost() {
        let utterances = of_texts(&["old".to_owned(), "x".repeat(100)]);
        let (kept, left_out) =
            newest_within(utterances, UtteranceLimits { utterances_max: 9, chars_max: 30 });
        assert_eq!((kept.len(), left_out, kept[0].text.chars().count()), (1, 1, 30));
    }

    proptest! {
        #[test]
        fn the_newest_utterances_are_kept_within_the_bounds(
            texts in prop::collection::vec("[a好]{1,20}", 0..12),
            utterances_max in 1usize..10,
            chars_max in 1usize..80,
        ) {
            let utterances = of_texts(&texts);
            let (kept, left_out) = newest_within(utterances.clone(), UtteranceLimits { utterances_max, chars_max });
            let chars: usize = kept.iter().map(|turn| turn.text.chars().count()).sum();
            prop_assert!(kept.len() <= utterances_max && chars <= chars_max);
            prop_assert_eq!(kept.len() + left_out, utterances.len());
            prop_assert!(utterances.is_empty() || !kept.is_empty());
            if kept.len() > 1 {
                prop_assert_eq!(&kept[..], &utterances[left_out..]);
            }
        }
    }
}
