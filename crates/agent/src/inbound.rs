//! Messages that come in: entries of the ledger, and later messages of the context.

mod attachment;

use ship_message::json::{Json, Object};
use ship_message::{PartFields, Role, ToolPart, UiMessage, UiPart};
use ship_store::{ChatKey, LedgerEntry, LedgerSeq, MessageSource, NewMetadata, Timestamp};

pub use attachment::Attachment;

/// A message as a channel hands it in.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Inbound {
    /// The key that identifies the message if it comes again, such as the platform's id of it. Without one, the
    /// agent makes a key, and every message is a new one.
    pub key: String,
    /// The text of the person, verbatim.
    pub text: String,
    /// The files that come with the text, in order. They are as durable as the text.
    pub attachments: Vec<Attachment>,
    /// The channel: `terminal`, `http`, `telegram`.
    pub channel: String,
    /// The id of the chat on its platform.
    pub chat_id: Option<String>,
    /// The id of the thread or topic on the platform.
    pub thread_id: Option<String>,
    /// The type of the chat on the platform, such as `private` or `group`.
    pub chat_type: Option<String>,
    /// The id of the author on the platform.
    pub user_id: Option<String>,
    /// The name of the author.
    pub username: Option<String>,
    /// The id of the message on the platform.
    pub message_id: Option<String>,
    /// The id that the client gave the message.
    pub client_id: Option<String>,
    /// The language of the author, such as `de`, as the platform tells it.
    pub language: Option<String>,
    /// The address to which the channel delivers answers, in its own form. It is stored with the chat.
    pub target: Option<Json>,
    /// The id of the request in logs. If it is empty, the agent makes one.
    pub request_id: String,
    /// Whether it is talk between people in a group that is not addressed to the agent. Such a message is
    /// kept, and never answered.
    pub observed: bool,
}

impl From<&str> for Inbound {
    fn from(text: &str) -> Self {
        Self::from(text.to_owned())
    }
}

impl From<&String> for Inbound {
    fn from(text: &String) -> Self {
        Self::from(text.as_str())
    }
}

impl From<String> for Inbound {
    /// Makes a message of a text alone.
    fn from(text: String) -> Self {
        Self { text, ..Self::default() }
    }
}

/// The field of a ledger entry with the parts of its files.
const ATTACHMENTS: &str = "attachments";

/// A message that is durable in the ledger of a chat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcceptedMessage {
    /// Its entry in the ledger.
    pub seq: LedgerSeq,
    /// The id of its request. The entry alone does not name a message: before a ledger was restored from a copy,
    /// another message may have had the same one.
    pub request_id: String,
    /// False when a message with the same key was accepted before; this is that one.
    pub is_new: bool,
}

/// What a parked run was waiting for; [`Reply::waiting_calls`](crate::Reply::waiting_calls) has the calls.
#[derive(Clone, Debug, PartialEq)]
pub enum CallAnswer {
    /// The person's decision on a call.
    Approval {
        /// The id of the approval request.
        approval_id: String,
        /// Whether the call may run.
        approved: bool,
        /// The reason for the decision.
        reason: Option<String>,
    },
    /// The result of a client's tool.
    Output {
        /// The id of the call.
        call_id: String,
        /// The output, or the reason why there is none.
        output: Result<Json, String>,
    },
}

impl CallAnswer {
    /// Makes the decision of a person on a call that needs an approval.
    pub fn decision(call: &ToolPart, approved: bool) -> Self {
        let approval_id = call.field("approval").and_then(|it| it.get("id")?.as_str());
        let approval_id = approval_id.unwrap_or_default().to_owned();
        Self::Approval { approval_id, approved, reason: None }
    }

    /// Makes the output of a call that the client has run.
    pub fn output(call: &ToolPart, output: impl Into<Json>) -> Self {
        Self::Output { call_id: call.call_id().to_owned(), output: Ok(output.into()) }
    }

    /// Returns the id of the approval request or of the call that it answers.
    pub fn id(&self) -> &str {
        match self {
            Self::Approval { approval_id, .. } => approval_id,
            Self::Output { call_id, .. } => call_id,
        }
    }
}

impl Inbound {
    /// Adds the request id and the key that the channel left out.
    pub(crate) fn with_ids(mut self, new_id: impl FnOnce() -> u64) -> Self {
        if self.request_id.is_empty() {
            self.request_id = format!("req_{:016x}", new_id());
        }
        if self.key.is_empty() {
            self.key = format!("send:{}", self.request_id);
        }
        self
    }

    /// Returns the length of the text and its files.
    pub(crate) fn bytes(&self) -> usize {
        self.text.len() + self.attachments.iter().map(Attachment::bytes).sum::<usize>()
    }

    /// Returns the ledger entry of the message.
    pub(crate) fn into_entry(self, chat: &ChatKey, now: Timestamp) -> LedgerEntry {
        let mut entry = Object::from([("v", Json::from(1u64)), ("ts", now.to_json())]);
        entry.set("role", "user");
        entry.set("text", self.text);
        if !self.attachments.is_empty() {
            let parts = self.attachments.into_iter().map(Attachment::into_part);
            entry.set(ATTACHMENTS, parts.collect::<Vec<_>>());
        }
        entry.set("chatKey", chat.as_str());
        entry.set("channel", self.channel);
        for (key, value) in [
            ("chatId", self.chat_id),
            ("messageThreadId", self.thread_id),
            ("chatType", self.chat_type),
            ("userId", self.user_id),
            ("username", self.username),
            ("messageId", self.message_id),
            ("clientId", self.client_id),
            ("language", self.language),
            ("requestId", Some(self.request_id)),
        ] {
            entry.set_or_remove(key, value.map(Json::from));
        }
        if self.observed {
            entry.set("meta", Object::from([(ship_context::OBSERVED, true)]));
        }
        LedgerEntry { key: self.key, entry }
    }
}

/// Returns the message that a ledger entry becomes in the context. `note` is what the model must know with it.
pub(crate) fn promoted_message(entry: &LedgerEntry, id: String, note: Option<&str>) -> UiMessage {
    let mut message = UiMessage::new(id, Role::User, parts_of(entry));
    let mut metadata = NewMetadata::of_entry(entry);
    metadata.set_source(MessageSource::Ingress);
    metadata.set_note_to_model(note);
    metadata.write_to(&mut message);
    message
}

/// Returns the message of a ledger entry that is in no context yet, marked as queued.
pub(crate) fn queued_message(entry: LedgerEntry, id: String) -> UiMessage {
    let mut message = UiMessage::new(id, Role::User, parts_of(&entry));
    NewMetadata::of_queued(entry).write_to(&mut message);
    message
}

/// Returns the text and the files of an entry.
fn parts_of(entry: &LedgerEntry) -> Vec<UiPart> {
    let text = entry.entry.str("text").unwrap_or_default();
    let attached = entry.entry.get(ATTACHMENTS).and_then(Json::as_array).unwrap_or_default();
    let attached = attached.iter().cloned().map(UiPart::from_json);
    std::iter::once(UiPart::text(text)).chain(attached).collect()
}
