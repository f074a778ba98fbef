//! Operations on the contexts of a chat, and their outcomes, as the ledger and programs have them.

use ship_context::contexts::RecallMode;
use ship_message::json::{Json, Object};
use ship_store::{ChatKey, ContextId};

/// A context by its id and its title.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextName {
    /// The context.
    pub context: ContextId,
    /// Its title.
    pub title: String,
}

impl ContextName {
    pub(crate) fn to_json(&self) -> Json {
        let fields = [("contextId", self.context.as_str()), ("title", self.title.as_str())];
        Json::Object(Object::from(fields))
    }

    pub(crate) fn from_json(json: &Json) -> Option<Self> {
        let context = json.get("contextId")?.as_str()?.parse().ok()?;
        Some(Self { context, title: json.get("title")?.as_str()?.to_owned() })
    }

    pub(crate) fn pair(&self) -> (&ContextId, &str) {
        (&self.context, &self.title)
    }
}

/// Something that is done to the contexts of a chat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ContextOperation {
    /// Goes on in a clean context.
    New {
        /// What it is called.
        title: Option<String>,
        /// Why the other one is left.
        reason: Option<String>,
    },
    /// Comes back to an archived context.
    Load {
        /// Its id, words that are in it, or `last`.
        which: String,
    },
    /// Shows an archived context once, for reference.
    Recall {
        /// Its id, words that are in it, or `last`.
        which: String,
        /// How much of it.
        mode: RecallMode,
    },
    /// Leaves a spoilt context for a clean one.
    Clear,
    /// Calls the active context something else.
    Rename {
        /// What.
        title: String,
    },
    /// Names the place where the active context is now.
    Checkpoint {
        /// What it is called.
        name: String,
    },
    /// Goes on in a copy.
    Fork {
        /// The checkpoint or message that the copy ends with; the newest when none is given.
        at: Option<String>,
        /// The chat that gets the copy; this one when none is given.
        to: Option<ChatKey>,
    },
    /// Goes back to an earlier place.
    Rewind {
        /// The checkpoint or message.
        to: String,
    },
    /// Takes the last of these back.
    Undo,
}

impl ContextOperation {
    /// Its name, in events and on screens.
    pub fn name(&self) -> &'static str {
        match self {
            Self::New { .. } => "new",
            Self::Load { .. } => "load",
            Self::Recall { .. } => "recall",
            Self::Clear => "clear",
            Self::Rename { .. } => "rename",
            Self::Checkpoint { .. } => "checkpoint",
            Self::Fork { .. } => "fork",
            Self::Rewind { .. } => "rewind",
            Self::Undo => "undo",
        }
    }

    /// Whether a run cannot go on after it: what it was answering is not there any more.
    pub(crate) fn stops_a_run(&self) -> bool {
        match self {
            Self::Load { .. } | Self::Clear | Self::Rewind { .. } | Self::Undo => true,
            Self::New { .. }
            | Self::Recall { .. }
            | Self::Rename { .. }
            | Self::Checkpoint { .. }
            | Self::Fork { .. } => false,
        }
    }

    /// As the ledger has it.
    pub(crate) fn to_object(&self) -> Object {
        let mut object = Object::from([("op", self.name())]);
        let mut set = |key: &'static str, value: Option<&str>| {
            object.set_or_remove(key, value.map(Json::from));
        };
        match self {
            Self::New { title, reason } => {
                set("title", title.as_deref());
                set("reason", reason.as_deref());
            }
            Self::Load { which } => set("which", Some(which)),
            Self::Recall { which, mode } => {
                set("which", Some(which));
                set("mode", Some(mode.name()));
            }
            Self::Rename { title } => set("title", Some(title)),
            Self::Checkpoint { name } => set("name", Some(name)),
            Self::Fork { at, to } => {
                set("at", at.as_deref());
                set("to", to.as_ref().map(ChatKey::as_str));
            }
            Self::Rewind { to } => set("to", Some(to)),
            Self::Clear | Self::Undo => {}
        }
        object
    }

    pub(crate) fn from_object(object: &Object) -> Option<Self> {
        let text = |key: &str| object.str(key).map(str::to_owned);
        Some(match object.str("op")? {
            "new" => Self::New { title: text("title"), reason: text("reason") },
            "load" => Self::Load { which: text("which")? },
            "recall" => Self::Recall {
                which: text("which")?,
                mode: RecallMode::named(object.str("mode")?)?,
            },
            "clear" => Self::Clear,
            "rename" => Self::Rename { title: text("title")? },
            "checkpoint" => Self::Checkpoint { name: text("name")? },
            "fork" => Self::Fork {
                at: text("at"),
                to: match object.str("to") {
                    Some(key) => Some(key.parse().ok()?),
                    None => None,
                },
            },
            "rewind" => Self::Rewind { to: text("to")? },
            "undo" => Self::Undo,
            _ => return None,
        })
    }
}

