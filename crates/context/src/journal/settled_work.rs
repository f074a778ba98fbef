//! Settles a run that outgrows its model's window: it continues in a new message.
//!
//! Its work so far goes into the context log as an assistant message with a number: how many of the journal's parts
//! it holds. From then on that message is pruned and summarised like any other. The run continues in a message of
//! its own, which begins with the remaining parts: the newest step, whose results the model has not seen. A crash
//! between the two writes leaves the message in the log and the old journal, and together they determine how the
//! next journal must begin.

use ship_message::json::{Json, Object};
use ship_message::{StepStartPart, UiMessage, UiPart};
use ship_record::{Metadata, View};

use super::{Journal, RunStart};

/// The work of a run in settled messages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SettledWork {
    /// The number of settled messages.
    pub messages: u64,
    /// The number of steps in them.
    pub steps: u64,
    /// The number of answered calls of `chat_send`.
    pub sends: u64,
    /// The text that the run has said.
    pub text: String,
    /// The number of switches to another context.
    pub switches: u64,
    /// The time that the run has worked, in milliseconds.
    pub worked_ms: u64,
}

impl SettledWork {
    pub(crate) fn to_json(&self) -> Option<Json> {
        (*self != Self::default()).then(|| {
            let mut object = Object::from([
                ("messages", Json::from(self.messages)),
                ("steps", self.steps.into()),
                ("sends", self.sends.into()),
                ("switches", self.switches.into()),
                ("workedMs", self.worked_ms.into()),
            ]);
            object.set("said", self.text.as_str());
            object.into()
        })
    }

    pub(crate) fn from_json(json: &Json) -> Self {
        let number = |key: &str| json.get(key).and_then(Json::as_u64).unwrap_or_default();
        Self {
            messages: number("messages"),
            steps: number("steps"),
            sends: number("sends"),
            switches: number("switches"),
            text: json.get("said").and_then(Json::as_str).unwrap_or_default().to_owned(),
            worked_ms: number("workedMs"),
        }
    }

    fn plus(&self, parts: &[UiPart], worked_ms: u64) -> Self {
        let is_step = |part: &&UiPart| matches!(part, UiPart::StepStart(_));
        let is_sent = |part: &&UiPart| matches!(part, UiPart::Tool(tool) if tool.name() == Some("chat_send") && tool.output().is_some());
        let text = UiMessage::new("", ship_message::Role::Assistant, parts.to_vec()).text();
        Self {
            messages: self.messages + 1,
            steps: self.steps + parts.iter().filter(is_step).count() as u64,
            sends: self.sends + parts.iter().filter(is_sent).count() as u64,
            text: join_texts(&self.text, &text),
            switches: self.switches,
            // The run has one time through all of its messages, so this is not a sum.
            worked_ms,
        }
    }
}

/// Joins the earlier text and the present one.
pub fn join_texts(before: &str, now: &str) -> String {
    match (before.is_empty(), now.is_empty()) {
        (true, _) => now.to_owned(),
        (_, true) => before.to_owned(),
        (false, false) => format!("{before}\n{now}"),
    }
}

impl Journal {
    /// Returns the journal with which the run continues in another context: its work so far stays behind, and only
    /// the switching call goes along.
    pub fn after_switching(&self, call_id: Option<&str>) -> Self {
        let is_call =
            |part: &&UiPart| matches!(part, UiPart::Tool(tool) if Some(tool.call_id()) == call_id);
        let call = self.message.parts().iter().rev().find(is_call).cloned();
        let mut next = self.after_settling(self.message.parts().len());
        next.finish_reason = None;
        next.begun_calls.clear();
        next.start.earlier.switches += u64::from(call_id.is_some());
        next.start.switching_call = call_id.map(str::to_owned);
        if let Some(call) = call {
            next.start.parts =
                vec![UiPart::StepStart(StepStartPart::new()).into_json(), call.into_json()];
        }
        Self::begin(next.start)
    }

    /// Returns the journal with which the run continues after its first `count` parts are settled.
    pub fn after_settling(&self, count: usize) -> Self {
        let parts = self.message.parts();
        let count = count.min(parts.len());
        let start = RunStart {
            message_id: next_message_id(&self.start),
            earlier: self.start.earlier.plus(&parts[..count], self.worked_ms),
            parts: parts[count..].iter().cloned().map(UiPart::into_json).collect(),
            ..self.start.clone()
        };
        // The calls in the settled parts have ended.
        let begun = self.begun_calls.iter().filter_map(|at| at.checked_sub(count)).collect();
        Self { begun_calls: begun, finish_reason: self.finish_reason, ..Self::begin(start) }
    }
}

