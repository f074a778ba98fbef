//! Decides what to do about a chat, from its logs.
//!
//! The agent asks whenever it takes a lane: after a crash, after a clean stop, and during normal work alike. There
//! is no other memory of unfinished work.

use ship_message::json::Json;
use ship_message::{INTERRUPTED_CALL, Role, ToolPart, ToolState, UiMessage, UiPart};
use ship_record::{LedgerBody, LedgerLine, Metadata, View};

use crate::contexts::is_reference;
use crate::journal::{journal_after_switch, settled_parts};
use crate::{Journal, RunStart};

/// The next thing to do about a chat.
#[derive(Clone, Debug, PartialEq)]
pub enum Recovery {
    /// There is nothing to do.
    Idle,
    /// Tell the person what a finished run has said; the ledger does not have it yet.
    Deliver(UiMessage),
    /// Continue the run after its last recorded part.
    Continue(Journal),
    /// Begin the next journal and continue: the run was settled, and interrupted before its next journal was begun.
    Settled(Journal),
    /// Wait: the run needs a person's approval or the output of a client's tool.
    Parked(Journal),
    /// Run the messages that have arrived.
    RunPending,
}

/// The facts about tools that recovery needs.
pub trait KnownTools {
    /// Whether a call may be repeated if it is unknown whether it took effect.
    fn is_safe_to_repeat(&self, name: &str) -> bool;

    /// Whether the tool runs with the client, so that a call waits for an answer from outside.
    fn runs_on_client(&self, name: &str) -> bool;
}

/// Decides what to do. `new_lines` are the ledger's lines after the inbox cursor of the view, and `delivered` says
/// whether the ledger has what the run said.
pub fn recover(
    view: Option<&View>,
    new_lines: &[LedgerLine],
    journal: Option<Journal>,
    delivered: impl Fn(&RunStart) -> bool,
    tools: &dyn KnownTools,
) -> Recovery {
    if let Some(mut journal) = journal {
        // The switch is made, and only the next journal is missing.
        if let Some(next) = journal_after_switch(view, &journal) {
            return Recovery::Settled(next);
        }
        // The settled parts are in the log, and only the next journal is missing.
        if let Some(count) = settled_parts(view, &journal) {
            let mut next = journal.after_settling(count);
            settle_calls(&mut next, tools);
            return Recovery::Settled(next);
        }
        // This must come before `final_message`: the message left behind has the same id and is no answer.
        if has_unfinished_switch(view, &journal) {
            return Recovery::Continue(journal);
        }
        match final_message(view, &journal) {
            Some(message) if !delivered(&journal.start) => {
                return Recovery::Deliver(message);
            }
            Some(_) => {}
            // The ledger has its answer, or the journal says that it ended, so its message is in the log.
            None if journal.has_ended || delivered(&journal.start) => {}
            None if is_parked(&journal.message, tools) => return Recovery::Parked(journal),
            None => {
                settle_calls(&mut journal, tools);
                return Recovery::Continue(journal);
            }
        }
    }
    let waiting = new_lines.iter().any(is_question);
    if waiting || ends_with_question(view) { Recovery::RunPending } else { Recovery::Idle }
}

/// The field in the `meta` of a ledger entry for a message between people.
pub const OBSERVED: &str = "observed";

/// Whether a line of the ledger is a person's message to the agent.
pub fn is_question(line: &LedgerLine) -> bool {
    is_from_person(line) && !has_observed_mark(line)
}

/// Whether a line of the ledger is a message between people.
pub fn is_observed(line: &LedgerLine) -> bool {
    is_from_person(line) && has_observed_mark(line)
}

/// Whether a line of the ledger is a message that came in, addressed to the agent or not.
pub fn is_from_person(line: &LedgerLine) -> bool {
    matches!(&line.body, LedgerBody::Entry(entry) if entry.entry.str("role") == Some("user"))
}

fn has_observed_mark(line: &LedgerLine) -> bool {
    let LedgerBody::Entry(entry) = &line.body else { return false };
    let meta = entry.entry.get("meta");
    meta.and_then(|meta| meta.get(OBSERVED)).and_then(Json::as_bool) == Some(true)
}

/// Whether a context ends with an unanswered message of a person. Every run ends with an assistant message
/// that is not a settled one, so a run was interrupted here before it began, unless the context was branched
/// off at this point.
pub fn ends_with_question(view: Option<&View>) -> bool {
    let Some(view) = view else { return false };
    // A reference was fetched for a question, and does not answer it.
    let Some(last) = view.messages().rfind(|message| !is_reference(message)) else {
        return false;
    };
    let asks = last.role() == Role::User || Metadata::of(last).settled_parts().is_some();
    asks && last.id() != view.head.carry.answered()
}

