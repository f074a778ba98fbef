//! Searches in whole conversations with questions that are asked about them.

use ship_context::search::{
    ChatIndex, MessageToIndex, Participant, PostingSource, SearchQuestion, SearchSignals,
    TermReader, rank,
};
use ship_message::Role;
use ship_record::Timestamp;
use ship_testkit::search_sets::{SearchSet, search_sets};

fn index_of(set: &SearchSet, reader: &mut TermReader) -> ChatIndex {
    let mut index = ChatIndex::new();
    for message in &set.messages {
        let role = if message.author == "assistant" { Role::Assistant } else { Role::User };
        let is_named = !matches!(message.author, "user" | "assistant");
        let author = Participant { name: is_named.then(|| message.author.to_owned()), role };
        let said = MessageToIndex {
            texts: &[(message.text, 1)],
            participant: &author,
            ts: Timestamp::parse(&message.time),
            asks: message.text.contains(['?', '？']),
            begins_context: false,
        };
        index.add(&said, reader);
    }
    index
}

/// Returns the share of the evidence among the first hits, in percent.
fn recall(set: &SearchSet, limit: usize) -> f64 {
    let mut reader = TermReader::new();
    let index = index_of(set, &mut reader);
    let shares = set.questions.iter().map(|asked| {
        let question = SearchQuestion::read(asked.text, index.participants(), &mut reader);
        let hits = rank(&question, &index, SearchSignals::default(), limit, |_| true).unwrap();
        let is_found = |number: &&u32| hits.iter().any(|hit| hit.message == **number);
        asked.evidence.iter().filter(is_found).count() as f64 / asked.evidence.len() as f64
    });
    100.0 * shares.sum::<f64>() / set.questions.len() as f64
}

#[test]
fn the_answers_to_questions_are_among_the_first_hits_in_every_language() {
    for set in search_sets() {
        let (five, ten) = (recall(&set, 5), recall(&set, 10));
        assert!(five >= 94.0 && ten >= 97.0, "{}: {five:.1} in five, {ten:.1} in ten", set.name);
    }
}
