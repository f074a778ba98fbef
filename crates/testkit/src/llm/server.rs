//! The server: a thread of its own, so that a test may stop its clock or block without stopping the provider.

use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Instant;

use serde_json::json;
use tokio::net::TcpStream;
use tokio::sync::oneshot;

use super::cache::Cache;
use super::exchange::{Exchange, head, request_id};
use super::record::{Log, Received, lock};
use super::script::{Answer, Format, Script, Status, Step};
use super::{
    Accepted, Refusal, Rules, anthropic, http, judge_anthropic, judge_openai, openai, prompt,
};

/// A provider on a port of its own. It ends when it is dropped.
#[derive(Debug)]
pub struct LlmServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    rules: Mutex<Rules>,
    script: Mutex<Script>,
    cache: Mutex<Cache>,
    log: Log,
}

impl LlmServer {
    /// Starts a server with the real services' rules that echoes.
    pub fn start() -> Self {
        Self::with(Rules::default())
    }

    /// Starts a server with these rules.
    pub fn with(rules: Rules) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("this machine has a free port");
        let address = listener.local_addr().expect("a bound socket has an address");
        let shared = Arc::new(Shared { rules: Mutex::new(rules), ..Shared::default() });
        let (stop, stopped) = oneshot::channel();
        let serving = Arc::clone(&shared);
        let thread = std::thread::spawn(move || serve(listener, serving, stopped));
        Self { address, shared, stop: Some(stop), thread: Some(thread) }
    }

    /// The address without a path, as Anthropic's clients take it: `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The address as OpenAI's clients take it: `http://127.0.0.1:PORT/v1`.
    pub fn url_v1(&self) -> String {
        format!("{}/v1", self.url())
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Adds an answer to the script. Only requests that are accepted use one up.
    pub fn then(&self, answer: impl Into<Answer>) -> &Self {
        lock(&self.shared.script).push(answer.into());
        self
    }

    /// Sets what is answered when the script is at its end, instead of an echo.
    pub fn otherwise(&self, answer: impl Into<Answer>) -> &Self {
        lock(&self.shared.script).set_otherwise(answer.into());
        self
    }

    /// How many answers of the script are left.
    pub fn answers_left(&self) -> usize {
        lock(&self.shared.script).left()
    }

    /// Changes the rules.
    pub fn set_rules(&self, rules: Rules) {
        *lock(&self.shared.rules) = rules;
    }

    /// Forgets all prompts, as a cache does with time.
    pub fn forget_cache(&self) {
        *lock(&self.shared.cache) = Cache::default();
    }

    /// Returns every request so far.
    pub fn requests(&self) -> Vec<Received> {
        self.shared.log.all()
    }

    /// Waits until so many requests have come, and returns all.
    pub async fn wait_for(&self, count: usize) -> Vec<Received> {
        self.shared.log.wait(|all| all.len() >= count).await
    }

    /// Waits until the connections of the first so many requests are over, and returns all.
    pub async fn wait_until_over(&self, count: usize) -> Vec<Received> {
        let is_over = |all: &[Received]| all.iter().filter(|one| one.over).count() >= count;
        self.shared.log.wait(is_over).await
    }

    /// Returns an address at which nobody listens.
    pub fn refused_url() -> String {
        let listener = TcpListener::bind("127.0.0.1:0").expect("this machine has a free port");
        let address = listener.local_addr().expect("a bound socket has an address");
        format!("http://{address}")
    }
}

impl Drop for LlmServer {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // If it panicked, the test has seen broken answers already.
            let _ = thread.join();
        }
    }
}

fn serve(listener: TcpListener, shared: Arc<Shared>, mut stopped: oneshot::Receiver<()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime can be made");
    runtime.block_on(async move {
        listener.set_nonblocking(true).expect("a socket can be made to wait");
        let listener = tokio::net::TcpListener::from_std(listener).expect("a runtime is there");
        loop {
            let stream = tokio::select! {
                _ = &mut stopped => return,
                accepted = listener.accept() => accepted,
            };
            if let Ok((stream, _)) = stream {
                tokio::spawn(answer_one(stream, Arc::clone(&shared)));
            }
        }
    });
}

/// Reads a request, decides, and answers.
async fn answer_one(mut stream: TcpStream, shared: Arc<Shared>) {
    // Each step is to be on the wire when it is done.
    let _ = stream.set_nodelay(true);
    let Ok(request) = http::read(&mut stream).await else { return };
    let received = shared.log.add(Received {
        number: 0,
        format: format_of(&request.path),
        method: request.method,
        path: request.path,
        headers: request.headers,
        body: request.body,
        at: Instant::now(),
        refused: None,
        over: false,
        hung_up: false,
    });
    let steps = shared.decide(&received);
    let hung_up = http::play(stream, steps).await;
    shared.log.note(received.number, |noted| {
        noted.over = true;
        noted.hung_up = hung_up;
    });
}

