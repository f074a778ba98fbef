//! A model that says what it was told to say, step by step.
//!
//! Which step is next follows from the request alone: from the last call in it, and from how many steps came
//! after. So a script goes on after a restart where it was, as a real model would, also when the older steps
//! are not shown any more.

use std::sync::{Arc, Mutex};

use ship_message::json::Json;
use ship_message::{Chunk, FinishReason, Role, TextChunk, ToolChunk, UiMessage, UiPart};
use ship_provider::{AnswerEnd, AnswerFuture, ChunkSink, Provider, ProviderError, Request};

/// One step of a script: what is said, and how it ends.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) says: Vec<Says>,
    pub(crate) end: End,
}

/// A piece of an answer.
#[derive(Clone, Debug)]
pub(crate) enum Says {
    Text(&'static str),
    /// A text that never ends.
    Half(&'static str),
    /// A call: its id, the tool, and the input as JSON.
    Call(&'static str, &'static str, &'static str),
}

/// How a step ends.
#[derive(Clone, Debug)]
pub(crate) enum End {
    Because(FinishReason),
    Fails(&'static str),
    BreaksOff,
    /// Never.
    Hangs,
}

pub(crate) fn step(says: &[Says], end: End) -> Step {
    Step { says: says.to_vec(), end }
}

/// A text that is a whole answer.
pub(crate) fn text(text: &'static str) -> Step {
    step(&[Says::Text(text)], End::Because(FinishReason::Stop))
}

/// Calls that are made side by side.
pub(crate) fn calls(calls: &[Says]) -> Step {
    step(calls, End::Because(FinishReason::ToolCalls))
}

/// The model. Clones are the same model.
#[derive(Clone)]
pub(crate) struct Scripted {
    steps: Arc<Vec<Step>>,
    /// Every request that it was sent.
    pub(crate) requests: Arc<Mutex<Vec<String>>>,
}

impl Scripted {
    pub(crate) fn new(steps: Vec<Step>) -> Self {
        Self { steps: Arc::new(steps), requests: Arc::default() }
    }

    /// The step that this request asks for.
    fn next(&self, request: &Request<'_>) -> Step {
        if request.tools.is_empty() {
            return text("## Facts\n- The ship is blue.");
        }
        let is_answer = |message: &&UiMessage| message.role() == Role::Assistant;
        let so_far = request.view.iter().rev().take_while(is_answer);
        let mut steps = 0;
        for part in so_far.flat_map(|message| message.parts().iter().rev()) {
            match part {
                UiPart::StepStart(_) => steps += 1,
                UiPart::Tool(tool) => {
                    steps += self.step_of(tool.call_id()) + 1;
                    break;
                }
                _ => {}
            }
        }
        self.steps.get(steps).cloned().unwrap_or_else(|| text("(the script has ended)"))
    }

    /// The step that makes a call.
    fn step_of(&self, call_id: &str) -> usize {
        let makes = |says: &Says| matches!(says, Says::Call(id, _, _) if *id == call_id);
        self.steps.iter().position(|step| step.says.iter().any(makes)).unwrap()
    }
}

impl Provider for Scripted {
    fn name(&self) -> &str {
        "scripted"
    }

    fn model(&self) -> &str {
        "scripted"
    }

    fn window_tokens(&self) -> Option<u64> {
        None
    }

    fn answer<'a>(
        &'a self,
        request: &'a Request<'_>,
        body: &'a str,
        mut sink: ChunkSink<'a>,
    ) -> AnswerFuture<'a> {
        self.requests.lock().unwrap().push(body.to_owned());
        let step = self.next(request);
        Box::pin(async move {
            for (at, says) in step.says.iter().enumerate() {
                say(says, at, &mut sink);
            }
            let provider = "scripted".to_owned();
            match step.end {
                End::Because(finish_reason) => Ok(AnswerEnd { finish_reason, usage: None }),
                End::Fails(reason) => {
                    Err(ProviderError::Failed { provider, reason: reason.to_owned() })
                }
                End::BreaksOff => {
                    Err(ProviderError::Cut { provider, reason: "the line went dead".to_owned() })
                }
                End::Hangs => std::future::pending().await,
            }
        })
    }
}

fn say(says: &Says, at: usize, sink: &mut ChunkSink<'_>) {
    let chunk = || TextChunk { id: at.to_string(), provider_metadata: None };
    match says {
        Says::Text(text) | Says::Half(text) => {
            sink(Chunk::TextStart(chunk()));
            for word in text.split_inclusive(' ') {
                sink(Chunk::TextDelta(chunk(), word.into()));
            }
            if matches!(says, Says::Text(_)) {
                sink(Chunk::TextEnd(chunk()));
            }
        }
        Says::Call(id, name, input) => sink(Chunk::ToolInputAvailable {
            tool: ToolChunk { call_id: (*id).to_owned(), ..ToolChunk::default() },
            tool_name: (*name).to_owned(),
            input: Json::parse(input).unwrap(),
        }),
    }
}
