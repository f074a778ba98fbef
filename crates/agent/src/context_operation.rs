//! Operations on the contexts of a chat and their outcomes, as the ledger and programs see them.

mod way_back;

pub use way_back::{Destination, WayBack};

use ship_context::contexts::{RecallMode, Snapshot};
use ship_message::json::{Json, Object};
use ship_store::{ChatKey, ContextId, Explanation};

/// A context by its id and its title.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextName {
    /// The id of the context.
    pub context: ContextId,
    /// The title of the context.
    pub title: String,
}

impl From<&Snapshot> for ContextName {
    fn from(snapshot: &Snapshot) -> Self {
        Self { context: snapshot.context().clone(), title: snapshot.title().to_owned() }
    }
}

impl ContextName {
    /// Returns the id and the title as JSON.
    pub fn to_json(&self) -> Json {
        let fields = [("contextId", self.context.as_str()), ("title", self.title.as_str())];
        Json::Object(Object::from(fields))
    }

    pub(crate) fn from_json(json: &Json) -> Option<Self> {
        let context = json.get("contextId")?.as_str()?.parse().ok()?;
        Some(Self { context, title: json.get("title")?.as_str()?.to_owned() })
    }

    pub(crate) fn as_pair(&self) -> (&ContextId, &str) {
        (&self.context, &self.title)
    }
}

/// An operation on the contexts of a chat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ContextOperation {
    /// Continue in a clean context.
    New {
        /// The title of the new context.
        title: Option<String>,
        /// The reason for leaving the other one.
        reason: Option<String>,
    },
    /// Come back to an archived context.
    Load {
        /// The id of the context, words in it, or `last`.
        which: String,
    },
    /// Show an archived context once, for reference.
    Recall {
        /// The id of the context, words in it, or `last`.
        which: String,
        /// The amount that is shown.
        mode: RecallMode,
    },
    /// Show an earlier message of the chat and its neighbours once, for reference.
    RecallMessage {
        /// The id of the message.
        id: String,
    },
    /// Leave a spoilt context for a clean one.
    Clear,
    /// Change the title of the active context.
    Rename {
        /// The new title.
        title: String,
    },
    /// Name the present end of the active context.
    Checkpoint {
        /// The name of the checkpoint.
        name: String,
    },
    /// Continue in a copy.
    Fork {
        /// The checkpoint or message with which the copy ends; the newest if none is given.
        at: Option<String>,
        /// The chat that gets the copy; this one if none is given.
        to: Option<ChatKey>,
    },
    /// Go back to an earlier place.
    Rewind {
        /// The name of the checkpoint or the id of the message.
        to: String,
    },
    /// Answer the last question of the person once more. The answer before stays in the context that is left.
    Retry,
    /// Undo the last operation.
    Undo,
}

/// The field of an operation about a message and its neighbours, in the ledger.
const AROUND: &str = "around";

