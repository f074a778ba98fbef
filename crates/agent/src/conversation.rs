//! An agent in a conversation: in memory, or in a file that other programs read.
//!
//! An agent talks in memory until it is given a file. [`Agent::new_conversation`],
//! [`Agent::load_conversation`] and [`Agent::fork_conversation`] move it between files, each a
//! [`Conversation`]; [`Agent::conversation`] is the one it is in.
//!
//! The engine is that of chats. A conversation is a chat in a store of its own, whose context is the
//! conversation and whose ledger and journal are in memory.

mod active_conversation;
mod error;
mod store;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use ship_message::UiMessage;
use ship_store::conversation::{Conversation, ForkError, Repair};

pub use error::ConversationError;

use crate::conversation_log::{blocking, chat};
use crate::engine::{ActiveConversation, Agent, CurrentConversation};
use crate::events::Listener;
use crate::inbound::CallAnswer;
use crate::reply::Reply;
use crate::stop::Stop;

/// An agent in a conversation, in memory or in a file.
///
/// What is said is on disk before the model is asked, and the answer, with all its steps and the tools'
/// results, when [`ConversationHandle::send`] returns. Messages and active skills are there again when the file is loaded.
/// One agent at a time is in a file. What is being said is answered where it was said, wherever the agent
/// goes meanwhile.
///
/// A conversation has no journal. An agent that is killed while it answers leaves the question without an
/// answer, and the next thing that is said is answered together with it; what tools had done by then is not
/// in the file.
impl Agent {
    /// Begins a conversation in a new file, with the folders above it.
    ///
    /// # Errors
    /// When there is something at the path already, or no file can be made there.
    pub async fn new_conversation(&self, path: impl AsRef<Path>) -> Result<(), ConversationError> {
        let mut current = self.current.lock().await;
        let (path, clock) = (path.as_ref().to_owned(), Arc::clone(&self.inner.clock));
        let conversation = blocking(move || Conversation::create(path, clock)).await?;
        *current = self.within(conversation);
        Ok(())
    }

    /// Goes on with the conversation in a file: its messages and its active skills. Tells what was cut
    /// aside, if a crash had left a line half written.
    ///
    /// # Errors
    /// When there is none, it is damaged, or somebody else has it open.
    pub async fn load_conversation(
        &self,
        path: impl AsRef<Path>,
    ) -> Result<Option<Repair>, ConversationError> {
        let mut current = self.current.lock().await;
        let (path, clock) = (path.as_ref().to_owned(), Arc::clone(&self.inner.clock));
        let left = current.leave(&path).await;
        let loaded = blocking(move || Conversation::load(path, clock)).await;
        if let (Err(_), Some(talk)) = (&loaded, left.upgrade()) {
            *current = CurrentConversation::In(talk);
        }
        let conversation = loaded?;
        let repair = conversation.repair().cloned();
        *current = self.within(conversation);
        Ok(repair)
    }

    /// Copies the conversation to a new file and goes on in the copy. The original stays as it is.
    ///
    /// # Errors
    /// When there is something at the path already, or no file can be made there.
    pub async fn fork_conversation(&self, path: impl AsRef<Path>) -> Result<(), ConversationError> {
        let path = path.as_ref().to_owned();
        self.fork(move |conversation| conversation.fork(path)).await
    }

    /// Copies everything before a checkpoint to a new file and goes on there. The original stays as it is.
    ///
    /// # Errors
    /// When there is no such checkpoint, and as [`Agent::fork_conversation`].
    pub async fn fork_conversation_from(
        &self,
        checkpoint: &str,
        path: impl AsRef<Path>,
    ) -> Result<(), ConversationError> {
        let (name, path) = (checkpoint.to_owned(), path.as_ref().to_owned());
        self.fork(move |conversation| conversation.fork_from_checkpoint(&name, path)).await
    }

    async fn fork(
        &self,
        fork: impl FnOnce(&Conversation) -> Result<Conversation, ForkError> + Send + 'static,
    ) -> Result<(), ConversationError> {
        let mut current = self.current.lock().await;
        let talk = self.begun(&mut current)?;
        let copy = talk.kept.with(|context| fork(&context.conversation)).await?;
        *current = self.within(copy);
        Ok(())
    }

