//! What listeners are told of a run while it goes on.
//!
//! Any number of them can follow, and none of them can fail or hold up a run. What streams is told as it comes,
//! before it is recorded: a listener that must know what is on disk waits for [`RunEvent::Ended`], or reads the
//! chat.

use std::sync::{Mutex, PoisonError};

use ship_message::Chunk;
use ship_message::json::{Json, Object};
use ship_store::ChatKey;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It said what it had to say.
    Done,
    /// The person stopped it; what was said is kept.
    Stopped,
    /// It failed. The person was told this sentence.
    Failed(String),
    /// It waits for a person's word or for a tool of the client.
    Parked,
}

/// Something that happened in a run.
#[derive(Clone, Debug, PartialEq)]
pub enum RunEvent {
    /// A chunk of the answer, as the UI message stream has it.
    Chunk(Chunk),
    /// `chat_send` delivered this.
    Sent(String),
    /// The run came to this.
    Ended {
        /// The run.
        run_id: String,
        /// The message it wrote.
        message_id: String,
        /// How it ended.
        outcome: Outcome,
    },
}

/// What has happened in one chat, in order, from when it was asked for.
#[derive(Debug)]
pub struct Listener {
    events: UnboundedReceiver<RunEvent>,
}

impl Listener {
    /// The next event; none when the agent is gone.
    pub async fn next(&mut self) -> Option<RunEvent> {
        self.events.recv().await
    }

    /// An event that is there already.
    pub fn try_next(&mut self) -> Option<RunEvent> {
        self.events.try_recv().ok()
    }
}

#[derive(Debug, Default)]
pub(crate) struct EventHub {
    listeners: Mutex<Vec<(ChatKey, UnboundedSender<RunEvent>)>>,
}

impl EventHub {
    pub(crate) fn listen(&self, chat: &ChatKey) -> Listener {
        let (sender, events) = unbounded_channel();
        self.listeners().push((chat.clone(), sender));
        Listener { events }
    }

    /// Tells everyone who listens to the chat; who has gone away is forgotten.
    pub(crate) fn tell(&self, chat: &ChatKey, event: &RunEvent) {
        self.listeners().retain(|(key, sender)| key != chat || sender.send(event.clone()).is_ok());
    }

    fn listeners(&self) -> std::sync::MutexGuard<'_, Vec<(ChatKey, UnboundedSender<RunEvent>)>> {
        // A list of senders is whole whatever panicked while it was held.
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Something that the person should know now and nobody later.
pub(crate) fn notice(kind: &str, text: &str) -> Chunk {
    Chunk::Data(Object::from([
        ("type", Json::from("data-notice")),
        ("data", Object::from([("kind", kind), ("text", text)]).into()),
        ("transient", true.into()),
    ]))
}
