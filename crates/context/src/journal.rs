//! The journal of a run: its parts as they become final, so that an interrupted run can continue.
//!
//! The first line names the run, its start, and the message that it writes. Every further line has the new content
//! of one part, or says that a call is about to take effect, or that an answer ended before it was complete. Each
//! line also has the time that the run had worked by then, which no clock and no pause can change. The journal is
//! not the truth about a run that has ended: the message in the context log is, and its line ends the run.
//!
//! A run that outgrows its model's window is settled: its work so far goes into the log as a message, and the run
//! continues in another message with a journal of its own. See [`SettledWork`].

mod lost_run;
mod settled_work;

use std::collections::BTreeSet;

use ship_message::json::{Json, Object};
use ship_message::{FinishReason, Role, UiMessage, UiPart};
use ship_record::{LedgerSeq, Timestamp};

pub use lost_run::lost_run;
pub use settled_work::{SettledWork, is_later_message, join_texts};
pub(crate) use settled_work::{journal_after_switch, settled_parts};

/// The first line of a journal.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunStart {
    /// The id of the run.
    pub run_id: String,
    /// The id of the message that it writes.
    pub message_id: String,
    /// The id of the request that it answers.
    pub request_id: String,
    /// The last ledger entry that it had read when it began.
    pub inbox: Option<LedgerSeq>,
    /// The time at which it began. Unknown in older journals.
    pub started_at: Option<Timestamp>,
    /// The digests of its system blocks, by name, which tell them from those of another run.
    pub blocks: Object,
    /// The work that it has done in settled messages.
    pub earlier: SettledWork,
    /// The first parts of its message: those that were not settled with the message before.
    pub parts: Vec<Json>,
    /// The call among them that has already switched the context.
    pub switching_call: Option<String>,
}

/// A further line of a journal.
#[derive(Clone, Debug, PartialEq)]
pub enum JournalLine {
    /// Part `at` of the message now has this content.
    Part {
        /// The index of the part.
        at: usize,
        /// The content of the part.
        part: Json,
    },
    /// The call in part `at` is about to take effect.
    Begun {
        /// The index of the part.
        at: usize,
    },
    /// The answer that ends with part `at - 1` ended for this reason, and was not complete.
    Ended {
        /// The number of parts that the message had then.
        at: usize,
        /// The reason why it ended.
        reason: FinishReason,
    },
    /// A call waits for a person or the client. The entries of the ledger up to `seen` were sent before.
    Waits {
        /// The last entry of the ledger before the run waited.
        seen: LedgerSeq,
    },
    /// The run has ended; its message is in the log.
    End,
}

/// The content of a journal.
#[derive(Clone, Debug, PartialEq)]
pub struct Journal {
    /// The first line of the journal.
    pub start: RunStart,
    /// The message so far.
    pub message: UiMessage,
    /// The indexes of calls that may have taken effect.
    pub begun_calls: BTreeSet<usize>,
    /// The reason why the last answer ended, if it is known and nothing has followed.
    pub finish_reason: Option<FinishReason>,
    /// The time that the run had worked when the last line was written, in milliseconds.
    pub worked_ms: u64,
    /// The last ledger entry before the run began to wait for a person or the client; `None` in older journals.
    pub waits_since: Option<LedgerSeq>,
    /// The indexes of calls that a person or the client has answered since the run last worked.
    pub answered_calls: BTreeSet<usize>,
    /// Whether the journal says that the run has ended.
    pub has_ended: bool,
}

impl RunStart {
    /// Returns the first line of the journal.
    pub fn to_object(&self) -> Object {
        let mut object = Object::from([
            ("kind", "start"),
            ("runId", &self.run_id),
            ("messageId", &self.message_id),
            ("requestId", &self.request_id),
        ]);
        object.set_or_remove("inbox", self.inbox.map(|seq| Json::from(seq.get())));
        object.set_or_remove("ts", self.started_at.map(Timestamp::to_json));
        object.set("blocks", self.blocks.clone());
        object.set_or_remove("earlier", self.earlier.to_json());
        object.set_or_remove("switched", self.switching_call.as_deref().map(Json::from));
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
            started_at: object.get("ts").and_then(Timestamp::from_json),
            blocks: object.get("blocks").and_then(Json::as_object).cloned().unwrap_or_default(),
            earlier: object.get("earlier").map(SettledWork::from_json).unwrap_or_default(),
            switching_call: object.str("switched").map(str::to_owned),
            parts: object.get("parts").and_then(Json::as_array).unwrap_or_default().to_vec(),
        })
    }
}

/// The field of a line with the time that the run had worked, in milliseconds.
const WORKED: &str = "workedMs";

impl JournalLine {
    /// Returns the line with the time that the run has worked by now.
    pub fn into_object_with_time(self, worked_ms: u64) -> Object {
        let mut object = self.into_object();
        object.set(WORKED, worked_ms);
        object
    }

    /// Returns the line without that time.
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
            Self::Waits { seen } => {
                Object::from([("kind", Json::from("waits")), ("seen", Json::from(seen.get()))])
            }
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
            "waits" => Some(Self::Waits { seen: LedgerSeq::new(object.get("seen")?.as_u64()?) }),
            "end" => Some(Self::End),
            _ => None,
        }
    }
}