impl ContextOperation {
    /// Returns the name of the operation in events and on screens.
    pub fn name(&self) -> &'static str {
        match self {
            Self::New { .. } => "new",
            Self::Load { .. } => "load",
            Self::Recall { .. } | Self::RecallMessage { .. } => "recall",
            Self::Clear => "clear",
            Self::Rename { .. } => "rename",
            Self::Checkpoint { .. } => "checkpoint",
            Self::Fork { .. } => "fork",
            Self::Rewind { .. } => "rewind",
            Self::Retry => "retry",
            Self::Undo => "undo",
        }
    }

    /// Whether it leads to another context of the chat, which `context.contexts.enabled: false` forbids.
    pub(crate) fn leaves_context(&self) -> bool {
        match self {
            Self::New { .. } | Self::Load { .. } | Self::Clear | Self::Fork { to: None, .. } => {
                true
            }
            Self::Recall { .. }
            | Self::RecallMessage { .. }
            | Self::Rename { .. }
            | Self::Checkpoint { .. }
            | Self::Fork { .. }
            | Self::Rewind { .. }
            | Self::Retry
            | Self::Undo => false,
        }
    }

    /// Whether it makes the first context of a chat in which nothing was said.
    pub(crate) fn begins_chat(&self) -> bool {
        match self {
            Self::New { title, .. } => title.is_some(),
            Self::Rename { .. } => true,
            Self::Load { .. }
            | Self::Recall { .. }
            | Self::RecallMessage { .. }
            | Self::Clear
            | Self::Checkpoint { .. }
            | Self::Fork { .. }
            | Self::Rewind { .. }
            | Self::Retry
            | Self::Undo => false,
        }
    }

    /// Whether a run cannot continue after it, because the message it was answering is gone.
    pub(crate) fn ends_run(&self) -> bool {
        match self {
            Self::Load { .. } | Self::Clear | Self::Rewind { .. } | Self::Retry | Self::Undo => {
                true
            }
            Self::New { .. }
            | Self::Recall { .. }
            | Self::RecallMessage { .. }
            | Self::Rename { .. }
            | Self::Checkpoint { .. }
            | Self::Fork { .. } => false,
        }
    }

    /// Returns the operation in the form of the ledger.
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
            Self::RecallMessage { id } => set(AROUND, Some(id)),
            Self::Rename { title } => set("title", Some(title)),
            Self::Checkpoint { name } => set("name", Some(name)),
            Self::Fork { at, to } => {
                set("at", at.as_deref());
                set("to", to.as_ref().map(ChatKey::as_str));
            }
            Self::Rewind { to } => set("to", Some(to)),
            Self::Clear | Self::Retry | Self::Undo => {}
        }
        object
    }

    pub(crate) fn from_object(object: &Object) -> Option<Self> {
        let text = |key: &str| object.str(key).map(str::to_owned);
        Some(match object.str("op")? {
            "new" => Self::New { title: text("title"), reason: text("reason") },
            "load" => Self::Load { which: text("which")? },
            "recall" if object.get(AROUND).is_some() => Self::RecallMessage { id: text(AROUND)? },
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
            "retry" => Self::Retry,
            "undo" => Self::Undo,
            _ => return None,
        })
    }
}

/// The end of a line that says that an operation has changed nothing.
pub(crate) const NOTHING_CHANGED: &str = ". Nothing has changed.";

/// The refusal of a switch where a chat has only one context.
pub(crate) const ONE_CONTEXT: &str = "This chat can have only one context, because `context.contexts.enabled` is false. `rewind` still works.";

/// The outcome of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OperationOutcome {
    /// The operation was performed.
    Done(ContextChange),
    /// The operation was refused, and nothing has changed.
    NotDone(OperationRefusal),
    /// Another process runs the chat, and performs the operation at the next step.
    Queued,
}

/// The effect of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextChange {
    /// The name of the operation.
    pub operation: String,
    /// The context that was left; `None` if it is still the active one.
    pub left: Option<ContextName>,
    /// The active context.
    pub active: ContextName,
    /// The other chat that got a copy, if any.
    pub chat: Option<ChatKey>,
    /// The line that a person reads in `ship chat`.
    pub line: String,
    /// The way back, if the line ends with one.
    pub way_back: Option<WayBack>,
}

/// The reason why nothing has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperationRefusal {
    /// The line that the person reads.
    pub line: String,
    /// The line without the remedy.
    pub problem: String,
    /// The part of the line that says what to do.
    pub remedy: Option<String>,
    /// The contexts that the person may have meant.
    pub offered: Vec<ContextName>,
    /// The line that the model reads instead. Its sentences stay as they are.
    line_for_model: Option<String>,
}

impl OperationRefusal {
    pub(crate) fn new(line: impl Into<String>) -> Self {
        let line = line.into();
        Self {
            problem: line.clone(),
            line,
            remedy: None,
            offered: Vec::new(),
            line_for_model: None,
        }
    }

    /// Makes a refusal from its explanation. The line ends with `end`.
    pub(crate) fn explained(why: Explanation, end: &str) -> Self {
        let line = format!("{why}{end}");
        if why.remedy.is_none() {
            return Self::new(line);
        }
        let end = if end.is_empty() { "." } else { end };
        let problem = format!("{}{end}", why.problem);
        Self { problem, remedy: why.remedy, ..Self::new(line) }
    }

