//! A provider that fails as it is told, and an agent that asks it.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ship_agent::{Inbound, Outcome};
use ship_message::UiMessage;
use ship_message::json::Json;
use ship_provider::{ApiKey, HttpProvider, HttpSettings, Pace};
use ship_store::FileStore;
use ship_testkit::chat::options;
use ship_testkit::llm::{Answer, Auth, Format, LlmServer, Received, Rules as Judge};

use crate::harness::{Setup, TestAgent};

/// The key of the agent. Providers quote it in their errors, and nobody may ever read it.
pub(super) const KEY: &str = "sk-planted-7Kq2Zr9xW4vT";

/// Both formats, for faults that both have.
pub(super) const BOTH: [Format; 2] = [Format::OpenAi, Format::Anthropic];

pub(super) struct World {
    pub(super) server: LlmServer,
    test: TestAgent,
    said: AtomicUsize,
}

impl World {
    /// A provider that is as strict as the strictest, asked once and not again.
    pub(super) fn new(format: Format) -> Self {
        Self::with(format, |_| ())
    }

    /// One with other settings.
    pub(super) fn with(format: Format, set: impl FnOnce(&mut HttpSettings)) -> Self {
        let server = LlmServer::with(strict());
        let setup = Setup { many_runs: true, ..Setup::default() };
        let test = agent(&server, &setup, format, set);
        Self { server, test, said: AtomicUsize::new(0) }
    }

    /// The same chat, which asks another model from now on.
    pub(super) fn switch(&mut self, format: Format, set: impl FnOnce(&mut HttpSettings)) {
        self.test = agent(&self.server, &self.test.setup, format, set);
    }

    /// The agent of the chat.
    pub(super) fn agent(&self) -> &ship_agent::Agent {
        &self.test.agent
    }

    async fn say(&self, words: &str) -> Option<Outcome> {
        let nth = self.said.fetch_add(1, Ordering::SeqCst);
        let inbound = Inbound {
            key: format!("k{nth}"),
            text: words.to_owned(),
            channel: "terminal".to_owned(),
            request_id: format!("req_{nth}"),
            ..Inbound::default()
        };
        self.test.agent.accept(&self.test.chat, inbound).await.unwrap();
        self.test.run().await
    }

    /// Sends a message, and gives what the person is told, whether it is an answer or a failure.
    pub(super) async fn told(&self, words: &str) -> String {
        match self.say(words).await {
            Some(Outcome::Done | Outcome::Failed(_)) => told_by(&self.last_message().await),
            other => panic!("{words}: {other:?}"),
        }
    }

    /// Sends a message that is answered, and gives the answer.
    pub(super) async fn answer(&self, words: &str) -> String {
        let outcome = self.say(words).await;
        assert_eq!(outcome, Some(Outcome::Done), "{words}");
        told_by(&self.last_message().await)
    }

    /// Sends a message that cannot be answered, and gives what the person is told: what was said, and the sentence.
    pub(super) async fn sentence(&self, words: &str) -> String {
        let outcome = self.say(words).await;
        let Some(Outcome::Failed(sentence)) = outcome else { panic!("{words}: {outcome:?}") };
        let message = self.last_message().await;
        let told = told_by(&message);
        assert!(told.ends_with(&sentence), "{told}");
        let error = message.metadata().and_then(|metadata| metadata.get("error"));
        assert_eq!(error, Some(&Json::from(sentence.as_str())));
        told
    }

    /// The newest message of the chat.
    pub(super) async fn last_message(&self) -> UiMessage {
        self.test.messages().await.pop().unwrap()
    }

    /// How many requests came.
    pub(super) fn asked(&self) -> usize {
        self.server.requests().len()
    }

    /// The newest request.
    pub(super) fn last_request(&self) -> Received {
        self.server.requests().pop().unwrap()
    }

    /// The body of the newest request.
    pub(super) fn last_body(&self) -> String {
        String::from_utf8_lossy(&self.last_request().body).into_owned()
    }

