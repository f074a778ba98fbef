//! A model that answers at once, or when its gate opens.

use std::io;
use std::sync::Arc;

use ship_message::{Chunk, FinishReason, TextChunk};
use ship_provider::wire::Format;
use ship_provider::{AnswerEnd, AnswerFuture, ChunkSink, Provider, Recipe, Request};
use tokio::sync::Semaphore;

/// As many tokens as the windows of the chats nearly fill, so that requests are counted.
const WINDOW: u64 = 200_000;
const ANSWER: &str = "The ship sails at dawn, with the tide, and the crew is aboard since noon. ";

/// Keeps a model from answering until it is opened.
#[derive(Clone)]
pub(super) struct Gate {
    waiting: Arc<Semaphore>,
    open: Arc<Semaphore>,
}

impl Gate {
    pub(super) fn new() -> Self {
        Self { waiting: Arc::new(Semaphore::new(0)), open: Arc::new(Semaphore::new(0)) }
    }

    /// Waits until so many answers wait.
    pub(super) async fn wait_for(&self, answers: usize) -> io::Result<()> {
        for _ in 0..answers {
            self.waiting.acquire().await.map_err(io::Error::other)?.forget();
        }
        Ok(())
    }

    pub(super) fn open(&self) {
        self.open.close();
    }

    async fn pass(&self) {
        self.waiting.add_permits(1);
        // The gate is open when it is closed for good, so this is always an error.
        let _ = self.open.acquire().await;
    }
}

/// The model.
pub(super) struct Model {
    pub(super) gate: Option<Gate>,
}

impl Provider for Model {
    fn name(&self) -> &str {
        "bench"
    }

    fn model(&self) -> &str {
        "bench"
    }

    fn window_tokens(&self) -> Option<u64> {
        Some(WINDOW)
    }

    fn recipe(&self) -> Recipe {
        Recipe { format: Some(Format::OpenAi), ..Recipe::plain("bench", "bench") }
    }

    fn answer<'a>(
        &'a self,
        _request: &'a Request<'_>,
        _body: &'a str,
        mut sink: ChunkSink<'a>,
    ) -> AnswerFuture<'a> {
        Box::pin(async move {
            if let Some(gate) = &self.gate {
                gate.pass().await;
            }
            let text = || TextChunk { id: "0".to_owned(), provider_metadata: None };
            sink(Chunk::TextStart(text()));
            for _ in 0..4 {
                sink(Chunk::TextDelta(text(), ANSWER.into()));
            }
            sink(Chunk::TextEnd(text()));
            Ok(AnswerEnd { finish_reason: FinishReason::Stop, usage: None })
        })
    }
}
