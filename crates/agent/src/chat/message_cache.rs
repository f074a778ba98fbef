//! Caches the parsed messages of a view across runs.
//!
//! A store shares lines that it has not read again, so an identical line has identical content. All other lines of
//! a view are parsed.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use ship_context::contexts::place_references;
use ship_message::UiMessage;
use ship_message::json::Json;
use ship_store::{ChatKey, ContextBody, ContextLine, View};

/// The number of chats whose messages are kept, the last ones that ran.
const CHATS_MAX: usize = 4;

/// The messages of the chats that ran last.
#[derive(Debug, Default)]
pub(crate) struct MessageCache {
    /// The chats, the newest last.
    chats: Mutex<VecDeque<(ChatKey, Vec<CachedMessage>)>>,
}

/// A line, and the message in it if it has a readable one.
#[derive(Clone, Debug)]
struct CachedMessage {
    line: Arc<ContextLine>,
    message: Option<Arc<UiMessage>>,
}

impl MessageCache {
    /// Returns the messages of a chat's view.
    pub(crate) fn messages(&self, chat: &ChatKey, view: &View) -> Arc<[Arc<UiMessage>]> {
        let before = self.take(chat);
        let known = |(at, line): (usize, &Arc<ContextLine>)| match before.get(at) {
            Some(known) if Arc::ptr_eq(&known.line, line) => known.clone(),
            _ => CachedMessage { line: Arc::clone(line), message: message(line).map(Arc::new) },
        };
        let now: Vec<CachedMessage> = view.lines.iter().enumerate().map(known).collect();
        let messages = now.iter().filter_map(|known| known.message.clone()).collect();
        self.keep(chat, now);
        messages
    }

    fn take(&self, chat: &ChatKey) -> Vec<CachedMessage> {
        let mut chats = self.chats.lock().unwrap_or_else(PoisonError::into_inner);
        let at = chats.iter().position(|(known, _)| known == chat);
        at.and_then(|at| chats.remove(at)).map(|(_, lines)| lines).unwrap_or_default()
    }

    fn keep(&self, chat: &ChatKey, lines: Vec<CachedMessage>) {
        let mut chats = self.chats.lock().unwrap_or_else(PoisonError::into_inner);
        chats.push_back((chat.clone(), lines));
        if chats.len() > CHATS_MAX {
            chats.pop_front();
        }
    }
}

/// Returns the messages of a view, for a caller that reads it once.
pub(crate) fn messages(view: &View) -> Vec<Arc<UiMessage>> {
    view.lines.iter().filter_map(|line| message(line)).map(Arc::new).collect()
}

fn message(line: &ContextLine) -> Option<UiMessage> {
    match &line.body {
        ContextBody::Message(message) => UiMessage::from_json(Json::Object(message.clone())).ok(),
        ContextBody::Event(_) => None,
    }
}

/// Returns the messages in the order in which they are shown: each reference before the message it was fetched for.
pub(crate) fn place_said(messages: Arc<[Arc<UiMessage>]>) -> Arc<[Arc<UiMessage>]> {
    match messages.iter().any(|message| ship_context::contexts::is_reference(message)) {
        true => place_references(messages.to_vec()).into(),
        false => messages,
    }
}

#[cfg(test)]
mod tests {
    use ship_message::json::Object;
    use ship_store::{ContextId, Head, Seq, Timestamp};

    use super::*;

    fn line(id: &str) -> Arc<ContextLine> {
        let message = Object::from([("id", id), ("role", "user")]);
        Arc::new(ContextLine {
            seq: Seq::new(1),
            rev: 0,
            inbox: None,
            body: ContextBody::Message(message),
        })
    }

    fn view(lines: &[&Arc<ContextLine>]) -> View {
        let head = Head::new(ContextId::new(Timestamp::from_millis(0), 1));
        let (generation, seq) = (head.generation, Seq::new(1));
        let position = ship_store::Position { generation, seq };
        let lines = lines.iter().map(|line| Arc::clone(line)).collect();
        View { head, position, crc: 0, inbox: None, lines, problems: Vec::new() }
    }

    #[test]
    fn a_line_is_read_once_as_long_as_it_is_the_same_one_at_its_place() {
        let (said, chat) = (MessageCache::default(), "a".parse().unwrap());
        let (one, two, other) = (line("1"), line("2"), line("2, said anew"));
        let first = said.messages(&chat, &view(&[&one, &two]));
        let second = said.messages(&chat, &view(&[&one, &other, &two]));
        let ids: Vec<_> = second.iter().map(|message| message.id().unwrap()).collect();
        assert_eq!(ids, ["1", "2, said anew", "2"]);
        assert!(Arc::ptr_eq(&first[0], &second[0]), "it was read before");
        let elsewhere = said.messages(&"b".parse().unwrap(), &view(&[&other]));
        assert_eq!(elsewhere.len(), 1, "a chat has its own");
        assert_eq!(said.messages(&chat, &view(&[&two])).len(), 1, "what is gone is gone");
    }
}