    /// What `chat_send` has delivered, as the ledger knows it.
    pub(super) async fn sent_by_tool(&self) -> Vec<String> {
        let by_tool = Json::from("tool");
        let entries = self.test.entries().await.into_iter().map(|(_, entry)| entry);
        let sent = entries
            .filter(|entry| entry.get("meta").and_then(|meta| meta.get("via")) == Some(&by_tool));
        sent.map(|entry| entry.str("text").unwrap().to_owned()).collect()
    }

    /// The chat goes on as if nothing had been: the next message is answered with one request, no request was
    /// refused, each question has one answer, the files are whole, and nobody reads the key.
    pub(super) async fn assert_goes_on(&self) {
        self.server.otherwise(Answer::text("All is well."));
        let left = self.server.answers_left();
        assert_eq!(left, 0, "{left} answers of the script were never asked for");
        let before = self.asked();
        assert_eq!(self.answer("And now?").await, "All is well.");
        assert_eq!(self.asked(), before + 1, "one message is one request");
        for one in self.server.requests() {
            let body = String::from_utf8_lossy(&one.body);
            assert_eq!(one.refused, None, "request {}: {body}", one.number);
        }
        for (at, message) in self.test.messages().await.iter().enumerate() {
            let wanted = if at % 2 == 0 { "user" } else { "assistant" };
            assert_eq!(message.role().name(), Some(wanted), "{message}");
            assert!(!message.to_string().contains(KEY), "{message}");
        }
        assert_eq!(self.test.stored().await.verify().await.unwrap(), []);
    }
}

/// Rules that the strictest host has, with the agent's key.
pub(super) fn strict() -> Judge {
    let extra_message_fields = vec!["reasoning_content".to_owned()];
    Judge { auth: Auth::Key(KEY.to_owned()), extra_message_fields, ..Judge::strict() }
}

/// An agent in the chat, in a process of its own.
fn agent(
    server: &LlmServer,
    setup: &Setup,
    format: Format,
    set: impl FnOnce(&mut HttpSettings),
) -> TestAgent {
    let (mut settings, url) = match format {
        Format::OpenAi => (HttpSettings::openai("model-of-tests"), server.url_v1()),
        Format::Anthropic => (HttpSettings::anthropic("model-of-tests"), server.url()),
    };
    settings.base_url = url;
    settings.key = Some(ApiKey::new(KEY));
    settings.retries = 0;
    set(&mut settings);
    let mut setup = setup.clone();
    setup.rules.retries = settings.retries.into();
    let provider = match format {
        Format::OpenAi => HttpProvider::openai(settings),
        Format::Anthropic => HttpProvider::anthropic(settings),
    };
    let provider = provider.unwrap().with_pace(Arc::new(NoWaits));
    let store = FileStore::on_disk(Box::new(setup.disk.memory()), options());
    TestAgent::with_tools(store, &setup, |agent| agent.provider(provider))
}

/// Time that stands, so that nothing waits before it is tried again.
struct NoWaits;

impl Pace for NoWaits {
    fn now(&self) -> Duration {
        Duration::ZERO
    }

    fn random(&self) -> u64 {
        0
    }

    fn wait(&self, _: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(std::future::ready(()))
    }
}

/// The name that sentences have for a format.
pub(super) fn name(format: Format) -> &'static str {
    match format {
        Format::OpenAi => "openai",
        Format::Anthropic => "anthropic",
    }
}

/// Every piece is in a text.
#[track_caller]
pub(super) fn assert_says(shown: &str, pieces: &[&str]) {
    for piece in pieces {
        assert!(shown.contains(piece), "no {piece:?} in: {shown}");
    }
}

/// What a message tells a person: its texts and what `chat_send` delivered, without the thoughts between them.
fn told_by(message: &UiMessage) -> String {
    let told = |part: Json| {
        let text = |json: &Json, key: &str| Some(json.get(key)?.as_str()?.to_owned());
        match (text(&part, "type")?.as_str(), text(&part, "state").as_deref()) {
            ("text", _) => text(&part, "text"),
            ("tool-chat_send", Some("output-available")) => text(part.get("input")?, "text"),
            _ => None,
        }
    };
    let parts = message.parts().iter().map(|part| part.clone().into_json());
    parts.filter_map(told).collect::<Vec<_>>().join("\n").trim().to_owned()
}
