//! Holds what is on disk to what two processes have promised.

use std::collections::HashSet;

use super::chat_record::{ChatRecord, RecordedMessage};
use super::fault_case::BrokenPromise;

/// What a process said about a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SendOutcome {
    /// It was answered; the answer is among what was printed.
    Answer(String),
    /// It is kept.
    Kept,
    /// Nothing, or that it could not be written.
    Refused,
}

impl SendOutcome {
    fn in_words(&self) -> &'static str {
        match self {
            Self::Answer(_) => "which was answered",
            Self::Kept => "which was said to be kept",
            Self::Refused => "which was refused",
        }
    }
}

/// A message that was handed to one of the processes, and what became of it.
#[derive(Clone, Debug)]
pub(super) struct SentMessage {
    pub(super) text: String,
    pub(super) outcome: SendOutcome,
}

/// What the offline model answers.
pub(super) fn echo(text: &str) -> String {
    format!("I am the offline model, a small stand-in without a language model. You said: {text}")
}

/// Judges a chat in which nothing is left to do.
pub(super) fn judge(record: &ChatRecord, sent: &[SentMessage]) -> Result<(), BrokenPromise> {
    for message in sent {
        judge_promise(record, message)?;
    }
    judge_phantoms(record, sent)?;
    judge_order(record)
}

fn judge_promise(
    record: &ChatRecord,
    SentMessage { text, outcome }: &SentMessage,
) -> Result<(), BrokenPromise> {
    let wrong =
        |what: String| Err(BrokenPromise(format!("`{text}`, {}, {what}", outcome.in_words())));
    let entries = record.ledger.iter().filter(|entry| entry.is_user && entry.text == *text).count();
    let is_promised = *outcome != SendOutcome::Refused;
    if entries > 1 || is_promised && entries == 0 {
        return wrong(format!("is in the ledger {entries} times"));
    }
    let questions = ids(record, |message| message.is_user && message.text == *text);
    if questions.len() != entries {
        return wrong(format!("is in the contexts {} times", questions.len()));
    }
    let answers = ids(record, |message| is_answer(message) && message.text == echo(text)).len();
    let ledger_answers =
        record.ledger.iter().filter(|entry| !entry.is_user && entry.text == echo(text)).count();
    if answers > 1 || answers != ledger_answers {
        return wrong(format!(
            "is answered {answers} times in the contexts and {ledger_answers} times in the ledger"
        ));
    }
    let Some(question) = questions.iter().next() else { return Ok(()) };
    let Some(answer) = answer_to(record, question) else {
        return wrong("has no answer".to_owned());
    };
    match outcome {
        SendOutcome::Answer(printed) if !printed.contains(&answer) => wrong(format!(
            "is answered with `{answer}` on disk, and `{}` was printed",
            printed.trim()
        )),
        _ => Ok(()),
    }
}

/// The ids of messages in all logs.
fn ids(record: &ChatRecord, wanted: impl Fn(&RecordedMessage) -> bool) -> HashSet<&str> {
    let found = record.logs.iter().flatten().filter(|message| wanted(message));
    found.map(|message| message.id.as_str()).collect()
}

fn is_answer(message: &RecordedMessage) -> bool {
    !message.is_user && !message.is_aside
}

/// The answer behind a question, in the oldest log that has one. It must be that to the last question before it: one
/// run answers all that waited.
fn answer_to(record: &ChatRecord, question: &str) -> Option<String> {
    record.logs.iter().find_map(|log| {
        let asked = log.iter().position(|message| message.id == question)?;
        let answered = asked + log[asked..].iter().position(is_answer)?;
        let last =
            log[asked..answered].iter().rfind(|message| message.is_user && !message.is_aside)?;
        (log[answered].text == echo(&last.text)).then(|| log[answered].text.clone())
    })
}

