//! The stream of a run: what subscribers get, in the order of the AI SDK.
//!
//! A stream begins with `start`. The results and questions of a step come before its `finish-step`, which is therefore
//! sent when the next step begins or the stream ends. A run that ends or parks sends `finish`, and one that is stopped
//! sends `abort`. When a parked run continues, its stream begins again with the same id, and the results of the calls
//! that waited come before the next step.
//!
//! A run that continues in another message ends the step and sends `start` with the other id. The parts with which that
//! message begins are repeated, because a client looks for the call of a result in the message that it assembles.

use ship_message::{Assembler, Chunk, FinishReason, ToolChunk, ToolState, UiPart};

use super::run_progress::RunProgress;
use crate::engine::ActiveRun;
use crate::events::RunEvent;
use crate::reply::Outcome;

impl RunProgress {
    /// Begins the stream, unless subscribers have its beginning: the message begins or continues, and the client may
    /// have given outputs while the run was parked.
    pub(super) fn announce(&mut self, work: &ActiveRun) {
        if !std::mem::replace(&mut self.is_announced, true) {
            let parts = self.assembler.message().parts();
            let answered = self.answered_calls.iter().filter_map(|at| parts.get(*at));
            let outputs = answered.filter_map(output_chunk).collect();
            self.begin_stream(work, outputs);
        }
    }

    /// Adds a chunk to the message, and sends it to subscribers.
    pub(crate) fn push(&mut self, work: &ActiveRun, chunk: Chunk) {
        self.announce(work);
        push_chunk(&mut self.assembler, work, chunk);
    }

    /// Ends the step that is open, after the results of its calls.
    pub(super) fn end_step(&mut self, work: &ActiveRun) {
        if self.assembler.is_in_step() {
            self.push(work, Chunk::FinishStep);
        }
    }

    /// Tells subscribers that the run continues in another message, and the parts with which that message begins.
    pub(super) fn announce_next_message(&mut self, work: &ActiveRun) {
        self.is_announced = true;
        let chunks = self.assembler.chunks().into_iter();
        let parts = chunks.filter(|chunk| !matches!(chunk, Chunk::Start { .. }));
        self.begin_stream(work, parts.collect());
    }

    /// Sends `start` and what is repeated. Subscribers that join later get the whole message instead.
    fn begin_stream(&mut self, work: &ActiveRun, repeated: Vec<Chunk>) {
        let message_id = self.start.message_id.clone();
        let start = Chunk::Start { message_id: Some(message_id.clone()), message_metadata: None };
        let repeated = repeated.into_iter().map(RunEvent::Repeated);
        let events = std::iter::once(RunEvent::Chunk(start)).chain(repeated).collect();
        let (hub, chat) = (&work.locked.engine.hub, work.locked.chat.key());
        hub.begin(chat, message_id, events, self.assembler.chunks());
    }
}

/// Adds a chunk to a message. A chunk that does not fit is the provider's mistake, and leaves the message unchanged.
pub(super) fn push_chunk(assembler: &mut Assembler, work: &ActiveRun, chunk: Chunk) {
    if assembler.push(chunk.clone()).is_ok() {
        work.notify(RunEvent::Chunk(chunk));
    }
}

/// Returns the last chunk of a run; `mark` is the reason why its answer is incomplete.
pub(super) fn last_chunk(outcome: &Outcome, mark: Option<FinishReason>) -> Chunk {
    let finish_reason = match outcome {
        Outcome::Done => mark.unwrap_or(FinishReason::Stop),
        Outcome::Failed(_) => mark.unwrap_or(FinishReason::Error),
        Outcome::Parked => FinishReason::ToolCalls,
        Outcome::Stopped | Outcome::Left => return Chunk::Abort { reason: None },
    };
    Chunk::Finish { finish_reason: Some(finish_reason), message_metadata: None }
}

/// Returns the chunk with the output of a call, if the part is a call that has one.
fn output_chunk(part: &UiPart) -> Option<Chunk> {
    let UiPart::Tool(call) = part else { return None };
    let tool = ToolChunk { call_id: call.call_id().to_owned(), ..ToolChunk::default() };
    match call.state() {
        ToolState::OutputAvailable => {
            let output = call.output().cloned().unwrap_or_default();
            Some(Chunk::ToolOutputAvailable { tool, output, preliminary: None })
        }
        ToolState::OutputError => {
            let error_text = call.error_text().unwrap_or_default().to_owned();
            Some(Chunk::ToolOutputError { tool, error_text })
        }
        // Version 6 has no chunk for the answer to an approval.
        _ => None,
    }
}
