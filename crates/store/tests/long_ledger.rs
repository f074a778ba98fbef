//! A ledger of thousands of lines: what is asked of it costs what is asked for, not how long it is.

use std::sync::Arc;

use ship_store::{About, Chat, FileStore, LedgerSeq, Store, StoreOptions};
use ship_testkit::chat::{entry, options};
use ship_testkit::clock::ManualClock;
use ship_testkit::sim::SimDisk;
use ship_testkit::sweep::block_on;

async fn chat_on(disk: &SimDisk, options: StoreOptions) -> Arc<dyn Chat> {
    let store = FileStore::on_disk(Box::new(disk.clone()), options);
    store.create(&"a".parse().unwrap(), About::default()).await.unwrap()
}

/// A ledger of `count` entries of 400 bytes, all accepted by another process.
async fn ledger_of(count: u64) -> SimDisk {
    let disk = SimDisk::new();
    let chat = chat_on(&disk, options()).await;
    let text = "x".repeat(300);
    for number in 0..count {
        chat.ledger().accept(entry(&format!("k{number}"), &text)).await.unwrap();
    }
    disk
}

/// Reads a ledger in pages from the start, and gives all its numbers.
async fn pages(chat: &dyn Chat, limit: usize) -> Vec<LedgerSeq> {
    let mut seqs: Vec<LedgerSeq> = Vec::new();
    loop {
        let page = chat.ledger().after(seqs.last().copied(), limit).await.unwrap();
        if page.is_empty() {
            return seqs;
        }
        seqs.extend(page.iter().map(|line| line.seq));
    }
}

#[test]
fn a_page_costs_the_same_however_much_is_behind_it() {
    let cost = |count: u64| {
        block_on(async {
            let disk = ledger_of(count).await;
            let chat = chat_on(&disk, options()).await;
            let before = disk.bytes_read();
            let seqs = pages(&*chat, 200).await;
            assert_eq!(seqs.len() as u64, count);
            assert!(seqs.is_sorted(), "in order");
            (disk.bytes_read() - before) / (count / 200)
        })
    };
    let (short, long) = (cost(1_000), cost(8_000));
    assert!(long * 2 <= short * 3, "{long} bytes for a page of 8,000 lines, {short} of 1,000");
}

#[test]
fn long_pages_read_little_more_than_their_lines() {
    block_on(async {
        let (count, line_bytes) = (4_000, 400);
        let disk = ledger_of(count).await;
        let chat = chat_on(&disk, options()).await;
        let before = disk.bytes_read();
        assert_eq!(pages(&*chat, 1_000).await.len() as u64, count);
        let read = disk.bytes_read() - before;
        assert!(read * 10 <= count * line_bytes * 15, "{read} bytes for {count} lines");
    });
}

#[test]
fn pages_begin_anywhere_also_inside_a_batch() {
    block_on(async {
        let disk = SimDisk::new();
        let chat = chat_on(&disk, options()).await;
        let text = "x".repeat(3_000);
        let mut all = Vec::new();
        for round in 0..20 {
            // Accepted at once, entries are one batch.
            let accepting = (0..9).map(|nth| {
                let (chat, entry) = (Arc::clone(&chat), entry(&format!("k{round}.{nth}"), &text));
                async move { chat.ledger().accept(entry).await.unwrap().seq }
            });
            all.extend(futures_of(accepting).await);
        }
        all.sort();
        let chat = chat_on(&disk, options()).await;
        for (at, after) in all.iter().enumerate() {
            let page = chat.ledger().after(Some(*after), 5).await.unwrap();
            let seqs: Vec<LedgerSeq> = page.iter().map(|line| line.seq).collect();
            assert_eq!(seqs, all[at + 1..].iter().copied().take(5).collect::<Vec<_>>());
        }
    });
}

/// Runs futures side by side and gathers what they give.
async fn futures_of<T: Send + 'static>(
    futures: impl Iterator<Item = impl Future<Output = T> + Send + 'static>,
) -> Vec<T> {
    let mut all = tokio::task::JoinSet::new();
    futures.for_each(|future| drop(all.spawn(future)));
    all.join_all().await
}

#[test]
fn a_key_is_found_at_once_in_a_ledger_that_is_known() {
    block_on(async {
        // As many as a ledger holds before it is sealed.
        let disk = ledger_of(300).await;
        let chat = chat_on(&disk, options()).await;
        let newest = chat.ledger().accept(entry("newest", "x")).await.unwrap().seq;
        let before = disk.bytes_read();
        assert_eq!(chat.ledger().entry_of("k0", None).await.unwrap(), Some(LedgerSeq::new(2)));
        assert_eq!(chat.ledger().entry_of("newest", None).await.unwrap(), Some(newest));
        assert_eq!(chat.ledger().entry_of("unknown", None).await.unwrap(), None);
        let read = disk.bytes_read() - before;
        assert!(read < 50_000, "{read} bytes");
    });
}

#[test]
fn a_key_that_accept_has_forgotten_is_found_where_it_can_be() {
    block_on(async {
        let (disk, clock) = (SimDisk::new(), ManualClock::default());
        let options = StoreOptions { clock: Arc::new(clock.clone()), ..options() };
        let chat = chat_on(&disk, options.clone()).await;
        let first = chat.ledger().accept(entry("k0", "x")).await.unwrap().seq;
        let text = "x".repeat(30_000);
        // The newest two sealed ledgers are never forgotten.
        for number in 1..600 {
            chat.ledger().accept(entry(&format!("k{number}"), &text)).await.unwrap();
        }
        clock.advance(8 * 24 * 60 * 60 * 1000);
        let chat = chat_on(&disk, options).await;
        assert_eq!(
            chat.ledger().entry_of("k0", Some(first)).await.unwrap(),
            Some(first),
            "it is behind 1"
        );
        assert!(chat.ledger().accept(entry("k0", "x")).await.unwrap().new, "after eight days");
    });
}
