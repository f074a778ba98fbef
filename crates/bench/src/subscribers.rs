//! A run that streams a hundred deltas a second to a thousand subscribers, of which half never read: how much longer it
//! takes by its own clock than alone, and what the subscribers cost.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ship_agent::{Agent, Chunk, Listener, RunEvent};
use ship_message::{FinishReason, TextChunk};
use ship_provider::{AnswerEnd, AnswerFuture, ChunkSink, Provider, Request};
use ship_store::{ChatKey, FileStore};
use ship_testkit::chat::options;
use tokio::task::JoinSet;

use crate::processor::{process_time, resident_bytes};
use crate::report::{Report, Want};

/// The subscribers that read, and those that never do.
const READERS: usize = 500;
const OTHERS: usize = 500;
/// Five seconds of an answer.
const DELTAS: usize = 500;
const PAUSE: Duration = Duration::from_millis(10);
/// An answer of a megabyte.
const LONG: usize = 100_000;
const WORD: &str = "starboard ";

/// Measures what subscribers cost a run.
///
/// # Errors
/// When a chat cannot be run, or a subscriber does not get the whole answer.
pub fn bench(report: &mut Report<'_>) -> io::Result<()> {
    report.section("1,000 subscribers of one chat, of which 500 never read");
    let threads =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build()?;
    let run = |model: Model, readers, others| {
        threads.block_on(measure(model, readers, others)).map_err(io::Error::other)
    };
    let paced = Model { deltas: DELTAS, pause: Some(PAUSE), ..Model::default() };
    let (alone, followed) = (run(paced.clone(), 0, 0)?, run(paced, READERS, OTHERS)?);
    let slower = followed.time.as_secs_f64() / alone.time.as_secs_f64();
    report.ratio("time of a run of 100 deltas a second, over one alone", slower, Want::AtMost(1.1));
    for (cost, with) in [(&alone, "alone"), (&followed, "with subscribers")] {
        let each = |time: Duration| time.as_secs_f64() * 1e6 / DELTAS as f64;
        let (all, sending) = (each(cost.processor), each(cost.sending));
        report
            .note(&format!("{with}: {all:.0} µs of processor a delta, {sending:.1} µs to send it"));
    }

    let long = Model { deltas: LONG, ..Model::default() };
    // The run alone comes last: it may use the memory that the other has left, and not the other way round.
    let (unread, alone) = (run(long.clone(), 0, READERS + OTHERS)?, run(long, 0, 0)?);
    let answers = |bytes: u64| bytes as f64 / (LONG * WORD.len()) as f64;
    let memory = answers(unread.memory);
    report.ratio("memory with 1,000 that never read, in answers", memory, Want::AtMost(5.0));
    let sending = unread.sending.as_secs_f64() / alone.sending.as_secs_f64();
    report.ratio("time to send to 1,000 that never read, over none", sending, Want::AtMost(20.0));
    Ok(())
}

/// What a run took.
struct Cost {
    time: Duration,
    processor: Duration,
    /// The time that its model spent in handing over deltas.
    sending: Duration,
    /// The bytes that the process had grown by at the end of the answer.
    memory: u64,
}

async fn measure(model: Model, readers: usize, others: usize) -> Result<Cost, String> {
    let chat: ChatKey = "api:main".parse().map_err(|error| format!("{error}"))?;
    let store = FileStore::in_memory(options());
    let agent = Agent::builder().store(store).provider(model.clone()).build();
    let memory_before = resident_bytes();
    let mut reading = JoinSet::new();
    for _ in 0..readers {
        reading.spawn(read(agent.listen(&chat)));
    }
    let others: Vec<Listener> = (0..others).map(|_| agent.listen(&chat)).collect();
    let (begun, processor) = (Instant::now(), process_time());
    agent.send(&chat, "go").await.map_err(|error| error.to_string())?;
    let time = begun.elapsed();
    for length in reading.join_all().await {
        if length != model.deltas * WORD.len() {
            return Err(format!("a subscriber got {length} bytes of the answer"));
        }
    }
    let processor = process_time().saturating_sub(processor);
    drop(others);
    let sending = *model.sending.lock().unwrap_or_else(PoisonError::into_inner);
    let memory = model.memory.load(Ordering::Relaxed).saturating_sub(memory_before);
    Ok(Cost { time, processor, sending, memory })
}

/// Reads an answer to its end, and returns its length.
async fn read(mut listener: Listener) -> usize {
    let mut length = 0;
    while let Some(event) = listener.next().await {
        match &*event {
            RunEvent::Chunk(Chunk::TextDelta(_, delta)) => length += delta.len(),
            RunEvent::Ended { .. } => break,
            _ => {}
        }
    }
    length
}

/// A model that answers with many deltas, and measures how long they take to hand over.
#[derive(Clone, Default)]
struct Model {
    deltas: usize,
    /// The pause behind each delta.
    pause: Option<Duration>,
    sending: Arc<Mutex<Duration>>,
    /// The memory of the process at the end of the answer.
    memory: Arc<AtomicU64>,
}

impl Provider for Model {
    fn name(&self) -> &str {
        "bench"
    }

    fn model(&self) -> &str {
        "bench"
    }

    fn window_tokens(&self) -> Option<u64> {
        None
    }

    #[expect(clippy::disallowed_methods, reason = "the model speaks at a certain pace")]
    fn answer<'a>(
        &'a self,
        _request: &'a Request<'_>,
        _body: &'a str,
        mut sink: ChunkSink<'a>,
    ) -> AnswerFuture<'a> {
        Box::pin(async move {
            let text = || TextChunk { id: "0".to_owned(), provider_metadata: None };
            let mut sending = Duration::ZERO;
            sink(Chunk::TextStart(text()));
            for _ in 0..self.deltas {
                let begun = Instant::now();
                sink(Chunk::TextDelta(text(), WORD.into()));
                sending += begun.elapsed();
                if let Some(pause) = self.pause {
                    tokio::time::sleep(pause).await;
                }
            }
            sink(Chunk::TextEnd(text()));
            *self.sending.lock().unwrap_or_else(PoisonError::into_inner) = sending;
            self.memory.store(resident_bytes(), Ordering::Relaxed);
            Ok(AnswerEnd { finish_reason: FinishReason::Stop, usage: None })
        })
    }
}