impl Journal {
    /// Makes the journal of a run that begins.
    pub fn begin(start: RunStart) -> Self {
        let parts = start.parts.iter().cloned().map(UiPart::from_json).collect();
        let message = UiMessage::new(start.message_id.clone(), Role::Assistant, parts);
        Self {
            worked_ms: start.earlier.worked_ms,
            start,
            message,
            begun_calls: BTreeSet::new(),
            finish_reason: None,
            waits_since: None,
            answered_calls: BTreeSet::new(),
            has_ended: false,
        }
    }

    /// Reads a journal; `None` if no run was begun. An unknown line and everything after it is not trusted.
    pub fn read(lines: &[Object]) -> Option<Self> {
        let (first, rest) = lines.split_first()?;
        let mut journal = Self::begin(RunStart::from_object(first)?);
        // Older programs recorded when a run waited, but not how long it worked. They pass over both kinds of line.
        let is_pause = |line: &&Object| match line.str("kind") {
            Some("waits") => !line.has("seen"),
            kind => kind == Some("goesOn"),
        };
        for object in rest.iter().filter(|line| !is_pause(line)) {
            let Some(line) = JournalLine::from_object(object) else { break };
            let part = if let JournalLine::Part { at, .. } = &line { Some(*at) } else { None };
            if !journal.apply(line) {
                break;
            }
            match object.get(WORKED).and_then(Json::as_u64) {
                Some(worked) => {
                    journal.worked_ms = journal.worked_ms.max(worked);
                    journal.answered_calls.clear();
                }
                // The process that receives an answer writes it without the time, as older programs wrote every line.
                None => journal.answered_calls.extend(part),
            }
        }
        Some(journal)
    }

    /// Applies a line. Returns false if it does not follow from the lines before it.
    pub fn apply(&mut self, line: JournalLine) -> bool {
        let parts = self.message.parts_mut();
        match line {
            JournalLine::Part { at, part } => {
                let part = UiPart::from_json(part);
                match at.cmp(&parts.len()) {
                    std::cmp::Ordering::Less => parts[at] = part,
                    std::cmp::Ordering::Equal => {
                        // Something has followed the answer, so the reason for its end no longer matters.
                        self.finish_reason = None;
                        parts.push(part);
                    }
                    // A part before this one is missing.
                    std::cmp::Ordering::Greater => return false,
                }
            }
            JournalLine::Begun { at } => drop(self.begun_calls.insert(at)),
            JournalLine::Ended { at, reason } => {
                self.finish_reason = (at == parts.len()).then_some(reason);
            }
            JournalLine::Waits { seen } => self.waits_since = Some(seen),
            JournalLine::End => self.has_ended = true,
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
            started_at: Some(Timestamp::from_millis(1000)),
            blocks: Object::from([("runtime", "abc")]),
            earlier: SettledWork { messages: 1, steps: 2, ..SettledWork::default() },
            parts: vec![UiPart::text("so far").into_json()],
            switching_call: Some("c".to_owned()),
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
        let stamped = |line: JournalLine, ms| line.into_object_with_time(ms);
        let mut objects = vec![start().to_object(), stamped(text(1), 700), stamped(text(2), 900)];
        assert_eq!(Journal::read(&objects).unwrap().worked_ms, 900);
        // The process that receives a person's answer writes it.
        objects.push(text(2).into_object());
        assert_eq!(Journal::read(&objects).unwrap().worked_ms, 900);
    }

    #[test]
    fn calls_count_as_answered_until_the_run_works_again() {
        let mut objects = vec![start().to_object(), text(1).into_object_with_time(5)];
        objects.push(text(1).into_object());
        assert_eq!(Journal::read(&objects).unwrap().answered_calls, BTreeSet::from([1]));
        objects.push(text(2).into_object_with_time(6));
        assert_eq!(Journal::read(&objects).unwrap().answered_calls, BTreeSet::new());
    }

    #[test]
    fn a_journal_of_an_older_program_is_read_to_its_end() {
        let waits = |kind: &str| Object::from([("kind", Json::from(kind)), ("ts", 5u64.into())]);
        let end = JournalLine::End.into_object();
        let lines = [start().to_object(), waits("waits"), waits("goesOn"), end];
        assert!(Journal::read(&lines).unwrap().has_ended);
    }

    #[test]
    fn a_run_that_waits_knows_what_the_person_had_sent_before() {
        let waits = |seen| JournalLine::Waits { seen: LedgerSeq::new(seen) };
        assert_eq!(read(vec![text(1)]).waits_since, None);
        assert_eq!(read(vec![waits(4), text(1)]).waits_since, Some(LedgerSeq::new(4)));
        assert_eq!(read(vec![waits(4), text(1), waits(6)]).waits_since, Some(LedgerSeq::new(6)));
    }

    #[test]
    fn how_an_answer_ended_is_known_until_something_follows_it() {
        let ended = || JournalLine::Ended { at: 2, reason: FinishReason::Length };
        assert_eq!(read(vec![text(1), ended()]).finish_reason, Some(FinishReason::Length));
        assert_eq!(read(vec![text(1), ended(), text(2)]).finish_reason, None);
        assert_eq!(read(vec![ended()]).finish_reason, None, "its parts are not there");
    }
}
