//! A chat with a scripted provider on a simulated disk: what compactions are measured and tormented in.

use std::sync::Arc;

use ship_agent::{Agent, AgentBuilder, Inbound, Rules, built_in_tools};
use ship_provider::{ApiKey, HttpProvider, HttpSettings};
use ship_store::{ChatKey, FileStore, Store, StoreOptions};
use ship_testkit::chat::options;
use ship_testkit::clock::ManualClock;
use ship_testkit::llm::{Exchange, LlmServer, Rules as Judge};
use ship_testkit::sim::SimDisk;

pub(crate) use ship_testkit::summary::SUMMARY;

/// What a chat is made of. Made again of the same, its agent is the one after a restart.
pub(crate) struct Talk {
    pub(crate) server: LlmServer,
    pub(crate) disk: SimDisk,
    pub(crate) clock: ManualClock,
    pub(crate) chat: ChatKey,
    rules: Rules,
    window: u64,
}

impl Talk {
    /// A provider that takes `window` tokens and counts `factor` times ours.
    pub(crate) fn new(window: u64, factor: f64, rules: Rules) -> Result<Self, String> {
        let judge = Judge { window: Some(window), token_factor: factor, ..Judge::default() };
        Ok(Self {
            server: LlmServer::with(judge),
            disk: SimDisk::new(),
            clock: ManualClock::default(),
            chat: "terminal:main".parse().map_err(|error| format!("{error}"))?,
            rules,
            window,
        })
    }

    /// The store as one process sees it, and the agent in it.
    pub(crate) fn agent(&self) -> Result<(Arc<FileStore>, Agent), String> {
        let clock = Arc::new(self.clock.clone());
        let options = StoreOptions { clock: clock.clone(), ..options() };
        let store = Arc::new(FileStore::on_disk(Box::new(self.disk.clone()), options));
        let mut settings = HttpSettings::openai("test-model");
        settings.base_url = self.server.url_v1();
        settings.window = Some(self.window);
        settings.retries = 0;
        settings.key = Some(ApiKey::new("sk-test"));
        let provider = HttpProvider::openai(settings).map_err(|error| error.to_string())?;
        let agent = Agent::builder()
            .shared_store(Arc::clone(&store) as Arc<dyn Store>)
            .provider(provider)
            .without_built_in_tools()
            .rules(self.rules.clone())
            .clock(clock);
        let agent = built_in_tools().into_iter().fold(agent, AgentBuilder::tool).build();
        Ok((store, agent))
    }
}

/// A message; the same text is the same message.
pub(crate) fn inbound(nth: usize, text: &str) -> Inbound {
    Inbound {
        key: format!("k{nth}"),
        text: text.to_owned(),
        request_id: format!("req_{nth}"),
        ..Inbound::default()
    }
}

/// Whether a request asks for a summary.
pub(crate) fn asks_for_summary(exchange: &Exchange<'_>) -> bool {
    exchange.body.to_string().contains("You keep the memory of a long chat")
}

/// Words of about this number of `tokens`.
pub(crate) fn words(tokens: usize) -> String {
    "the ship sails at dawn and ".chars().cycle().take(tokens * 26 / 6).collect()
}
