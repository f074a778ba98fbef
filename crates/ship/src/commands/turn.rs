//! One turn: a message is accepted, and its answer followed.

use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ship_agent::{Agent, Inbound, Outcome, RunError, Stop};
use ship_message::json::Json;
use ship_message::{UiMessage, UiPart};
use ship_store::{ChatKey, LaneError, LedgerSeq, StorageError, Store};

use crate::failure::Failure;
use crate::session::Session;

/// How often another process that runs the chat is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(40);

/// A message on its way into a chat.
pub(crate) struct Turn<'a> {
    session: &'a Session,
    agent: &'a Agent,
}

/// What a turn came to.
pub(crate) enum Ended {
    /// The run ended in this process.
    Here(Option<Outcome>),
    /// Another process answered with this.
    Elsewhere(UiMessage),
    /// Another process is at work, and the person does not wait for it.
    Left,
}

impl<'a> Turn<'a> {
    pub(crate) fn new(session: &'a Session, agent: &'a Agent) -> Self {
        Self { session, agent }
    }

    fn chat(&self) -> &ChatKey {
        &self.session.chat
    }

    /// Makes a message durable. When this returns, it is on disk.
    pub(crate) async fn accept(&self, text: &str) -> Result<LedgerSeq, Failure> {
        let request = new_id();
        let inbound = Inbound {
            key: format!("terminal:{request}"),
            text: text.to_owned(),
            channel: "terminal".to_owned(),
            username: std::env::var("USER").ok().filter(|name| !name.is_empty()),
            request_id: format!("req_{request}"),
            ..Inbound::default()
        };
        Ok(self.agent.accept(self.chat(), inbound).await?.seq)
    }

    /// Runs the chat until nothing is to be done, or follows whoever runs it.
    pub(crate) async fn run(&self, accepted: LedgerSeq, by: &Interrupt) -> Result<Ended, Failure> {
        loop {
            match self.agent.run(self.chat(), &by.stop).await {
                Ok(None) => {
                    let message = self.answered(accepted).await?;
                    return Ok(message.map_or(Ended::Here(None), Ended::Elsewhere));
                }
                Ok(outcome) => return Ok(Ended::Here(outcome)),
                // Somebody else has the lane, and will find the message in the ledger.
                Err(error) if is_elsewhere(&error) => {
                    if let Some(message) = self.answered(accepted).await? {
                        return Ok(Ended::Elsewhere(message));
                    }
                    if by.was_asked() {
                        return Ok(Ended::Left);
                    }
                    tokio::time::sleep(LOOK_EVERY).await;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// The answer to a message, once it is in the context. Others may have been answered since, so it is
    /// not the newest one that counts but the first behind the question.
    pub(crate) async fn answered(&self, accepted: LedgerSeq) -> Result<Option<UiMessage>, Failure> {
        let messages = messages(&*self.session.store()?, self.chat()).await?;
        let question = format!("u_{accepted}");
        let at = messages.iter().position(|message| message.id() == Some(&question));
        Ok(at.and_then(|at| messages.into_iter().skip(at + 1).find(is_answer)))
    }
}

/// Whether an error says only that another process runs the chat.
pub(crate) fn is_elsewhere(error: &RunError) -> bool {
    matches!(error, RunError::Lane(LaneError::Storage(StorageError::Busy(_))))
}

/// The person's wish to stop, by Ctrl-C: the run ends and keeps what was said.
#[derive(Default)]
pub(crate) struct Interrupt {
    pub(crate) stop: Stop,
    asked: AtomicBool,
}

impl Interrupt {
    fn was_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }

    /// Lets Ctrl-C stop what is running, and waits until it has kept what was said. A second Ctrl-C does
    /// not wait: whatever is on its way then is gone on with the next time.
    pub(crate) async fn heeded<T>(&self, running: impl Future<Output = T>) -> Option<T> {
        let mut running = pin!(running);
        tokio::select! {
            // Listened to first, so that there is no moment in which Ctrl-C would end the program.
            biased;
            _ = tokio::signal::ctrl_c() => {}
            result = &mut running => return Some(result),
        }
        self.asked.store(true, Ordering::Relaxed);
        self.stop.stop();
        tokio::select! {
            result = running => Some(result),
            _ = tokio::signal::ctrl_c() => None,
        }
    }
}

fn is_answer(message: &UiMessage) -> bool {
    message.role() == ship_message::Role::Assistant
}

/// The messages of a chat's active context.
pub(crate) async fn messages(store: &dyn Store, key: &ChatKey) -> Result<Vec<UiMessage>, Failure> {
    let Some(chat) = store.open(key).await? else { return Ok(Vec::new()) };
    let Some(view) = chat.view().await? else { return Ok(Vec::new()) };
    let read = |message: &ship_message::json::Object| {
        UiMessage::from_json(Json::Object(message.clone())).ok()
    };
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

/// Sixteen hex digits that nobody else has.
fn new_id() -> String {
    use ship_agent::Ids;
    format!("{:016x}", ship_agent::RandomIds::default().next())
}
