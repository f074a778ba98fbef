//! The chats of a project with what a list shows of each, by pages. No chat is opened for it.

use ship_context::is_from_person;
use ship_message::UiMessage;
use ship_store::{
    ChatContent, ChatCursor, ChatKey, ChatLook, ChatOverview, ContextId, Metadata, ReadError,
    StorageError, StorageProblem, Store, Timestamp,
};

use crate::engine::Agent;
use crate::error::RunError;

/// A page of the list of chats.
#[derive(Debug)]
pub struct ChatList {
    /// The chats of this page, the newest activity first.
    pub chats: Vec<ListedChat>,
    /// The place behind the page; `None` if no chat follows.
    pub next: Option<ChatCursor>,
}

/// An item of the list of chats. One that cannot be read does not hide the others.
#[derive(Debug)]
pub enum ListedChat {
    /// A chat that can be read, with what a list shows of it.
    Chat(Box<ChatSummary>),
    /// A chat that cannot be read.
    Unreadable(ChatKey, ReadError),
    /// A folder that is no chat.
    NoChat(StorageProblem),
}

/// What a list shows of a chat.
#[derive(Clone, Debug, PartialEq)]
pub struct ChatSummary {
    /// The key of the chat.
    pub key: ChatKey,
    /// The channel of the chat, as far as known.
    pub channel: Option<String>,
    /// Its active context; `None` before the first.
    pub context: Option<ContextId>,
    /// The title of that context, if it has one.
    pub title: Option<String>,
    /// The number of messages that were said in all contexts, each once.
    pub messages_said: u64,
    /// The number of messages that wait in the ledger.
    pub waiting: usize,
    /// The last message of the active context.
    pub last_message: Option<UiMessage>,
    /// The time of that message.
    pub updated_at: Option<Timestamp>,
    /// The time of the last write to a log of the chat, if the store keeps times.
    pub activity: Option<Timestamp>,
    /// Whether something may be left to do; [`Agent::queue`] tells what.
    pub may_have_work: bool,
}

impl Agent {
    /// Lists at most `limit` chats behind a place, the newest activity first.
    ///
    /// ```
    /// # tokio::runtime::Runtime::new()?.block_on(async {
    /// use ship_agent::{Agent, ListedChat};
    ///
    /// let agent = Agent::builder().build();
    /// agent.send(&"api:main".parse()?, "hello").await?;
    /// let list = agent.chats(None, 50).await?;
    /// let [ListedChat::Chat(chat)] = list.chats.as_slice() else { return Err("one chat".into()) };
    /// assert_eq!((chat.key.as_str(), chat.messages_said, chat.waiting), ("api:main", 2, 0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Fails if the store cannot list its chats.
    pub async fn chats(
        &self,
        after: Option<ChatCursor>,
        limit: usize,
    ) -> Result<ChatList, RunError> {
        Ok(ChatList::read(&*self.engine.store, after, limit).await?)
    }
}

impl ChatList {
    /// Reads a page of the list. It needs no agent, so chats are listed whatever is wrong with the model.
    ///
    /// # Errors
    /// Fails if the store cannot list its chats.
    pub async fn read(
        store: &dyn Store,
        after: Option<ChatCursor>,
        limit: usize,
    ) -> Result<Self, StorageError> {
        let page = store.overviews(after, limit).await?;
        let chats = page.chats.into_iter().filter_map(ListedChat::new).collect();
        Ok(Self { chats, next: page.next })
    }
}

impl ListedChat {
    /// Makes the item of a chat; `None` if it has just been removed.
    fn new(ChatOverview { look, content }: ChatOverview) -> Option<Self> {
        let ChatLook { key, activity, may_have_work, .. } = look;
        let key = match key {
            Ok(key) => key,
            Err(problem) => return Some(Self::NoChat(problem)),
        };
        let ChatContent { about, head, messages_said, last_message, new_lines, .. } = match content
        {
            Ok(content) => content?,
            Err(error) => return Some(Self::Unreadable(key, error)),
        };
        let (context, title) = head.map(|head| (head.context, head.title)).unzip();
        Some(Self::Chat(Box::new(ChatSummary {
            key,
            channel: about.channel,
            context,
            title: title.flatten(),
            messages_said,
            waiting: new_lines.iter().filter(|line| is_from_person(line)).count(),
            updated_at: last_message.as_ref().and_then(|message| Metadata::of(message).ts()),
            last_message,
            activity,
            may_have_work,
        })))
    }
}
