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

/// Sets a field in the head of a log, with a valid checksum.
fn forge_head(disk: &MemoryDisk, path: &str, field: &'static str, number: f64) {
    let content = bytes(disk, path);
    let end = content.iter().position(|byte| *byte == b'\n').unwrap();
    let Ok(Json::Object(mut head)) = Json::parse_bytes(&content[..end]) else { panic!("a head") };
    head.remove("crc");
    let Some(Json::Object(mut data)) = head.get("data").cloned() else { panic!("its data") };
    data.set(field, number);
    head.set("data", data);
    let head = Json::from(head).to_string();
    let head = head.strip_suffix('}').unwrap();
    let line = format!("{head},\"crc\":\"{:08x}\"}}", crc32c::crc32c(head.as_bytes()));
    put(disk, Path::new(path), &[line.as_bytes(), &content[end..]].concat());
}

#[test]
fn a_head_with_a_number_that_leaves_no_room_is_damage_and_the_chat_goes_on() {
    let fields = [(LIVE, "inbox"), (LIVE, "gen"), (LEDGER, "archives"), (LEDGER, "archivedTo")];
    let numbers = [Seq::MAX.next().get() as f64, 1e300, -1.0];
    for ((path, field), number) in fields.into_iter().flat_map(|it| numbers.map(|n| (it, n))) {
        let disk = MemoryDisk::new();
        block_on(async {
            with_one_line_each(&disk).await;
            forge_head(&disk, path, field, number);
            let chat = opened(&disk).await;
            let problems = chat.verify().await.unwrap();
            let damaged: Vec<_> = problems.iter().map(|it| (&*it.place, it.kind)).collect();
            assert_eq!(damaged, [(path, StorageProblemKind::Damage)], "{field} {number}");

            chat.ledger().accept(entry("k2", "x")).await.unwrap();
            let lane = chat.lane("test").await.unwrap();
            chat.repair().await.unwrap();
            let end = chat.log().view().await.unwrap().unwrap().position;
            lane.append(vec![message("m2", "x").into()], end).await.unwrap();
            assert_eq!(ids(&*opened(&disk).await).await, ["m1", "m2"]);
            assert_eq!(ledger_keys(&*opened(&disk).await).await, ["k1", "k2"]);
            assert_eq!(opened(&disk).await.repair().await.unwrap(), []);
        });
    }
}

#[test]
fn sealed_ledgers_that_only_a_head_or_a_name_tells_of_cost_nothing() {
    for archives in [1_000_000_000_000, Seq::MAX.get()] {
        let disk = MemoryDisk::new();
        block_on(async {
            with_outbox(&disk, "x").await;
            forge_head(&disk, LEDGER, "archives", archives as f64);
            let planted = format!(".ship/chat/a/conversations/archive-{}.jsonl", u64::MAX);
            put(&disk, Path::new(&planted), b"");
            let chat = opened(&disk).await;
            let missing = chat.verify().await.unwrap();
            assert!((50..150).contains(&missing.len()), "{} are named", missing.len());
            let keys = ledger_keys(&*chat).await;
            assert_eq!((keys.len(), &*keys[0]), (142, "first"));
            assert!(!chat.ledger().accept(entry("first", "x")).await.unwrap().new);
            assert!(chat.ledger().entry_of("nothing", None).await.unwrap().is_none());
            // It is sealed twice more.
            fill(&*chat, "l").await;
            fill(&*chat, "m").await;
            assert_eq!(ledger_keys(&*opened(&disk).await).await.len(), 422);
            assert!(!opened(&disk).await.ledger().accept(entry("first", "x")).await.unwrap().new);
            // Without its head, the ledger goes on above what is in the folder.
            forge_head(&disk, LEDGER, "archives", 1e300);
            opened(&disk).await.ledger().accept(entry("last but one", "x")).await.unwrap();
            assert_eq!(ledger_keys(&*opened(&disk).await).await.len(), 423);
        });
    }
}
