//! The ends of logs: what is damaged there was acknowledged, and is not torn.

use std::ops::Range;

use super::*;

const LIVE: &str = ".ship/chat/a/messages/history.jsonl";

/// Changes the bytes of a file in another process.
fn change(disk: &MemoryDisk, path: &str, change: impl FnOnce(&mut Vec<u8>)) {
    let mut content = bytes(disk, path);
    change(&mut content);
    put(disk, Path::new(path), &content);
}

/// Flips a bit in the last line of a file.
fn hurt_last_line(disk: &MemoryDisk, path: &str) {
    change(disk, path, |bytes| {
        let at = bytes.len() - 30;
        bytes[at] ^= 1;
    });
}

#[test]
fn a_damaged_last_line_stays_where_it_is_and_its_number_is_not_given_again() {
    let disk = MemoryDisk::new();
    block_on(async {
        let mut begun = Begun::new(&store_on(disk.clone()), "a").await;
        for name in ["k1", "k2"] {
            begun.chat.ledger().accept(entry(name, "x")).await.unwrap();
        }
        begun.say("m1").await;
        begun.say("m2").await;
        let (lost, position) = (begun.chat.ledger().before(None, 1).await.unwrap(), begun.position);
        drop(begun);
        hurt_last_line(&disk, LEDGER);
        hurt_last_line(&disk, LIVE);
        let before = (bytes(&disk, LEDGER), bytes(&disk, LIVE));

        let chat = opened(&disk).await;
        let problems = chat.verify().await.unwrap();
        assert!(
            problems.iter().all(|problem| problem.kind == StorageProblemKind::Damage),
            "{problems:?}"
        );
        assert_eq!(problems.len(), 2);
        assert!(chat.ledger().accept(entry("k3", "x")).await.unwrap().seq > lost[0].seq);
        let lane = chat.lane("test").await.unwrap();
        let end = chat.log().view().await.unwrap().unwrap().position;
        let end = lane.append(vec![message("m3", "x").into()], end).await.unwrap();
        assert!(end.seq > position.seq);
        assert!(bytes(&disk, LEDGER).starts_with(&before.0), "the damaged entry is kept");
        assert!(bytes(&disk, LIVE).starts_with(&before.1), "the damaged message is kept");

        assert_eq!(chat.log().view().await.unwrap().unwrap().position, end);
        lane.append(vec![message("m4", "x").into()], end).await.unwrap();
        assert_eq!(ids(&*opened(&disk).await).await, ["m1", "m3", "m4"]);
        assert_eq!(ledger_keys(&*opened(&disk).await).await, ["k1", "k3"]);
        assert_eq!(chat.verify().await.unwrap().len(), 2, "no line is missing without a trace");
    });
}

#[test]
fn a_chat_that_git_gave_other_line_ends_is_read_and_goes_on() {
    let disk = MemoryDisk::new();
    block_on(async {
        let mut begun = Begun::new(&store_on(disk.clone()), "a").await;
        begun.say("m1").await;
        begun.compact("s1", Seq::new(2)).await;
        fill(&*begun.chat, "k").await;
        begun.chat.ledger().accept(entry("last", "x")).await.unwrap();
        begun.lane.begin_journal(message("run", "x"), Synced::Now).await.unwrap();
        begun.lane.journal(vec![message("p1", "x")], Synced::Now).await.unwrap();
        begun.lane.record_request(message("q1", "x")).await.unwrap();
    });
    for path in names(&disk, ".ship/chat/a") {
        if path.extension().is_some_and(|name| name == "jsonl")
            && disk.open(&path, OpenMode::Read).is_ok()
        {
            change(&disk, &path.display().to_string(), |bytes| {
                let text = String::from_utf8(std::mem::take(bytes)).unwrap();
                *bytes = text.replace('\n', "\r\n").into_bytes();
            });
        }
    }
    block_on(async {
        let chat = opened(&disk).await;
        assert_eq!(chat.verify().await.unwrap(), []);
        assert_eq!(ids(&*chat).await, ["s1", "m1"]);
        assert_eq!(chat.runs().journal().await.unwrap().len(), 2);
        assert_eq!(chat.runs().requests(9).await.unwrap().len(), 1);
        for known in ["k3", "last"] {
            assert!(!chat.ledger().accept(entry(known, "x")).await.unwrap().new, "{known}");
        }
        let lane = chat.lane("test").await.unwrap();
        let end = chat.log().view().await.unwrap().unwrap().position;
        lane.append(vec![message("m2", "x").into()], end).await.unwrap();
        lane.journal(vec![message("p2", "x")], Synced::Now).await.unwrap();
        lane.record_request(message("q2", "x")).await.unwrap();
        chat.ledger().accept(entry("more", "x")).await.unwrap();

        let chat = opened(&disk).await;
        assert_eq!(chat.verify().await.unwrap(), []);
        assert_eq!(ids(&*chat).await, ["s1", "m1", "m2"]);
        assert_eq!(ledger_keys(&*chat).await.len(), 142);
        assert_eq!(
            (
                chat.runs().journal().await.unwrap().len(),
                chat.runs().requests(9).await.unwrap().len()
            ),
            (3, 2)
        );
        assert!(names(&disk, ".ship/chat/a/quarantine").is_empty());
    });
}