/// What an operation came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OperationOutcome {
    /// It was done.
    Done(ContextChange),
    /// It was not, and nothing has changed.
    NotDone(OperationRefusal),
    /// Somebody else runs the chat, and does it at the next step.
    Queued,
}

/// What an operation has done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextChange {
    /// The operation's name.
    pub operation: String,
    /// The context that was left; none when it is still the active one.
    pub left: Option<ContextName>,
    /// The active context.
    pub active: ContextName,
    /// The chat that a copy went to, if another.
    pub chat: Option<ChatKey>,
    /// What the person reads.
    pub line: String,
}

/// Why nothing has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperationRefusal {
    /// What the person reads.
    pub line: String,
    /// The contexts that may have been meant.
    pub offered: Vec<ContextName>,
}

impl OperationRefusal {
    pub(crate) fn because(line: impl Into<String>) -> Self {
        Self { line: line.into(), offered: Vec::new() }
    }

    /// No archived context is meant, or more than one may be.
    pub(crate) fn no_context(which: &str, offered: Vec<ContextName>) -> Self {
        let line = match offered.is_empty() {
            true => format!(
                "No archived context fits `{which}`: none was left yet. Nothing has changed."
            ),
            false => format!(
                "No single archived context fits `{which}`. Nothing has changed. The newest are:"
            ),
        };
        Self { line, offered }
    }

    /// The line with what is offered, for whoever cannot choose from a list.
    pub fn with_offers(&self) -> String {
        let mut text = self.line.clone();
        for named in &self.offered {
            text.push_str(&format!("\n- {}: {}", named.context, named.title));
        }
        text
    }
}

impl OperationOutcome {
    /// What the person reads.
    pub(crate) fn line(&self) -> String {
        match self {
            Self::Done(changed) => changed.line.clone(),
            Self::NotDone(not) => not.with_offers(),
            Self::Queued => "The chat is at work; this is done at its next step.".to_owned(),
        }
    }

    /// As the ledger has it.
    pub(crate) fn to_object(&self) -> Object {
        match self {
            Self::Done(changed) => {
                let mut object = Object::from([("operation", changed.operation.as_str())]);
                object.set("active", changed.active.to_json());
                object.set_or_remove("left", changed.left.as_ref().map(ContextName::to_json));
                let chat = changed.chat.as_ref().map(|chat| Json::from(chat.as_str()));
                object.set_or_remove("chat", chat);
                object.set("line", changed.line.as_str());
                object
            }
            Self::NotDone(not) => {
                let offered: Vec<Json> = not.offered.iter().map(ContextName::to_json).collect();
                let mut object = Object::from([("notDone", not.line.as_str())]);
                object.set("offered", offered);
                object
            }
            Self::Queued => Object::new(),
        }
    }

    pub(crate) fn from_object(object: &Object) -> Option<Self> {
        if let Some(line) = object.str("notDone") {
            let offered = object.get("offered").and_then(Json::as_array).unwrap_or_default();
            let offered = offered.iter().filter_map(ContextName::from_json).collect();
            return Some(Self::NotDone(OperationRefusal { line: line.to_owned(), offered }));
        }
        Some(Self::Done(ContextChange {
            operation: object.str("operation")?.to_owned(),
            left: object.get("left").and_then(ContextName::from_json),
            active: ContextName::from_json(object.get("active")?)?,
            chat: object.str("chat").and_then(|key| key.parse().ok()),
            line: object.str("line")?.to_owned(),
        }))
    }
}