    /// Makes the refusal of a query that fits no archived context.
    pub(crate) fn no_context(which: &str, offered: Vec<ContextName>) -> Self {
        let (line, for_model) = match offered.is_empty() {
            true => (
                "There is no archived context yet.".to_owned(),
                format!(
                    "No archived context fits `{which}`: none was left yet. Nothing has changed."
                ),
            ),
            false => (
                format!("No archived context fits `{which}`. The newest are:"),
                Self::no_single_context(which),
            ),
        };
        Self { offered, line_for_model: Some(for_model), ..Self::new(line) }
    }

    /// Makes the refusal of a query that fits several contexts.
    pub(crate) fn several_contexts(which: &str, offered: Vec<ContextName>) -> Self {
        let why = Explanation::new(format!("Several contexts fit `{which}`"));
        let why = why.with_remedy("name one by its id");
        let for_model = Some(Self::no_single_context(which));
        Self { offered, line_for_model: for_model, ..Self::explained(why, ":") }
    }

    fn no_single_context(which: &str) -> String {
        format!("No single archived context fits `{which}`. Nothing has changed. The newest are:")
    }

    /// Returns the line with the offered contexts, for a reader that cannot choose from a list.
    pub fn with_offers(&self) -> String {
        self.offers_below(&self.line)
    }

    /// Returns the text that the model reads.
    pub(crate) fn text_for_model(&self) -> String {
        self.offers_below(self.line_for_model.as_ref().unwrap_or(&self.line))
    }

    fn offers_below(&self, line: &str) -> String {
        let mut text = line.to_owned();
        for named in &self.offered {
            text.push_str(&format!("\n- {}: {}", named.context, named.title));
        }
        text
    }
}

impl OperationOutcome {
    /// Makes the outcome of an operation that was refused for this reason.
    pub(crate) fn refused(line: impl Into<String>) -> Self {
        Self::NotDone(OperationRefusal::new(line))
    }

    /// Returns the way back, if the line ends with one.
    pub(crate) fn way_back(&self) -> Option<&WayBack> {
        match self {
            Self::Done(changed) => changed.way_back.as_ref(),
            Self::NotDone(_) | Self::Queued => None,
        }
    }

    /// Returns the line that the person reads.
    pub fn line(&self) -> String {
        match self {
            Self::Done(changed) => changed.line.clone(),
            Self::NotDone(not) => not.with_offers(),
            Self::Queued => "The chat is busy; this happens at its next step.".to_owned(),
        }
    }

    /// Returns the outcome in the form of the ledger.
    pub(crate) fn to_object(&self) -> Object {
        match self {
            Self::Done(changed) => {
                let mut object = Object::from([("operation", changed.operation.as_str())]);
                object.set("active", changed.active.to_json());
                object.set_or_remove("left", changed.left.as_ref().map(ContextName::to_json));
                let chat = changed.chat.as_ref().map(|chat| Json::from(chat.as_str()));
                object.set_or_remove("chat", chat);
                object.set("line", changed.line.as_str());
                let way_back = changed.way_back.as_ref().map(WayBack::to_json);
                object.set_or_remove("wayBack", way_back);
                object
            }
            Self::NotDone(not) => {
                let offered: Vec<Json> = not.offered.iter().map(ContextName::to_json).collect();
                let mut object = Object::from([("notDone", not.line.as_str())]);
                object.set("offered", offered);
                if let Some(remedy) = &not.remedy {
                    object.set("problem", not.problem.as_str());
                    object.set("remedy", remedy.as_str());
                }
                object
            }
            Self::Queued => Object::new(),
        }
    }

