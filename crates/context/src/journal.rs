//! The journal of a run: its parts as they become final, so that a run that was cut off can go on.
//!
//! The first line tells which run it is, since when, and which message it is writing. Every further line says
//! what one part of that message now is, that the call in it is about to take effect, that an answer ended
//! before it was complete; and each tells how long the run had worked by then, which no clock and no pause can
//! change. The journal is not the truth about anything that ended: the message in the context log is, and its
//! line ends the run.
//!
//! A run that outgrows its model's window is settled: what it has so far goes into the log as a message, and
//! the run goes on in another one, with a journal of its own. See [`SettledWork`].

use std::collections::BTreeSet;

use ship_message::json::{Json, Object};
use ship_message::{FinishReason, Role, UiMessage, UiPart};
use ship_record::{LedgerSeq, Timestamp};

use crate::SettledWork;

/// What a run begins with.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunStart {
    /// The run.
    pub run_id: String,
    /// The message it writes.
    pub message_id: String,
    /// The request it answers.
    pub request_id: String,
    /// The last ledger entry that it had read when it began.
    pub inbox: Option<LedgerSeq>,
    /// When it began. Unknown in older journals.
    pub started: Option<Timestamp>,
    /// What tells its system blocks from those of another run: a digest for each name.
    pub blocks: Object,
    /// What it has done in messages that were settled.
    pub earlier: SettledWork,
    /// What its message begins with: the parts that were not settled with the one before.
    pub parts: Vec<Json>,
    /// The call among them that has switched the context already.
    pub switched: Option<String>,
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
    /// The answer that ends with part `at - 1` ended for this reason, which is not that it was complete.
    Ended {
        /// How many parts the message had then.
        at: usize,
        /// Why it ended.
        reason: FinishReason,
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
    /// Why the last answer ended, if that is known and nothing has come after it.
    pub finish_reason: Option<FinishReason>,
    /// How long the run had worked when the last line was written, in milliseconds.
    pub worked_ms: u64,
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
        object.set_or_remove("ts", self.started.map(|moment| Json::from(moment.millis() as f64)));
        object.set("blocks", self.blocks.clone());
        object.set_or_remove("earlier", self.earlier.to_json());
        object.set_or_remove("switched", self.switched.as_deref().map(Json::from));
        object.set_or_remove("parts", (!self.parts.is_empty()).then(|| self.parts.clone().into()));
        object
    }

    fn from_object(object: &Object) -> Option<Self> {
        (object.str("kind") == Some("start")).then_some(())?;
        Some(Self {
            run_id: object.str("runId")?.to_owned(),
            message_id: object.str("messageId")?.to_owned(),
            request_id: object.str("requestId")?.to_owned(),
            inbox: object.get("inbox").and_then(Json::as_u64).map(LedgerSeq::new),
            started: moment(object),
            blocks: object.get("blocks").and_then(Json::as_object).cloned().unwrap_or_default(),
            earlier: object.get("earlier").map(SettledWork::from_json).unwrap_or_default(),
            switched: object.str("switched").map(str::to_owned),
            parts: object.get("parts").and_then(Json::as_array).unwrap_or_default().to_vec(),
        })
    }
}

/// In a line: how long the run had worked when it was written, in milliseconds.
const WORKED: &str = "workedMs";

/// The time that a line tells.
fn moment(object: &Object) -> Option<Timestamp> {
    let millis = object.get("ts").and_then(Json::as_number)?;
    Some(Timestamp::from_millis(millis as i64))
}

impl JournalLine {
    /// The line, and how long the run has worked by now.
    pub fn into_object_after(self, worked_ms: u64) -> Object {
        let mut object = self.into_object();
        object.set(WORKED, worked_ms);
        object
    }

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
            Self::Ended { at, reason } => Object::from([
                ("kind", Json::from("ended")),
                ("at", Json::from(at as u64)),
                ("finishReason", reason.name().into()),
            ]),
            Self::End => Object::from([("kind", "end")]),
        }
    }

    fn from_object(object: &Object) -> Option<Self> {
        let at = || usize::try_from(object.get("at")?.as_u64()?).ok();
        match object.str("kind")? {
            "part" => Some(Self::Part { at: at()?, part: object.get("part")?.clone() }),
            "begun" => Some(Self::Begun { at: at()? }),
            "ended" => Some(Self::Ended {
                at: at()?,
                reason: FinishReason::named(object.str("finishReason")?)?,
            }),
            "end" => Some(Self::End),
            _ => None,
        }
    }
}

