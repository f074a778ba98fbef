//! A chat with a provider that knows how much it takes.
//!
//! It is a layer over the agent of the other tests: its model is behind HTTP, counts and refuses.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ship_agent::{AgentBuilder, Inbound, Outcome, Rules, RunLog, Tool, built_in_tools};
use ship_message::UiPart;
use ship_message::json::{Json, Object};
use ship_provider::{ApiKey, HttpProvider, HttpSettings};
use ship_store::{ContextBody, FileStore, StoreOptions, View};
use ship_testkit::llm::{Answer, Exchange, LlmServer, Rules as Judge};

use crate::harness::{FixedProject, KeptLog, Setup, TestAgent, chat};

pub(crate) use ship_testkit::summary::SUMMARY;

/// Whether a request asks for a summary.
pub(crate) fn asks_for_summary(exchange: &Exchange<'_>) -> bool {
    exchange.body.to_string().contains("You keep the memory of a long chat")
}

/// A tool with a long output, which counts how often it ran.
fn look(count: Arc<AtomicUsize>) -> Tool {
    let schema = Json::Object(Object::from([("type", "object")]));
    Tool::with_schema("look", "Looks at the sea.", schema, move |_, _| {
        let nth = count.fetch_add(1, Ordering::SeqCst);
        let output = format!("{nth} waves. {}", "The sea is wide and blue. ".repeat(150));
        Box::pin(std::future::ready(Ok(Json::from(output))))
    })
}

pub(crate) struct World {
    test: TestAgent,
    pub(crate) server: LlmServer,
    pub(crate) looks: Arc<AtomicUsize>,
    /// The log of every process that the chat was in.
    pub(crate) log: Arc<KeptLog>,
    said: AtomicUsize,
}

impl Deref for World {
    type Target = TestAgent;

    fn deref(&self) -> &TestAgent {
        &self.test
    }
}

impl World {
    /// A provider that takes `takes` tokens and counts `factor` times ours, and settings that think it takes
    /// `window`.
    pub(crate) fn new(takes: u64, factor: f64, window: Option<u64>, rules: Rules) -> Self {
        let judge = Judge { window: Some(takes), token_factor: factor, ..Judge::default() };
        let server = LlmServer::with(judge);
        server.otherwise(Answer::judge(|exchange| match asks_for_summary(exchange) {
            true => Answer::summary(),
            false => Answer::text("Aye."),
        }));
        let setup = Setup { many_runs: true, ..Setup::ruled(rules) };
        let (looks, log) = (Arc::default(), Arc::default());
        let test = agent(&server, &setup, &looks, &log, window, |builder| builder);
        Self { test, server, looks, log, said: AtomicUsize::new(0) }
    }

    /// The same chat, with a provider that takes less.
    pub(crate) fn with_window(self, takes: u64) -> Self {
        self.server.set_rules(Judge { window: Some(takes), ..Judge::default() });
        self.restarted(Some(takes), Rules::default())
    }

    /// The same chat and provider, in a new process.
    pub(crate) fn restarted(self, window: Option<u64>, rules: Rules) -> Self {
        self.again(window, rules, |builder| builder)
    }

    /// The same chat and provider, with an `Agent.md`.
    pub(crate) fn with_role(self, window: Option<u64>, role: String) -> Self {
        let project = Arc::new(FixedProject { role: Some(role), ..FixedProject::default() });
        let rules = self.setup.rules.clone();
        self.again(window, rules, |builder| builder.project_source(project))
    }

    fn again(
        self,
        window: Option<u64>,
        rules: Rules,
        add: impl FnOnce(AgentBuilder) -> AgentBuilder,
    ) -> Self {
        let setup = Setup { rules, ..self.setup.clone() };
        let test = agent(&self.server, &setup, &self.looks, &self.log, window, add);
        Self { test, ..self }
    }

    pub(crate) async fn say(&self, text: &str) -> Option<Outcome> {
        let nth = self.said.fetch_add(1, Ordering::SeqCst);
        let inbound = Inbound {
            key: format!("k{nth}"),
            text: text.to_owned(),
            request_id: format!("req_{nth}"),
            ..Inbound::default()
        };
        self.agent.accept(&chat(), inbound).await.unwrap();
        self.run().await
    }

