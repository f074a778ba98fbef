//! Collects what a snapshot says about the messages of a context, before it is cut to size.

use std::borrow::Borrow;

use ship_message::json::{Json, Object};
use ship_message::{Role, UiMessage};
use ship_record::{Metadata, Timestamp};

use super::plain_text::{cut_to_chars, preview};
use super::snapshot::{CheckpointMessage, ContextFacts, PREVIEW_CHARS_MAX};
use super::title::{clean_title, title_of_utterances};
use super::utterance::{Speaker, Utterance, spoken_messages, utterances};
use crate::compact::previous_summary;
use crate::text_for_user::text_received;

/// The content of a snapshot before it is cut to size.
pub(super) struct Story {
    pub(super) title: String,
    pub(super) summary: String,
    pub(super) is_compacted: bool,
    pub(super) utterances: Vec<Utterance>,
    pub(super) checkpoint: Option<CheckpointMessage>,
    pub(super) updated_at: Timestamp,
    pub(super) last_request_id: Option<String>,
    pub(super) message_count: u64,
}

impl Story {
    pub(super) fn from_messages<M: Borrow<UiMessage>>(
        messages: &[M],
        facts: ContextFacts<'_>,
    ) -> Self {
        let all: Vec<&UiMessage> = messages.iter().map(Borrow::borrow).collect();
        let utterances = utterances(messages, facts.created_at);
        let messages_said = spoken_messages(messages);
        let compacted = previous_summary(&all).map(|(_, prose)| prose);
        let title = facts.title.and_then(clean_title);
        let last_request =
            messages_said.iter().rev().find_map(|message| Metadata::of(message).request_id());
        Self {
            title: title.unwrap_or_else(|| title_of_utterances(&utterances, facts.created_at)),
            is_compacted: compacted.is_some(),
            summary: compacted.unwrap_or_else(|| short_summary(&utterances)),
            checkpoint: find_checkpoint(&messages_said, facts.created_at),
            updated_at: messages_said
                .iter()
                .filter_map(|message| Metadata::of(message).ts())
                .fold(facts.created_at, std::cmp::max),
            last_request_id: last_request.map(str::to_owned),
            message_count: messages_said.len() as u64
                + all.iter().map(|message| covered_messages(message)).sum::<u64>(),
            utterances,
        }
    }

    pub(super) fn meta(&self, left_out: usize) -> Object {
        let last_question = self.utterances.iter().rev().find(|turn| turn.speaker == Speaker::User);
        let last_question = last_question.map(|turn| preview(&turn.text, PREVIEW_CHARS_MAX));
        let mut meta = Object::new();
        meta.set_or_remove("lastUserTextPreview", last_question.map(Json::from));
        meta.set_or_remove("lastRequestId", self.last_request_id.as_deref().map(Json::from));
        meta.set("messageCount", self.message_count);
        meta.set_or_remove("turnsLeftOut", (left_out > 0).then(|| Json::from(left_out as u64)));
        meta.set_or_remove("compacted", self.is_compacted.then(|| true.into()));
        meta
    }

    /// Returns the title, the summary, and the newest messages.
    pub(super) fn search_text(&self, chars_max: usize) -> String {
        let mut text = cut_to_chars(&format!("{}\n{}", self.title, self.summary), chars_max);
        let mut room = chars_max - text.chars().count();
        let mut newest = Vec::new();
        for turn in self.utterances.iter().rev() {
            // One character is for the line break.
            let Some(left) = room.checked_sub(1).filter(|left| *left > 0) else { break };
            let kept = cut_to_chars(&turn.text, left);
            room = left - kept.chars().count();
            newest.push(kept);
        }
        for turn in newest.iter().rev() {
            text.push('\n');
            text.push_str(turn);
        }
        text
    }
}

/// Returns the number of messages that a summary covers.
fn covered_messages(message: &UiMessage) -> u64 {
    let range = Metadata::of(message).source_range();
    range.filter(|_| message.role() == Role::Assistant).map_or(0, |range| range.count)
}

/// Returns the last answer that told the person something, or else the last answer.
fn find_checkpoint(
    messages_said: &[&UiMessage],
    created_at: Timestamp,
) -> Option<CheckpointMessage> {
    let answers = || messages_said.iter().rev().filter(|message| message.role() == Role::Assistant);
    let message =
        answers().find(|answer| !text_received(answer).is_empty()).or_else(|| answers().next())?;
    Some(CheckpointMessage {
        message_id: message.id().unwrap_or_default().to_owned(),
        ts: Metadata::of(message).ts().unwrap_or(created_at),
        preview: preview(&text_received(message), PREVIEW_CHARS_MAX),
    })
}

/// Makes a summary without a model: the first and the last question, and the last answer.
fn short_summary(utterances: &[Utterance]) -> String {
    let line = |label: &str, turn: &Utterance| {
        format!("{label}: {}", preview(&turn.text, PREVIEW_CHARS_MAX))
    };
    let of = |speaker: Speaker| utterances.iter().filter(move |turn| turn.speaker == speaker);
    let first = of(Speaker::User).next();
    let last = of(Speaker::User).next_back().filter(|_| of(Speaker::User).count() > 1);
    let answer = of(Speaker::Assistant).next_back();
    let lines = [
        first.map(|turn| line("Asked first", turn)),
        last.map(|turn| line("Asked last", turn)),
        answer.map(|turn| line("Answered last", turn)),
    ];
    let lines: Vec<String> = lines.into_iter().flatten().collect();
    if lines.is_empty() { "Nothing was said.".to_owned() } else { lines.join("\n") }
}
