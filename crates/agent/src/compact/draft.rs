//! A summary that was paid for is not paid for twice.
//!
//! Between a model's answer and the swap of the logs anything may happen: the process is killed, the disk is
//! full, the log has moved on. So a summary that passed the gate is kept together with what it sums up, and
//! is used when the very same part is summed up again.
//!
//! It is kept in `messages/meta.json`, which is written in one piece and outlives the process; beside a call
//! to a model that costs nothing. The journal would not do, because a compaction that a person asks for has
//! none, nor would the context log, because a summary that is not in force is nothing that was said. On a
//! full disk even that fails, so the process remembers it too.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use ship_context::compact::CompactionMethod;
use ship_message::UiMessage;
use ship_message::json::{Json, Object};
use ship_store::{ChatKey, ContextBody, Derived, View};

use super::meta;
use super::summarise::SummaryCost;
use crate::digest::digest;
use crate::work::ActiveRun;

/// What a summary sums up, and at whose wish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SummaryRange {
    from: String,
    to: String,
    count: u64,
    /// Of the ids and revisions of all messages, and of what the person wished for.
    digest: String,
}

impl SummaryRange {
    pub(super) fn of(view: &View, older: &[&UiMessage], wishes: Option<&str>) -> Self {
        let revisions: HashMap<&str, u64> = view
            .lines
            .iter()
            .filter_map(|line| match &line.body {
                ContextBody::Message(message) => Some((message.str("id")?, line.rev)),
                ContextBody::Event(_) => None,
            })
            .collect();
        let mut content = format!("{:?}\n", wishes.unwrap_or_default());
        for id in older.iter().filter_map(|message| message.id()) {
            let rev = revisions.get(id).copied().unwrap_or_default();
            content.push_str(&format!("{id:?} {rev}\n"));
        }
        let id = |message: Option<&&UiMessage>| message.and_then(|it| it.id()).map(str::to_owned);
        Self {
            from: id(older.first()).unwrap_or_default(),
            to: id(older.last()).unwrap_or_default(),
            count: older.len() as u64,
            digest: digest(content.as_bytes()),
        }
    }
}

/// A summary that is not in force yet.
#[derive(Clone, Debug)]
pub(super) struct SummaryDraft {
    pub(super) range: SummaryRange,
    pub(super) prose: String,
    pub(super) rung: CompactionMethod,
    pub(super) cost: SummaryCost,
}

impl SummaryDraft {
    pub(super) fn to_object(&self) -> Object {
        Object::from([
            ("fromId", Json::from(self.range.from.as_str())),
            ("toId", self.range.to.as_str().into()),
            ("count", self.range.count.into()),
            ("digest", self.range.digest.as_str().into()),
            ("rung", self.rung.name().into()),
            ("cost", self.cost.to_object().into()),
            ("prose", self.prose.as_str().into()),
        ])
    }

    fn from_object(object: &Object) -> Option<Self> {
        let text = |key: &str| object.str(key).map(str::to_owned);
        Some(Self {
            range: SummaryRange {
                from: text("fromId")?,
                to: text("toId")?,
                count: object.get("count")?.as_u64()?,
                digest: text("digest")?,
            },
            prose: text("prose")?,
            rung: CompactionMethod::named(object.str("rung")?)?,
            cost: SummaryCost::from_object(object.get("cost")?.as_object()?),
        })
    }
}

/// The drafts that this process made, one for each chat at most.
#[derive(Debug, Default)]
pub(crate) struct SummaryDrafts(Mutex<HashMap<ChatKey, SummaryDraft>>);

impl SummaryDrafts {
    fn lock(&self) -> MutexGuard<'_, HashMap<ChatKey, SummaryDraft>> {
        // An entry is put in or taken out in one go, so it is whole whatever panicked.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets the draft of a chat: it is in force.
    pub(super) fn forget(&self, chat: &ChatKey) {
        self.lock().remove(chat);
    }
}

/// Keeps a draft.
pub(super) async fn keep(work: &ActiveRun, view: &View, draft: SummaryDraft) {
    meta::write(work, view, Some(&draft)).await;
    work.locked.engine.drafts.lock().insert(work.locked.chat.key().clone(), draft);
}

/// The draft for exactly this range, if there is one.
pub(super) async fn find(work: &ActiveRun, range: &SummaryRange) -> Option<SummaryDraft> {
    let known = work.locked.engine.drafts.lock().get(work.locked.chat.key()).cloned();
    if let Some(draft) = known.filter(|draft| draft.range == *range) {
        return Some(draft);
    }
    // Derived state that cannot be read is made anew: here, by asking again.
    let kept = work.locked.chat.derived(Derived::Meta).await.ok()??;
    let draft = SummaryDraft::from_object(kept.value.get(meta::DRAFT)?.as_object()?)?;
    (draft.range == *range).then_some(draft)
}