/// Nothing is there that nobody has said.
fn judge_phantoms(record: &ChatRecord, sent: &[SentMessage]) -> Result<(), BrokenPromise> {
    let said: HashSet<&str> = sent.iter().map(|message| message.text.as_str()).collect();
    let entries = record.ledger.iter().filter(|entry| entry.is_user).map(|entry| &entry.text);
    let messages =
        record.logs.iter().flatten().filter(|message| message.is_user && !message.is_aside);
    match entries
        .chain(messages.map(|message| &message.text))
        .find(|text| !said.contains(text.as_str()))
    {
        Some(phantom) => Err(BrokenPromise(format!("nobody has said `{phantom}`"))),
        None => Ok(()),
    }
}

/// The contexts have the messages in the order of the ledger, and no key is in the ledger twice.
fn judge_order(record: &ChatRecord) -> Result<(), BrokenPromise> {
    let mut keys = HashSet::new();
    if let Some(entry) = record.ledger.iter().find(|entry| !keys.insert(&entry.key)) {
        return Err(BrokenPromise(format!("the ledger has the key {} twice", entry.key)));
    }
    let place =
        |text: &str| record.ledger.iter().position(|entry| entry.is_user && entry.text == text);
    let (mut seen, mut last) = (HashSet::new(), None);
    for message in
        record.logs.iter().flatten().filter(|message| message.is_user && !message.is_aside)
    {
        if seen.insert(&message.id) {
            let here = place(&message.text);
            if here < last {
                return Err(BrokenPromise(format!(
                    "`{}` is out of the ledger's order",
                    message.text
                )));
            }
            last = here;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::two_processes::chat_record::RecordedEntry;

    fn entry(key: &str, is_user: bool, text: &str) -> RecordedEntry {
        RecordedEntry { key: key.to_owned(), is_user, text: text.to_owned() }
    }

    fn message(id: &str, is_user: bool, text: &str) -> RecordedMessage {
        let (id, text) = (id.to_owned(), text.to_owned());
        RecordedMessage { id, is_user, text, is_aside: false }
    }

    fn sent(text: &str, printed: &str) -> SentMessage {
        SentMessage { text: text.to_owned(), outcome: SendOutcome::Answer(printed.to_owned()) }
    }

    /// Two messages, each with its answer.
    fn record() -> ChatRecord {
        let ledger = vec![
            entry("k1", true, "one"),
            entry("a1", false, &echo("one")),
            entry("k2", true, "two"),
            entry("a2", false, &echo("two")),
        ];
        let log = vec![
            message("u_1", true, "one"),
            message("a_1", false, &echo("one")),
            message("u_2", true, "two"),
            message("a_2", false, &echo("two")),
        ];
        ChatRecord { ledger, logs: vec![log] }
    }

    #[track_caller]
    fn refused(record: &ChatRecord, sent: &[SentMessage]) -> String {
        judge(record, sent).expect_err("a broken promise").0
    }

    #[test]
    fn the_judge_sees_what_is_lost_doubled_or_answered_with_another_answer() {
        let said = [sent("one", &echo("one")), sent("two", &echo("two"))];
        assert_eq!(judge(&record(), &said), Ok(()));

        let mut lost = record();
        lost.ledger.remove(0);
        assert!(refused(&lost, &said).contains("`one`, which was answered, is in the ledger 0"));

        let mut doubled = record();
        doubled.logs[0].push(message("a_3", false, &echo("two")));
        assert!(refused(&doubled, &said).contains("is answered 2 times in the contexts"));

        let mut twice = record();
        twice.logs.push(vec![message("u_9", true, "two"), message("a_9", false, "again")]);
        assert!(refused(&twice, &said).contains("is in the contexts 2 times"));

        let another = [sent("one", &echo("one")), sent("two", &echo("one"))];
        assert!(refused(&record(), &another).contains("was printed"));

        assert!(refused(&record(), &said[..1]).contains("nobody has said `two`"));

        let mut swapped = record();
        swapped.logs[0].rotate_left(2);
        assert!(refused(&swapped, &said).contains("out of the ledger's order"));
    }

    #[test]
    fn messages_that_waited_together_have_one_answer() {
        let mut together = record();
        together.ledger.remove(1);
        together.logs[0].remove(1);
        let said = [sent("one", &echo("two")), sent("two", &echo("two"))];
        assert_eq!(judge(&together, &said), Ok(()));
    }
}
