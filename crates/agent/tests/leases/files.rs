//! A message that comes to a chat in files while other callers hold its lane: in whatever order the calls of two processes
//! come to the folder, the message is answered.
//!
//! Both processes are in this one, so each takes a note of the other's lane for its own, and waits a moment longer for a
//! sender that may come.

use std::sync::Arc;

use ship_store::disk::MemoryDisk;
use ship_store::{FileStore, Store};
use ship_testkit::chat::options;
use ship_testkit::interleaving::{InterleavedStore, interleave};
use ship_testkit::random::Random;
use ship_testkit::sample::sample;

use super::callers::{Caller, begin, check, tasks};
use crate::harness::chat;

/// One random schedule in so many is tried at once.
const SAMPLE: usize = 500;
const SCHEDULES: u64 = 50_000;

/// The stores of two processes on one folder.
fn processes() -> [Arc<dyn Store>; 2] {
    let folder = MemoryDisk::new();
    [(); 2].map(|()| {
        let store = FileStore::on_disk(Box::new(folder.clone()), options());
        Arc::new(InterleavedStore::new(store)) as Arc<dyn Store>
    })
}

/// Interleaves three senders and two other holders of the lane by a seed, and checks that each message is answered.
async fn run_schedule(seed: u64) {
    let mut random = Random::new(seed);
    let processes = processes();
    begin(Arc::clone(&processes[0]), "before").await;
    let caller = |random: &mut Random| Caller::of(Arc::clone(random.one(&processes)));
    let senders = [(); 3].map(|()| caller(&mut random));
    let holders = [(); 2].map(|()| caller(&mut random));
    let (key, texts) = (chat(), ["first", "second", "third"]);
    let (senders, holders) = (senders.each_ref(), holders.each_ref());
    let tasks = tasks((&senders, &texts), &holders, &key, &mut random);
    interleave(tasks, &mut |count| random.below(count)).await;
    check(Arc::clone(&processes[1]), &key, &texts, &format!("seed {seed}")).await;
}

#[tokio::test(start_paused = true)]
async fn no_message_to_a_chat_in_files_waits_with_nobody_to_run_it() {
    for seed in sample(0..SCHEDULES, SAMPLE) {
        run_schedule(seed).await;
    }
}
