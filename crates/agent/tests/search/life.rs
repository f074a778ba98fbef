//! Whatever happens in a chat and to its index, every message that exists is found exactly once by its own words, and
//! no purged one is.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ship_agent::{
    Agent, ChatKey, ContextOperation, Inbound, MessageHit, MessageSearch, Role, SearchQuery,
    SearchedBy,
};
use ship_store::{FileStore, RecordName, Store};
use ship_testkit::map_store::MapStore;
use ship_testkit::random::Random;

/// A chat that lives, and two processes that search in it.
struct Life {
    store: Arc<dyn Store>,
    agent: Agent,
    searches: [MessageSearch; 2],
    chat: ChatKey,
    random: Random,
    said: u32,
    /// The pieces of an index at an earlier time.
    copy: Vec<(RecordName, Vec<u8>)>,
}

impl Life {
    fn new(store: Arc<dyn Store>, seed: u64) -> Self {
        Self {
            agent: Agent::builder().shared_store(Arc::clone(&store)).build(),
            searches: [0, 1].map(|_| MessageSearch::new(Arc::clone(&store))),
            store,
            chat: "api:life".parse().unwrap(),
            random: Random::new(seed),
            said: 0,
            copy: Vec::new(),
        }
    }

    /// A word that was never said before.
    fn word(&mut self) -> String {
        self.said += 1;
        format!("word{}", self.said)
    }

    async fn operate(&self, operation: ContextOperation) {
        // A refused operation changes nothing.
        let _ = self.agent.operate(&self.chat, operation, "").await.unwrap();
    }

    async fn step(&mut self) {
        match self.random.below(14) {
            0..=4 => {
                let text = format!("tell me of {} please", self.word());
                self.agent.send(&self.chat, text).await.unwrap();
            }
            5 => {
                let text = format!("Bob knows {} well", self.word());
                let talk = Inbound { observed: true, ..Inbound::from(text) };
                self.agent.accept(&self.chat, talk).await.unwrap();
            }
            6 => self.operate(ContextOperation::New { title: None, reason: None }).await,
            7 => self.operate(ContextOperation::Load { which: "last".to_owned() }).await,
            8 => self.operate(ContextOperation::Fork { at: None, to: None }).await,
            9 => self.operate(ContextOperation::Undo).await,
            10 => self.rewind().await,
            11 => drop(self.agent.compact(&self.chat, None).await.unwrap()),
            12 => self.purge().await,
            _ => self.operate(ContextOperation::Clear).await,
        }
    }

    async fn rewind(&mut self) {
        let existing: Vec<String> = self.existing().await.into_keys().collect();
        if !existing.is_empty() {
            let to = self.random.one(&existing).clone();
            self.operate(ContextOperation::Rewind { to }).await;
        }
    }

    async fn purge(&mut self) {
        let Some(chat) = self.store.open(&self.chat).await.unwrap() else { return };
        let logs = chat.log().sealed().await.unwrap();
        if logs.is_empty() || self.random.percent(50) {
            return;
        }
        let name = self.random.one(&logs).name.clone();
        let lane = chat.lane("purge").await.unwrap();
        lane.purge(&name, "test").await.unwrap();
        lane.release().await;
    }

    /// The questions that stand in a log or in the ledger alone, with their words.
    async fn existing(&self) -> BTreeMap<String, String> {
        let mut found = BTreeMap::new();
        let Some(chat) = self.store.open(&self.chat).await.unwrap() else { return found };
        let mut views: Vec<_> = chat.log().view().await.unwrap().into_iter().collect();
        for log in chat.log().sealed().await.unwrap() {
            views.extend(chat.log().sealed_view_if_readable(&log.name).await.unwrap());
        }
        for message in views.iter().flat_map(|view| view.messages()) {
            if message.role() == Role::User {
                found.insert(message.id().unwrap().to_owned(), word_in(&message.text()));
            }
        }
        let talk = chat.ledger().after(None, usize::MAX).await.unwrap();
        for line in talk.iter().filter(|line| ship_context::is_observed(line)) {
            let ship_store::LedgerBody::Entry(entry) = &line.body else { continue };
            found.insert(format!("u_{}", line.seq), word_in(entry.entry.str("text").unwrap()));
        }
        found
    }