/// Whether the run was interrupted while it left this context: its work is in the log, but the switch
/// is not made yet.
fn has_unfinished_switch(view: Option<&View>, journal: &Journal) -> bool {
    let Some(mut messages) = view.map(View::messages) else { return false };
    let id = journal.start.message_id.as_str();
    messages.any(|message| message.id() == Some(id) && Metadata::of(message).moved().is_some())
}

/// Returns the message that the run has put into the log, if it has.
fn final_message(view: Option<&View>, journal: &Journal) -> Option<UiMessage> {
    let mut messages = view?.messages();
    messages.find(|message| message.id() == Some(&journal.start.message_id)).cloned()
}

/// Whether a run is parked, because a call waits for an answer from outside.
fn is_parked(message: &UiMessage, tools: &dyn KnownTools) -> bool {
    message
        .parts()
        .iter()
        .any(|part| matches!(part, UiPart::Tool(tool) if is_waiting_call(tool, tools)))
}

/// Whether a call waits for a person's approval, or for the client that runs it.
pub fn is_waiting_call(tool: &ToolPart, tools: &dyn KnownTools) -> bool {
    let on_client = || tool.name().is_some_and(|name| tools.runs_on_client(name));
    tool.state() == ToolState::ApprovalRequested
        || (tool.state() == ToolState::InputAvailable && on_client())
}

