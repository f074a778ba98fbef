//! Counts the pieces of a request where blocking is allowed, and keeps the counts of messages for the next process.
//!
//! To count a window takes tens of milliseconds, and to load the vocabulary a tenth of a second: too long for a thread
//! that serves other chats. The counts of a window are kept in a file that is derived from it, so that a chat which is
//! read again is not counted again. If the file is gone or damaged, the window is counted.

use std::sync::Arc;

use ship_context::CountProgress;
use ship_store::{Derived, DerivedState};

use super::prepared_request::PreparedRequest;
use super::stored_texts::log_not_recorded;
use crate::blocking_work::blocking;
use crate::engine::{ActiveRun, Engine};
use crate::tokens::RequestPieces;

/// The number of messages that are counted without looking for their counts in the file or writing them there. A chat
/// in memory has that few new ones at each step, so the file is read when a window is new to a process, and written
/// when it lacks more.
const FEW: usize = 16;

/// Counts everything in a request that is not counted yet. What else asks for its tokens does not wait then.
pub(crate) async fn count_request(work: &ActiveRun, request: &PreparedRequest) {
    let meter = &work.locked.engine.token_meter;
    let CountProgress { uncounted, unwritten } = meter.count_progress(&request.shown);
    let derived = work.locked.chat.derived();
    let known = match uncounted.len() > FEW {
        true => derived.read(Derived::TokenCounts).await.ok().flatten().map(|known| known.value),
        false => None,
    };
    let new = match uncounted.is_empty() {
        true => 0,
        false => {
            let meter = Arc::clone(meter);
            blocking(move || meter.count_messages(&uncounted, known.as_ref())).await
        }
    };
    count_fixed_part(&work.locked.engine, request).await;
    if unwritten + new <= FEW {
        return;
    }
    if let Some(value) = meter.counts_of(&request.shown) {
        // The counts belong to messages wherever they are, so the place in the log means nothing.
        let state = DerivedState { value, position: work.position().await, crc: 0 };
        if let Err(error) = derived.put(Derived::TokenCounts, state).await {
            log_not_recorded(work, &error);
        }
    }
}

/// Counts the system blocks and the tools of a request, if they are not counted yet.
async fn count_fixed_part(engine: &Engine, request: &PreparedRequest) {
    let meter = &engine.token_meter;
    if !meter.has_counted_fixed(&request.blocks, &request.tools) {
        let (meter, blocks) = (Arc::clone(meter), request.blocks.clone());
        let tools = request.tools.clone();
        blocking(move || {
            meter.count_pieces(RequestPieces { blocks: &blocks, messages: &[], tools: &tools })
        })
        .await;
    }
}

/// Counts a request without a run.
pub(crate) async fn count_unsent(engine: &Engine, request: &PreparedRequest) {
    let uncounted = engine.token_meter.count_progress(&request.shown).uncounted;
    if !uncounted.is_empty() {
        let meter = Arc::clone(&engine.token_meter);
        blocking(move || meter.count_messages(&uncounted, None)).await;
    }
    count_fixed_part(engine, request).await;
}

#[cfg(test)]
mod tests {
    use ship_message::{Chunk, FinishReason, TextChunk};
    use ship_provider::wire::Format;
    use ship_provider::{AnswerEnd, AnswerFuture, ChunkSink, Provider, Recipe, Request};
    use ship_store::{ChatKey, FileStore, Store as _};
    use ship_testkit::chat::options;
    use ship_testkit::sim::SimDisk;

    use super::*;
    use crate::engine::Agent;
    use crate::rules::Rules;

    /// A model whose window is so small that a chat of a few thousand tokens is counted.
    struct SmallModel;

    impl Provider for SmallModel {
        fn name(&self) -> &str {
            "test"
        }

        fn model(&self) -> &str {
            "test-model"
        }

        fn window_tokens(&self) -> Option<u64> {
            Some(16_000)
        }

        fn recipe(&self) -> Recipe {
            Recipe { format: Some(Format::OpenAi), ..Recipe::plain("test", "test-model") }
        }

        fn answer<'a>(
            &'a self,
            _: &'a Request<'_>,
            _: &'a str,
            mut sink: ChunkSink<'a>,
        ) -> AnswerFuture<'a> {
            Box::pin(async move {
                let text = || TextChunk { id: "0".to_owned(), provider_metadata: None };
                sink(Chunk::TextStart(text()));
                sink(Chunk::TextDelta(text(), "The ship sails at dawn.".into()));
                sink(Chunk::TextEnd(text()));
                Ok(AnswerEnd { finish_reason: FinishReason::Stop, usage: None })
            })
        }
    }

    /// An agent in a process of its own, and the disk's chat.
    struct Process {
        agent: Agent,
        store: Arc<FileStore>,
        chat: ChatKey,
    }

    impl Process {
        fn begin(disk: &SimDisk) -> Self {
            let store = Arc::new(FileStore::on_disk(Box::new(disk.clone()), options()));
            let rules = Rules { max_tokens: 500, ..Rules::default() };
            let agent = Agent::builder().shared_store(store.clone()).provider(SmallModel);
            let agent = agent.rules(rules).without_built_in_tools().build();
            Self { agent, store, chat: "terminal:main".parse().unwrap() }
        }

        async fn say(&self, nth: usize) {
            let text = format!("{nth} {}", "Where does the ship sail? ".repeat(40));
            self.agent.send(&self.chat, text.as_str()).await.unwrap();
        }

        /// Returns how many counts later processes find.
        async fn written(&self) -> usize {
            let chat = self.store.open(&self.chat).await.unwrap().unwrap();
            let known = chat.derived().read(Derived::TokenCounts).await.unwrap();
            let counts = known.map(|known| known.value.str("counts").unwrap().to_owned());
            counts.unwrap_or_default().split_whitespace().count()
        }
    }

    #[tokio::test]
    async fn the_vocabulary_is_loaded_where_blocking_is_allowed_also_if_all_messages_are_known() {
        let disk = SimDisk::default();
        for process in 0..3 {
            let process_begins = Process::begin(&disk);
            for nth in 0..20 {
                process_begins.say(20 * process + nth).await;
                if process > 0 {
                    break;
                }
            }
            let loader = process_begins.agent.engine.token_meter.vocabulary_loader();
            assert!(loader.is_some(), "process {process} has counted something");
            assert_ne!(loader, Some(std::thread::current().id()), "process {process}");
        }
    }

    #[tokio::test]
    async fn a_chat_that_grows_by_one_message_at_a_time_is_counted_by_the_next_process_to_a_few() {
        let process = Process::begin(&SimDisk::default());
        for nth in 0..40 {
            process.say(nth).await;
        }
        let messages = 80;
        let written = process.written().await;
        assert!(written <= messages && messages - written <= FEW + 2, "{written}");
    }
}
