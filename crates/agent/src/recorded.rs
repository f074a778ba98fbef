//! What is known of earlier model calls, so that the next one costs no more than its own line.

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ship_message::Role;
use ship_store::{ChatKey, ReadError};

use crate::digest::digest;
use crate::record::{RequestRecord, recorded};
use crate::run_log::RunLogEntry;
use crate::stable::last_of_context;
use crate::work::ActiveRun;

/// Of how many chats the last call is known, those that were asked for last.
const CHATS_MAX: usize = 64;
/// Of how many texts it is known that they are kept.
const TEXTS_MAX: usize = 4_096;
/// A call may have been sent more than once, and each has an answer; the last one is among these lines.
pub(crate) const LINES: usize = 64;

/// What an agent knows of earlier calls.
#[derive(Debug, Default)]
pub(crate) struct RequestCache {
    /// The newest last.
    last: Mutex<VecDeque<(ChatKey, Arc<RequestRecord>)>>,
    /// Digests of texts that are kept as blobs.
    kept: Mutex<HashSet<String>>,
}

impl RequestCache {
    /// The last request for an answer in the chat, also one that another process has made.
    pub(crate) async fn last(
        &self,
        work: &ActiveRun,
    ) -> Result<Option<Arc<RequestRecord>>, ReadError> {
        let chat = work.chat.key();
        let known =
            lock(&self.last).iter().find(|(key, _)| key == chat).map(|(_, last)| Arc::clone(last));
        if let Some(known) = known
            && (known.run_id == work.run_id || last_run(work).await.as_ref() == Some(&known.run_id))
        {
            return Ok(Some(known));
        }
        let calls = recorded(&*work.agent.store, &*work.chat, LINES).await?;
        for record in calls.iter().map(|call| &call.record) {
            self.mark_kept(&record.tools);
            self.mark_kept(&digest(record.frame_text().as_bytes()));
            record.system.iter().for_each(|(_, sha256)| self.mark_kept(sha256));
        }
        work.agent.scales.learn_from(&calls);
        let last = last_of_context(calls);
        if let Some(last) = &last {
            self.remember(chat, Arc::clone(last));
        }
        Ok(last)
    }

    /// Remembers a call that is on record.
    pub(crate) fn remember(&self, chat: &ChatKey, record: Arc<RequestRecord>) {
        if !record.is_of_context() {
            return;
        }
        let mut last = lock(&self.last);
        last.retain(|(key, _)| key != chat);
        last.push_back((chat.clone(), record));
        if last.len() > CHATS_MAX {
            last.pop_front();
        }
    }

    fn mark_kept(&self, sha256: &str) {
        let mut kept = lock(&self.kept);
        if kept.len() >= TEXTS_MAX {
            kept.clear();
        }
        kept.insert(sha256.to_owned());
    }

    /// Keeps a text as a blob, if it is not known to be kept. Requests go out without it as well, so that it
    /// could not be kept is told to the log.
    pub(crate) async fn keep(&self, work: &ActiveRun, sha256: &str, text: &str, media_type: &str) {
        if lock(&self.kept).contains(sha256) {
            return;
        }
        match work.agent.store.put_blob(text.as_bytes().to_vec(), media_type).await {
            Ok(_) => self.mark_kept(sha256),
            Err(error) => not_recorded(work, &error),
        }
    }
}

/// A call that cannot be put on record is made all the same.
pub(crate) fn not_recorded(work: &ActiveRun, error: &dyn std::error::Error) {
    let told = work.agent.surroundings.mask(&error.to_string());
    let fields = vec![("message", told.into())];
    work.note(RunLogEntry { kind: "warning", fields, ..RunLogEntry::default() });
}

/// The run that said the last thing. When another process has run the chat, that is not ours.
async fn last_run(work: &ActiveRun) -> Option<String> {
    let said = work.context().await;
    let last = said.iter().rev().find(|message| message.role() == Role::Assistant)?;
    Some(last.metadata()?.get("runId")?.as_str()?.to_owned())
}

/// What is remembered is whole whatever panicked while it was held.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
