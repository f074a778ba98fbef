//! A model in the same process that answers as a test wants, and remembers what it was sent.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ship_message::json::Json;
use ship_message::{Chunk, FinishReason, Role, TextChunk, ToolChunk, UiMessage, UiPart};
use ship_provider::{AnswerEnd, AnswerFuture, ChunkSink, Provider, ProviderError, Request};

use crate::summary::{REQUEST, summary_within};

/// One answer: what is said, and how it ends.
#[derive(Clone, Debug)]
pub struct ScriptedStep {
    /// What is said, in order.
    pub says: Vec<ScriptedPart>,
    /// How it ends.
    pub end: ScriptedEnd,
}

/// A piece of an answer.
#[derive(Clone, Debug)]
pub enum ScriptedPart {
    /// A whole text.
    Text(String),
    /// A text that never ends.
    Half(String),
    /// A call: its id, the tool, and the input as JSON. Without an id, calls are numbered.
    Call(Option<&'static str>, String, String),
}

/// How an answer ends.
#[derive(Clone, Debug)]
pub enum ScriptedEnd {
    /// With a reason to stop.
    Because(FinishReason),
    /// With an error.
    Fails(&'static str),
    /// With a connection that breaks.
    BreaksOff,
    /// The answer never ends.
    Hangs,
}

/// A text as a piece of an answer.
pub fn said(text: &str) -> ScriptedPart {
    ScriptedPart::Text(text.to_owned())
}

/// A text that never ends, as a piece of an answer.
pub fn half(text: &str) -> ScriptedPart {
    ScriptedPart::Half(text.to_owned())
}

/// A call with an id, as a piece of an answer.
pub fn call(id: &'static str, tool: &str, input: &str) -> ScriptedPart {
    ScriptedPart::Call(Some(id), tool.to_owned(), input.to_owned())
}

/// A call that the model gives an id, as a piece of an answer.
pub fn unnamed_call(tool: &str, input: &str) -> ScriptedPart {
    ScriptedPart::Call(None, tool.to_owned(), input.to_owned())
}

/// An answer of these pieces.
pub fn step(says: &[ScriptedPart], end: ScriptedEnd) -> ScriptedStep {
    ScriptedStep { says: says.to_vec(), end }
}

/// A text that is a whole answer.
pub fn text(text: &str) -> ScriptedStep {
    step(&[said(text)], ScriptedEnd::Because(FinishReason::Stop))
}

/// Calls that are made side by side.
pub fn calls(calls: &[ScriptedPart]) -> ScriptedStep {
    step(calls, ScriptedEnd::Because(FinishReason::ToolCalls))
}

/// One call without an id.
pub fn calls_tool(tool: &str, input: &str) -> ScriptedStep {
    calls(&[unnamed_call(tool, input)])
}

/// A request as the model got it.
#[derive(Clone, Debug)]
pub struct ModelRequest {
    /// The compiled body.
    pub body: String,
    /// The messages that it was shown.
    pub view: Vec<UiMessage>,
    /// Whether it asks for a summary and not for an answer.
    pub is_summary: bool,
}

type Mind = dyn Fn(&[UiMessage]) -> ScriptedStep + Send + Sync;
type Meanwhile = Box<dyn FnOnce() + Send>;

/// The model. Clones are the same model.
#[derive(Clone)]
pub struct ScriptedModel(Arc<Mutex<State>>);

struct State {
    mind: Arc<Mind>,
    /// The text of every summary; by default it is as long as there is room for.
    summary: Option<String>,
    window: Option<u64>,
    requests: Vec<ModelRequest>,
    meanwhile: Option<Meanwhile>,
    calls: u64,
    are_calls_alike: bool,
}

impl ScriptedModel {
    /// A model that decides by what it sees.
    pub fn new(mind: impl Fn(&[UiMessage]) -> ScriptedStep + Send + Sync + 'static) -> Self {
        Self(Arc::new(Mutex::new(State {
            mind: Arc::new(mind),
            summary: None,
            window: None,
            requests: Vec::new(),
            meanwhile: None,
            calls: 0,
            are_calls_alike: false,
        })))
    }

    /// A model that takes one step after the other.
    ///
    /// Which step is next follows from the request alone: from the last call in it, and from how many steps came
    /// after. So a script goes on after a restart where it was, as a real model would, also when the older steps are
    /// not shown any more.
    pub fn of_steps(steps: Vec<ScriptedStep>) -> Self {
        Self::new(move |view| {
            let next = steps.get(steps_taken(&steps, view)).cloned();
            next.unwrap_or_else(|| text("(the script has ended)"))
        })
    }

    /// Has it sum up with this text.
    pub fn with_summary(self, summary: &str) -> Self {
        self.state().summary = Some(summary.to_owned());
        self
    }

    /// Gives it a window of `tokens`, which it reports.
    pub fn with_window(self, tokens: u64) -> Self {
        self.state().window = Some(tokens);
        self
    }

