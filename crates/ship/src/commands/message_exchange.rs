//! One turn: accepts a message and follows its answer.

use ship_agent::{
    AcceptedMessage, Agent, ChatQueue, ContextNotice, Inbound, LaneWaiting, Reply, RunNotice,
};
use ship_message::UiMessage;
use ship_store::{ChatKey, Metadata, Store, Timestamp};

use super::context::{line_for_chat, line_for_shell};
use super::frozen_holder::{FrozenHolder, accept_failure, answer_failure};
use super::interrupt::{Interrupt, break_line};
use super::message_draft::MessageDraft;
use super::run_activity::RunActivity;
use crate::failure::Failure;
use crate::output;
use crate::session::Session;

/// A message on its way into a chat.
pub(crate) struct MessageExchange<'a> {
    session: &'a Session,
    agent: &'a Agent,
}

/// The state of a message after the attempt to accept it.
pub(crate) enum AcceptResult {
    /// The message is on disk as this ledger entry.
    Yes(AcceptedMessage),
    /// The person did not wait: the message may or may not be written.
    Unknown,
}

impl<'a> MessageExchange<'a> {
    pub(crate) fn new(session: &'a Session, agent: &'a Agent) -> Self {
        Self { session, agent }
    }

    fn chat(&self) -> &ChatKey {
        &self.session.chat
    }

    /// Makes a message durable. If the person leaves before that, nothing is promised.
    pub(crate) async fn accept(
        &self,
        draft: MessageDraft,
        interrupt: &Interrupt,
    ) -> Result<AcceptResult, Failure> {
        let request = new_id();
        let request_id = format!("req_{request}");
        let inbound = Inbound {
            key: format!("terminal:{request}"),
            text: draft.text,
            attachments: draft.attachments,
            channel: "terminal".to_owned(),
            username: std::env::var("USER").ok().filter(|name| !name.is_empty()),
            request_id: request_id.clone(),
            ..Inbound::default()
        };
        let accepting = self.agent.accept(self.chat(), inbound);
        let warn = || {
            break_line();
            output::print_warning(
                "your message is not on disk yet; Ctrl-C again leaves without it",
            );
        };
        match interrupt.stop_on_interrupt_after(accepting, warn).await {
            Some(accepted) => Ok(AcceptResult::Yes(accepted.map_err(accept_failure)?)),
            None => Ok(AcceptResult::Unknown),
        }
    }

    /// Runs the chat until the message is answered, or follows the process that runs it. None when the person no
    /// longer wants an answer; the message is kept.
    pub(crate) async fn reply(
        &self,
        accepted: &AcceptedMessage,
        interrupt: &Interrupt,
    ) -> Result<Option<Reply>, Failure> {
        // A person who stopped while the message was written wants no answer now.
        if interrupt.was_pressed() {
            return Ok(None);
        }
        match self.agent.reply_to(self.chat(), accepted, &interrupt.stop).await {
            Ok(reply) => Ok(Some(reply)),
            Err(error) => Err(answer_failure(error, self.session.now())),
        }
    }
}

/// Tells the person on standard error what a reply waits for.
pub(crate) fn print_waiting(session: &Session, waiting: &LaneWaiting) {
    match waiting {
        LaneWaiting::Lane => {
            output::print_notice("waiting for this chat; another process may be using it");
        }
        LaneWaiting::OtherProcess => {
            output::print_notice("another process is using this chat; your message comes next");
        }
        LaneWaiting::FrozenProcess(holder) => {
            output::print_notice(&FrozenHolder::new(holder, session.now()).sentence());
        }
    }
}

/// Tells the person on standard error about a run of `ship send`.
pub(crate) fn print_notice(session: &Session, notice: RunNotice<'_>, activity: &mut RunActivity) {
    match notice {
        RunNotice::Retry { .. } => {}
        // The line of the activity says it, and the result is told.
        RunNotice::MakingRoom(_) if activity.is_shown() => {}
        notice => {
            activity.erase();
            match notice {
                RunNotice::Context(notice) => {
                    output::print_notice(&context_line_for_shell(&notice, session));
                }
                // A compaction is no reason to worry; other notices may be.
                RunNotice::MakingRoom(text) => output::print_notice(text),
                RunNotice::MadeRoom { text, is_purged } => {
                    let undo = session.chat_flags.add_to("ship compact --undo");
                    let line = made_room_line(text, is_purged, &format!("`{undo}`"));
                    output::print_notice(&line);
                }
                RunNotice::Broken(text) | RunNotice::Other(text) => output::print_warning(text),
                RunNotice::Retry { .. } => {}
            }
        }
    }
}

/// Returns the line about a compaction, with the words for the command that undoes it.
pub(crate) fn made_room_line(text: &str, is_purged: bool, undo: &str) -> String {
    match is_purged {
        true => text.to_owned(),
        false => format!("{text}; {undo} brings the originals back"),
    }
}

/// Returns the line about a change of contexts for a person at a shell.
pub(crate) fn context_line_for_shell(notice: &ContextNotice, session: &Session) -> String {
    line_for_shell(&notice.line, notice.way_back.as_ref(), &session.chat_flags)
}

/// Returns the line about a change of contexts for a person in `ship chat`.
pub(crate) fn context_line_for_chat(notice: &ContextNotice) -> String {
    line_for_chat(&notice.line, notice.way_back.as_ref())
}

/// Returns the messages of a chat's active context.
pub(crate) async fn active_messages(
    store: &dyn Store,
    key: &ChatKey,
) -> Result<Vec<UiMessage>, Failure> {
    let Some(chat) = store.open(key).await? else { return Ok(Vec::new()) };
    let Some(view) = chat.log().view().await? else { return Ok(Vec::new()) };
    Ok(view.messages().cloned().collect())
}

/// Returns the texts of the first messages that wait for an answer, in order.
pub(crate) async fn open_questions(agent: &Agent, key: &ChatKey) -> Result<Vec<String>, Failure> {
    let queue = agent.queue(key, OPEN_QUESTIONS_MAX).await?;
    Ok(queue.iter().flat_map(ChatQueue::questions).collect())
}

/// Returns the texts of the first messages that wait for an answer and were accepted since then.
pub(crate) async fn accepted_since(
    agent: &Agent,
    key: &ChatKey,
    since: Timestamp,
) -> Result<Vec<String>, Failure> {
    let Some(queue) = agent.queue(key, OPEN_QUESTIONS_MAX).await? else { return Ok(Vec::new()) };
    let unanswered = queue.unanswered.iter();
    let unanswered = unanswered.map(|message| (message.text(), Metadata::of(message).ts()));
    let waiting = queue.waiting.iter().map(|entry| (entry.text.clone(), entry.since));
    let all = unanswered.chain(waiting);
    Ok(all.filter(|(_, at)| at.is_some_and(|at| at >= since)).map(|(text, _)| text).collect())
}

/// The number of waiting messages that are shown.
const OPEN_QUESTIONS_MAX: usize = 5;

/// Returns sixteen random hex digits.
fn new_id() -> String {
    use ship_agent::IdSource;
    format!("{:016x}", ship_agent::RandomIds.next())
}