    /// The active log and the sealed ones.
    async fn views(&self) -> Vec<View> {
        let chat = self.stored().await;
        let mut views = vec![self.view().await];
        for sealed in chat.log().sealed().await.unwrap() {
            views.push(chat.log().sealed_view(&sealed.name).await.unwrap());
        }
        views
    }

    /// Everything that people ever said, wherever it is now.
    pub(crate) async fn ever_said(&self) -> Vec<String> {
        let views = self.views().await;
        let mut texts = std::collections::BTreeSet::new();
        for message in views.iter().flat_map(|view| view.messages()) {
            if message.role() == ship_message::Role::User {
                texts.insert(message.text());
            }
        }
        texts.into_iter().collect()
    }

    /// How many different calls there ever were, wherever they are now.
    pub(crate) async fn ever_called(&self) -> usize {
        let views = self.views().await;
        let mut outputs = std::collections::BTreeSet::new();
        for message in views.iter().flat_map(|view| view.messages()) {
            for part in message.parts() {
                if let UiPart::Tool(tool) = part {
                    outputs.insert(tool.output().unwrap().to_string());
                }
            }
        }
        outputs.len()
    }

    /// The bodies of the requests for an answer, in order.
    pub(crate) fn answer_bodies(&self) -> Vec<String> {
        let requests = self.server.requests();
        let bodies = requests.iter().map(|it| String::from_utf8_lossy(&it.body).into_owned());
        bodies.filter(|body| !body.contains("You keep the memory")).collect()
    }

    /// The rungs of the compactions that the active log tells of.
    pub(crate) async fn last_rung(&self) -> Option<String> {
        let view = self.view().await;
        view.lines.iter().rev().find_map(|line| match &line.body {
            ContextBody::Event(event) if event.event == "compacted" => {
                Some(event.data.get("rung")?.as_str()?.to_owned())
            }
            _ => None,
        })
    }

    /// How many requests asked for a summary, and how many for an answer.
    pub(crate) fn asked(&self) -> (usize, usize) {
        let requests = self.server.requests();
        let memory = |body: &[u8]| String::from_utf8_lossy(body).contains("You keep the memory");
        let summaries = requests.iter().filter(|request| memory(&request.body)).count();
        (summaries, requests.len() - summaries)
    }

    /// How many requests the provider refused.
    pub(crate) fn refused(&self) -> usize {
        self.server.requests().iter().filter(|request| request.refused.is_some()).count()
    }
}

/// An agent in the chat, in a process of its own.
fn agent(
    server: &LlmServer,
    setup: &Setup,
    looks: &Arc<AtomicUsize>,
    log: &Arc<KeptLog>,
    window: Option<u64>,
    add: impl FnOnce(AgentBuilder) -> AgentBuilder,
) -> TestAgent {
    let mut settings = HttpSettings::openai("test-model");
    settings.base_url = server.url_v1();
    settings.window = window;
    settings.retries = 0;
    settings.key = Some(ApiKey::new("sk-test"));
    let clock = Arc::new(setup.clock.clone());
    let options = StoreOptions { clock, ..StoreOptions::default() };
    let store = FileStore::on_disk(Box::new(setup.disk.memory()), options);
    TestAgent::with_tools(store, setup, |agent| {
        let agent = agent
            .provider(HttpProvider::openai(settings).unwrap())
            .without_built_in_tools()
            .tool(look(Arc::clone(looks)))
            .log(Arc::clone(log) as Arc<dyn RunLog>);
        add(built_in_tools().into_iter().fold(agent, AgentBuilder::tool))
    })
}

/// A message as it is stored.
pub(crate) fn message(id: &str, role: &str, text: &str) -> Object {
    let part = Object::from([("type", "text"), ("text", text)]);
    Object::from([
        ("id", Json::from(id)),
        ("role", role.into()),
        ("parts", vec![Json::from(part)].into()),
    ])
}

/// Words of about this number of `tokens`.
pub(crate) fn words(tokens: usize) -> String {
    let text = "the ship sails at dawn and ";
    let len = tokens * 26 / 6;
    let mut words = text.repeat(len.div_ceil(text.len()));
    words.truncate(len);
    words
}