    /// Gives it another mind.
    pub fn set_mind(&self, mind: impl Fn(&[UiMessage]) -> ScriptedStep + Send + Sync + 'static) {
        self.state().mind = Arc::new(mind);
    }

    /// Gives every call the same id from now on, as some providers do.
    pub fn name_all_calls_alike(&self) {
        self.state().are_calls_alike = true;
    }

    /// Lets something happen while the next summary is written.
    pub fn meanwhile(&self, happens: impl FnOnce() + Send + 'static) {
        self.state().meanwhile = Some(Box::new(happens));
    }

    /// Every request that it was sent.
    pub fn requests(&self) -> Vec<ModelRequest> {
        self.state().requests.clone()
    }

    /// How many requests it was sent.
    pub fn asked(&self) -> usize {
        self.state().requests.len()
    }

    /// How many requests asked for a summary.
    pub fn summaries(&self) -> usize {
        self.state().requests.iter().filter(|request| request.is_summary).count()
    }

    /// Waits until it was sent so many requests.
    pub async fn is_asked_for(&self, requests: usize) {
        while self.asked() < requests {
            tokio::task::yield_now().await;
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A mind that panics has failed its test already.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How many steps of a script have been taken in an answer that is shown as far as it goes.
fn steps_taken(steps: &[ScriptedStep], view: &[UiMessage]) -> usize {
    let makes = |says: &ScriptedPart, id: &str| matches!(says, ScriptedPart::Call(Some(known), ..) if *known == id);
    let step_of =
        |id: &str| steps.iter().position(|step| step.says.iter().any(|says| makes(says, id)));
    let so_far = view.iter().rev().take_while(|message| message.role() == Role::Assistant);
    let mut taken = 0;
    for part in so_far.flat_map(|message| message.parts().iter().rev()) {
        match part {
            UiPart::StepStart(_) => taken += 1,
            UiPart::Tool(tool) => return taken + step_of(tool.call_id()).unwrap() + 1,
            _ => {}
        }
    }
    taken
}

impl Provider for ScriptedModel {
    fn name(&self) -> &str {
        "scripted"
    }

    fn model(&self) -> &str {
        "scripted"
    }

    fn window_tokens(&self) -> Option<u64> {
        self.state().window
    }

    fn answer<'a>(
        &'a self,
        request: &'a Request<'_>,
        body: &'a str,
        mut sink: ChunkSink<'a>,
    ) -> AnswerFuture<'a> {
        let last = request.view.last().map(UiMessage::text).unwrap_or_default();
        let is_summary = request.system.iter().chain([&last]).any(|text| text.contains(REQUEST));
        let (mind, happens) = {
            let (mut state, view) = (self.state(), request.view.to_vec());
            state.requests.push(ModelRequest { body: body.to_owned(), view, is_summary });
            (Arc::clone(&state.mind), state.meanwhile.take_if(|_| is_summary))
        };
        let step = match is_summary {
            true => {
                let summary = self.state().summary.clone();
                text(&summary.unwrap_or_else(|| summary_within(request.max_tokens)))
            }
            false => mind(request.view),
        };
        Box::pin(async move {
            if let Some(happens) = happens {
                // What happens in another process has nothing to do with the runtime of this one.
                std::thread::spawn(happens).join().unwrap();
            }
            for (at, says) in step.says.iter().enumerate() {
                self.say(says, at, &mut sink);
            }
            let provider = self.name().to_owned();
            match step.end {
                ScriptedEnd::Because(finish_reason) => Ok(AnswerEnd { finish_reason, usage: None }),
                ScriptedEnd::Fails(reason) => {
                    Err(ProviderError::Failed { provider, reason: reason.to_owned() })
                }
                ScriptedEnd::BreaksOff => {
                    Err(ProviderError::Cut { provider, reason: "the line went dead".to_owned() })
                }
                ScriptedEnd::Hangs => std::future::pending().await,
            }
        })
    }
}

impl ScriptedModel {
    fn say(&self, says: &ScriptedPart, at: usize, sink: &mut ChunkSink<'_>) {
        let chunk = || TextChunk { id: at.to_string(), provider_metadata: None };
        match says {
            ScriptedPart::Text(text) | ScriptedPart::Half(text) => {
                sink(Chunk::TextStart(chunk()));
                for word in text.split_inclusive(' ') {
                    sink(Chunk::TextDelta(chunk(), word.into()));
                }
                if matches!(says, ScriptedPart::Text(_)) {
                    sink(Chunk::TextEnd(chunk()));
                }
            }
            ScriptedPart::Call(id, tool, input) => {
                let call_id = id.map_or_else(|| self.next_call_id(), str::to_owned);
                sink(Chunk::ToolInputAvailable {
                    tool: ToolChunk { call_id, ..ToolChunk::default() },
                    tool_name: tool.clone(),
                    input: Json::parse(input).unwrap(),
                });
            }
        }
    }

    fn next_call_id(&self) -> String {
        let mut state = self.state();
        state.calls += u64::from(!state.are_calls_alike);
        format!("c{}", state.calls)
    }
}
