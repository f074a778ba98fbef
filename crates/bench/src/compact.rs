//! Compaction: how much of what is sent was sent before, so that a provider's cache has it.
//!
//! Beside it stands a window that slides: the last twenty messages of the same conversation, which changes its
//! beginning with every turn.

use ship_agent::{Rules, Stop};
use ship_context::Tokenizer;
use ship_message::json::Json;
use ship_testkit::llm::Answer;

use crate::report::{Report, Want};
use crate::talk::{Talk, asks_for_summary, inbound, words};

const TURNS: usize = 200;
const TURN_TOKENS: usize = 200;
const WINDOW: u64 = 32_000;
const SLIDING: usize = 20;
/// Far below what is promised of ours.
const SLIDING_SHARE_MAX: f64 = 0.5;

/// Measures a long chat with compactions and with a sliding window.
///
/// # Errors
/// Why the conversation could not be led.
pub fn bench(report: &mut Report) -> Result<(), String> {
    report.section("Compaction: 200 turns of 200 tokens, window 32,000");
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let requests = runtime.map_err(|error| error.to_string())?.block_on(requests())?;
    let (answers, summaries): (Vec<_>, Vec<_>) =
        requests.into_iter().partition(|request| !request.is_summary());
    let ours = Sent::of(answers.iter().map(Request::pieces));
    let theirs = Sent::of(sliding(&answers));
    report.note(&format!("{} compactions; {} tokens sent in all", summaries.len(), ours.all));
    report.ratio("compactions", summaries.len() as f64, Want::AtLeast(2.0));
    report.ratio("share of the tokens that were sent before", ours.share(), Want::AtLeast(0.9));
    let what = format!("the same, of a sliding window of {SLIDING} messages");
    report.ratio(&what, theirs.share(), Want::AtMost(SLIDING_SHARE_MAX));
    Ok(())
}

/// Leads the conversation, and gives every request that it took.
async fn requests() -> Result<Vec<Request>, String> {
    let talk = Talk::new(WINDOW, 1.0, Rules::default())?;
    talk.server.otherwise(Answer::judge(|exchange| match asks_for_summary(exchange) {
        true => Answer::summary(),
        false => Answer::text("Aye."),
    }));
    let (_, agent) = talk.agent()?;
    for nth in 0..TURNS {
        let said = format!("{nth:03} {}", words(TURN_TOKENS));
        agent.accept(&talk.chat, inbound(nth, &said)).await.map_err(|error| error.to_string())?;
        let ran = agent.run(&talk.chat, &Stop::default()).await;
        ran.map_err(|error| error.to_string())?;
    }
    let read = |body: &[u8]| Json::parse_bytes(body).map(Request).map_err(|e| e.to_string());
    talk.server.requests().iter().map(|received| read(&received.body)).collect()
}

/// The body of a request.
struct Request(Json);

impl Request {
    fn list(&self, key: &str) -> Vec<String> {
        let list = self.0.get(key).and_then(Json::as_array).unwrap_or_default();
        list.iter().map(Json::to_string).collect()
    }

    fn is_summary(&self) -> bool {
        self.0.to_string().contains(ship_testkit::summary::REQUEST)
    }

    /// What a cache compares, in its order; here the system stands at the head of the messages.
    fn pieces(&self) -> Vec<String> {
        self.list("tools").into_iter().chain(self.list("messages")).collect()
    }
}

/// The same questions and answers, of which each request has the last few.
fn sliding(requests: &[Request]) -> impl Iterator<Item = Vec<String>> {
    let mut fixed = Vec::new();
    let mut said: Vec<String> = Vec::new();
    requests.iter().map(move |request| {
        let messages = request.list("messages");
        if fixed.is_empty() {
            fixed = request.list("tools");
            fixed.extend(messages.first().cloned());
        }
        // The question is the last message; the answer before it was the last one of the turn before.
        let new = messages.len().saturating_sub(if said.is_empty() { 1 } else { 2 });
        said.extend_from_slice(&messages[new..]);
        let last = said.len().saturating_sub(SLIDING);
        fixed.iter().chain(&said[last..]).cloned().collect()
    })
}

/// What was sent, and what of it the request before had sent already, in tokens.
#[derive(Default)]
struct Sent {
    all: u64,
    before: u64,
}

impl Sent {
    fn of(requests: impl Iterator<Item = Vec<String>>) -> Self {
        let tokenizer = Tokenizer::for_model("gpt-4o");
        let tokens = |pieces: &[String]| pieces.iter().map(|piece| tokenizer.count(piece)).sum();
        let mut sent = Self::default();
        let mut earlier: Vec<String> = Vec::new();
        for pieces in requests {
            let same = pieces.iter().zip(&earlier).take_while(|(now, then)| now == then).count();
            let (all, before): (u64, u64) = (tokens(&pieces), tokens(&pieces[..same]));
            sent.all += all;
            sent.before += before;
            earlier = pieces;
        }
        sent
    }

    fn share(&self) -> f64 {
        self.before as f64 / self.all as f64
    }
}
