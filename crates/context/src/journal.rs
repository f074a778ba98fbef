//! The journal of a run: its parts as they become final, so that a run that was cut off can go on.
//!
//! The first line tells which run it is and which message it is writing. Every further line says what one
//! part of that message now is, or that the call in it is about to take effect. The journal is not the truth about anything that ended: the message in the
//! context log is, and its line ends the run.

use std::collections::BTreeSet;

use ship_message::json::{Json, Object};
use ship_message::{Role, UiMessage, UiPart};
use ship_store::LedgerSeq;

/// What a run begins with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunStart {
    /// The run.
    pub run_id: String,
    /// The message it writes.
    pub message_id: String,
    /// The request it answers.
    pub request_id: String,
    /// The last ledger entry that it had read when it began.
    pub inbox: Option<LedgerSeq>,
}

/// One further line.
#[derive(Clone, Debug, PartialEq)]
pub enum JournalLine {
    /// Part `at` of the message is now this.
    Part {
        /// Its place.
        at: usize,
        /// What it is.
        part: Json,
    },
    /// The call that is part `at` is about to take effect.
    Begun {
        /// The part's place.
        at: usize,
    },
    /// The run has ended; its message is in the log.
    End,
}

/// What a journal holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Journal {
    /// What the run began with.
    pub start: RunStart,
    /// The message so far.
    pub message: UiMessage,
    /// The places of calls that may have taken effect.
    pub begun: BTreeSet<usize>,
    /// Whether the run has said that it ended.
    pub ended: bool,
}

impl RunStart {
    /// The first line.
    pub fn to_object(&self) -> Object {
        let mut object = Object::from([
            ("kind", "start"),
            ("runId", &self.run_id),
            ("messageId", &self.message_id),
            ("requestId", &self.request_id),
        ]);
        object.set_or_remove("inbox", self.inbox.map(|seq| Json::from(seq.get())));
        object
    }

    fn from_object(object: &Object) -> Option<Self> {
        (object.str("kind") == Some("start")).then_some(())?;
        Some(Self {
            run_id: object.str("runId")?.to_owned(),
            message_id: object.str("messageId")?.to_owned(),
            request_id: object.str("requestId")?.to_owned(),
            inbox: object.get("inbox").and_then(Json::as_u64).map(LedgerSeq::new),
        })
    }
}

impl JournalLine {
    /// The line.
    pub fn into_object(self) -> Object {
        match self {
            Self::Part { at, part } => Object::from([
                ("kind", Json::from("part")),
                ("at", Json::from(at as u64)),
                ("part", part),
            ]),
            Self::Begun { at } => {
                Object::from([("kind", Json::from("begun")), ("at", Json::from(at as u64))])
            }
            Self::End => Object::from([("kind", "end")]),
        }
    }

    fn from_object(object: &Object) -> Option<Self> {
        let at = || usize::try_from(object.get("at")?.as_u64()?).ok();
        match object.str("kind")? {
            "part" => Some(Self::Part { at: at()?, part: object.get("part")?.clone() }),
            "begun" => Some(Self::Begun { at: at()? }),
            "end" => Some(Self::End),
            _ => None,
        }
    }
}

impl Journal {
    /// Reads a journal; nothing when no run was begun. A line that says nothing we know, and all behind it,
    /// is not believed.
    pub fn read(lines: &[Object]) -> Option<Self> {
        let (first, rest) = lines.split_first()?;
        let start = RunStart::from_object(first)?;
        let mut message = UiMessage::new(start.message_id.clone(), Role::Assistant, Vec::new());
        let mut begun = BTreeSet::new();
        let mut ended = false;
        for line in rest {
            match JournalLine::from_object(line) {
                Some(JournalLine::Part { at, part }) => {
                    let parts = message.parts_mut();
                    let part = UiPart::from_json(part);
                    match at.cmp(&parts.len()) {
                        std::cmp::Ordering::Less => parts[at] = part,
                        std::cmp::Ordering::Equal => parts.push(part),
                        // A part is missing before this one.
                        std::cmp::Ordering::Greater => break,
                    }
                }
                Some(JournalLine::Begun { at }) => drop(begun.insert(at)),
                Some(JournalLine::End) => ended = true,
                None => break,
            }
        }
        Some(Self { start, message, begun, ended })
    }
}
