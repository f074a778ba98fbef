//! One turn: a message is accepted, and its answer followed.

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

/// How often another process that runs the chat is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(40);

/// A question that was answered a moment ago is in one of the logs that were left last.
const LOGS_LOOKED_AT: usize = 4;

/// A person who waits this long for a run to begin is told what for.
const WAIT_UNTOLD: Duration = Duration::from_secs(1);

/// A message on its way into a chat.
pub(crate) struct MessageExchange<'a> {
    session: &'a Session,
    agent: &'a Agent,
}

/// What a turn came to.
pub(crate) enum Ended {
    /// The run ended in this process.
    Here(Option<Outcome>),
    /// Another process answered with this.
    Elsewhere(UiMessage),
    /// The message is kept, and the person does not wait for its answer.
    Left,
}

/// The ledger entry of a message that was sent from here. A place alone may have been another's before a ledger
/// was restored from a copy, so what the message is called counts too.
#[derive(Clone, Debug)]
pub(crate) struct OwnEntry {
    seq: LedgerSeq,
    request_id: String,
}

impl OwnEntry {
    /// The place of the message in a context, if it is there.
    fn place_in(&self, view: &View) -> Option<usize> {
        view.lines.iter().position(|line| {
            let ContextBody::Message(message) = &line.body else { return false };
            let request = message.get("metadata").and_then(|it| it.get("requestId")?.as_str());
            line.inbox.is_none_or(|seq| seq == self.seq)
                && message.str("role") == Some("user")
                && request == Some(&self.request_id)
        })
    }

    /// What was said behind the message, if it is in this context.
    fn behind(&self, view: &View) -> Option<Vec<UiMessage>> {
        let at = self.place_in(view)?;
        let messages = view.lines[at + 1..].iter().filter_map(|line| match &line.body {
            ContextBody::Message(message) => read(message),
            ContextBody::Event(_) => None,
        });
        Some(messages.collect())
    }

    /// What the message is called in this context, if it is there.
    fn id_in<'v>(&self, view: &'v View) -> Option<&'v str> {
        match &view.lines[self.place_in(view)?].body {
            ContextBody::Message(message) => message.str("id"),
            ContextBody::Event(_) => None,
        }
    }
}

/// Whether a message is on disk.
pub(crate) enum AcceptResult {
    /// It is, as this entry of the ledger.
    Yes(OwnEntry),
    /// The person did not wait for it: it may have been written, or not.
    Unknown,
}

impl<'a> MessageExchange<'a> {
    pub(crate) fn new(session: &'a Session, agent: &'a Agent) -> Self {
        Self { session, agent }
    }

    fn chat(&self) -> &ChatKey {
        &self.session.chat
    }

    /// Makes a message durable. The person may leave before it is; nothing is promised then.
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

    /// Runs the chat until nothing is to be done, or follows whoever runs it.
    pub(crate) async fn run(&self, accepted: &OwnEntry, by: &Interrupt) -> Result<Ended, Failure> {
        // Who stopped while the message was written wants no answer now.
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
                // Somebody else has the lane, and will find the message in the ledger.
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

    /// The answer to a message, once it is in a context. Others may have been answered since, so it is
    /// not the newest one that counts but the first behind the question; and that context may have been left.
    pub(crate) async fn answered(&self, accepted: &OwnEntry) -> Result<Option<UiMessage>, Failure> {
        let Some(chat) = self.session.store()?.open(self.chat()).await? else { return Ok(None) };
        let Some(view) = chat.view().await? else { return Ok(None) };
        if let Some(behind) = accepted.behind(&view) {
            return Ok(behind.into_iter().find(is_answer));
        }
        // What was not read from the ledger yet is nowhere.
        if view.inbox < Some(accepted.seq) {
            return Ok(None);
        }
        for log in chat.sealed_logs(None, LOGS_LOOKED_AT).await? {
            let view = chat.sealed_view_if_left(&log.name).await?;
            if let Some(behind) = view.and_then(|view| accepted.behind(&view)) {
                return Ok(behind.into_iter().find(is_answer));
            }
        }
        Ok(None)
    }
}

impl MessageExchange<'_> {
    /// Returns the context in which a message was answered, if the chat is in another one by now.
    pub(crate) async fn context_left(
        &self,
        accepted: &OwnEntry,
    ) -> Result<Option<ContextId>, Failure> {
        let Some(chat) = self.session.store()?.open(self.chat()).await? else { return Ok(None) };
        let Some(live) = chat.view().await? else { return Ok(None) };
        if accepted.place_in(&live).is_some() {
            return Ok(None);
        }
        for log in chat.sealed_logs(None, LOGS_LOOKED_AT).await? {
            let view = chat.sealed_view_if_left(&log.name).await?;
            if view.is_some_and(|view| accepted.place_in(&view).is_some()) {
                // A compaction replaces the log of a context, which goes on.
                return Ok(Some(log.head.context).filter(|left| *left != live.head.context));
            }
        }
        Ok(None)
    }