#[test]
fn the_end_of_a_ledger_reads_as_the_whole_of_it_does() {
    let disk = MemoryDisk::new();
    let text = "x".repeat(9_000);
    block_on(async {
        let begun = Begun::new(&store_on(disk.clone()), "a").await;
        for name in ["k1", "k2", "k3", "k4"] {
            begun.chat.ledger().accept(entry(name, &text)).await.unwrap();
        }
        let first = begun.chat.ledger().before(None, 9).await.unwrap()[0].seq;
        let states = (0..3).map(|_| delivery(first, &text)).collect();
        begun.lane.deliver(states).await.unwrap();
    });
    let whole = bytes(&disk, LEDGER);
    let line_start = |line: usize| {
        let ends =
            whole.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1);
        std::iter::once(0).chain(ends).nth(line).unwrap()
    };
    let batch = line_start(5);
    let mut torn = whole.clone();
    torn[batch + 100..batch + 200].fill(0);
    let doubled = [&whole[..], &whole[line_start(2)..line_start(3)]].concat();
    let mut damaged = whole.clone();
    damaged[line_start(6) + 50] ^= 1;
    for (content, count, behind) in [(torn, 4, 2), (doubled, 7, 5), (damaged, 6, 4)] {
        put(&disk, Path::new(LEDGER), &content);
        block_on(async {
            let chat = opened(&disk).await;
            let seqs =
                |lines: Vec<LedgerLine>| lines.iter().map(|line| line.seq).collect::<Vec<_>>();
            let all = seqs(chat.ledger().before(None, 9).await.unwrap());
            assert_eq!(all.len(), count);
            let last = seqs(chat.ledger().before(None, 1).await.unwrap());
            assert_eq!(last[..], all[count - 1..]);
            let after = seqs(chat.ledger().after(Some(all[1]), 9).await.unwrap());
            assert_eq!((after.len(), &after[..]), (behind, &all[2..]));
        });
    }
}

/// A context log with the batches `m1` to `m3` and `m4` to `m5`, and the place of each of its lines.
fn two_batches(disk: &MemoryDisk) -> (Vec<u8>, Vec<Range<usize>>) {
    block_on(async {
        let begun = Begun::new(&store_on(disk.clone()), "a").await;
        let batch = |ids: &[&str]| ids.iter().map(|id| message(id, id).into()).collect();
        let end = begun.lane.append(batch(&["m1", "m2", "m3"]), begun.position).await.unwrap();
        begun.lane.append(batch(&["m4", "m5"]), end).await.unwrap();
    });
    let whole = bytes(disk, LIVE);
    let mut at = 0;
    let lines = whole.split_inclusive(|&byte| byte == b'\n').map(|line| {
        at += line.len();
        at - line.len()..at
    });
    let lines = lines.collect();
    (whole, lines)
}

#[test]
fn the_rest_of_a_damaged_batch_stays_readable_when_the_torn_batch_behind_it_is_cut() {
    let disk = MemoryDisk::new();
    let (whole, lines) = two_batches(&disk);
    let (third, fourth, fifth) = (lines[3].clone(), lines[4].clone(), lines[5].clone());
    let lost_end = [&whole[..third.start], &whole[third.end..]].concat();
    let mut hole = whole.clone();
    hole[third.start - 9..third.start + 9].fill(0);
    let before_last = |log: &[u8]| log[..log.len() - fifth.len()].to_vec();
    let in_last = |log: &[u8]| log[..log.len() - 30].to_vec();
    let in_first = |log: &[u8]| log[..log.len() - fifth.len() - fourth.len() / 2].to_vec();
    for (log, readable) in [(&lost_end, vec!["m1", "m2"]), (&hole, vec!["m1"])] {
        for torn in [before_last(log), in_last(log), in_first(log)] {
            put(&disk, Path::new(LIVE), &torn);
            block_on(async {
                assert_eq!(ids(&*opened(&disk).await).await, readable);
                assert!(!opened(&disk).await.repair().await.unwrap().is_empty());
                let repaired = bytes(&disk, LIVE);
                assert_eq!(opened(&disk).await.repair().await.unwrap(), []);
                assert_eq!(bytes(&disk, LIVE), repaired, "the second repair changes nothing");
                let chat = opened(&disk).await;
                assert_eq!(ids(&*chat).await, readable);
                let lane = chat.lane("test").await.unwrap();
                let end = chat.log().view().await.unwrap().unwrap().position;
                let end = lane.append(vec![message("m6", "x").into()], end).await.unwrap();
                assert!(end.seq > Seq::new(4), "no number of the damaged batch is given again");
                let now = [readable.clone(), vec!["m6"]].concat();
                assert_eq!(ids(&*opened(&disk).await).await, now);
            });
        }
    }
}
