//! Hosts of which nothing is configured: what one process learns of them, it and all later ones know.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ship_agent::{Agent, Inbound, Outcome, Rules, RunLog, Stop};
use ship_message::json::Json;
use ship_provider::{ApiKey, CachedSequence, HttpProvider, HttpSettings};
use ship_store::disk::{Disk as _, OpenMode};
use ship_store::{FileStore, StoreOptions};
use ship_testkit::llm::{Answer, Format, LlmServer, Rules as Judge, Status, count};
use ship_testkit::random::Random;
use ship_testkit::sim::SimDisk;

use crate::harness::{KeptLog, chat};

mod learned;
mod long_talk;
mod odd_forms;

const FORMATS: [Format; 2] = [Format::OpenAi, Format::Anthropic];

/// A host, and the project folder of the agents that ask it.
struct Host {
    server: LlmServer,
    disk: SimDisk,
    format: Format,
    log: Arc<KeptLog>,
    said: AtomicUsize,
}

impl Host {
    /// A host whose window has `takes` tokens.
    fn new(format: Format, takes: u64) -> Self {
        let server = LlmServer::with(Judge { window: Some(takes), ..Judge::default() });
        server.otherwise(Answer::judge(|exchange| {
            match exchange.body.to_string().contains("You keep the memory of a long chat") {
                true => Answer::summary(),
                false => Answer::text("Aye."),
            }
        }));
        let (disk, log) = (SimDisk::new(), Arc::default());
        Self { server, disk, format, log, said: AtomicUsize::new(0) }
    }

    /// An agent in a new process, without any settings.
    fn agent(&self) -> Agent {
        self.agent_with(None, Rules::default())
    }

    fn agent_with(&self, window: Option<u64>, rules: Rules) -> Agent {
        self.agent_set(rules, |settings| settings.window = window)
    }

    fn agent_set(&self, rules: Rules, set: impl FnOnce(&mut HttpSettings)) -> Agent {
        let model = "test-model";
        let mut settings = match self.format {
            Format::OpenAi => HttpSettings::openai(model),
            Format::Anthropic => HttpSettings::anthropic(model),
        };
        settings.base_url = match self.format {
            Format::OpenAi => self.server.url_v1(),
            Format::Anthropic => self.server.url(),
        };
        settings.retries = 0;
        settings.key = Some(ApiKey::new("sk-test"));
        set(&mut settings);
        let provider = match self.format {
            Format::OpenAi => HttpProvider::openai(settings),
            Format::Anthropic => HttpProvider::anthropic(settings),
        };
        let store = FileStore::on_disk(Box::new(self.disk.clone()), StoreOptions::default());
        Agent::builder()
            .store(Arc::new(store))
            .provider(provider.unwrap())
            .rules(rules)
            .log(Arc::clone(&self.log) as Arc<dyn RunLog>)
            .build()
    }

    async fn say(&self, agent: &Agent, text: &str) -> Option<Outcome> {
        let key = format!("k{}", self.said.fetch_add(1, Ordering::SeqCst));
        let inbound = Inbound { key, text: text.to_owned(), ..Inbound::default() };
        agent.accept(&chat(), inbound).await.unwrap();
        agent.run(&chat(), &Stop::default()).await.unwrap()
    }

    /// The requests that were refused, by the number of the request.
    fn refused(&self) -> Vec<usize> {
        let all = self.server.requests();
        let refused = all.iter().enumerate().filter(|(_, one)| one.refused.is_some());
        refused.map(|(at, _)| at).collect()
    }

    fn bodies(&self) -> Vec<String> {
        let all = self.server.requests();
        all.iter().map(|one| String::from_utf8_lossy(&one.body).into_owned()).collect()
    }

    fn max_tokens(&self) -> Vec<u64> {
        let max = |body: &String| Json::parse(body).unwrap().get("max_tokens").unwrap().as_u64();
        self.bodies().iter().map(|body| max(body).unwrap()).collect()
    }

    /// What is on disk about hosts.
    fn facts(&self) -> String {
        let file = self.disk.open(".ship/hosts.json".as_ref(), OpenMode::Read).unwrap();
        let mut bytes = vec![0; usize::try_from(file.stat().unwrap().len).unwrap()];
        let read = file.read_at(&mut bytes, 0).unwrap();
        assert_eq!(read, bytes.len());
        String::from_utf8(bytes).unwrap()
    }
}

/// Words of about this number of `tokens`.
fn words(tokens: usize) -> String {
    "the ship sails at dawn and ".chars().cycle().take(tokens * 26 / 6).collect()
}
