//! A subscriber that assembles messages, and what it must find.

use ship_agent::{Listener, RunEvent};
use ship_context::close_message;
use ship_message::json::Json;
use ship_message::{Assembler, Chunk, Role, UiMessage, UiPart};

use crate::harness::TestAgent;

/// A subscriber that assembles the messages of a chat.
#[derive(Default)]
pub(super) struct Subscriber {
    pub(super) messages: Vec<Assembler>,
    /// The place of the message that the next chunk belongs to.
    pub(super) current: usize,
}

impl Subscriber {
    pub(super) fn after(chunks: &[Chunk]) -> Self {
        let mut subscriber = Self::default();
        chunks.iter().for_each(|chunk| subscriber.take(chunk));
        subscriber
    }

    /// Another subscriber, which gets the messages so far.
    fn late(&mut self) -> Self {
        let mut late = Self::default();
        for message in &mut self.messages {
            message.chunks().iter().for_each(|chunk| late.take(chunk));
        }
        Self { current: self.current, ..late }
    }

    fn take(&mut self, chunk: &Chunk) {
        match chunk {
            Chunk::Start { message_id, .. } => {
                let id = message_id.as_deref().unwrap();
                let known = self.messages.iter_mut().position(|it| it.message().id() == Some(id));
                self.current = known.unwrap_or(self.messages.len());
                if known.is_none() {
                    self.messages.push(Assembler::new(id, None));
                }
            }
            // It changes no message.
            Chunk::Error { .. } => {}
            chunk => self.messages[self.current].push(chunk.clone()).unwrap(),
        }
    }

    /// The messages as they would be stored.
    pub(super) fn into_messages(self) -> Vec<(String, Vec<Json>)> {
        self.messages.into_iter().map(|it| stored_form(it.into_message())).collect()
    }
}

/// The id and the parts of a message that is closed, without that which a stream cannot express: the approvals of calls
/// that were answered.
fn stored_form(mut message: UiMessage) -> (String, Vec<Json>) {
    close_message(&mut message);
    let without_approval = |part: &UiPart| {
        let mut json = part.clone().into_json();
        json.as_object_mut().unwrap().remove("approval");
        json
    };
    let parts = message.parts().iter().map(without_approval).collect();
    (message.id().unwrap().to_owned(), parts)
}

/// All answers that the chat has stored, those in contexts that were left included.
async fn stored_answers(test: &TestAgent) -> Vec<UiMessage> {
    let chat = test.stored().await;
    let mut views = Vec::new();
    for log in chat.log().sealed_logs(None, 100).await.unwrap().iter().rev() {
        views.extend(chat.log().sealed_view_if_readable(&log.name).await.unwrap());
    }
    views.push(test.view().await);
    let messages = views.iter().flat_map(|view| view.messages().cloned());
    messages.filter(|message| message.role() == Role::Assistant).collect()
}

pub(super) fn heard(events: &mut Listener) -> Vec<Chunk> {
    std::iter::from_fn(|| next_chunk(events)).collect()
}

/// The next chunk that is there already.
pub(super) fn next_chunk(events: &mut Listener) -> Option<Chunk> {
    let mut events = std::iter::from_fn(|| events.try_next());
    events.find_map(|event| match &*event {
        RunEvent::Chunk(chunk) | RunEvent::Repeated(chunk) => Some(chunk.clone()),
        _ => None,
    })
}

/// The kinds of chunks, without deltas and notices.
pub(super) fn kinds(chunks: &[Chunk]) -> Vec<String> {
    let kind = |chunk: &Chunk| {
        let json = chunk.clone().into_json();
        let kind = json.get("type").and_then(Json::as_str).unwrap().to_owned();
        let reason = json.get("finishReason").and_then(Json::as_str);
        let id = json.get("messageId").and_then(Json::as_str).and_then(|id| id.split_once('-'));
        match (reason, id) {
            (Some(reason), _) => format!("{kind} {reason}"),
            (None, Some((_, number))) => format!("{kind} {number}"),
            (None, None) => kind,
        }
    };
    let is_shown = |kind: &String| !kind.ends_with("-delta") && !kind.starts_with("data-");
    chunks.iter().map(kind).filter(is_shown).collect()
}

/// Checks that each chunk is where the AI SDK would send it.
#[track_caller]
pub(super) fn assert_ordered(chunks: &[Chunk]) {
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Place {
        /// Before a stream or behind its end.
        Outside,
        /// Behind `start`.
        Begun,
        Step,
        /// Behind `finish-step`.
        BehindStep,
    }
    let mut place = Place::Outside;
    for (at, chunk) in chunks.iter().enumerate() {
        let (is_right, next) = match chunk {
            Chunk::Start { .. } => (place != Place::Step, Place::Begun),
            Chunk::StartStep => (matches!(place, Place::Begun | Place::BehindStep), Place::Step),
            Chunk::FinishStep => (place == Place::Step, Place::BehindStep),
            Chunk::Finish { .. } => {
                (matches!(place, Place::Begun | Place::BehindStep), Place::Outside)
            }
            Chunk::Abort { .. } => (place != Place::Outside, Place::Outside),
            Chunk::ToolApprovalRequest { .. }
            | Chunk::ToolOutputAvailable { .. }
            | Chunk::ToolOutputError { .. }
            | Chunk::ToolOutputDenied { .. } => {
                (matches!(place, Place::Begun | Place::Step), place)
            }
            Chunk::Data(_) => (true, place),
            _ => (place == Place::Step, place),
        };
        assert!(is_right, "{place:?}, chunk {at} of {:#?}", kinds(chunks));
        place = next;
    }
    assert_eq!(place, Place::Outside, "the stream has an end: {:#?}", kinds(chunks));
}

/// Checks the order of chunks, what is assembled of them, and what a late subscriber assembles.
pub(super) async fn assert_assembled(test: &TestAgent, chunks: &[Chunk]) {
    assert_ordered(chunks);
    let assembled = Subscriber::after(chunks).into_messages();
    for at in 0..=chunks.len() {
        let mut late = Subscriber::after(&chunks[..at]).late();
        chunks[at..].iter().for_each(|chunk| late.take(chunk));
        assert_eq!(late.into_messages(), assembled, "joined before chunk {at}");
    }
    let stored = stored_answers(test).await;
    for (id, parts) in assembled {
        let message = stored.iter().find(|message| message.id() == Some(&id)).unwrap();
        let is_settled = message.metadata().unwrap().get("settled").is_some();
        let (_, stored) = stored_form(message.clone());
        // The parts that are not settled yet are those of the next message, and were sent before that was known.
        let count = if is_settled { stored.len().min(parts.len()) } else { parts.len() };
        assert_eq!(parts[..count], stored, "{id}");
    }
}
