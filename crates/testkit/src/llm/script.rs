//! What the server says next.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use tokio::sync::Semaphore;

use super::{Exchange, Kind, Refusal};
use crate::summary::summary_within;

/// A wire format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// The chat completions of OpenAI.
    OpenAi,
    /// The messages of Anthropic.
    Anthropic,
}

/// An answer to one request.
#[derive(Clone)]
pub enum Answer {
    /// What a model says, in the format and the manner that the request asks for.
    Speech(Speech),
    /// A plain HTTP response.
    Status(Status),
    /// The bytes on the connection and what happens to it, from the status line on.
    Raw(Vec<Step>),
    /// Whatever this makes of the request.
    Judge(Decide),
}

/// How an answer follows from a request.
pub type Decide = Arc<dyn Fn(&Exchange<'_>) -> Answer + Send + Sync>;

impl Answer {
    /// Makes an answer that says this.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Speech(Speech::text(text))
    }

    /// Calls one tool.
    pub fn call(name: impl Into<String>, arguments: impl Into<String>) -> Self {
        Self::Speech(Speech::new([Piece::call(name, arguments)]))
    }

    /// Decides when the request is there.
    pub fn judge(decide: impl Fn(&Exchange<'_>) -> Self + Send + Sync + 'static) -> Self {
        Self::Judge(Arc::new(decide))
    }

    /// A summary that is as long as the request allows.
    pub fn summary() -> Self {
        Self::judge(|exchange| {
            let limits = ["max_tokens", "max_completion_tokens"].map(|key| &exchange.body[key]);
            let most = limits.iter().find_map(|limit| limit.as_u64()).unwrap_or_default();
            Self::text(summary_within(most))
        })
    }

    /// Says the last thing that the user said, or that the tools answered.
    pub fn echo() -> Self {
        Self::judge(|exchange| Self::text(exchange.last_text()))
    }
}

impl From<Speech> for Answer {
    fn from(speech: Speech) -> Self {
        Self::Speech(speech)
    }
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Speech(speech) => speech.fmt(f),
            Self::Status(status) => status.fmt(f),
            Self::Raw(steps) => steps.fmt(f),
            Self::Judge(_) => f.write_str("Judge(…)"),
        }
    }
}

/// What a model says.
#[derive(Clone, Debug, PartialEq)]
pub struct Speech {
    /// In this order.
    pub pieces: Vec<Piece>,
    /// Why it stops; if not given, because it is done or wants its tools run.
    pub stop: Option<Stop>,
    /// What it claims to have cost; if not given, what the server counts.
    pub usage: Option<Usage>,
    /// Whether it says at all what it cost.
    pub says_usage: bool,
    /// Where an OpenAI-compatible host puts its reasoning: `reasoning_content` or `reasoning`.
    pub reasoning_field: &'static str,
}

impl Speech {
    /// Says these pieces.
    pub fn new(pieces: impl IntoIterator<Item = Piece>) -> Self {
        Self {
            pieces: pieces.into_iter().collect(),
            stop: None,
            usage: None,
            says_usage: true,
            reasoning_field: "reasoning_content",
        }
    }

    /// Makes an answer that says this.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new([Piece::Text(text.into())])
    }

    /// Stops for this reason.
    pub fn stop(self, stop: Stop) -> Self {
        Self { stop: Some(stop), ..self }
    }

    /// Claims to have cost this.
    pub fn usage(self, usage: Usage) -> Self {
        Self { usage: Some(usage), ..self }
    }

    /// Says nothing about its cost.
    pub fn without_usage(self) -> Self {
        Self { says_usage: false, ..self }
    }

    /// Why it stops, said or not.
    pub(super) fn stops(&self) -> Stop {
        let calls = self.pieces.iter().any(|piece| matches!(piece, Piece::Call { .. }));
        let usual = if calls { Stop::Tools } else { Stop::End };
        self.stop.clone().unwrap_or(usual)
    }
}

/// A piece of what a model says.
#[derive(Clone, Debug, PartialEq)]
pub enum Piece {
    /// Words of the answer.
    Text(String),
    /// Thoughts, which Anthropic signs.
    Reasoning(String),
    /// Thoughts that nobody may read. OpenAI's format has none, and leaves them out.
    Redacted(String),
    /// A wish to have a tool run.
    Call {
        /// Its id; if not given, one is made.
        id: Option<String>,
        /// The tool's name.
        name: String,
        /// Its arguments, as JSON or what passes for it.
        arguments: String,
    },
}

impl Piece {
    /// A call with an id of the server's making.
    pub fn call(name: impl Into<String>, arguments: impl Into<String>) -> Self {
        Self::Call { id: None, name: name.into(), arguments: arguments.into() }
    }

    /// A call with this id.
    pub fn call_with_id(
        id: impl Into<String>,
        name: impl Into<String>,
        arguments: impl Into<String>,
    ) -> Self {
        Self::Call { id: Some(id.into()), name: name.into(), arguments: arguments.into() }
    }
}

