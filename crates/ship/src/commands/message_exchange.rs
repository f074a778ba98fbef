//! One turn: accepts a message and follows its answer.

use std::time::Duration;

use ship_agent::{AcceptedMessage, Agent, Inbound, LaneWaiting, Reply, WayBack};
use ship_context::{ends_with_question, is_question};
use ship_message::json::{Json, Object};
use ship_message::{Role, UiMessage, UiPart};
use ship_store::{ChatKey, LedgerBody, LedgerLine, Store};

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
pub(crate) fn print_notice(session: &Session, notice: Notice<'_>, activity: &mut RunActivity) {
    match notice {
        Notice::Retry { .. } => {}
        // The line of the activity says it, and the result is told.
        Notice::MakingRoom(_) if activity.is_shown() => {}
        notice => {
            activity.erase();
            match notice {
                Notice::Context(notice) => output::print_notice(&notice.line_for_shell(session)),
                // A compaction is no reason to worry; other notices may be.
                Notice::MakingRoom(text) => output::print_notice(text),
                Notice::MadeRoom(made) => output::print_notice(&made.line_for_shell(session)),
                Notice::Broken(text) | Notice::Other(text) => output::print_warning(text),
                Notice::Retry { .. } => {}
            }
        }
    }
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

/// Returns the texts of the messages that wait for an answer, in order.
pub(crate) async fn open_questions(
    store: &dyn Store,
    key: &ChatKey,
) -> Result<Vec<String>, Failure> {
    let Some(chat) = store.open(key).await? else { return Ok(Vec::new()) };
    let state = chat.state(OPEN_QUESTIONS_MAX).await?;
    let promoted = state.view.as_ref().filter(|view| ends_with_question(Some(view)));
    let is_person = |message: &&UiMessage| message.role() == Role::User;
    let last = promoted.and_then(|view| view.messages().rfind(is_person)).map(UiMessage::text);
    let text = |line: &LedgerLine| match &line.body {
        LedgerBody::Entry(entry) if is_question(line) => entry.entry.str("text").map(str::to_owned),
        _ => None,
    };
    Ok(last.into_iter().chain(state.new_lines.iter().filter_map(text)).collect())
}

/// The number of waiting messages that are shown.
const OPEN_QUESTIONS_MAX: usize = 5;

/// Returns the calls in a message that wait for a result.
pub(crate) fn waiting_calls(message: &UiMessage) -> Vec<(String, String, Json)> {
    let wait = |part: &UiPart| match part {
        UiPart::Tool(tool) if !tool.state().is_terminal() => Some((
            tool.name().unwrap_or_default().to_owned(),
            tool.call_id().to_owned(),
            tool.input().cloned().unwrap_or_default(),
        )),
        _ => None,
    };
    message.parts().iter().filter_map(wait).collect()
}

/// A notice for the person during a run.
pub(crate) enum Notice<'a> {
    /// The chat continues in another context, or its contexts have changed.
    Context(ContextNotice),
    /// The context is being compacted.
    MakingRoom(&'a str),
    /// The context was compacted.
    MadeRoom(MadeRoom<'a>),
    /// The provider is asked again after a wait.
    Retry { text: &'a str, wait: Duration },
    /// The answer broke off, and the model is asked again.
    Broken(&'a str),
    /// Any other notice.
    Other(&'a str),
}

/// A notice that the context was compacted.
pub(crate) struct MadeRoom<'a> {
    text: &'a str,
    /// Whether the originals are gone, so that it cannot be undone.
    is_purged: bool,
}

impl MadeRoom<'_> {
    /// Returns the line for a person in `ship chat`.
    pub(crate) fn line(&self) -> String {
        self.line_with_undo("/compact undo")
    }

    /// Returns the line for a person at a shell.
    pub(crate) fn line_for_shell(&self, session: &Session) -> String {
        self.line_with_undo(&format!("`{}`", session.chat_flags.add_to("ship compact --undo")))
    }

    fn line_with_undo(&self, undo: &str) -> String {
        match self.is_purged {
            true => self.text.to_owned(),
            false => format!("{}; {undo} brings the originals back", self.text),
        }
    }
}

/// A notice about the contexts of a chat.
pub(crate) struct ContextNotice {
    /// The line as the ledger has it.
    pub(crate) line: String,
    /// The way back, if the line ends with one. Notices of older programs have it only in the line.
    pub(crate) way_back: Option<WayBack>,
}

impl ContextNotice {
    /// Makes a notice from its line and the field with the way back.
    pub(crate) fn new(line: &str, way_back: Option<&Json>) -> Self {
        Self { line: line.to_owned(), way_back: way_back.and_then(WayBack::from_json) }
    }

    /// Returns the line for a person in `ship chat`.
    pub(crate) fn line_for_chat(&self) -> String {
        line_for_chat(&self.line, self.way_back.as_ref())
    }

    /// Returns the line for a person at a shell.
    pub(crate) fn line_for_shell(&self, session: &Session) -> String {
        line_for_shell(&self.line, self.way_back.as_ref(), &session.chat_flags)
    }
}

/// Returns the notice if this part is one.
pub(crate) fn read_notice(part: &Object) -> Option<Notice<'_>> {
    (part.str("type") == Some("data-notice")).then_some(())?;
    let data = part.get("data")?;
    let text = data.get("text")?.as_str()?;
    Some(match data.get("kind").and_then(Json::as_str) {
        Some("context") => Notice::Context(ContextNotice::new(text, data.get("wayBack"))),
        Some("compacting") => Notice::MakingRoom(text),
        Some("compacted") => {
            Notice::MadeRoom(MadeRoom { text, is_purged: data.get("purged").is_some() })
        }
        Some("cut") => Notice::Broken(text),
        Some("retry") => {
            let millis = data.get("waitMs").and_then(Json::as_u64).unwrap_or_default();
            Notice::Retry { text, wait: Duration::from_millis(millis) }
        }
        _ => Notice::Other(text),
    })
}

/// Returns sixteen random hex digits.
fn new_id() -> String {
    use ship_agent::IdSource;
    format!("{:016x}", ship_agent::RandomIds.next())
}
