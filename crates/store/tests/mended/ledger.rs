//! The ledger: its numbers, its outbox and its sealing.

use super::*;

#[test]
fn what_is_promoted_from_the_ledger_is_as_durable_as_the_promotion() {
    let disk = SimDisk::new();
    block_on(async {
        let store = store_on(disk.clone());
        let begun = Begun::new(&store, "a").await;
        begun.chat.ledger().accept(entry("k1", "x")).await.unwrap();
        // Another process, which does not come to syncing.
        let flush = StoreOptions { durability: Durability::Flush, ..options() };
        let other = FileStore::on_disk(Box::new(disk.clone()), flush);
        let other = other.open(&"a".parse().unwrap()).await.unwrap().unwrap();
        let seq = other.ledger().accept(entry("k2", "x")).await.unwrap().seq;
        let promoted = NewMessage { message: message("m1", "x"), rev: 0, inbox: Some(seq) };
        begun.lane.append(vec![promoted.into()], begun.position).await.unwrap();
        for (name, cut) in power::states(&disk.ops()) {
            let chat = store_on(cut).open(&"a".parse().unwrap()).await.unwrap().unwrap();
            let cursor = chat.log().view().await.unwrap().unwrap().inbox;
            let last = chat.ledger().before(None, 1).await.unwrap();
            assert_eq!(cursor, last.first().map(|line| line.seq), "{name}");
        }
    });
}

#[test]
fn the_number_of_an_entry_that_was_taken_back_is_given_to_no_other() {
    let disk = SimDisk::new();
    block_on(async {
        let store = store_on(disk.clone());
        let chat = Begun::new(&store, "a").await.chat;
        let first = chat.ledger().accept(entry("k1", "x")).await.unwrap().seq;
        disk.fail_next_sync(EIO);
        chat.ledger().accept(entry("k2", "x")).await.unwrap_err();
        let next = chat.ledger().accept(entry("k3", "x")).await.unwrap().seq;
        assert_eq!(next, LedgerSeq::new(first.get() + 2));
        assert_eq!(chat.ledger().after(Some(first), 9).await.unwrap().len(), 1);
        assert_eq!(chat.verify().await.unwrap(), []);
    });
}

#[test]
fn an_open_delivery_has_its_whole_text_before_and_after_the_ledger_is_sealed() {
    let disk = MemoryDisk::new();
    block_on(async {
        let text = "long ".repeat(20_000);
        let begun = Begun::new(&store_on(disk.clone()), "b").await;
        let seq = begun.chat.ledger().accept(entry("k", "x")).await.unwrap().seq;
        begun.lane.deliver(vec![delivery(seq, &text)]).await.unwrap();
        assert_eq!(begun.chat.ledger().open_deliveries().await.unwrap(), [delivery(seq, &text)]);
        let planned = with_outbox(&disk, &text).await;
        let chat = opened(&disk).await;
        assert_eq!(chat.ledger().open_deliveries().await.unwrap(), [planned]);
        assert_eq!(chat.verify().await.unwrap(), []);
    });
}

#[test]
fn a_ledger_that_lost_its_head_keeps_its_outbox() {
    let disk = MemoryDisk::new();
    block_on(async {
        let planned = with_outbox(&disk, "hello").await;
        let mut live = bytes(&disk, LEDGER);
        live[20] ^= 1;
        put(&disk, Path::new(LEDGER), &live);
        let chat = opened(&disk).await;
        assert_eq!(chat.ledger().open_deliveries().await.unwrap(), std::slice::from_ref(&planned));
        let problems = chat.verify().await.unwrap();
        assert!(problems.iter().any(|problem| problem.place == LEDGER), "{problems:?}");
        chat.repair().await.unwrap();
        assert_eq!(chat.ledger().open_deliveries().await.unwrap(), [planned]);
        chat.ledger().accept(entry("after", "x")).await.unwrap();
        assert_eq!(ledger_keys(&*chat).await.len(), 143);
    });
}

