//! A chat on a simulated disk, with a model in the same process: for what a network would make slow.

use std::sync::Arc;

use ship_agent::{Agent, Inbound, Outcome, Rules, RunError, Stop};
use ship_message::UiMessage;
use ship_store::disk::Disk;
use ship_store::{About, Chat, FileStore, NewLine, Store, StoreOptions, View};
use ship_testkit::chat::{first_context, options};
use ship_testkit::clock::ManualClock;
use ship_testkit::scripted_model::{ScriptedModel, text};
use ship_testkit::sim::SimDisk;

use super::world::{SUMMARY, chat, message, words};

/// A model that sums up when it is asked to, and says "Aye." otherwise.
pub(crate) fn model() -> ScriptedModel {
    ScriptedModel::new(|_| text("Aye.")).with_summary(SUMMARY)
}

/// What a chat is made of. Made again of the same, it is the chat after a restart.
#[derive(Clone)]
pub(crate) struct Setup {
    pub(crate) disk: SimDisk,
    pub(crate) model: ScriptedModel,
    pub(crate) rules: Rules,
    pub(crate) clock: ManualClock,
}

impl Setup {
    /// A chat with so many messages behind it, whose next turn is compacted.
    pub(crate) async fn grown(disk: SimDisk, messages: usize) -> Self {
        let rules =
            Rules { input_tokens_max: Some(1_500), keep_last_messages: 4, ..Rules::default() };
        let setup = Self { disk, model: model(), rules, clock: ManualClock::default() };
        setup.local().say_before(messages).await;
        setup
    }

    pub(crate) fn local(&self) -> Local {
        Local::on(Box::new(self.disk.clone()), self)
    }
}

/// An agent in a chat.
pub(crate) struct Local {
    pub(crate) agent: Agent,
    pub(crate) store: Arc<FileStore>,
}

impl Local {
    pub(crate) fn on(disk: Box<dyn Disk>, setup: &Setup) -> Self {
        let clock = Arc::new(setup.clock.clone());
        let store =
            Arc::new(FileStore::on_disk(disk, StoreOptions { clock: clock.clone(), ..options() }));
        let agent = Agent::builder()
            .store(Arc::clone(&store) as Arc<dyn Store>)
            .provider(setup.model.clone())
            .without_built_in_tools()
            .rules(setup.rules.clone())
            .clock(clock)
            .build();
        Self { agent, store }
    }

    /// Writes messages to a new chat, without asking anybody.
    async fn say_before(&self, messages: usize) {
        let chat = self.store.create(&chat(), About::default()).await.unwrap();
        let lane = chat.lane("test").await.unwrap();
        let position = lane.rotate(first_context()).await.unwrap().position;
        let said = |nth: usize| {
            let role = if nth.is_multiple_of(2) { "user" } else { "assistant" };
            NewLine::from(message(&format!("m{nth}"), role, &format!("{nth:03} {}", words(150))))
        };
        lane.append((0..messages).map(said).collect(), position).await.unwrap();
    }

    pub(crate) async fn accept(&self, text: &str) -> bool {
        let inbound = Inbound {
            key: text.to_owned(),
            text: text.to_owned(),
            request_id: format!("req {text:.8}"),
            ..Inbound::default()
        };
        self.agent.accept(&chat(), inbound).await.is_ok()
    }

    pub(crate) async fn run(&self) -> Result<Option<Outcome>, RunError> {
        self.agent.run(&chat(), &Stop::default()).await
    }

    pub(crate) async fn say(&self, text: &str) -> Option<Outcome> {
        assert!(self.accept(text).await);
        self.run().await.unwrap()
    }

    pub(crate) async fn chat(&self) -> Arc<dyn Chat> {
        self.store.open(&chat()).await.unwrap().unwrap()
    }

    pub(crate) async fn view(&self) -> View {
        self.chat().await.log().view().await.unwrap().unwrap()
    }

    pub(crate) async fn messages(&self) -> Vec<UiMessage> {
        self.view().await.messages().cloned().collect()
    }

    pub(crate) async fn ids(&self) -> Vec<String> {
        let messages = self.messages().await;
        messages.iter().map(|message| message.id().unwrap().to_owned()).collect()
    }
}
