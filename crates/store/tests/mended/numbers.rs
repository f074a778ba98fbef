//! Numbers that no writer gives: a line that claims one is damage, and the chat goes on.

use super::*;

const LIVE: &str = ".ship/chat/a/messages/history.jsonl";

/// Appends a line with these fields and a valid checksum to a file.
fn forge(disk: &MemoryDisk, path: &str, fields: &str) {
    let content = format!("{{{fields}");
    let line = format!("{content},\"crc\":\"{:08x}\"}}\n", crc32c::crc32c(content.as_bytes()));
    let bytes = [&bytes(disk, path)[..], line.as_bytes()].concat();
    put(disk, Path::new(path), &bytes);
}

/// A chat with the message `m1` and the entry `k1`, the second line of each log.
async fn with_one_line_each(disk: &MemoryDisk) {
    let mut begun = Begun::new(&store_on(disk.clone()), "a").await;
    begun.chat.ledger().accept(entry("k1", "x")).await.unwrap();
    begun.say("m1").await;
}

#[test]
fn a_line_whose_number_leaves_no_room_is_damage_and_no_number_is_given_twice() {
    let far = 1u64 << 53;
    for numbers in [
        format!("\"seq\":{far},\"type\":\"msg\""),
        format!("\"seq\":3,\"type\":\"msg\",\"in\":{far}"),
        format!("\"seq\":3,\"type\":\"msg\",\"batch\":[3,{far}]"),
    ] {
        let disk = MemoryDisk::new();
        block_on(async {
            with_one_line_each(&disk).await;
            forge(&disk, LIVE, &format!("{numbers},\"id\":\"forged\",\"role\":\"user\""));
            forge(&disk, LEDGER, &format!("{numbers},\"key\":\"forged\""));
            let chat = opened(&disk).await;
            let problems = chat.verify().await.unwrap();
            let kinds: Vec<_> = problems.iter().map(|problem| problem.kind).collect();
            assert_eq!(kinds, [StorageProblemKind::Damage; 2], "{numbers}");

            let seq = chat.ledger().accept(entry("k2", "x")).await.unwrap().seq;
            assert_eq!(seq, LedgerSeq::new(4), "{numbers}");
            let lane = chat.lane("test").await.unwrap();
            let end = chat.log().view().await.unwrap().unwrap().position;
            let promoted =
                NewMessage { message: message("m2", "x"), rev: 0, inbox: Some(seq) }.into();
            let end = lane.append(vec![promoted], end).await.unwrap();
            assert_eq!(end.seq, Seq::new(4), "{numbers}");
            lane.append(vec![message("m3", "x").into()], end).await.unwrap();
            assert_eq!(ids(&*opened(&disk).await).await, ["m1", "m2", "m3"]);
            assert_eq!(ledger_keys(&*opened(&disk).await).await, ["k1", "k2"]);
        });
    }
}

#[test]
fn a_log_whose_numbers_have_come_to_an_end_refuses_the_next_line() {
    let disk = MemoryDisk::new();
    block_on(async {
        with_one_line_each(&disk).await;
        let last = Seq::MAX;
        forge(&disk, LIVE, &format!("\"seq\":{last},\"type\":\"msg\",\"in\":{last},\"id\":\"m2\""));
        let chat = opened(&disk).await;
        let lane = chat.lane("test").await.unwrap();
        let end = chat.log().view().await.unwrap().unwrap().position;
        assert_eq!(end.seq, last);
        let refused = lane.append(vec![message("m3", "x").into()], end).await.unwrap_err();
        assert!(refused.to_string().contains("no number is left"), "{refused}");
        // The next entry would have to be above the last one that was promoted.
        let refused = chat.ledger().accept(entry("k2", "x")).await.unwrap_err();
        assert!(refused.to_string().contains("no number is left"), "{refused}");
        assert_eq!(ids(&*opened(&disk).await).await, ["m1", "m2"]);
    });
}
