//! Listeners that join at every moment of a run, and read at different paces.

use std::future::poll_fn;
use std::pin::pin;

use ship_agent::Listener;
use ship_message::Chunk;

use super::subscriber::{Subscriber, heard, next_chunk};
use crate::harness::TestAgent;

/// Listeners that join at every moment of a run, and what each has heard.
pub(super) struct Latecomers<'a> {
    test: &'a TestAgent,
    /// How much is read at a time, again and again.
    paces: std::iter::Cycle<std::vec::IntoIter<usize>>,
    /// One that hears everything, for those that join while no run is going on: they have read the chat.
    reader: Listener,
    read: Vec<Chunk>,
    joined: Vec<(Listener, Vec<Chunk>)>,
}

impl<'a> Latecomers<'a> {
    pub(super) fn new(test: &'a TestAgent, paces: Vec<usize>) -> Self {
        let (reader, paces) = (test.agent.listen(&test.chat), paces.into_iter().cycle());
        Self { test, paces, reader, read: Vec::new(), joined: Vec::new() }
    }

    /// Waits for a run. Whenever it waits for something, one joins, and those that are there read a little.
    pub(super) async fn join_during<T>(&mut self, running: impl Future<Output = T>) -> T {
        let mut running = pin!(running);
        poll_fn(|context| {
            let polled = running.as_mut().poll(context);
            self.join();
            for (listener, chunks) in &mut self.joined {
                let count = self.paces.next().unwrap_or(0);
                chunks.extend(std::iter::from_fn(|| next_chunk(listener)).take(count));
            }
            polled
        })
        .await
    }

    fn join(&mut self) {
        self.read.extend(heard(&mut self.reader));
        let mut listener = self.test.agent.listen(&self.test.chat);
        let chunks = match next_chunk(&mut listener) {
            Some(first) => {
                assert!(matches!(first, Chunk::Start { .. }), "{first:?}");
                vec![first]
            }
            None => self.read.clone(),
        };
        self.joined.push((listener, chunks));
    }

    /// Checks that all have assembled what one has that got all `chunks`.
    pub(super) fn assert_assembled(self, chunks: &[Chunk]) {
        let assembled = Subscriber::after(chunks).into_messages();
        for (mut listener, mut chunks) in self.joined {
            chunks.extend(heard(&mut listener));
            let messages = Subscriber::after(&chunks).into_messages();
            assert_eq!(messages.last(), assembled.last());
            assert!(messages.iter().all(|message| assembled.contains(message)), "{messages:#?}");
        }
    }
}