/// Settles the calls of an interrupted run. A call that may have taken effect is not repeated: its outcome is
/// unknown. A call that had not begun, or that is safe to repeat, stays open and is made.
fn settle_calls(journal: &mut Journal, tools: &dyn KnownTools) {
    for (at, part) in journal.message.parts_mut().iter_mut().enumerate() {
        if let UiPart::Tool(tool) = part
            && !tool.state().is_terminal()
            && journal.begun_calls.contains(&at)
            && !tool.name().is_some_and(|name| tools.is_safe_to_repeat(name))
        {
            tool.set_error(INTERRUPTED_CALL);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ship_message::json::{Json, Object};
    use ship_record::{
        ContextBody, ContextId, ContextLine, Gen, Head, LedgerEntry, LedgerSeq, Position, Seq,
        Timestamp,
    };

    use super::*;

    /// Tools of which `safe` may run twice and `client` runs elsewhere.
    struct Tools;

    impl KnownTools for Tools {
        fn is_safe_to_repeat(&self, name: &str) -> bool {
            name == "safe"
        }

        fn runs_on_client(&self, name: &str) -> bool {
            name == "client"
        }
    }

    fn view(messages: &[(&str, &str)]) -> View {
        let line = |(i, (id, role)): (usize, &(&str, &str))| ContextLine {
            seq: Seq::new(i as u64 + 2),
            rev: 0,
            inbox: None,
            body: ContextBody::Message(UiMessage::new(*id, Role::named(role), Vec::new())),
        };
        View {
            head: Head::new(ContextId::new(Timestamp::from_millis(0), 1)),
            position: Position {
                generation: Gen::new(0),
                seq: Seq::new(messages.len() as u64 + 1),
            },
            crc: 0,
            inbox: None,
            lines: messages.iter().enumerate().map(line).map(Arc::new).collect(),
            problems: Vec::new(),
        }
    }

    fn incoming(role: &str) -> LedgerLine {
        let entry = LedgerEntry { key: "k".to_owned(), entry: Object::from([("role", role)]) };
        LedgerLine { seq: LedgerSeq::FIRST, body: LedgerBody::Entry(entry) }
    }

    /// Makes the journal of a run that writes message `a1` with one call in this state, begun or not.
    fn journal(tool: &str, state: &str, begun: bool) -> Option<Journal> {
        let start = Object::from([
            ("kind", "start"),
            ("runId", "r"),
            ("messageId", "a1"),
            ("requestId", "q"),
        ]);
        let part = format!(
            r#"{{"kind":"part","at":0,"part":{{"type":"tool-{tool}","toolCallId":"c","state":"{state}","input":{{}}}}}}"#
        );
        let mut lines = vec![start];
        let mut texts = vec![part];
        if begun {
            texts.push(r#"{"kind":"begun","at":0}"#.to_owned());
        }
        for text in texts {
            let Ok(Json::Object(line)) = Json::parse(&text) else { panic!("an object") };
            lines.push(line);
        }
        Journal::read(&lines)
    }

    fn decide(
        view: &View,
        lines: &[LedgerLine],
        journal: Option<Journal>,
        delivered: bool,
    ) -> Recovery {
        recover(Some(view), lines, journal, |_| delivered, &Tools)
    }

    #[test]
    fn a_chat_with_nothing_waiting_is_idle_and_one_with_a_message_is_run() {
        let answered = view(&[("u1", "user"), ("a1", "assistant")]);
        assert_eq!(decide(&answered, &[], None, true), Recovery::Idle);
        assert_eq!(decide(&answered, &[incoming("assistant")], None, true), Recovery::Idle);
        assert_eq!(decide(&answered, &[incoming("user")], None, true), Recovery::RunPending);
        assert_eq!(
            recover(None, &[incoming("user")], None, |_| true, &Tools),
            Recovery::RunPending
        );
    }

    #[test]
    fn what_people_say_to_one_another_is_not_run() {
        let mut line = incoming("user");
        let LedgerBody::Entry(entry) = &mut line.body else { panic!("an entry") };
        entry.entry.set("meta", Object::from([(OBSERVED, true)]));
        assert_eq!(recover(None, &[line], None, |_| true, &Tools), Recovery::Idle);
    }

    #[test]
    fn a_question_without_an_answer_is_run() {
        assert_eq!(decide(&view(&[("u1", "user")]), &[], None, true), Recovery::RunPending);
    }

    #[test]
    fn a_run_that_ended_is_delivered_once() {
        let view = view(&[("u1", "user"), ("a1", "assistant")]);
        let ended = || journal("safe", "output-available", true);
        assert!(
            matches!(decide(&view, &[], ended(), false), Recovery::Deliver(m) if m.id() == Some("a1"))
        );
        assert_eq!(decide(&view, &[], ended(), true), Recovery::Idle);
    }

    #[test]
    fn a_run_whose_answer_was_delivered_has_ended_though_its_log_is_gone() {
        let running = || journal("safe", "input-available", false);
        assert_eq!(recover(None, &[], running(), |_| true, &Tools), Recovery::Idle);
        assert!(matches!(recover(None, &[], running(), |_| false, &Tools), Recovery::Continue(_)));
    }

    #[test]
    fn a_call_that_may_have_happened_is_unknown_unless_it_may_run_twice() {
        for (tool, begun, error) in [
            ("danger", true, Some(INTERRUPTED_CALL)),
            ("danger", false, None),
            ("safe", true, None),
            ("safe", false, None),
        ] {
            let decided = decide(
                &view(&[("u1", "user")]),
                &[],
                journal(tool, "input-available", begun),
                false,
            );
            let Recovery::Continue(journal) = decided else { panic!("{tool} goes on") };
            let UiPart::Tool(part) = &journal.message.parts()[0] else { panic!("a call") };
            assert_eq!(part.error_text(), error, "{tool}, begun: {begun}");
        }
    }

    #[test]
    fn a_run_cut_off_while_it_was_settled_goes_on_with_what_was_left() {
        let mut view = view(&[("u1", "user"), ("a1", "assistant")]);
        let mut settled = UiMessage::new("a1", Role::Assistant, Vec::new());
        settled.set_metadata(Object::from([("settled", 1u64)]).into());
        let line = ContextLine { body: ContextBody::Message(settled), ..(*view.lines[1]).clone() };
        view.lines[1] = Arc::new(line);
        let running = journal("danger", "output-available", true);
        let Recovery::Settled(next) = decide(&view, &[], running, false) else { panic!("goes on") };
        assert_eq!((next.message.id(), next.message.parts().len()), (Some("a1-2"), 0));
        assert_eq!(decide(&view, &[], None, true), Recovery::RunPending, "it is no answer");
        view.head.carry.set_answered(Some("a1"));
        assert_eq!(decide(&view, &[], None, true), Recovery::Idle, "it was answered elsewhere");
    }

    #[test]
    fn a_run_that_waits_for_a_word_or_for_the_client_is_parked() {
        let view = view(&[("u1", "user")]);
        for (tool, state) in [("danger", "approval-requested"), ("client", "input-available")] {
            assert!(matches!(
                decide(&view, &[], journal(tool, state, false), false),
                Recovery::Parked(_)
            ));
        }
    }

    #[test]
    fn a_journal_that_breaks_off_is_believed_up_to_there() {
        let mut lines = vec![Object::from([
            ("kind", "start"),
            ("runId", "r"),
            ("messageId", "a1"),
            ("requestId", "q"),
        ])];
        let part = |at: u64| {
            Object::from([("kind", Json::from("part")), ("at", at.into()), ("part", Json::Null)])
        };
        lines.extend([part(0), part(2), part(1)]);
        let journal = Journal::read(&lines).unwrap();
        assert_eq!(journal.message.parts().len(), 1, "part 1 was missing when part 2 came");
    }
}