/// Returns the id of the next message of a run. It follows from the one before, so that a crash does not change it.
fn next_message_id(start: &RunStart) -> String {
    let known = format!("-{}", start.earlier.messages + 1);
    let first = match start.earlier.messages {
        0 => start.message_id.as_str(),
        _ => start.message_id.strip_suffix(&known).unwrap_or(&start.message_id),
    };
    format!("{first}-{}", start.earlier.messages + 2)
}

/// Whether a message is not the first of its run, as its id tells.
pub fn is_later_message(id: &str) -> bool {
    let number = id.rsplit_once('-').map(|(_, number)| number.parse::<u64>());
    matches!(number, Some(Ok(2..)))
}

/// Returns the journal of a run that has switched to the context of the view, if that journal was not begun yet.
pub(crate) fn journal_after_switch(view: Option<&View>, journal: &Journal) -> Option<Journal> {
    let settled = view?.head.carry.settled_run()?;
    let is_it = settled.message == journal.start.message_id;
    is_it.then(|| journal.after_switching(settled.call.as_deref()))
}

/// Returns the number of this journal's parts that the log has as a settled message, if there is one.
pub(crate) fn settled_parts(view: Option<&View>, journal: &Journal) -> Option<usize> {
    let mut messages = view?.messages();
    let found = messages.find(|message| message.id() == Some(&journal.start.message_id))?;
    usize::try_from(Metadata::of(found).settled_parts()?).ok()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use ship_message::ToolPart;

    use super::*;

    fn journal() -> Journal {
        let start = RunStart { message_id: "a".to_owned(), ..RunStart::default() };
        let mut journal = Journal::begin(start);
        let step = || UiPart::from_json(Json::parse(r#"{"type":"step-start"}"#).unwrap());
        let mut sent = ToolPart::new("chat_send", "c1", Json::Object(Object::new()));
        sent.set_output(Json::from(true));
        let open = ToolPart::new("look", "c2", Json::Object(Object::new()));
        let parts = [
            step(),
            UiPart::text("first"),
            UiPart::Tool(sent),
            step(),
            UiPart::text("second"),
            UiPart::Tool(open),
        ];
        journal.message.parts_mut().extend(parts);
        journal.begun_calls = BTreeSet::from([2, 5]);
        journal.worked_ms = 40;
        journal
    }

    #[test]
    fn the_next_journal_begins_with_what_is_left_and_knows_what_was_settled() {
        let journal = journal();
        let next = journal.after_settling(3);
        assert_eq!(next.message.id(), Some("a-2"));
        assert_eq!(next.message.parts(), &journal.message.parts()[3..]);
        assert_eq!(
            next.begun_calls,
            BTreeSet::from([2]),
            "the places are those in the new message"
        );
        let earlier = SettledWork {
            messages: 1,
            steps: 1,
            sends: 1,
            text: "first".to_owned(),
            switches: 0,
            worked_ms: 40,
        };
        assert_eq!(next.start.earlier, earlier);
        assert_eq!(next.worked_ms, 40);
        let read = Journal::read(&[next.start.to_object()]).unwrap();
        assert_eq!((&read.start, &read.message), (&next.start, &next.message));
        assert_eq!(read.worked_ms, 40);
    }

    #[test]
    fn a_run_that_switches_takes_along_nothing_but_the_call() {
        let next = journal().after_switching(Some("c2"));
        let kinds: Vec<_> =
            next.message.parts().iter().map(|part| part.clone().into_json().to_string()).collect();
        assert_eq!(kinds.len(), 2);
        assert!(kinds[0].contains("step-start") && kinds[1].contains("c2"), "{kinds:?}");
        assert_eq!(next.start.switching_call.as_deref(), Some("c2"));
        assert_eq!((next.start.earlier.switches, next.start.earlier.steps), (1, 2));
        let read = Journal::read(&[next.start.to_object()]).unwrap();
        assert_eq!(read, next);
        assert!(journal().after_switching(None).message.parts().is_empty());
    }

    #[test]
    fn what_is_settled_again_adds_up() {
        let last = journal().after_settling(3).after_settling(3);
        assert_eq!(last.message.id(), Some("a-3"));
        assert!(last.message.parts().is_empty());
        assert_eq!(last.start.earlier.text, "first\nsecond");
        assert_eq!((last.start.earlier.steps, last.start.earlier.messages), (2, 2));
    }

    #[test]
    fn the_id_of_a_message_tells_whether_its_run_wrote_one_before() {
        let next = journal().after_settling(3);
        assert!(is_later_message(&next.start.message_id) && !is_later_message("a"));
        let third = Journal { message: journal().message, ..next }.after_settling(1);
        assert!(is_later_message(&third.start.message_id));
        assert!(!is_later_message("a-1") && !is_later_message("a-b") && !is_later_message(""));
    }
}
