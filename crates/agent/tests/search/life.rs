//! Whatever happens in a chat and to its index, every message that exists is found exactly once by its own words, and
//! no purged one is. Two processes write and search, and on files each may be killed at any call to the disk.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ship_agent::{
    Agent, ChatKey, ContextOperation, Inbound, MessageHit, MessageSearch, Role, RunError,
    SearchQuery, SearchedBy,
};
use ship_store::{FileStore, LedgerLine, RecordName, Store};
use ship_testkit::chat::options;
use ship_testkit::map_store::MapStore;
use ship_testkit::random::Random;
use ship_testkit::sim::{Fault, SimDisk};

/// A process ends at one of so many calls to the disk.
const CALLS_BEFORE_KILL: usize = 120;

/// A process that writes to the chat and searches in it.
struct Process {
    store: Arc<dyn Store>,
    agent: Agent,
    search: MessageSearch,
    /// Its way to the files, on which it can be killed; `None` for a database.
    disk: Option<SimDisk>,
}

impl Process {
    fn new(store: Arc<dyn Store>, disk: Option<SimDisk>) -> Self {
        let agent = Agent::builder().shared_store(Arc::clone(&store)).build();
        Self { agent, search: MessageSearch::new(Arc::clone(&store)), store, disk }
    }

    fn on_disk(disk: SimDisk) -> Self {
        let store = FileStore::on_disk(Box::new(disk.clone()), options());
        Self::new(Arc::new(store), Some(disk))
    }

    fn is_dead(&self) -> bool {
        self.disk.as_ref().is_some_and(SimDisk::is_dead)
    }
}

/// A chat that lives, and two processes that write to it and search in it.
struct Life {
    processes: [Process; 2],
    /// The one of them that does the present step.
    at: usize,
    chat: ChatKey,
    random: Random,
    said: u32,
    kills: u32,
    /// The pieces of an index at an earlier time.
    copy: Vec<(RecordName, Vec<u8>)>,
}

impl Life {
    fn on_files(seed: u64) -> Self {
        let disk = SimDisk::default();
        Self::new([disk.clone(), disk.other_process()].map(Process::on_disk), seed)
    }

    fn in_database(seed: u64) -> Self {
        let database = MapStore::default();
        let stores = [database.clone(), database.another_process()];
        Self::new(stores.map(|store| Process::new(Arc::new(store), None)), seed)
    }

    fn new(processes: [Process; 2], seed: u64) -> Self {
        Self {
            processes,
            at: 0,
            chat: "api:life".parse().unwrap(),
            random: Random::new(seed),
            said: 0,
            kills: 0,
            copy: Vec::new(),
        }
    }

    fn process(&self) -> &Process {
        &self.processes[self.at]
    }

    /// Accepts an error of a process that was killed meanwhile, and no other.
    fn killed_or<T>(&self, result: Result<T, RunError>) -> Option<T> {
        match result {
            Ok(done) => Some(done),
            Err(_) if self.process().is_dead() => None,
            Err(error) => panic!("{error}"),
        }
    }

    /// Does something in one of the processes, which may be killed at any call to the disk; then another takes its place.
    async fn step_somewhere(&mut self) {
        self.at = self.random.below(2);
        let kill_in = self.random.percent(30).then(|| self.random.below(CALLS_BEFORE_KILL));
        if let (Some(calls), Some(disk)) = (kill_in, &self.process().disk) {
            disk.fail_in(calls, Fault::KillAfter);
        }
        self.step().await;
        let Some(disk) = self.process().disk.clone() else { return };
        disk.heal();
        if disk.is_dead() {
            self.kills += 1;
            disk.revive();
            let at = self.at;
            self.processes[at] = Process::on_disk(disk);
        }
    }

    /// A word that was never said before.
    fn word(&mut self) -> String {
        self.said += 1;
        format!("word{}", self.said)
    }

    async fn operate(&self, operation: ContextOperation) {
        // A refused operation changes nothing.
        self.killed_or(self.process().agent.operate(&self.chat, operation, "").await);
    }