    /// What a run has said to a message before it took it to another context, in order.
    pub(crate) async fn said_before(&self, accepted: &OwnEntry) -> Result<Vec<UiMessage>, Failure> {
        let Some(chat) = self.session.store()?.open(self.chat()).await? else {
            return Ok(Vec::new());
        };
        let Some(view) = chat.view().await? else { return Ok(Vec::new()) };
        // A question that the logs before this one had not read from the ledger is in none of them.
        if view.head.inbox < Some(accepted.seq) {
            return Ok(Vec::new());
        }
        let mut said = Vec::new();
        for log in chat.sealed_logs(None, LOGS_LOOKED_AT).await?.iter().rev() {
            let Some(view) = chat.sealed_view_if_left(&log.name).await? else { continue };
            let Some(question) = accepted.id_in(&view) else { continue };
            said.extend(
                view.messages().filter(|message| has_moved(message, question)).filter_map(read),
            );
        }
        said.dedup_by(|a, b| a.id() == b.id());
        Ok(said)
    }
}

/// Whether a message is what a run has left behind when it took a question along.
fn has_moved(message: &Object, question: &str) -> bool {
    let moved = message.get("metadata").and_then(|metadata| metadata.get(MOVED)?.as_array());
    moved.unwrap_or_default().iter().any(|id| id.as_str() == Some(question))
}

/// Tells the person once, on standard error, what a run that does not begin waits for.
pub(crate) struct Waiting<'a> {
    session: &'a Session,
    listener: Listener,
    until: Instant,
    told: HolderNotice,
}

/// What the person was told of the process that is waited for.
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

    /// Tells who has the chat after the time of one `lock.waitMs`. Gives a holder that was frozen all that time.
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

    /// Waits for a run. One that tells anything has begun, and needs no word from us.
    pub(crate) async fn told<T>(&mut self, running: impl Future<Output = T>) -> T {
        let mut running = pin!(running);
        loop {
            tokio::select! {
                result = &mut running => return result,
                Some(_) = self.listener.next() => self.told = HolderNotice::AtWork,
                () = tokio::time::sleep_until(self.until), if self.told == HolderNotice::Nothing => {
                    // What cannot be looked at is told by the run itself.
                    let frozen = FrozenHolder::of(self.session).await.ok().flatten();
                    self.tell(frozen, "waiting for this chat; another process may be at work in it");
                }
            }
        }
    }
}

/// Whether somebody is answered by a message: not by what was fetched for the answer, nor by what a run had said
/// before it took the question to another context.
fn is_answer(message: &UiMessage) -> bool {
    let was_moved = message.metadata().and_then(|metadata| metadata.get(MOVED)).is_some();
    message.role() == ship_message::Role::Assistant && !is_reference(message) && !was_moved
}

fn read(message: &Object) -> Option<UiMessage> {
    UiMessage::from_json(Json::Object(message.clone())).ok()
}

/// The messages of a chat's active context.
pub(crate) async fn messages(store: &dyn Store, key: &ChatKey) -> Result<Vec<UiMessage>, Failure> {
    let Some(chat) = store.open(key).await? else { return Ok(Vec::new()) };
    let Some(view) = chat.view().await? else { return Ok(Vec::new()) };
    Ok(view.messages().filter_map(read).collect())
}

/// What a run waits for, as its last events tell.
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

/// What the person should know while a run goes on.
pub(crate) enum Notice<'a> {
    /// The chat goes on in another context, or its contexts have changed.
    Context(&'a str),
    /// Room is being made in the context.
    MakingRoom(&'a str),
    /// Room was made.
    MadeRoom(&'a str),
    /// Something else.
    Other(&'a str),
}

/// What the person should know, if this part says it.
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

/// Sixteen hex digits that nobody else has.
fn new_id() -> String {
    use ship_agent::IdSource;
    format!("{:016x}", ship_agent::RandomIds::default().next())
}
