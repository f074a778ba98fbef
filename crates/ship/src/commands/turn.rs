//! One turn: accepts a message and follows its answer.

use std::pin::pin;
use std::time::Duration;

use ship_agent::{Agent, Inbound, Listener, Outcome};
use ship_context::contexts::{MOVED, is_reference};
use ship_message::json::{Json, Object};
use ship_message::{UiMessage, UiPart};
use ship_store::{ChatKey, ContextBody, ContextId, LedgerSeq, Store, View};
use tokio::time::Instant;

use super::frozen::{FrozenHolder, KEPT, is_elsewhere, not_accepted, not_answered};
use super::interrupt::{Interrupt, break_line};
use crate::failure::Failure;
use crate::output;
use crate::session::Session;

/// The interval at which another process that runs the chat is checked.
const LOOK_EVERY: Duration = Duration::from_millis(40);

/// The number of sealed logs that are searched: a question that was just answered is in one of the newest.
const LOGS_LOOKED_AT: usize = 4;

/// The time after which a waiting person is told the reason.
const WAIT_UNTOLD: Duration = Duration::from_secs(1);

/// A message on its way into a chat.
pub(crate) struct MessageExchange<'a> {
    session: &'a Session,
    agent: &'a Agent,
}

/// The result of a turn.
pub(crate) enum Ended {
    /// The run ended in this process.
    Here(Option<Outcome>),
    /// Another process gave this answer.
    Elsewhere(UiMessage),
    /// The message is kept, and the person does not wait for the answer.
    Left,
}

/// The ledger entry of a message from this process. Its number alone is not enough: after a ledger is restored from
/// a copy, another message may have had it. So the request id counts too.
#[derive(Clone, Debug)]
pub(crate) struct OwnEntry {
    seq: LedgerSeq,
    request_id: String,
}

impl OwnEntry {
    /// Returns the index of the message in a context, if it is there.
    fn place_in(&self, view: &View) -> Option<usize> {
        view.lines.iter().position(|line| {
            let ContextBody::Message(message) = &line.body else { return false };
            let request = message.get("metadata").and_then(|it| it.get("requestId")?.as_str());
            line.inbox.is_none_or(|seq| seq == self.seq)
                && message.str("role") == Some("user")
                && request == Some(&self.request_id)
        })
    }

    /// Returns the messages after the message, if it is in this context.
    fn behind(&self, view: &View) -> Option<Vec<UiMessage>> {
        let at = self.place_in(view)?;
        let messages = view.lines[at + 1..].iter().filter_map(|line| match &line.body {
            ContextBody::Message(message) => read(message),
            ContextBody::Event(_) => None,
        });
        Some(messages.collect())
    }

    /// Returns the id of the message in this context, if it is there.
    fn id_in<'v>(&self, view: &'v View) -> Option<&'v str> {
        match &view.lines[self.place_in(view)?].body {
            ContextBody::Message(message) => message.str("id"),
            ContextBody::Event(_) => None,
        }
    }
}

/// Says whether a message is on disk.
pub(crate) enum AcceptResult {
    /// The message is on disk as this ledger entry.
    Yes(OwnEntry),
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
    pub(crate) async fn accept(&self, text: &str, by: &Interrupt) -> Result<AcceptResult, Failure> {
        let request = new_id();
        let request_id = format!("req_{request}");
        let inbound = Inbound {
            key: format!("terminal:{request}"),
            text: text.to_owned(),
            channel: "terminal".to_owned(),
            username: std::env::var("USER").ok().filter(|name| !name.is_empty()),
            request_id: request_id.clone(),
            ..Inbound::default()
        };
        let accepting = self.agent.accept(self.chat(), inbound);
        let warn = || {
            break_line();
            output::warning("your message is not on disk yet; Ctrl-C again leaves without it");
        };
        match by.heeded_with(accepting, warn).await {
            Some(accepted) => {
                let seq = accepted.map_err(not_accepted)?.seq;
                Ok(AcceptResult::Yes(OwnEntry { seq, request_id }))
            }
            None => Ok(AcceptResult::Unknown),
        }
    }

