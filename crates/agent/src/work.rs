//! A run's place of work: the chat, the right to write it, and what the context holds.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use ship_context::Journal;
use ship_message::json::{Json, Object};
use ship_message::{UiMessage, UiPart};
use ship_store::{AcceptError, AppendError, Chat, Entry, Lane, NewEntry, NewEvent, Position, View};
use tokio::sync::Mutex;

use crate::RunNote;
use crate::events::RunEvent;
use crate::inbound::millis;
use crate::run::Inner;
use crate::skills::{self, SkillState};

/// What a tool can have done to the chat.
pub(crate) trait Operations: Send + Sync {
    fn deliver(&self, call_id: String, text: String) -> Doing<'_, Result<Json, String>>;
    fn skills(&self) -> Doing<'_, Json>;
    fn set_skill(&self, name: String, loaded: bool) -> Doing<'_, Result<Json, String>>;
}

pub(crate) type Doing<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The context while the lane is held: nobody else changes it.
pub(crate) struct Work {
    pub(crate) agent: Arc<Inner>,
    pub(crate) chat: Arc<dyn Chat>,
    pub(crate) lane: Arc<dyn Lane>,
    pub(crate) run_id: String,
    pub(crate) request_id: String,
    log: Mutex<Log>,
}

/// What is known of the log: kept up with every write, so that it is read once a run.
struct Log {
    position: Position,
    messages: Arc<[UiMessage]>,
    loaded: Vec<String>,
    /// Texts that `chat_send` has delivered in this run.
    sent: Vec<String>,
}

impl Work {
    pub(crate) fn new(
        agent: Arc<Inner>,
        chat: Arc<dyn Chat>,
        lane: Arc<dyn Lane>,
        view: &View,
        journal: &Journal,
    ) -> Self {
        let log = Log {
            position: view.position,
            messages: messages(view).into(),
            loaded: skills::loaded_names(view),
            sent: sent(&journal.message),
        };
        let (run_id, request_id) = (journal.start.run_id.clone(), journal.start.request_id.clone());
        Self { agent, chat, lane, run_id, request_id, log: Mutex::new(log) }
    }

    /// What was said before this run, and the skills that are loaded.
    pub(crate) async fn context(&self) -> (Arc<[UiMessage]>, Vec<String>) {
        let log = self.log.lock().await;
        (Arc::clone(&log.messages), log.loaded.clone())
    }

    /// Appends to the context log.
    pub(crate) async fn append(&self, batch: Vec<Entry>) -> Result<(), AppendError> {
        let mut log = self.log.lock().await;
        log.position = self.lane.append(batch, log.position).await?;
        Ok(())
    }

    /// Writes a line to the log.
    pub(crate) fn note(&self, note: RunNote) {
        let (request_id, run_id) = (self.request_id.clone(), self.run_id.clone());
        self.agent.log.write(self.chat.key(), RunNote { request_id, run_id, ..note });
    }

    pub(crate) fn tell(&self, event: &RunEvent) {
        self.agent.hub.tell(self.chat.key(), event);
    }

    /// Records in the ledger what the person was told, once for each key.
    pub(crate) async fn record_sent(
        &self,
        key: String,
        text: &str,
        via: Via,
    ) -> Result<bool, AcceptError> {
        let mut entry = Object::from([
            ("v", Json::from(1u64)),
            ("ts", millis(self.agent.clock.now())),
            ("role", "assistant".into()),
            ("text", text.into()),
            ("chatKey", self.chat.key().as_str().into()),
            ("requestId", self.request_id.as_str().into()),
        ]);
        if via == Via::Tool {
            entry.set("meta", Object::from([("via", "tool")]));
        }
        Ok(self.chat.accept(NewEntry { key, entry }).await?.new)
    }
}

/// How the person was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Via {
    /// By the answer itself.
    Answer,
    /// By `chat_send`.
    Tool,
}

