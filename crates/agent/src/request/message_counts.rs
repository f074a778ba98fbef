//! Counts the messages of a request where blocking is allowed, and keeps the counts for the next process.
//!
//! To count a window takes tens of milliseconds, and to load the vocabulary a tenth of a second: too long for a thread
//! that serves other chats. The counts of a window are kept in a file that is derived from it, so that a chat which is
//! read again is not counted again. If the file is gone or damaged, the window is counted.

use std::sync::Arc;

use ship_store::{Derived, DerivedState};

use super::prepared_request::PreparedRequest;
use super::stored_texts::log_not_recorded;
use crate::blocking_work::blocking;
use crate::engine::ActiveRun;

/// The number of messages that are counted without looking for their counts in the file or writing them there. A chat
/// in memory has that few new ones at each step, so the file is read and written only when a window is new to a process.
const FEW: usize = 16;

/// Counts the messages of a request that are not counted yet. What else asks for their tokens does not wait then.
pub(crate) async fn count_messages(work: &ActiveRun, request: &PreparedRequest) {
    let meter = Arc::clone(&work.locked.engine.token_meter);
    let uncounted = meter.uncounted(&request.shown);
    if uncounted.is_empty() {
        return;
    }
    let derived = work.locked.chat.derived();
    let known = match uncounted.len() > FEW {
        true => derived.read(Derived::TokenCounts).await.ok().flatten().map(|known| known.value),
        false => None,
    };
    let counting = move || meter.count_messages(&uncounted, known.as_ref());
    let new = blocking(counting).await;
    let counts = work.locked.engine.token_meter.counts_of(&request.shown);
    if let Some(value) = counts.filter(|_| new > FEW) {
        // The counts belong to messages wherever they are, so the place in the log means nothing.
        let state = DerivedState { value, position: work.position().await, crc: 0 };
        if let Err(error) = derived.put(Derived::TokenCounts, state).await {
            log_not_recorded(work, &error);
        }
    }
}
