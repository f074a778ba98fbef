//! Remembers earlier model calls in memory, so that the next one only costs its own line.

use std::collections::HashSet;
use std::sync::Arc;

use parking_lot::Mutex;
use ship_message::json::Object;
use ship_provider::Usage;
use ship_store::ChatKey;

use super::request_record::RequestRecord;
use super::usage::usage_of_run;
use super::written_body::WrittenBody;
use crate::blocking_work::is_large;
use crate::memory_budget::{MemoryBudget, Weighed};
use crate::recent_map::RecentMap;

/// The number of chats whose last call is at least remembered: a few megabytes.
const CHATS_KEPT: usize = 2_048;
/// The number of runs all of whose calls are at least remembered, if there is room. A reply asks for them right behind its run.
const RUNS_KEPT: usize = 64;
/// The number of texts that are known to be stored.
const TEXTS_MAX: usize = 4_096;
/// The number of chats whose last body is at least kept. A run mostly makes several calls in one chat, and the next body
/// begins like the last one; with others that run meanwhile, it only costs digesting the beginning again.
const BODIES_KEPT: usize = 2;
/// The number of lines that surely contain the last call: it may be sent more than once, and each has an answer.
pub(crate) const RECENT_LINES: usize = 64;

/// The earlier calls that an agent remembers.
#[derive(Debug)]
pub(crate) struct RequestCache {
    /// The last call of each chat.
    last: Mutex<RecentMap<ChatKey, Arc<RequestRecord>>>,
    /// The calls of the last runs that this process has begun, by their ids.
    runs: Mutex<RecentMap<String, RunCalls>>,
    /// The last body of the chats that were used last.
    bodies: Mutex<RecentMap<ChatKey, Arc<WrittenBody>>>,
    /// The digests of texts that are stored as blobs.
    stored_texts: Mutex<HashSet<String>>,
}

/// A record has a few digests and names, and no text of a request.
const RECORD_BYTES: usize = 2_048;

impl Weighed for Arc<RequestRecord> {
    fn bytes(&self) -> usize {
        RECORD_BYTES + self.system.len() * 128
    }
}

impl Weighed for RunCalls {
    fn bytes(&self) -> usize {
        size_of::<Self>() + self.lines.len() * RECORD_BYTES
    }
}

/// The recorded calls of a run.
#[derive(Clone, Debug)]
pub(crate) struct RunCalls {
    run_id: String,
    /// The lines of its calls and their answers.
    lines: Vec<Object>,
    /// The model that it has asked for its answer last.
    pub(crate) model: Option<String>,
}

impl RunCalls {
    /// Returns the tokens that the provider counted; see [`usage_of_run`].
    pub(crate) fn usage(&self) -> Option<Usage> {
        usage_of_run(&self.lines, &self.run_id)
    }
}

impl RequestCache {
    pub(crate) fn within(budget: &MemoryBudget) -> Self {
        Self {
            last: Mutex::new(RecentMap::within(budget, CHATS_KEPT)),
            runs: Mutex::new(RecentMap::within(budget, RUNS_KEPT)),
            bodies: Mutex::new(RecentMap::within(budget, BODIES_KEPT)),
            stored_texts: Mutex::default(),
        }
    }

    /// Returns the last request for an answer in a chat, as far as this process knows.
    pub(crate) fn last(&self, chat: &ChatKey) -> Option<Arc<RequestRecord>> {
        self.last.lock().get(chat).map(Arc::clone)
    }

    /// Remembers a call that is recorded.
    pub(crate) fn remember(&self, chat: &ChatKey, record: Arc<RequestRecord>) {
        if record.is_of_context() {
            self.last.lock().insert(chat.clone(), record);
        }
    }

    /// Returns the last body of a chat, if it is kept.
    pub(crate) fn body(&self, chat: &ChatKey) -> Option<Arc<WrittenBody>> {
        self.bodies.lock().get(chat).map(Arc::clone)
    }

    /// Keeps a body for the next call of its chat, unless it is large: those are digested where blocking is allowed, and
    /// would take the memory of everything else.
    pub(crate) fn keep_body(&self, chat: &ChatKey, body: &Arc<WrittenBody>) {
        if !is_large(body.text.len()) {
            self.bodies.lock().insert(chat.clone(), Arc::clone(body));
        }
    }

    /// Notes that this process begins a run, whose calls are all its own.
    pub(crate) fn begin_run(&self, run_id: &str) {
        let run = RunCalls { run_id: run_id.to_owned(), lines: Vec::new(), model: None };
        self.runs.lock().insert(run_id.to_owned(), run);
    }

    /// Remembers a line about a call, or about its answer, of a run that this process has begun.
    pub(crate) fn add_line(&self, run_id: &str, line: &Object, record: &RequestRecord) {
        self.runs.lock().change(&run_id.to_owned(), |run| {
            run.lines.push(line.clone());
            if record.is_of_context() {
                run.model = Some(record.recipe.model.clone());
            }
        });
    }

    /// Returns the calls of a run; `None` if another process may have made some.
    pub(crate) fn calls_of_run(&self, run_id: &str) -> Option<RunCalls> {
        self.runs.lock().get(&run_id.to_owned()).cloned()
    }

    /// Notes that a text is stored as a blob.
    pub(crate) fn mark_stored(&self, sha256: &str) {
        let mut kept = self.stored_texts.lock();
        if kept.len() >= TEXTS_MAX {
            // This costs no more than storing some texts again.
            kept.clear();
        }
        kept.insert(sha256.to_owned());
    }

    /// Whether the text with this digest is known to be stored as a blob.
    pub(crate) fn is_stored(&self, sha256: &str) -> bool {
        self.stored_texts.lock().contains(sha256)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_body_of_a_chat_is_kept_unless_it_is_large() {
        let cache = RequestCache::within(&MemoryBudget::new(usize::MAX));
        let chat: ChatKey = "a".parse().unwrap();
        let keep = |text: String| {
            let body = Arc::new(WrittenBody::of(text, None));
            cache.keep_body(&chat, &body);
            cache.body(&chat).is_some_and(|kept| Arc::ptr_eq(&kept, &body))
        };
        assert!(keep("first".to_owned()));
        assert!(keep("second".to_owned()));
        assert!(!keep("x".repeat(1024 * 1024)));
        assert_eq!(cache.body(&chat).unwrap().text, "second");
        for other in 0..10 {
            let body = Arc::new(WrittenBody::of(String::new(), None));
            cache.keep_body(&format!("other-{other}").parse().unwrap(), &body);
        }
        assert!(cache.body(&chat).is_none(), "only few chats have one");
    }
}