    /// Returns the conversation that the agent is in, to talk in it.
    pub fn conversation(&self) -> ConversationHandle<'_> {
        ConversationHandle { agent: self }
    }

    /// The conversation that the agent is in.
    async fn talk(&self) -> Result<Arc<ActiveConversation>, ConversationError> {
        self.begun(&mut *self.current.lock().await)
    }

    fn begun(
        &self,
        current: &mut CurrentConversation,
    ) -> Result<Arc<ActiveConversation>, ConversationError> {
        match current {
            CurrentConversation::In(talk) => Ok(Arc::clone(talk)),
            CurrentConversation::Left(path) => {
                Err(ConversationError::Nowhere { path: path.clone() })
            }
            CurrentConversation::Unbegun => {
                let conversation = Conversation::in_memory(Arc::clone(&self.inner.clock));
                let talk = Arc::new(ActiveConversation::new(&self.inner, conversation));
                *current = CurrentConversation::In(Arc::clone(&talk));
                Ok(talk)
            }
        }
    }

    fn within(&self, conversation: Conversation) -> CurrentConversation {
        CurrentConversation::In(Arc::new(ActiveConversation::new(&self.inner, conversation)))
    }
}

/// The conversation that an agent is in at the time of each call: it has the verbs that an agent has for chats.
#[derive(Clone, Copy)]
pub struct ConversationHandle<'a> {
    agent: &'a Agent,
}

impl ConversationHandle<'_> {
    /// Names this point of the conversation, to fork from it later.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub async fn checkpoint(&self, name: &str) -> Result<(), ConversationError> {
        let name = name.to_owned();
        let talk = self.agent.talk().await?;
        talk.kept.with(move |context| context.conversation.checkpoint(&name)).await?;
        Ok(())
    }

    /// Sends a message and waits for the reply.
    ///
    /// A model or a tool that fails is no error here: the answer says so.
    ///
    /// # Errors
    /// When the conversation cannot be written, or waits for an answer to a tool call.
    pub async fn send(&self, text: impl Into<String>) -> Result<Reply, ConversationError> {
        self.send_until(text, &Stop::default()).await
    }

    /// The same, until it is stopped; what was answered until then is kept.
    ///
    /// # Errors
    /// As [`ConversationHandle::send`].
    pub async fn send_until(
        &self,
        text: impl Into<String>,
        stop: &Stop,
    ) -> Result<Reply, ConversationError> {
        let talk = self.agent.talk().await?;
        talk.say(text.into(), stop).await
    }

    /// Answers what a tool call in the conversation waits for, and goes on with the run.
    ///
    /// # Errors
    /// When nothing waits for it, or the conversation cannot be written.
    pub async fn answer(
        &self,
        answer: CallAnswer,
        stop: &Stop,
    ) -> Result<Reply, ConversationError> {
        let talk = self.agent.talk().await?;
        talk.decide(answer, stop).await
    }

    /// Follows what happens in the conversation, and in those that the agent goes to, from now on.
    pub fn listen(&self) -> Listener {
        self.agent.listen(&chat())
    }

    /// The messages of the conversation that a model is shown, each with its time in `metadata.ts`.
    ///
    /// # Errors
    /// When the agent is in no conversation, after loading its own file anew failed.
    pub async fn messages(&self) -> Result<Vec<UiMessage>, ConversationError> {
        let talk = self.agent.talk().await?;
        Ok(talk.kept.with(|context| context.messages()).await)
    }

    /// The skills that are active in the conversation, in the order in which they were activated.
    ///
    /// # Errors
    /// As [`ConversationHandle::messages`].
    pub async fn active_skills(&self) -> Result<Vec<String>, ConversationError> {
        let talk = self.agent.talk().await?;
        let names =
            |conversation: &Conversation| conversation.active_skills().map(str::to_owned).collect();
        Ok(talk.kept.with(move |context| names(&context.conversation)).await)
    }

    /// The file of the conversation; none in memory.
    ///
    /// # Errors
    /// As [`ConversationHandle::messages`].
    pub async fn path(&self) -> Result<Option<PathBuf>, ConversationError> {
        let talk = self.agent.talk().await?;
        Ok(talk.kept.with(|context| context.conversation.path().map(Path::to_owned)).await)
    }
}

impl CurrentConversation {
    /// Leaves the conversation if it is the one in this file, by whatever path: who loads the file that the
    /// agent is in wants to see what has become of it. Something that is being said there keeps it alive.
    async fn leave(&mut self, path: &Path) -> Weak<ActiveConversation> {
        let Self::In(talk) = self else { return Weak::new() };
        let wanted = path.to_owned();
        let is_wanted = move |own: &Path| match (own.canonicalize(), wanted.canonicalize()) {
            (Ok(own), Ok(wanted)) => own == wanted,
            (Err(_), _) | (_, Err(_)) => false,
        };
        let is_in = |conversation: &Conversation| conversation.path().is_some_and(is_wanted);
        if !talk.kept.with(move |context| is_in(&context.conversation)).await {
            return Weak::new();
        }
        let left = Arc::downgrade(talk);
        *self = Self::Left(path.to_owned());
        left
    }
}
