//! Keeps paid summaries until they are published, so that none is paid for twice.
//!
//! Between a model's answer and the rotation of the log anything may happen: the process is killed, the disk is
//! full, the log has moved on. So an accepted summary is kept together with the range that it covers, and is used
//! if exactly the same range is summarised again.
//!
//! It is kept in `messages/meta.json`, which is written atomically and survives the process; beside a call to a
//! model that costs nothing. The journal would not do, because a compaction by a person has none. The context log
//! would not do either, because a summary that is not published is not part of the context. On a full disk even
//! that fails, so the process remembers it too.

use std::collections::HashMap;

use parking_lot::Mutex;
use ship_context::compact::CompactionMethod;
use ship_message::UiMessage;
use ship_message::json::{Json, Object};
use ship_provider::Usage;
use ship_store::{ChatKey, View};

use crate::digest::digest;
use crate::memory_budget::{MemoryBudget, Weighed};
use crate::recent_map::RecentMap;

/// The range that a summary covers, and the person's instructions for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SummaryRange {
    from: String,
    to: String,
    count: u64,
    /// The digest of the ids and revisions of all messages, and of the person's instructions.
    digest: String,
}

impl SummaryRange {
    pub(crate) fn new(view: &View, older: &[&UiMessage], wishes: Option<&str>) -> Self {
        let revisions: HashMap<&str, u64> = view
            .lines
            .iter()
            .filter(|line| line.rev > 0)
            .filter_map(|line| Some((line.message_id()?, line.rev)))
            .collect();
        // The texts are quoted, so that a line break in one cannot look like another line.
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

/// A summary that is not published yet.
#[derive(Clone, Debug)]
pub(crate) struct SummaryDraft {
    pub(crate) range: SummaryRange,
    pub(crate) prose: String,
    pub(crate) method: CompactionMethod,
    pub(crate) cost: SummaryCost,
}

impl SummaryDraft {
    pub(crate) fn to_object(&self) -> Object {
        Object::from([
            ("fromId", Json::from(self.range.from.as_str())),
            ("toId", self.range.to.as_str().into()),
            ("count", self.range.count.into()),
            ("digest", self.range.digest.as_str().into()),
            ("rung", self.method.name().into()),
            ("cost", self.cost.to_object().into()),
            ("prose", self.prose.as_str().into()),
        ])
    }

    pub(crate) fn from_object(object: &Object) -> Option<Self> {
        let text = |key: &str| object.str(key).map(str::to_owned);
        Some(Self {
            range: SummaryRange {
                from: text("fromId")?,
                to: text("toId")?,
                count: object.get("count")?.as_u64()?,
                digest: text("digest")?,
            },
            prose: text("prose")?,
            method: CompactionMethod::named(object.str("rung")?)?,
            cost: SummaryCost::from_object(object.get("cost")?.as_object()?),
        })
    }
}

/// The number of drafts that this process at least remembers. Nearly every draft is published at once, and the others
/// are in their files, too.
const DRAFTS_KEPT: usize = 64;

/// The drafts that this process has made, at most one for each chat.
#[derive(Debug)]
pub(crate) struct SummaryDrafts(Mutex<RecentMap<ChatKey, SummaryDraft>>);

impl Weighed for SummaryDraft {
    fn bytes(&self) -> usize {
        size_of::<Self>() + self.prose.len() + 256
    }
}

impl SummaryDrafts {
    pub(crate) fn within(budget: &MemoryBudget) -> Self {
        Self(Mutex::new(RecentMap::within(budget, DRAFTS_KEPT)))
    }

    /// Returns the last draft for a chat.
    pub(crate) fn last_for(&self, chat: &ChatKey) -> Option<SummaryDraft> {
        self.0.lock().get(chat).cloned()
    }

    /// Remembers a draft, and replaces the chat's last one.
    pub(crate) fn remember(&self, chat: &ChatKey, draft: SummaryDraft) {
        self.0.lock().insert(chat.clone(), draft);
    }

    /// Forgets the draft of a chat after it is published.
    pub(crate) fn forget(&self, chat: &ChatKey) {
        self.0.lock().remove(chat);
    }
}

/// The cost of a summary.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SummaryCost {
    calls: u64,
    input: u64,
    output: u64,
}

impl SummaryCost {
    pub(crate) fn to_object(self) -> Object {
        Object::from([
            ("calls", Json::from(self.calls)),
            ("inputTokens", self.input.into()),
            ("outputTokens", self.output.into()),
        ])
    }

    pub(crate) fn from_object(object: &Object) -> Self {
        let number = |key: &str| object.get(key).and_then(Json::as_u64).unwrap_or_default();
        Self {
            calls: number("calls"),
            input: number("inputTokens"),
            output: number("outputTokens"),
        }
    }

    pub(crate) fn add(&mut self, usage: Option<Usage>) {
        self.calls += 1;
        self.input += usage.map_or(0, |usage| usage.input);
        self.output += usage.map_or(0, |usage| usage.output);
    }
}