fn format_of(path: &str) -> Option<Format> {
    let path = path.split('?').next().unwrap_or_default();
    if path.ends_with("/chat/completions") {
        return Some(Format::OpenAi);
    }
    let messages = path.strip_suffix("/count_tokens").unwrap_or(path);
    messages.ends_with("/messages").then_some(Format::Anthropic)
}

impl Shared {
    fn decide(&self, received: &Received) -> Vec<Step> {
        let rules = lock(&self.rules).clone();
        let Some(format) = received.format else {
            let refusal = match received.path.starts_with("/v1/messages") {
                true => anthropic::errors::unknown_path(),
                false => openai::errors::unknown_path(&received.method, &received.path),
            };
            return self.refuse(received, refusal);
        };
        let accepted = match judge(format, received, &rules) {
            Ok(accepted) => accepted,
            Err(refusal) => return self.refuse(received, refusal),
        };
        self.speak(format, received, &accepted, &rules)
    }

    fn speak(
        &self,
        format: Format,
        received: &Received,
        accepted: &Accepted,
        rules: &Rules,
    ) -> Vec<Step> {
        let body = &accepted.body;
        let model = body["model"].as_str().unwrap_or_default();
        let segments = match format {
            Format::OpenAi => prompt::openai(body),
            Format::Anthropic => prompt::anthropic(body),
        };
        let factor = rules.token_factor;
        let counted = lock(&self.cache).look(format, model, &segments, factor);
        if received.path.contains("/count_tokens") {
            let body = json!({"input_tokens": counted.input});
            return respond(received, Refusal { status: 200, body, rule: "" }.into());
        }
        let exchange = Exchange { format, request: received, body, counted, token_factor: factor };
        let mut answer = lock(&self.script).take();
        while let Answer::Judge(decide) = &answer {
            answer = decide(&exchange);
        }
        if !matches!(answer, Answer::Status(_)) {
            lock(&self.cache).keep(format, model, segments, factor);
        }
        match answer {
            Answer::Speech(speech) if exchange.is_streamed() => {
                exchange.stream(&exchange.frames(&speech))
            }
            Answer::Speech(speech) => {
                let body = exchange.whole(&speech);
                respond(received, Refusal { status: 200, body, rule: "" }.into())
            }
            Answer::Status(status) => respond(received, status),
            Answer::Raw(steps) => steps,
            Answer::Judge(_) => unreachable!("it was asked until it gave something else"),
        }
    }

    fn refuse(&self, received: &Received, mut refusal: Refusal) -> Vec<Step> {
        self.log.note(received.number, |noted| noted.refused = Some(refusal.rule));
        if received.format == Some(Format::Anthropic) {
            refusal.body["request_id"] = request_id(received.number).into();
        }
        respond(received, refusal.into())
    }
}

fn judge(format: Format, received: &Received, rules: &Rules) -> Result<Accepted, Refusal> {
    if received.method != "POST" {
        let refusal = openai::errors::unknown_path(&received.method, &received.path);
        return Err(Refusal { status: 405, ..refusal });
    }
    let authorization = received.header("authorization");
    match format {
        Format::OpenAi => {
            openai::judge_headers(authorization, rules)?;
            judge_openai(&received.body, rules)
        }
        Format::Anthropic => {
            let (key, version) =
                (received.header("x-api-key"), received.header("anthropic-version"));
            let version = anthropic::judge_headers(key, authorization, version, rules)?;
            let rules = Rules { version, ..rules.clone() };
            if received.path.contains("/count_tokens") {
                // Counting asks for no answer, and so not for its length.
                let mut body = received.json();
                if let Some(fields) = body.as_object_mut() {
                    fields.insert("max_tokens".to_owned(), 1.into());
                }
                return judge_anthropic(body.to_string(), &rules);
            }
            judge_anthropic(&received.body, &rules)
        }
    }
}

/// Writes a plain response.
fn respond(received: &Received, status: Status) -> Vec<Step> {
    let length = status.body.len().to_string();
    let mut headers: Vec<(&str, &str)> =
        status.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    headers.push(("content-length", &length));
    let mut bytes = head(status.status, &headers, received.format, received.number);
    bytes.extend_from_slice(&status.body);
    vec![Step::Bytes(bytes)]
}