#[test]
fn a_ledger_that_is_gone_is_no_new_one_and_the_next_entry_goes_on_above_its_numbers() {
    for remains in [None, Some(&b""[..]), Some(b"garbage\n")] {
        let disk = MemoryDisk::new();
        block_on(async {
            let planned = with_outbox(&disk, "hello").await;
            let sealed = opened(&disk).await.ledger().before(None, 2).await.unwrap()[0].seq;
            disk.remove(Path::new(LEDGER)).unwrap();
            remains.into_iter().for_each(|bytes| put(&disk, Path::new(LEDGER), bytes));
            let chat = opened(&disk).await;
            let problems = chat.verify().await.unwrap();
            assert!(problems.iter().any(|problem| problem.place == LEDGER), "{problems:?}");

            assert!(chat.ledger().accept(entry("new", "x")).await.unwrap().seq > sealed);
            assert_eq!(chat.repair().await.unwrap().len(), 1, "it is told");
            assert_eq!(chat.verify().await.unwrap(), []);
            assert!(!chat.ledger().accept(entry("k7", "x")).await.unwrap().new);
            assert_eq!(chat.ledger().open_deliveries().await.unwrap(), [planned]);
        });
    }
}

#[test]
fn a_ledger_that_is_gone_goes_on_above_what_the_context_promoted() {
    let disk = MemoryDisk::new();
    block_on(async {
        let begun = Begun::new(&store_on(disk.clone()), "a").await;
        let seq = begun.chat.ledger().accept(entry("k1", "x")).await.unwrap().seq;
        let promoted = NewMessage { message: message("m1", "x"), rev: 0, inbox: Some(seq) };
        begun.lane.append(vec![promoted.into()], begun.position).await.unwrap();
        drop(begun);
        disk.remove(Path::new(LEDGER)).unwrap();
        let chat = opened(&disk).await;
        assert_eq!(chat.verify().await.unwrap()[0].kind, StorageProblemKind::Missing);
        assert!(chat.ledger().accept(entry("k2", "x")).await.unwrap().seq > seq);
    });
}

#[test]
fn a_missing_sealed_ledger_is_named() {
    let disk = MemoryDisk::new();
    block_on(async {
        with_outbox(&disk, "hello").await;
        disk.remove(Path::new(SEALED)).unwrap();
        let problems = opened(&disk).await.verify().await.unwrap();
        let [problem] = &problems[..] else { panic!("{problems:?}") };
        assert_eq!((problem.kind, problem.place.as_str()), (StorageProblemKind::Missing, SEALED));
    });
}

#[test]
fn a_sealed_ledger_that_was_cut_between_two_lines_is_named_until_it_is_known() {
    let disk = MemoryDisk::new();
    block_on(async {
        with_outbox(&disk, "hello").await;
        assert_eq!(opened(&disk).await.verify().await.unwrap(), []);
        let whole = bytes(&disk, SEALED);
        let ends: Vec<usize> = whole
            .iter()
            .enumerate()
            .filter(|(_, byte)| **byte == b'\n')
            .map(|(at, _)| at)
            .collect();
        put(&disk, Path::new(SEALED), &whole[..=ends[ends.len() - 2]]);
        let chat = opened(&disk).await;
        let problems = chat.verify().await.unwrap();
        let [problem] = &problems[..] else { panic!("{problems:?}") };
        assert_eq!((problem.kind, problem.place.as_str()), (StorageProblemKind::Damage, SEALED));
        chat.acknowledge(problems).await.unwrap();
        assert!(chat.verify().await.unwrap()[0].is_reported);
    });
}

#[test]
fn a_copy_that_an_interrupted_sealing_left_does_not_stop_the_ledger() {
    for foreign in [false, true] {
        let disk = MemoryDisk::new();
        block_on(async {
            let chat = Begun::new(&store_on(disk.clone()), "a").await.chat;
            chat.ledger().accept(entry("first", "x")).await.unwrap();
            let copy = if foreign { b"of another\n".to_vec() } else { bytes(&disk, LEDGER) };
            put(&disk, Path::new(SEALED), &copy);
            fill(&*chat, "k").await;
            chat.ledger().accept(entry("last", "x")).await.unwrap();
            assert_eq!(ledger_keys(&*chat).await.len(), 142);
            let kept = names(&disk, ".ship/chat/a")
                .into_iter()
                .filter(|path| disk.contents().get(path) == Some(&Some(copy.clone())));
            assert_eq!(kept.count(), 1, "nothing is thrown away");
        });
    }
}
