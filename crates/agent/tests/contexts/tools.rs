//! The tools of the chat under test.

use std::sync::{Arc, Mutex};

use ship_agent::{Agent, ContextOperation, Inbound, OperationOutcome, Tool, ToolFuture};
use ship_message::json::{Json, Object};
use ship_store::{LedgerSeq, Store};
use tokio::task::JoinHandle;

use crate::harness::chat;

fn schema() -> Json {
    Json::Object(Object::from([("type", "object")]))
}

/// Something that must not be done twice; it notes its inputs.
pub(crate) fn effect(inputs: Arc<Mutex<Vec<String>>>) -> Tool {
    Tool::with_schema("effect", "for tests", schema(), move |input, _| {
        let inputs = Arc::clone(&inputs);
        Box::pin(async move {
            inputs.lock().unwrap().push(input.to_string());
            Ok(Json::from("done"))
        })
    })
}

/// What happens in the chat while a run is at work.
#[derive(Clone, Debug)]
pub(crate) enum Happens {
    Operation(ContextOperation),
    Message(Box<Inbound>),
}

/// A tool that ends when others have asked for something. Clones are the same tool.
#[derive(Clone, Default)]
pub(crate) struct Meanwhile {
    pub(crate) agent: Arc<Mutex<Option<Agent>>>,
    pub(crate) store: Arc<Mutex<Option<Arc<dyn Store>>>>,
    pub(crate) happens: Arc<Mutex<Vec<Happens>>>,
    /// Who waits for what comes of them.
    waiting: Arc<Mutex<Vec<JoinHandle<()>>>>,
    /// What came of the operations.
    pub(crate) operated: Arc<Mutex<Vec<OperationOutcome>>>,
}

impl Meanwhile {
    pub(crate) fn operation(&self, operation: ContextOperation) {
        self.happens.lock().unwrap().push(Happens::Operation(operation));
    }

    pub(crate) fn message(&self, inbound: Inbound) {
        self.happens.lock().unwrap().push(Happens::Message(Box::new(inbound)));
    }

    /// Waits until all that was asked for is done or queued.
    pub(crate) async fn settled(&self) {
        loop {
            let Some(one) = self.waiting.lock().unwrap().pop() else { return };
            one.await.unwrap();
        }
    }

    /// The process is gone, and who waited in it as well.
    pub(crate) fn end(&self) {
        self.waiting.lock().unwrap().drain(..).for_each(|one| one.abort());
    }

    /// The end of the ledger, which an operation that is asked for moves.
    async fn newest_entry(&self) -> Option<LedgerSeq> {
        let store = self.store.lock().unwrap().clone().unwrap();
        let chat = store.open(&chat()).await.unwrap().unwrap();
        chat.ledger().before(None, 1).await.unwrap().first().map(|line| line.seq)
    }

    async fn let_happen(&self, agent: &Agent, happens: Happens) {
        match happens {
            Happens::Message(inbound) => drop(agent.accept(&chat(), *inbound).await),
            Happens::Operation(operation) => {
                let before = self.newest_entry().await;
                let (agent, operated) = (agent.clone(), Arc::clone(&self.operated));
                let asked = tokio::spawn(async move {
                    if let Ok(done) = agent.operate(&chat(), operation, "elsewhere").await {
                        operated.lock().unwrap().push(done);
                    }
                });
                while !asked.is_finished() && self.newest_entry().await == before {
                    tokio::task::yield_now().await;
                }
                self.waiting.lock().unwrap().push(asked);
            }
        }
    }
}

impl Meanwhile {
    pub(crate) fn tool(&self) -> Tool {
        let this = self.clone();
        let run = move |_, _| -> ToolFuture {
            let this = this.clone();
            Box::pin(async move {
                let agent = this.agent.lock().unwrap().clone().ok_or("no agent")?;
                let happens = std::mem::take(&mut *this.happens.lock().unwrap());
                // Others go on even if the run ends the tool for what they ask.
                let (others, waiting) = (this.clone(), Arc::clone(&this.waiting));
                let (sender, all_asked) = tokio::sync::oneshot::channel();
                waiting.lock().unwrap().push(tokio::spawn(async move {
                    for one in happens {
                        others.let_happen(&agent, one).await;
                    }
                    let _ = sender.send(());
                }));
                all_asked.await.map_err(|_| "the others are gone")?;
                Ok(Json::from("meanwhile"))
            })
        };
        Tool::with_schema("meanwhile", "for tests", schema(), run).safe_to_repeat()
    }
}