    async fn step(&mut self) {
        match self.random.below(15) {
            0..=4 => {
                let text = format!("tell me of {} please", self.word());
                self.killed_or(self.process().agent.send(&self.chat, text).await);
            }
            5 => {
                let text = format!("Bob knows {} well", self.word());
                let talk = Inbound { observed: true, ..Inbound::from(text) };
                self.killed_or(self.process().agent.accept(&self.chat, talk).await);
            }
            6 => self.operate(ContextOperation::New { title: None, reason: None }).await,
            7 => self.operate(ContextOperation::Load { which: "last".to_owned() }).await,
            8 => self.operate(ContextOperation::Fork { at: None, to: None }).await,
            9 => self.operate(ContextOperation::Undo).await,
            10 => self.rewind().await,
            11 => drop(self.killed_or(self.process().agent.compact(&self.chat, None).await)),
            12 => self.purge().await,
            13 => self.write_together().await,
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

    /// Lets one process answer while the other takes in a message.
    async fn write_together(&mut self) {
        let [sent, accepted] = [0, 1].map(|_| format!("tell me of {} please", self.word()));
        let (one, other) = (&self.processes[self.at], &self.processes[1 - self.at]);
        let accepting = other.agent.accept(&self.chat, Inbound::from(accepted.as_str()));
        let (sent, accepted) = tokio::join!(one.agent.send(&self.chat, sent), accepting);
        self.killed_or(sent);
        accepted.unwrap();
    }

    async fn purge(&mut self) {
        let Some(chat) = self.process().store.open(&self.chat).await.ok().flatten() else { return };
        let Ok(logs) = chat.log().sealed().await else { return };
        if logs.is_empty() || self.random.percent(50) {
            return;
        }
        let name = self.random.one(&logs).name.clone();
        let Ok(lane) = chat.lane("purge").await else { return };
        let purged = lane.purge(&name, "test").await;
        assert!(purged.is_ok() || self.process().is_dead(), "{purged:?}");
        lane.release().await;
    }

    /// The questions that stand in a log or in the ledger alone, with their words.
    async fn existing(&self) -> BTreeMap<String, String> {
        let mut found = BTreeMap::new();
        // The process at work may be killed while it looks.
        let Some(chat) = self.processes[1 - self.at].store.open(&self.chat).await.unwrap() else {
            return found;
        };
        let mut views: Vec<_> = chat.log().view().await.unwrap().into_iter().collect();
        for log in chat.log().sealed().await.unwrap() {
            views.extend(chat.log().sealed_view_if_readable(&log.name).await.unwrap());
        }
        for message in views.iter().flat_map(|view| view.messages()) {
            if message.role() == Role::User {
                found.insert(message.id().unwrap().to_owned(), word_in(&message.text()));
            }
        }
        let promoted = chat.log().view().await.unwrap().and_then(|view| view.inbox);
        let lines = chat.ledger().after(None, usize::MAX).await.unwrap();
        let waits =
            |line: &LedgerLine| Some(line.seq) > promoted && ship_context::is_question(line);
        for line in lines.iter().filter(|line| ship_context::is_observed(line) || waits(line)) {
            let ship_store::LedgerBody::Entry(entry) = &line.body else { continue };
            found.insert(format!("u_{}", line.seq), word_in(entry.entry.str("text").unwrap()));
        }
        found
    }

    /// Does something to the stored index, or lets another process begin.
    async fn disturb(&mut self) {
        let store = Arc::clone(&self.process().store);
        let files = store.indexes().unwrap();
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
                let process = &mut self.processes[at];
                process.search = MessageSearch::new(Arc::clone(&process.store));
            }
            _ => {}
        }
    }

    async fn check(&mut self) {
        let existing = self.existing().await;
        let process = self.random.below(2);
        let scanning = MessageSearch::scanning(Arc::clone(&self.process().store));
        for nth in 1..=self.said {
            let word = format!("word{nth}");
            let found = self.hits(&self.processes[process].search, &word, SearchedBy::Index).await;
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

/// Lives for some steps, and returns how often a process was killed.
async fn live(mut life: Life) -> u32 {
    for _ in 0..30 {
        life.step_somewhere().await;
        if life.random.percent(40) {
            life.disturb().await;
            life.check().await;
        }
    }
    life.check().await;
    life.kills
}

/// The number of lives in a soak, for each of its seeds.
const SOAKED: u64 = 40;

/// The seeds of a check, or many others in a soak.
fn seeds(count: u64) -> std::ops::Range<u64> {
    let seed = std::env::var("SHIP_SEED").ok().and_then(|seed| seed.parse::<u64>().ok());
    let (first, count) = seed.map_or((0, count), |seed| (seed % (1 << 40) * 1_000, SOAKED));
    first..first + count
}

#[tokio::test]
async fn every_message_is_found_once_whatever_happens_to_the_chat_and_its_index_on_files() {
    let mut kills = 0;
    for seed in seeds(6) {
        kills += live(Life::on_files(seed)).await;
    }
    assert!(kills > 6, "only {kills} kills");
}

#[tokio::test]
async fn every_message_is_found_once_whatever_happens_to_the_chat_and_its_index_in_a_database() {
    for seed in seeds(6) {
        live(Life::in_database(seed)).await;
    }
}
