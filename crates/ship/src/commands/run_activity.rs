//! Says what a run is doing, from its events.

use std::time::Duration;

use ship_agent::{LaneWaiting, RunEvent, RunNotice};
use ship_message::Chunk;
use tokio::time::Instant;

use crate::output;
use crate::progress_line::{CursorPlace, ProgressLine, TypedBeside};
use crate::session::Session;

/// The activity of a run, in a line on the terminal.
pub(crate) struct RunActivity {
    line: ProgressLine,
    model: String,
    /// The calls that have no result yet, each with its tool.
    calls: Vec<(String, String)>,
    /// The time at which the provider is asked again.
    retry_at: Option<Instant>,
    /// Whether a summary was made on the way.
    has_summary: bool,
}

impl RunActivity {
    /// Begins with the wait for the model. The time counts from here.
    pub(crate) fn begin(session: &Session) -> Self {
        Self::new(session.model_name())
    }

    fn new(model: String) -> Self {
        let line = ProgressLine::begin(waiting_for(&model));
        Self { line, model, calls: Vec::new(), retry_at: None, has_summary: false }
    }

    /// Makes the same activity begin with a compaction.
    pub(crate) fn making_room(mut self, text: &str) -> Self {
        self.set(text);
        self
    }

    /// Makes the same activity without a line.
    pub(crate) fn hidden(mut self) -> Self {
        self.line.hide();
        self
    }

    /// Whether the activity is shown, so that it need not be printed.
    pub(crate) fn is_shown(&self) -> bool {
        self.line.is_animated()
    }

    /// Returns the time since the run began.
    pub(crate) fn elapsed(&self) -> Duration {
        self.line.elapsed()
    }

    /// Whether a summary was made on the way.
    pub(crate) fn has_summary(&self) -> bool {
        self.has_summary
    }

    /// Waits for the next frame, and draws it if nothing else was printed for a while.
    pub(crate) async fn next_frame(&mut self, cursor: CursorPlace) {
        self.line.next_frame(cursor).await;
        if self.retry_at.is_some_and(|at| at <= Instant::now()) {
            self.wait_for_model();
        }
    }

    /// Shows what the person has typed meanwhile.
    pub(crate) fn show_typed(&mut self, typed: TypedBeside, cursor: CursorPlace) {
        self.line.show_typed(typed, cursor);
    }

    /// Erases the line before something else is printed. Returns whether it was there.
    pub(crate) fn erase(&mut self) -> bool {
        self.line.erase()
    }

    /// Follows the run.
    pub(crate) fn follow(&mut self, event: &RunEvent) {
        match event {
            RunEvent::Chunk(chunk) => self.follow_chunk(chunk),
            RunEvent::Waiting(LaneWaiting::Lane) => self.set("waiting for this chat"),
            RunEvent::Waiting(LaneWaiting::OtherProcess | LaneWaiting::FrozenProcess(_)) => {
                self.set("waiting for another process");
            }
            RunEvent::Repeated(_)
            | RunEvent::Sent(_)
            | RunEvent::Ended { .. }
            | RunEvent::Left { .. }
            | RunEvent::Missed
            | RunEvent::Reply(_) => {}
        }
    }

    fn follow_chunk(&mut self, chunk: &Chunk) {
        match chunk {
            Chunk::StartStep => self.wait_for_model(),
            Chunk::ReasoningStart(_) | Chunk::ReasoningDelta(..) => self.set("thinking"),
            Chunk::TextStart(_) | Chunk::TextDelta(..) => self.set("writing"),
            Chunk::ToolInputAvailable { tool, tool_name, .. } => {
                self.calls.push((tool.call_id.clone(), tool_name.clone()));
                self.name_call();
            }
            Chunk::ToolOutputAvailable { tool, .. } | Chunk::ToolOutputError { tool, .. } => {
                self.calls.retain(|(call_id, _)| *call_id != tool.call_id);
                self.name_call();
            }
            Chunk::Data(part) => match RunNotice::read(part) {
                Some(RunNotice::MakingRoom(text)) => {
                    self.has_summary = true;
                    self.set(&lower_first(text));
                }
                Some(RunNotice::MadeRoom { .. }) => self.wait_for_model(),
                Some(RunNotice::Retry { text, wait }) => self.wait_for_retry(text, wait),
                Some(RunNotice::Context(_) | RunNotice::Broken(_) | RunNotice::Other(_)) | None => {
                }
            },
            _ => {}
        }
    }

    fn set(&mut self, text: &str) {
        self.retry_at = None;
        self.line.set(text);
    }

    fn wait_for_model(&mut self) {
        let text = waiting_for(&self.model);
        self.set(&text);
    }

    /// Names the call that runs now: calls run in their order.
    fn name_call(&mut self) {
        match self.calls.first().map(|(_, tool)| format!("running {tool}")) {
            Some(text) => self.set(&text),
            None => self.wait_for_model(),
        }
    }

    /// Says when the provider is asked again. Where no line is drawn, this is a line of its own.
    fn wait_for_retry(&mut self, text: &str, wait: Duration) {
        if !self.line.is_animated() {
            output::print_notice(text);
        }
        self.set(text);
        self.retry_at = Some(Instant::now() + wait);
    }
}

fn waiting_for(model: &str) -> String {
    format!("waiting for {model}")
}

fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().into_iter().flat_map(char::to_lowercase).chain(chars).collect()
}

#[cfg(test)]
mod tests {
    use ship_message::json::{Json, Object};
    use ship_message::{TextChunk, ToolChunk};

    use super::*;

    fn call(id: &str) -> ToolChunk {
        ToolChunk { call_id: id.to_owned(), ..ToolChunk::default() }
    }

    fn available(id: &str, tool_name: &str) -> Chunk {
        let (tool, tool_name) = (call(id), tool_name.to_owned());
        Chunk::ToolInputAvailable { tool, tool_name, input: Json::Null }
    }

    fn answered(id: &str) -> Chunk {
        Chunk::ToolOutputAvailable { tool: call(id), output: Json::Null, preliminary: None }
    }

    fn notice(kind: &str, text: &str) -> Chunk {
        let data = Object::from([("kind", kind), ("text", text)]);
        let part = [("type", Json::from("data-notice")), ("data", data.into())];
        Chunk::Data(Object::from(part))
    }

    #[tokio::test]
    async fn the_line_follows_the_run() {
        let text = || TextChunk { id: "t".to_owned(), provider_metadata: None };
        let mut activity = RunActivity::new("gpt".to_owned());
        assert_eq!(activity.line.text(), "waiting for gpt");
        for (chunk, shown) in [
            (Chunk::ReasoningStart(text()), "thinking"),
            (Chunk::TextStart(text()), "writing"),
            (available("a", "chat_send"), "running chat_send"),
            (available("b", "read_file"), "running chat_send"),
            (answered("a"), "running read_file"),
            (answered("b"), "waiting for gpt"),
            (notice("compacting", "Making room: part 1 of 2"), "making room: part 1 of 2"),
            (notice("compacted", "Made room"), "waiting for gpt"),
            (notice("retry", "retrying in 2 s (429)"), "retrying in 2 s (429)"),
            (Chunk::StartStep, "waiting for gpt"),
        ] {
            activity.follow(&RunEvent::Chunk(chunk.clone()));
            assert_eq!(activity.line.text(), shown, "after {chunk:?}");
        }
    }
}