impl Journal {
    /// The journal of a run that begins.
    pub fn of(start: RunStart) -> Self {
        let parts = start.parts.iter().cloned().map(UiPart::from_json).collect();
        let message = UiMessage::new(start.message_id.clone(), Role::Assistant, parts);
        Self {
            worked_ms: start.earlier.worked_ms,
            start,
            message,
            begun: BTreeSet::new(),
            finish_reason: None,
            ended: false,
        }
    }

    /// Reads a journal; nothing when no run was begun. A line that says nothing we know, and all behind it,
    /// is not believed.
    pub fn read(lines: &[Object]) -> Option<Self> {
        let (first, rest) = lines.split_first()?;
        let mut journal = Self::of(RunStart::from_object(first)?);
        // Older programs told when a run waited, and nothing of how long it worked.
        let is_pause = |line: &&Object| matches!(line.str("kind"), Some("waits" | "goesOn"));
        for object in rest.iter().filter(|line| !is_pause(line)) {
            let Some(line) = JournalLine::from_object(object) else { break };
            if !journal.take(line) {
                break;
            }
            let worked = object.get(WORKED).and_then(Json::as_u64).unwrap_or_default();
            journal.worked_ms = journal.worked_ms.max(worked);
        }
        Some(journal)
    }

    /// Takes a line; false when it does not follow from those before it.
    fn take(&mut self, line: JournalLine) -> bool {
        let parts = self.message.parts_mut();
        match line {
            JournalLine::Part { at, part } => {
                let part = UiPart::from_json(part);
                match at.cmp(&parts.len()) {
                    std::cmp::Ordering::Less => parts[at] = part,
                    std::cmp::Ordering::Equal => {
                        // Something has come after the answer, so how that ended matters no more.
                        self.finish_reason = None;
                        parts.push(part);
                    }
                    // A part is missing before this one.
                    std::cmp::Ordering::Greater => return false,
                }
            }
            JournalLine::Begun { at } => drop(self.begun.insert(at)),
            JournalLine::Ended { at, reason } => {
                self.finish_reason = (at == parts.len()).then_some(reason);
            }
            JournalLine::End => self.ended = true,
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start() -> RunStart {
        RunStart {
            run_id: "r".to_owned(),
            message_id: "a".to_owned(),
            request_id: "q".to_owned(),
            inbox: Some(LedgerSeq::new(3)),
            started: Some(Timestamp::from_millis(1000)),
            blocks: Object::from([("runtime", "abc")]),
            earlier: SettledWork { messages: 1, steps: 2, ..SettledWork::default() },
            parts: vec![UiPart::text("so far").into_json()],
            switched: Some("c".to_owned()),
        }
    }

    fn read(lines: Vec<JournalLine>) -> Journal {
        let mut objects = vec![start().to_object()];
        objects.extend(lines.into_iter().map(JournalLine::into_object));
        Journal::read(&objects).unwrap()
    }

    fn text(at: usize) -> JournalLine {
        JournalLine::Part { at, part: UiPart::text("x").into_json() }
    }

    #[test]
    fn what_a_run_began_with_is_read_as_it_was_written() {
        assert_eq!(read(vec![]).start, start());
    }

    #[test]
    fn the_last_line_tells_how_long_a_run_has_worked() {
        let stamped = |line: JournalLine, ms| line.into_object_after(ms);
        let mut objects = vec![start().to_object(), stamped(text(1), 700), stamped(text(2), 900)];
        assert_eq!(Journal::read(&objects).unwrap().worked_ms, 900);
        // A person's answer is written by whoever heard it.
        objects.push(text(2).into_object());
        assert_eq!(Journal::read(&objects).unwrap().worked_ms, 900);
    }

    #[test]
    fn a_journal_of_an_older_program_is_read_to_its_end() {
        let waits = |kind: &str| Object::from([("kind", Json::from(kind)), ("ts", 5u64.into())]);
        let end = JournalLine::End.into_object();
        let lines = [start().to_object(), waits("waits"), waits("goesOn"), end];
        assert!(Journal::read(&lines).unwrap().ended);
    }

    #[test]
    fn how_an_answer_ended_is_known_until_something_follows_it() {
        let ended = || JournalLine::Ended { at: 2, reason: FinishReason::Length };
        assert_eq!(read(vec![text(1), ended()]).finish_reason, Some(FinishReason::Length));
        assert_eq!(read(vec![text(1), ended(), text(2)]).finish_reason, None);
        assert_eq!(read(vec![ended()]).finish_reason, None, "its parts are not there");
    }
}