    /// Runs the chat until nothing is left to do, or follows the process that runs it.
    pub(crate) async fn run(&self, accepted: &OwnEntry, by: &Interrupt) -> Result<Ended, Failure> {
        // A person that stopped during the write wants no answer now.
        if by.was_asked() {
            return Ok(Ended::Left);
        }
        let mut waiting = Waiting::new(self.session, self.agent.listen(self.chat()));
        loop {
            match waiting.told(self.agent.run(self.chat(), &by.stop)).await {
                Ok(outcome @ Some(_)) => return Ok(Ended::Here(outcome)),
                Ok(None) => {
                    if let Some(message) = self.answered(accepted).await? {
                        return Ok(Ended::Elsewhere(message));
                    }
                    return Ok(if by.was_asked() { Ended::Left } else { Ended::Here(None) });
                }
                // Another process holds the lane and will find the message in the ledger.
                Err(error) if is_elsewhere(&error) => {
                    if let Some(message) = self.answered(accepted).await? {
                        return Ok(Ended::Elsewhere(message));
                    }
                    if by.was_asked() {
                        return Ok(Ended::Left);
                    }
                    if let Some(frozen) = waiting.tell_who_works().await? {
                        return Err(frozen.failure(KEPT));
                    }
                    tokio::time::sleep(LOOK_EVERY).await;
                }
                Err(error) => return Err(not_answered(error)),
            }
        }
    }

    /// Returns the answer to a message once it is in a context. Other messages may have been answered since, so the
    /// first answer after the question counts and not the newest. The context may have been left meanwhile.
    pub(crate) async fn answered(&self, accepted: &OwnEntry) -> Result<Option<UiMessage>, Failure> {
        let Some(chat) = self.session.store()?.open(self.chat()).await? else { return Ok(None) };
        let Some(view) = chat.log().view().await? else { return Ok(None) };
        if let Some(behind) = accepted.behind(&view) {
            return Ok(behind.into_iter().find(is_answer));
        }
        // A message that was not read from the ledger yet is in no context.
        if view.inbox < Some(accepted.seq) {
            return Ok(None);
        }
        for log in chat.log().sealed_logs(None, LOGS_LOOKED_AT).await? {
            let view = chat.log().sealed_view_if_left(&log.name).await?;
            if let Some(behind) = view.and_then(|view| accepted.behind(&view)) {
                return Ok(behind.into_iter().find(is_answer));
            }
        }
        Ok(None)
    }
}

impl MessageExchange<'_> {
    /// Returns the context in which a message was answered, if the chat is in another one now.
    pub(crate) async fn context_left(
        &self,
        accepted: &OwnEntry,
    ) -> Result<Option<ContextId>, Failure> {
        let Some(chat) = self.session.store()?.open(self.chat()).await? else { return Ok(None) };
        let Some(live) = chat.log().view().await? else { return Ok(None) };
        if accepted.place_in(&live).is_some() {
            return Ok(None);
        }
        for log in chat.log().sealed_logs(None, LOGS_LOOKED_AT).await? {
            let view = chat.log().sealed_view_if_left(&log.name).await?;
            if view.is_some_and(|view| accepted.place_in(&view).is_some()) {
                // A compaction replaces the log of a context, but the context continues.
                return Ok(Some(log.head.context).filter(|left| *left != live.head.context));
            }
        }
        Ok(None)
    }

    /// Returns what a run said to a message before it moved to another context, in order.
    pub(crate) async fn said_before(&self, accepted: &OwnEntry) -> Result<Vec<UiMessage>, Failure> {
        let Some(chat) = self.session.store()?.open(self.chat()).await? else {
            return Ok(Vec::new());
        };
        let Some(view) = chat.log().view().await? else { return Ok(Vec::new()) };
        // The earlier logs cannot contain a question that was read from the ledger only after them.
        if view.head.inbox < Some(accepted.seq) {
            return Ok(Vec::new());
        }
        let mut said = Vec::new();
        for log in chat.log().sealed_logs(None, LOGS_LOOKED_AT).await?.iter().rev() {
            let Some(view) = chat.log().sealed_view_if_left(&log.name).await? else { continue };
            let Some(question) = accepted.id_in(&view) else { continue };
            said.extend(
                view.messages().filter(|message| has_moved(message, question)).filter_map(read),
            );
        }
        said.dedup_by(|a, b| a.id() == b.id());
        Ok(said)
    }
}

/// Whether a run left this message behind when it took a question to another context.
fn has_moved(message: &Object, question: &str) -> bool {
    let moved = message.get("metadata").and_then(|metadata| metadata.get(MOVED)?.as_array());
    moved.unwrap_or_default().iter().any(|id| id.as_str() == Some(question))
}