    pub(crate) fn from_object(object: &Object) -> Option<Self> {
        if let Some(line) = object.str("notDone") {
            let offered = object.get("offered").and_then(Json::as_array).unwrap_or_default();
            let offered = offered.iter().filter_map(ContextName::from_json).collect();
            // An older program wrote no problem, and then the whole line is it, with the remedy.
            let (problem, remedy) = match (object.str("problem"), object.str("remedy")) {
                (Some(problem), remedy) => (problem, remedy.map(str::to_owned)),
                (None, _) => (line, None),
            };
            let (line, problem) = (line.to_owned(), problem.to_owned());
            return Some(Self::NotDone(OperationRefusal {
                problem,
                remedy,
                offered,
                ..OperationRefusal::new(line)
            }));
        }
        Some(Self::Done(ContextChange {
            operation: object.str("operation")?.to_owned(),
            left: object.get("left").and_then(ContextName::from_json),
            active: ContextName::from_json(object.get("active")?)?,
            chat: object.str("chat").and_then(|key| key.parse().ok()),
            line: object.str("line")?.to_owned(),
            way_back: object.get("wayBack").and_then(WayBack::from_json),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_remedy_of_a_refusal_is_no_part_of_its_problem_and_the_ledger_keeps_both() {
        let why = Explanation::new("Nothing fits `a; b`").with_remedy("recall `c; d`");
        for (end, problem) in [
            (".", "Nothing fits `a; b`."),
            (NOTHING_CHANGED, "Nothing fits `a; b`. Nothing has changed."),
            ("", "Nothing fits `a; b`."),
        ] {
            let refused = OperationRefusal::explained(why.clone(), end);
            assert_eq!(refused.line, format!("Nothing fits `a; b`; recall `c; d`{end}"));
            assert_eq!(refused.problem, problem);
            let outcome = OperationOutcome::NotDone(refused);
            assert_eq!(OperationOutcome::from_object(&outcome.to_object()), Some(outcome));
        }
        assert_eq!(OperationRefusal::new("It is `a; b`.").problem, "It is `a; b`.");
    }

    #[test]
    fn the_ledger_keeps_which_recall_was_asked_for() {
        for (operation, written) in [
            (
                ContextOperation::RecallMessage { id: "u_17".to_owned() },
                r#"{"op":"recall","around":"u_17"}"#,
            ),
            (
                ContextOperation::Recall { which: "last".to_owned(), mode: RecallMode::Full },
                r#"{"op":"recall","which":"last","mode":"full"}"#,
            ),
        ] {
            let object = operation.to_object();
            assert_eq!(Json::Object(object.clone()).to_string(), written);
            assert_eq!(ContextOperation::from_object(&object), Some(operation));
        }
    }

    #[test]
    fn the_ledger_keeps_the_way_back_beside_the_line() {
        let context: ContextId = "c_20260205_a".parse().unwrap();
        for (destination, command) in [
            (Destination::Context(context.clone()), "/context load c_20260205_a"),
            (Destination::Checkpoint("a b".to_owned()), "/rewind a b"),
        ] {
            let way_back = WayBack { introduction: "Back: ".to_owned(), destination };
            assert_eq!(way_back.line_in_chat(), format!("Back: {command}"));
            let outcome = OperationOutcome::Done(ContextChange {
                operation: "new".to_owned(),
                left: None,
                active: ContextName { context: context.clone(), title: "a".to_owned() },
                chat: None,
                line: way_back.line_in_chat(),
                way_back: Some(way_back),
            });
            assert_eq!(OperationOutcome::from_object(&outcome.to_object()), Some(outcome));
        }
    }

    #[test]
    fn an_outcome_of_an_older_program_is_its_line() {
        let read = |json: &str| {
            OperationOutcome::from_object(Json::parse(json).unwrap().as_object().unwrap()).unwrap()
        };
        let line = "Now in “a”. Left “b”; to return: /context load c_20260205_a";
        let OperationOutcome::Done(changed) = read(&format!(
            r#"{{"operation":"new","active":{{"contextId":"c_20260205_b","title":"a"}},"line":"{line}"}}"#
        )) else {
            panic!("it was done")
        };
        assert_eq!((changed.line.as_str(), changed.way_back), (line, None));
        let OperationOutcome::NotDone(refused) =
            read(r#"{"notDone":"It is full; wait.","offered":[],"remedy":"wait"}"#)
        else {
            panic!("it was refused")
        };
        assert_eq!((refused.problem.as_str(), refused.remedy), ("It is full; wait.", None));
    }
}
