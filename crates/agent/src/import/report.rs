//! Tells what an import does, or would do.

use std::collections::BTreeMap;

use ship_exchange::BadItem;
use ship_message::json::{Array, Json, Object};
use ship_message::names;
use ship_store::ContextId;

use super::decision::ContextToImport;

/// What becomes of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContextFate {
    /// It is a new context.
    New,
    /// The chat has it already.
    Unchanged,
    /// It has grown since its last import: the same context gets a newer log.
    Grown,
    /// It has grown, and its context was continued here: it becomes a context of its own.
    Apart,
}

names!(ContextFate { New = "new", Unchanged = "unchanged", Grown = "grown", Apart = "apart" });

/// A conversation of an import.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportedContext {
    /// The id of its context.
    pub context: ContextId,
    /// The title, if it has one.
    pub title: Option<String>,
    /// What becomes of it.
    pub fate: ContextFate,
    /// Whether it is the active context afterwards.
    pub is_active: bool,
    /// The number of messages.
    pub messages: u64,
    /// The number of calls without a result.
    pub unanswered_calls: u64,
    /// What could not be represented and is kept as data, by kind.
    pub kept_as_data: BTreeMap<String, u64>,
}

/// What an import does.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportReport {
    /// The format of the file.
    pub format: String,
    /// The conversations of the file.
    pub contexts: Vec<ImportedContext>,
    /// The values that are left out.
    pub bad_items: Vec<BadItem>,
    /// Whether the ids of messages got a suffix, because the chat has other messages with theirs.
    pub renames_messages: bool,
}

impl ImportReport {
    /// Whether the chat has everything already.
    pub fn changes_nothing(&self) -> bool {
        self.contexts.iter().all(|context| context.fate == ContextFate::Unchanged)
    }

    /// Returns the report for programs.
    pub fn to_json(&self) -> Json {
        let contexts: Array = self.contexts.iter().map(ImportedContext::to_json).collect();
        let bad = |item: &BadItem| {
            Json::Object(Object::from([
                ("line", Json::from(item.line)),
                ("reason", item.reason.as_str().into()),
            ]))
        };
        let bad: Array = self.bad_items.iter().map(bad).collect();
        Object::from([
            ("format", Json::from(self.format.as_str())),
            ("contexts", contexts.into()),
            ("badItems", bad.into()),
            ("renamesMessages", self.renames_messages.into()),
        ])
        .into()
    }
}

impl ImportedContext {
    pub(super) fn of(context: &ContextToImport, is_active: bool) -> Self {
        Self {
            context: context.context.clone(),
            title: context.title.clone(),
            fate: context.fate,
            is_active,
            messages: context.counts.messages,
            unanswered_calls: context.counts.unanswered,
            kept_as_data: context.counts.kept.clone(),
        }
    }

    fn to_json(&self) -> Json {
        let kept = self.kept_as_data.iter().map(|(kind, count)| (kind.clone(), Json::from(*count)));
        let mut object = Object::from([
            ("contextId", Json::from(self.context.as_str())),
            ("title", self.title.as_deref().map_or(Json::Null, Json::from)),
            ("fate", self.fate.name().into()),
            ("active", self.is_active.into()),
            ("messages", self.messages.into()),
        ]);
        object.set("unansweredCalls", self.unanswered_calls);
        object.set("keptAsData", kept.collect::<Object>());
        object.into()
    }
}