/// Tells the person once, on standard error, what a delayed run waits for.
pub(crate) struct Waiting<'a> {
    session: &'a Session,
    listener: Listener,
    until: Instant,
    told: HolderNotice,
}

/// What the person was told about the process that holds the chat.
#[derive(Clone, Copy, PartialEq, Eq)]
enum HolderNotice {
    Nothing,
    AtWork,
    Frozen,
}

impl<'a> Waiting<'a> {
    pub(crate) fn new(session: &'a Session, listener: Listener) -> Self {
        Self { session, listener, until: Instant::now() + WAIT_UNTOLD, told: HolderNotice::Nothing }
    }

    /// Names the holder of the chat after one `lock.waitMs`. Returns a holder that was frozen all that time.
    async fn tell_who_works(&mut self) -> Result<Option<FrozenHolder>, Failure> {
        let frozen = FrozenHolder::of(self.session).await?;
        if frozen.is_some() && self.told == HolderNotice::Frozen {
            return Ok(frozen);
        }
        self.tell(frozen, "another process is at work in this chat; it answers you too");
        Ok(None)
    }

    fn tell(&mut self, frozen: Option<FrozenHolder>, otherwise: &str) {
        match &frozen {
            Some(frozen) if self.told != HolderNotice::Frozen => output::notice(&frozen.sentence()),
            None if self.told == HolderNotice::Nothing => output::notice(otherwise),
            Some(_) | None => {}
        }
        self.told = if frozen.is_some() { HolderNotice::Frozen } else { HolderNotice::AtWork };
    }

    /// Waits for a run. A run that sends events has begun and needs no note from us.
    pub(crate) async fn told<T>(&mut self, running: impl Future<Output = T>) -> T {
        let mut running = pin!(running);
        loop {
            tokio::select! {
                result = &mut running => return result,
                Some(_) = self.listener.next() => self.told = HolderNotice::AtWork,
                () = tokio::time::sleep_until(self.until), if self.told == HolderNotice::Nothing => {
                    // If the holder cannot be examined, the run itself reports the problem.
                    let frozen = FrozenHolder::of(self.session).await.ok().flatten();
                    self.tell(frozen, "waiting for this chat; another process may be at work in it");
                }
            }
        }
    }
}

/// Whether a message answers the person. A reference that was fetched for the answer does not, and neither does
/// what a run said before it took the question to another context.
fn is_answer(message: &UiMessage) -> bool {
    let was_moved = message.metadata().and_then(|metadata| metadata.get(MOVED)).is_some();
    message.role() == ship_message::Role::Assistant && !is_reference(message) && !was_moved
}

fn read(message: &Object) -> Option<UiMessage> {
    UiMessage::from_json(Json::Object(message.clone())).ok()
}

/// Returns the messages of a chat's active context.
pub(crate) async fn messages(store: &dyn Store, key: &ChatKey) -> Result<Vec<UiMessage>, Failure> {
    let Some(chat) = store.open(key).await? else { return Ok(Vec::new()) };
    let Some(view) = chat.log().view().await? else { return Ok(Vec::new()) };
    Ok(view.messages().filter_map(read).collect())
}

/// Returns the calls in a message that wait for a result.
pub(crate) fn waits_for(message: &UiMessage) -> Vec<(String, String, Json)> {
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
    Context(&'a str),
    /// The context is being compacted.
    MakingRoom(&'a str),
    /// The context was compacted.
    MadeRoom(&'a str),
    /// Any other notice.
    Other(&'a str),
}

/// Returns the notice if this part is one.
pub(crate) fn notice(part: &Object) -> Option<Notice<'_>> {
    (part.str("type") == Some("data-notice")).then_some(())?;
    let data = part.get("data")?;
    let text = data.get("text")?.as_str()?;
    Some(match data.get("kind").and_then(Json::as_str) {
        Some("context") => Notice::Context(text),
        Some("compacting") => Notice::MakingRoom(text),
        Some("compacted") => Notice::MadeRoom(text),
        _ => Notice::Other(text),
    })
}

/// Returns sixteen random hex digits.
fn new_id() -> String {
    use ship_agent::IdSource;
    format!("{:016x}", ship_agent::RandomIds.next())
}
