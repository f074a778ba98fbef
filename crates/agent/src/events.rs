//! Sends the events of a run to listeners.
//!
//! Any number of listeners can follow a chat, and none can fail or delay a run. Chunks are sent as they
//! come, before they are recorded. A listener that must know what is on disk waits for [`RunEvent::Ended`],
//! or reads the chat.

mod chat_events;
mod event_size;
mod hub;
mod join;
mod listener;
#[cfg(test)]
mod tests;

pub(crate) use self::hub::{EventHub, StreamGuard};
pub use self::listener::{AgentListener, Listener};

use ship_message::Chunk;
use ship_store::LaneHolder;

use crate::reply::{Outcome, Reply};

/// An event of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum RunEvent {
    /// A chunk of the answer, in the form and order of the UI message stream. A run that continues in another message
    /// sends a second `start`, with the id of that message.
    Chunk(Chunk),
    /// A chunk of what is known already: the first parts of another message, which the message before it had too, and
    /// the output that the client gave to a call. A program that assembles messages needs it like any other chunk; a
    /// program that prints the answer as it comes does not.
    Repeated(Chunk),
    /// A text that `chat_send` delivered.
    Sent(String),
    /// The run ended or was parked.
    Ended {
        /// The id of the run.
        run_id: String,
        /// The id of the message that it wrote.
        message_id: String,
        /// The end of the run.
        outcome: Outcome,
    },
    /// The run left its message unfinished: it could not write, or its task was dropped. The journal has the parts that
    /// are complete, and the next run of the chat continues them.
    Left {
        /// The id of the message.
        message_id: String,
    },
    /// The listener has read too slowly, and missed what was there for it. The chat has all that ended, and a message
    /// that is being written begins again with its `start`.
    Missed,
    /// A reply waits for the chat's lane.
    Waiting(LaneWaiting),
    /// The reply is there. Only [`Agent::stream`](crate::Agent::stream) tells this, and last.
    Reply(Box<Reply>),
}

/// What a reply waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LaneWaiting {
    /// The lane could not be had at once.
    Lane,
    /// Another process runs the chat, and answers this message too.
    OtherProcess,
    /// This process runs the chat and does not go on.
    FrozenProcess(Box<LaneHolder>),
}
