//! Conversations with questions about them, and the messages that answer each: what a search is measured by.
//!
//! They were written for this purpose. Each has several sessions over months, in one language: three between two people,
//! and one between a person and an assistant.

/// A conversation and its questions.
#[derive(Clone, Debug)]
pub struct SearchSet {
    /// The language.
    pub name: &'static str,
    /// The messages, the oldest first.
    pub messages: Vec<SetMessage>,
    /// The questions.
    pub questions: Vec<SetQuestion>,
}

/// A message of a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetMessage {
    /// The name of the author; `user` and `assistant` have none.
    pub author: &'static str,
    /// The time as ISO 8601.
    pub time: String,
    /// The text.
    pub text: &'static str,
}

/// A question of a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetQuestion {
    /// The text.
    pub text: &'static str,
    /// The numbers of the messages that answer it.
    pub evidence: Vec<u32>,
}

/// Returns all sets.
pub fn search_sets() -> Vec<SearchSet> {
    [
        ("Chinese", include_str!("../search_sets/chinese.txt")),
        ("Japanese", include_str!("../search_sets/japanese.txt")),
        ("Korean", include_str!("../search_sets/korean.txt")),
        ("English", include_str!("../search_sets/english.txt")),
    ]
    .map(|(name, text)| read_set(name, text))
    .into()
}

/// Reads a set: `# day time` begins a session, `[label] author: text` is a message, `? text = labels` a question.
fn read_set(name: &'static str, text: &'static str) -> SearchSet {
    let mut set = SearchSet { name, messages: Vec::new(), questions: Vec::new() };
    let mut labels: Vec<&str> = Vec::new();
    let mut session = String::new();
    let mut minute = 0;
    for line in text.lines().filter(|line| !line.is_empty()) {
        if let Some(begin) = line.strip_prefix("# ") {
            session = begin.replace(' ', "T");
            minute = 0;
        } else if let Some(question) = line.strip_prefix("? ") {
            let (text, answers) = question.rsplit_once(" = ").expect("a question and labels");
            let number = |label: &str| labels.iter().position(|other| *other == label);
            let evidence = answers.split(' ').map(|label| {
                let number = number(label).unwrap_or_else(|| panic!("{name}: no message {label}"));
                u32::try_from(number).expect("few messages")
            });
            set.questions.push(SetQuestion { text, evidence: evidence.collect() });
        } else {
            let (label, said) = match line.strip_prefix('[') {
                Some(rest) => rest.split_once("] ").expect("a label"),
                None => ("", line),
            };
            let (author, text) = said.split_once(['：', ':']).expect("an author");
            let time = format!("{session}:{minute:02}.000Z");
            minute += 1;
            labels.push(label);
            set.messages.push(SetMessage { author, time, text: text.trim_start() });
        }
    }
    set
}