/// The texts that `chat_send` has delivered, as the run's own message tells.
fn sent(message: &UiMessage) -> Vec<String> {
    let text = |part: &UiPart| match part {
        UiPart::Tool(tool) if tool.name() == Some("chat_send") && tool.output().is_some() => {
            tool.input()?.get("text")?.as_str().map(str::to_owned)
        }
        _ => None,
    };
    let mut texts: Vec<String> = Vec::new();
    for text in message.parts().iter().filter_map(text) {
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    texts
}

/// The messages of a view.
pub(crate) fn messages(view: &View) -> Vec<UiMessage> {
    let read = |message: &Object| UiMessage::from_json(Json::Object(message.clone())).ok();
    view.messages().filter_map(read).collect()
}

impl Operations for Work {
    fn deliver(&self, _call_id: String, text: String) -> Doing<'_, Result<Json, String>> {
        Box::pin(async move {
            let mut log = self.log.lock().await;
            // The same answer whether it was delivered now or before: a call that is made again after a
            // crash must not differ from one that was made once.
            let delivered = || Ok(Json::Object(Object::from([("delivered", true)])));
            if log.sent.contains(&text) {
                return delivered();
            }
            if log.sent.len() >= self.agent.rules.chat_sends_max {
                return Err(format!(
                    "chat_send may deliver {} texts in one run, and has. Finish your answer instead.",
                    self.agent.rules.chat_sends_max
                ));
            }
            // The key names the request and the text, so that a call made again after a crash sends nothing.
            let key = format!("send:{}:{}", self.request_id, crate::digest(text.as_bytes()));
            let new =
                self.record_sent(key, &text, Via::Tool).await.map_err(|error| error.to_string())?;
            log.sent.push(text.clone());
            if new {
                self.tell(&RunEvent::Sent(text));
            }
            delivered()
        })
    }

    fn skills(&self) -> Doing<'_, Json> {
        Box::pin(async move {
            let loaded = self.log.lock().await.loaded.clone();
            skills::to_json(&self.agent.surroundings.skills(), &loaded)
        })
    }

    fn set_skill(&self, name: String, load: bool) -> Doing<'_, Result<Json, String>> {
        Box::pin(async move {
            let skills = self.agent.surroundings.skills();
            let known = skills.iter().find(|skill| skill.name == name);
            let mut log = self.log.lock().await;
            let is_loaded = log.loaded.contains(&name);
            let answer = |state: &str| {
                Ok(Json::Object(Object::from([("skill", name.as_str()), ("state", state)])))
            };
            match (load, known.map(|skill| &skill.state)) {
                (true, None) => return Err(no_skill(&name, &skills)),
                (true, Some(SkillState::Unusable(reason))) => {
                    return Err(format!("the skill `{name}` cannot be used: {reason}"));
                }
                (true, Some(SkillState::Usable(_))) if is_loaded => {
                    return answer("was loaded already");
                }
                (false, _) if !is_loaded => {
                    return Err(format!("the skill `{name}` is not loaded"));
                }
                (true, Some(SkillState::Usable(_))) | (false, _) => {}
            }
            let event = NewEvent {
                id: format!("e_{:016x}", self.agent.ids.next()),
                ts: self.agent.clock.now(),
                event: if load { skills::LOADED } else { skills::UNLOADED }.to_owned(),
                data: Json::Object(Object::from([("skill", name.as_str())])),
                ref_msg_id: None,
            };
            let position = self.lane.append(vec![event.into()], log.position).await;
            log.position = position.map_err(|error| error.to_string())?;
            if load {
                log.loaded.push(name.clone());
                answer("loaded; its text is in the system blocks from now on")
            } else {
                log.loaded.retain(|known| *known != name);
                answer("unloaded")
            }
        })
    }
}

fn no_skill(name: &str, skills: &[crate::SkillText]) -> String {
    let names: Vec<&str> = skills.iter().map(|skill| skill.name.as_str()).collect();
    if names.is_empty() {
        format!("there is no skill `{name}`; this project has none")
    } else {
        format!("there is no skill `{name}`; there are: {}", names.join(", "))
    }
}
