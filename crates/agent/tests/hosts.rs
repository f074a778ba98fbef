//! Hosts of which nothing is configured: what one process learns of them, it and all later ones know.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ship_agent::{Agent, Inbound, Outcome, Rules, RunLog, Stop};
use ship_message::json::Json;
use ship_provider::{ApiKey, CachedSequence, HttpProvider, HttpSettings};
use ship_store::disk::{Disk as _, OpenMode};
use ship_store::{FileStore, StoreOptions};
use ship_testkit::llm::{
    Answer, Exchange, Format, LlmServer, Rules as Judge, Speech, Status, count,
};
use ship_testkit::random::Random;
use ship_testkit::sim::SimDisk;

use crate::harness::{KeptLog, chat};

mod costs;
mod known_models;
mod learned;
mod long_talk;
mod odd_forms;
mod together;

const FORMATS: [Format; 2] = [Format::OpenAi, Format::Anthropic];

/// A host, and the project folder of the agents that ask it.
struct Host {
    server: LlmServer,
    disk: SimDisk,
    format: Format,
    log: Arc<KeptLog>,
    said: AtomicUsize,
    /// The number of requests that it refused by the rule of [`Self::that_refuses`].
    refusals: Arc<AtomicUsize>,
}

impl Host {
    /// A host whose window has `takes` tokens.
    fn new(format: Format, takes: u64) -> Self {
        let server = LlmServer::with(Judge { window: Some(takes), ..Judge::default() });
        server.otherwise(Answer::judge(answer));
        let (disk, log) = (SimDisk::new(), Arc::default());
        Self { server, disk, format, log, said: AtomicUsize::new(0), refusals: Arc::default() }
    }

    /// A host that names no number: it refuses prompts and answers of more than `takes` tokens together.
    fn without_numbers(format: Format, takes: u64) -> Self {
        let message = "Please reduce the length of the messages or completion.";
        Self::that_refuses(format, message, move |exchange| {
            let longest = exchange.body["max_tokens"].as_u64().unwrap_or_default();
            exchange.counted.input + longest > takes
        })
    }

    /// A host that refuses, in these words, what is too long by a rule.
    fn that_refuses(
        format: Format,
        message: &'static str,
        is_too_long: impl Fn(&Exchange) -> bool + Send + Sync + 'static,
    ) -> Self {
        let host = Self::new(format, 0);
        host.server.set_rules(Judge::default());
        let refusals = Arc::clone(&host.refusals);
        host.server.otherwise(Answer::judge(move |exchange| match is_too_long(exchange) {
            true => {
                refusals.fetch_add(1, Ordering::SeqCst);
                refusal(message)
            }
            false => answer(exchange),
        }));
        host
    }

    /// The number of requests that were refused.
    fn count_refusals(&self) -> usize {
        self.refused().len() + self.refusals.load(Ordering::SeqCst)
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
            .store(store)
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

/// The answer of a model that says little.
fn answer(exchange: &Exchange) -> Answer {
    match exchange.body.to_string().contains("You keep the memory of a long chat") {
        true => Answer::summary(),
        false => Answer::text("Aye."),
    }
}

/// A refusal in these words.
fn refusal(message: &str) -> Answer {
    refusal_with(400, message)
}

fn refusal_with(status: u16, message: &str) -> Answer {
    let body = format!(r#"{{"error":{{"message":"{message}","type":"invalid_request_error"}}}}"#);
    let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
    Answer::Status(Status { status, headers, body: body.into_bytes() })
}

/// Words of about this number of `tokens`.
fn words(tokens: usize) -> String {
    "the ship sails at dawn and ".chars().cycle().take(tokens * 26 / 6).collect()
}