/// Why a model stops.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// It is done.
    End,
    /// It has said as much as it may.
    Length,
    /// It wants its tools run.
    Tools,
    /// A filter stopped it, or it refuses.
    Refusal,
    /// The window is full.
    Window,
    /// In these words, whatever they mean.
    Other(String),
}

/// What an answer costs, in tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Everything that was sent, cached or not.
    pub input: u64,
    /// Of that, what was read from a cache.
    pub cached: u64,
    /// Of that, what was newly put into a cache, for five minutes and for an hour.
    pub created: [u64; 2],
    /// Everything that came back.
    pub output: u64,
    /// Of that, what was reasoning.
    pub reasoning: u64,
}

/// A plain HTTP response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// The number of the status.
    pub status: u16,
    /// Headers, besides those that every response has.
    pub headers: Vec<(String, String)>,
    /// The body of the answer.
    pub body: Vec<u8>,
}

impl Status {
    /// Adds a header.
    pub fn header(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }
}

impl From<Refusal> for Status {
    fn from(refusal: Refusal) -> Self {
        let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
        Self { status: refusal.status, headers, body: refusal.body.to_string().into_bytes() }
    }
}

/// A gate that holds answers back until a test opens it. Clones are the same gate.
#[derive(Clone, Debug)]
pub struct Gate(Arc<Semaphore>);

impl Gate {
    /// Makes a gate that is shut.
    pub fn shut() -> Self {
        Self(Arc::new(Semaphore::new(0)))
    }

    /// Opens the gate for good.
    pub fn open(&self) {
        self.0.close();
    }

    /// Makes an answer that begins when the gate is open. Only an answer that is streamed can wait.
    pub fn hold(&self, speech: Speech) -> Answer {
        let gate = self.clone();
        Answer::judge(move |exchange| {
            let stream = exchange.stream(&exchange.frames(&speech));
            Answer::Raw([vec![Step::Wait(gate.clone())], stream].concat())
        })
    }

    /// Makes a streamed answer that waits for the gate before its first event of a kind.
    pub fn hold_before(&self, kind: Kind, speech: Speech) -> Answer {
        self.hold_at(speech, move |kinds| kinds.iter().position(|it| *it == kind))
    }

    /// Makes a streamed answer that waits for the gate before its last event of a kind.
    pub fn hold_before_last(&self, kind: Kind, speech: Speech) -> Answer {
        self.hold_at(speech, move |kinds| kinds.iter().rposition(|it| *it == kind))
    }

    fn hold_at(
        &self,
        speech: Speech,
        place: impl Fn(&[Kind]) -> Option<usize> + Send + Sync + 'static,
    ) -> Answer {
        let gate = self.clone();
        Answer::judge(move |exchange| {
            let frames = exchange.frames(&speech);
            let kinds: Vec<Kind> = frames.iter().map(|frame| frame.kind).collect();
            let at = place(&kinds).expect("such an event");
            let mut steps = exchange.stream(&frames);
            // The first step is the head of the response.
            steps.insert(at + 1, Step::Wait(gate.clone()));
            Answer::Raw(steps)
        })
    }

    pub(super) async fn passed(&self) {
        // It has no permits, so that waiting ends with the error that it is closed.
        let _ = self.0.acquire().await;
    }
}

impl PartialEq for Gate {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Gate {}

/// Something that happens on a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// These bytes are sent, in one write.
    Bytes(Vec<u8>),
    /// Nothing happens until the gate is open.
    Wait(Gate),
    /// The connection is reset.
    Reset,
    /// The connection is closed in an orderly way. This also happens when no step is left.
    Close,
    /// Nothing happens any more, until the client gives up or the server ends.
    Hang,
}

/// The answers to come.
#[derive(Debug)]
pub(super) struct Script {
    next: VecDeque<Answer>,
    otherwise: Answer,
}

impl Default for Script {
    fn default() -> Self {
        Self { next: VecDeque::new(), otherwise: Answer::echo() }
    }
}

impl Script {
    pub(super) fn push(&mut self, answer: Answer) {
        self.next.push_back(answer);
    }

    pub(super) fn set_otherwise(&mut self, answer: Answer) {
        self.otherwise = answer;
    }

    pub(super) fn left(&self) -> usize {
        self.next.len()
    }

    pub(super) fn take(&mut self) -> Answer {
        self.next.pop_front().unwrap_or_else(|| self.otherwise.clone())
    }
}

impl Piece {
    /// What of it is counted, and whether it is reasoning.
    pub(super) fn counted(&self) -> (String, bool) {
        match self {
            Self::Text(text) => (text.clone(), false),
            Self::Reasoning(text) | Self::Redacted(text) => (text.clone(), true),
            Self::Call { name, arguments, .. } => (format!("{name}{arguments}"), false),
        }
    }
}
