//! Finds a run that has ended, but whose journal a power cut has taken.
//!
//! The journal of a run is not synced before a call that must not run twice. A shorter run is known by its message
//! alone, which is in the log durably before the ledger has the answer.

use ship_message::Role;
use ship_record::{ChatKey, MessageSource, Metadata, View};

use super::RunStart;

/// Returns the run whose answer ends the context, if that is not the `journaled` one. The answer must be one to the
/// newest message of the chat that any context has seen: an older answer, to which an operation has led back, was
/// recorded long ago.
pub fn lost_run(view: &View, journaled: Option<&str>, chat: &ChatKey) -> Option<RunStart> {
    let last = view.messages().next_back()?;
    let metadata = Metadata::of(last);
    let is_answer = last.role() == Role::Assistant
        && metadata.source() == Some(MessageSource::Egress)
        && metadata.settled_parts().is_none()
        && metadata.moved().is_none();
    // A copy from another chat answers an entry of that chat's ledger.
    let is_newest = metadata.chat_key() == Some(chat.as_str())
        && metadata.answers_to().is_some()
        && metadata.answers_to() == view.inbox;
    let run_id = metadata.run_id()?;
    (is_answer && is_newest && journaled != Some(run_id)).then_some(())?;
    Some(RunStart {
        run_id: run_id.to_owned(),
        message_id: last.id()?.to_owned(),
        request_id: metadata.request_id()?.to_owned(),
        inbox: view.inbox,
        ..RunStart::default()
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ship_message::UiMessage;
    use ship_record::{
        ContextBody, ContextId, ContextLine, Gen, Head, LedgerSeq, Position, Seq, Timestamp,
    };

    use super::*;

    const ANSWER: &str =
        r#""chatKey":"a","source":"egress","runId":"r2","requestId":"q","answersTo":7"#;

    /// Returns a context that has seen the ledger up to entry 7, and ends with an answer with this metadata.
    fn view(metadata: &str) -> View {
        let text =
            format!(r#"{{"id":"m","role":"assistant","parts":[],"metadata":{{{metadata}}}}}"#);
        let body = ContextBody::Message(UiMessage::parse(&text).unwrap());
        let seq = Seq::new(2);
        View {
            head: Head::new(ContextId::new(Timestamp::from_millis(0), 1)),
            position: Position { generation: Gen::new(0), seq },
            crc: 0,
            inbox: Some(LedgerSeq::new(7)),
            lines: vec![Arc::new(ContextLine { seq, rev: 0, inbox: None, body })],
            problems: Vec::new(),
        }
    }

    fn run_of(metadata: &str, journal: Option<&str>) -> Option<String> {
        lost_run(&view(metadata), journal, &"a".parse().unwrap()).map(|start| start.run_id)
    }

    #[test]
    fn a_run_is_lost_if_the_journal_has_another_one_or_none() {
        assert_eq!(run_of(ANSWER, None).as_deref(), Some("r2"));
        assert_eq!(run_of(ANSWER, Some("r1")).as_deref(), Some("r2"));
        assert_eq!(run_of(ANSWER, Some("r2")), None);
    }

    #[test]
    fn what_is_no_answer_to_the_newest_message_of_this_chat_is_not_lost() {
        for (from, to) in [
            (r#""answersTo":7"#, r#""answersTo":5"#),
            (r#""answersTo":7"#, r#""v":1"#),
            (r#""chatKey":"a""#, r#""chatKey":"b""#),
            (r#""source":"egress""#, r#""source":"ledger""#),
            (r#""requestId":"q""#, r#""requestId":"q","settled":1"#),
            (r#""requestId":"q""#, r#""requestId":"q","moved":["u"]"#),
        ] {
            assert!(ANSWER.contains(from), "{from}");
            assert_eq!(run_of(&ANSWER.replace(from, to), None), None, "{to}");
        }
    }
}