    /// Does something to the stored index, or lets another process begin.
    async fn disturb(&mut self) {
        let files = self.store.indexes().unwrap();
        let head: RecordName = "head".parse().unwrap();
        let stored = files.read_all(vec![self.chat.clone()], &head).await.unwrap().remove(0);
        match self.random.below(7) {
            0 => files.keep_only(&self.chat, Vec::new()).await.unwrap(),
            1 => files.put(&self.chat, &head, b"torn".to_vec()).await.unwrap(),
            2 => {
                let old = b"00000000\n{\"v\":0}\n".to_vec();
                files.put(&self.chat, &head, old).await.unwrap();
            }
            3 => self.copy = stored.into_iter().map(|bytes| (head.clone(), bytes)).collect(),
            4 => {
                for (name, bytes) in &self.copy {
                    files.put(&self.chat, name, bytes.clone()).await.unwrap();
                }
            }
            5 => {
                let at = self.random.below(2);
                self.searches[at] = MessageSearch::new(Arc::clone(&self.store));
            }
            _ => {}
        }
    }

    async fn check(&mut self) {
        let existing = self.existing().await;
        let process = self.random.below(2);
        let scanning = MessageSearch::scanning(Arc::clone(&self.store));
        for nth in 1..=self.said {
            let word = format!("word{nth}");
            let found = self.hits(&self.searches[process], &word, SearchedBy::Index).await;
            let ids: Vec<&str> = with_word(&found).map(|hit| hit.message_id.as_str()).collect();
            let expected: Vec<&str> = existing
                .iter()
                .filter(|(_, known)| **known == word)
                .map(|(id, _)| id.as_str())
                .collect();
            assert_eq!(ids, expected, "{word} of {existing:?}");
            if nth % 4 == 0 {
                let scanned = self.hits(&scanning, &word, SearchedBy::Scan).await;
                assert_eq!(found, scanned, "{word}");
            }
        }
    }

    async fn hits(&self, search: &MessageSearch, word: &str, from: SearchedBy) -> Vec<MessageHit> {
        let query = SearchQuery { role: Some(Role::User), limit: 500, ..SearchQuery::new(word) };
        let Some(found) = search.search(&self.chat, &query).await.unwrap() else {
            return Vec::new();
        };
        assert_eq!((found.from, found.is_complete), (from, true));
        let each: BTreeSet<&str> = found.hits.iter().map(|hit| hit.message_id.as_str()).collect();
        assert_eq!(each.len(), found.hits.len(), "each message once");
        found.hits
    }
}

fn with_word(hits: &[MessageHit]) -> impl Iterator<Item = &MessageHit> {
    hits.iter().filter(|hit| !hit.marks.is_empty())
}

fn word_in(text: &str) -> String {
    text.split(' ').find(|word| word.starts_with("word")).unwrap_or_default().to_owned()
}

async fn live(store: Arc<dyn Store>, seed: u64) {
    let mut life = Life::new(store, seed);
    for _ in 0..30 {
        life.step().await;
        if life.random.percent(40) {
            life.disturb().await;
            life.check().await;
        }
    }
    life.check().await;
}

#[tokio::test]
async fn every_message_is_found_once_whatever_happens_to_the_chat_and_its_index_on_files() {
    for seed in 0..12 {
        live(Arc::new(FileStore::in_memory(Default::default())), seed).await;
    }
}

#[tokio::test]
async fn every_message_is_found_once_whatever_happens_to_the_chat_and_its_index_in_a_database() {
    for seed in 100..106 {
        live(Arc::new(MapStore::default()), seed).await;
    }
}
