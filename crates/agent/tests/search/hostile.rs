//! Texts and questions that are meant to do harm: they are found like any other, and cost no more than their length.

use std::sync::Arc;

use ship_agent::{Agent, MessageHit, MessageSearch, SearchQuery, SearchedBy};
use ship_message::json::Json;
use ship_store::{About, FileStore, Store as _};
use ship_testkit::chat::{first_context, message};

use super::{agent_and_search, call, chat, field};

const MEGABYTE: usize = 1 << 20;

/// Texts with a word of their own at the end, and that word.
fn hostile_texts() -> Vec<(String, &'static str)> {
    let distinct: String = (0..100_000).map(|nth| format!("w{nth}x ")).collect();
    vec![
        (format!("{} zebra", "x".repeat(MEGABYTE)), "zebra"),
        (format!("{} giraffe", "的".repeat(MEGABYTE / 3)), "giraffe"),
        (format!("{distinct} walrus"), "walrus"),
        ("\u{202e}\u{200f}ostrich\u{202c} \u{2067}backwards\u{2069}".to_owned(), "ostrich"),
        ("before\0 pelican\0after".to_owned(), "pelican"),
        ("\u{301}".repeat(20_000) + " badger", "badger"),
        (format!("{}heron", "a.b/".repeat(50_000)), "heron"),
    ]
}

#[tokio::test]
async fn a_hostile_text_is_found_by_its_words_with_the_index_and_by_a_scan() {
    let (store, key) = (Arc::new(FileStore::in_memory(Default::default())), chat("api:hostile"));
    let agent = Agent::builder().shared_store(store.clone()).build();
    let stored = store.create(&key, About::default()).await.unwrap();
    let lane = stored.lane("test").await.unwrap();
    let position = lane.rotate(first_context()).await.unwrap().position;
    let lines = hostile_texts().into_iter().map(|(text, word)| message(word, &text).into());
    lane.append(lines.collect(), position).await.unwrap();
    lane.release().await;
    let (search, scanning) = (MessageSearch::new(store.clone()), MessageSearch::scanning(store));
    for (_, word) in hostile_texts() {
        let query = SearchQuery::new(word);
        let found = agent.search(&key, &query).await.unwrap().unwrap();
        let hits: Vec<&MessageHit> =
            found.hits.iter().filter(|hit| !hit.marks.is_empty()).collect();
        assert_eq!(hits.len(), 1, "{word}");
        assert_eq!(hits[0].message_id, word);
        let snippet: Vec<char> = hits[0].snippet.chars().collect();
        assert!(snippet.len() <= 170, "{word}: {}", snippet.len());
        let marked: String = snippet[hits[0].marks[0].clone()].iter().collect();
        assert!(marked.contains(word), "{word}: {marked}");
        assert_eq!(search.search(&key, &query).await.unwrap().unwrap().hits, found.hits, "{word}");
        // A scan reads all of it each time.
        if ["zebra", "walrus"].contains(&word) {
            let scanned = scanning.search(&key, &query).await.unwrap().unwrap();
            assert_eq!(scanned.hits, found.hits, "{word}");
        }
    }
    for (text, word) in hostile_texts() {
        let found = agent.search(&key, &SearchQuery::new(text.as_str())).await.unwrap().unwrap();
        assert_eq!(found.is_cut, text.len() > 4_000, "{word}");
        assert_eq!(found.is_complete, !found.is_cut, "{word}");
    }
}

#[tokio::test]
async fn a_question_of_ten_thousand_words_is_cut_and_the_model_and_programs_are_told() {
    let (agent, search) = agent_and_search();
    let key = chat("api:a");
    agent.send(&key, "the zebra is in the harbour").await.unwrap();
    let long: String = std::iter::once("zebra ".to_owned())
        .chain((0..10_000).map(|nth| format!("w{nth} ")))
        .collect();
    let output = call(&agent, &key, &format!(r#"{{"query":"{long}","role":"user"}}"#)).await;
    assert_eq!(output.get("complete"), Some(&Json::Bool(false)));
    let note = "The query was too long; only its beginning was searched for.";
    assert_eq!(field(&output, "note"), note);
    assert!(!output.get("hits").unwrap().as_array().unwrap().is_empty());
    let found = search.search(&key, &SearchQuery::new(long)).await.unwrap().unwrap();
    assert!(found.is_cut && !found.is_complete && !found.hits.is_empty());
    assert_eq!(found.from, SearchedBy::Index);
}
