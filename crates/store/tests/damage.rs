//! A damaged line costs that line and nothing else.

use std::path::Path;
use std::sync::Arc;

use ship_message::json::{Json, Object};
use ship_store::disk::{Disk, MemoryDisk, OpenMode};
use ship_store::{
    Chat, ContextEvent, FileStore, Head, LogPiece, MessageId, NewMessage, Rotation, StorageProblem,
    Store, Synced, Timestamp, carry,
};
use ship_testkit::chat::{Begun, entry, ids, message, options, text};
use ship_testkit::sweep::block_on;

const LIVE: &str = ".ship/chat/a/messages/history.jsonl";
const LEDGER: &str = ".ship/chat/a/conversations/history.jsonl";
const REQUESTS: &str = ".ship/chat/a/messages/requests.jsonl";
const HEAD_COPY: &str = ".ship/chat/a/messages/head.json";

fn on(disk: &MemoryDisk) -> FileStore {
    FileStore::on_disk(Box::new(disk.clone()), options())
}

async fn opened(disk: &MemoryDisk) -> Arc<dyn Chat> {
    on(disk).open(&"a".parse().unwrap()).await.unwrap().unwrap()
}

fn bytes(disk: &MemoryDisk, path: &str) -> Vec<u8> {
    disk.contents().remove(Path::new(path)).unwrap().unwrap()
}

fn put(disk: &MemoryDisk, path: &str, bytes: &[u8]) {
    let _ = disk.remove(Path::new(path));
    disk.open(Path::new(path), OpenMode::Create).unwrap().write(bytes).unwrap();
}

/// Flips a bit in the line that holds `text`.
fn damage(disk: &MemoryDisk, path: &str, text: &str) {
    let mut found = bytes(disk, path);
    let at = found.windows(text.len()).position(|window| window == text.as_bytes()).unwrap();
    found[at] ^= 1;
    put(disk, path, &found);
}

async fn revise(begun: &mut Begun, rev: u64, text: &str) {
    let revised = NewMessage { message: message("m1", text), rev, inbox: None };
    begun.position = begun.lane.append(vec![revised.into()], begun.position).await.unwrap();
}

#[test]
fn a_later_revision_counts_over_one_that_cannot_be_read() {
    let disk = MemoryDisk::new();
    block_on(async {
        let mut begun = Begun::new(&on(&disk), "a").await;
        begun.say("m1").await;
        revise(&mut begun, 1, "second").await;
        revise(&mut begun, 2, "third").await;
        begun.say("m2").await;
    });
    damage(&disk, LIVE, "second");
    block_on(async {
        let chat = opened(&disk).await;
        let texts = async || -> Vec<String> {
            chat.log().view().await.unwrap().unwrap().messages().map(text).collect()
        };
        assert_eq!(texts().await, ["third", "m2"]);
        let lane = chat.lane("test").await.unwrap();
        let position = chat.log().view().await.unwrap().unwrap().position;
        let mut begun = Begun { chat: Arc::clone(&chat), lane, position };
        revise(&mut begun, 3, "fourth").await;
        assert_eq!(texts().await, ["fourth", "m2"]);
        begun.compact("s1", begun.position.seq).await;
        assert_eq!(ids(&*chat).await, ["s1"]);
    });
}

#[test]
fn a_log_behind_the_log_that_was_sealed_before_it_is_written_on() {
    let disk = MemoryDisk::new();
    let before = block_on(async {
        let mut begun = Begun::new(&on(&disk), "a").await;
        begun.say("m1").await;
        let before = bytes(&disk, LIVE);
        begun.compact("s1", begun.position.seq).await;
        before
    });
    let both = [before, bytes(&disk, LIVE)].concat();
    put(&disk, LIVE, &both);
    block_on(async {
        let chat = opened(&disk).await;
        let lane = chat.lane("test").await.unwrap();
        let position = chat.log().view().await.unwrap().unwrap().position;
        Begun { chat: Arc::clone(&chat), lane, position }.say("m2").await;
        assert_eq!(ids(&*chat).await, ["m1", "s1", "m2"]);
    });
}

/// A chat with the messages `m1`, `m2` and `m3`, of which `m2` cannot be read.
fn three_of_which_the_second_is_damaged() -> MemoryDisk {
    let disk = MemoryDisk::new();
    block_on(async {
        let mut begun = Begun::new(&on(&disk), "a").await;
        for id in ["m1", "m2", "m3"] {
            begun.say(id).await;
        }
    });
    damage(&disk, LIVE, "\"m2\"");
    disk
}

#[test]
fn damage_is_told_once_however_often_the_chat_is_opened() {
    let disk = three_of_which_the_second_is_damaged();
    block_on(async {
        assert_eq!(opened(&disk).await.repair().await.unwrap().len(), 1);
        assert_eq!(opened(&disk).await.repair().await.unwrap(), []);
        assert_eq!(opened(&disk).await.verify().await.unwrap().len(), 1);
    });
}

#[test]
fn damage_that_is_told_is_known_and_not_copied_again_when_its_log_is_sealed() {
    let disk = three_of_which_the_second_is_damaged();
    let copies = || {
        let folder = Path::new(".ship/chat/a/quarantine");
        disk.contents().keys().filter(|path| path.parent() == Some(folder)).count()
    };
    block_on(async {
        let chat = opened(&disk).await;
        assert_eq!((chat.repair().await.unwrap().len(), copies()), (1, 1));
        let lane = chat.lane("test").await.unwrap();
        let view = chat.log().view().await.unwrap().unwrap();
        let (first, last) = (view.lines[0].seq, view.position.seq);
        let new = Rotation {
            expected: Some(view.position.generation),
            head: Head::new("c_20260205_second".parse().unwrap()),
            pieces: Vec::new(),
        };
        let rotated = lane.rotate(new).await.unwrap();
        let back = Rotation {
            expected: Some(rotated.position.generation),
            head: view.head,
            pieces: vec![LogPiece::Sealed { log: rotated.sealed.unwrap(), first, last }],
        };
        let damage = lane.rotate(back).await.unwrap().damage;
        assert_eq!((known(&damage), copies()), (vec![true], 1), "{damage:?}");
        assert_eq!(ids(&*chat).await, ["m1", "m3"]);
    });
}

fn known(problems: &[StorageProblem]) -> Vec<bool> {
    problems.iter().map(|problem| problem.is_reported).collect()
}

#[test]
fn what_a_person_has_seen_is_known_in_the_sealed_log_too_and_a_new_injury_is_not() {
    let disk = MemoryDisk::new();
    block_on(async {
        let mut begun = Begun::new(&on(&disk), "a").await;
        for id in ["m1", "m2", "m3", "m4"] {
            begun.say(id).await;
        }
    });
    damage(&disk, LIVE, "\"m2\"");
    let sealed = block_on(async {
        let chat = opened(&disk).await;
        chat.repair().await.unwrap();
        let problems = chat.verify().await.unwrap();
        assert_eq!(known(&problems), [false]);
        chat.acknowledge(problems).await.unwrap();
        assert_eq!(known(&opened(&disk).await.verify().await.unwrap()), [true]);
        let seen = bytes(&disk, ".ship/chat/a/quarantine/seen.jsonl");
        let seen = String::from_utf8(seen).unwrap();
        assert!(seen.starts_with(r#"{"file":"messages/history.jsonl","offset":"#), "{seen}");
        assert_eq!(seen.matches("\"crc\":").count(), 1, "{seen}");

        let lane = chat.lane("test").await.unwrap();
        let position = chat.log().view().await.unwrap().unwrap().position;
        let mut begun = Begun { chat: Arc::clone(&chat), lane, position };
        begun.compact("s1", begun.position.seq).await;
        let problems = chat.verify().await.unwrap();
        assert_eq!(known(&problems), [true]);
        problems[0].place.clone()
    });
    damage(&disk, &sealed, "\"m3\"");
    block_on(async {
        assert_eq!(known(&opened(&disk).await.verify().await.unwrap()), [true, false]);
    });
    // Other bytes at a place that was seen.
    damage(&disk, &sealed, "type");
    let damaged = bytes(&disk, &sealed);
    let mut lines = damaged.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec);
    let mut lines: Vec<Vec<u8>> = lines.by_ref().collect();
    lines[2][40] ^= 2;
    put(&disk, &sealed, &lines.concat());
    block_on(async {
        let problems = opened(&disk).await.verify().await.unwrap();
        assert!(known(&problems).iter().all(|known| !known), "{problems:?}");
    });
}

#[test]
fn a_hole_in_what_was_never_synced_is_no_problem_and_a_flipped_bit_is_one() {
    let (disk, flipped) = (MemoryDisk::new(), MemoryDisk::new());
    block_on(async {
        for disk in [&disk, &flipped] {
            let begun = Begun::new(&on(disk), "a").await;
            for id in ["first", "second", "third"] {
                let request = Object::from([("id", id)]);
                begun.lane.record_request(request).await.unwrap();
            }
        }
    });
    let mut found = bytes(&disk, REQUESTS);
    let at = found.windows(6).position(|window| window == b"second").unwrap();
    found[at..at + 6].fill(0);
    put(&disk, REQUESTS, &found);
    damage(&flipped, REQUESTS, "second");
    block_on(async {
        assert_eq!(opened(&disk).await.verify().await.unwrap(), []);
        assert_eq!(opened(&disk).await.runs().requests(9).await.unwrap().len(), 2);
        assert_eq!(opened(&flipped).await.verify().await.unwrap().len(), 1);
    });
}

/// Appends the last line of a file once more, without its newline.
fn double_last_line(disk: &MemoryDisk, path: &str) {
    let mut found = bytes(disk, path);
    found.pop();
    let start = found.iter().rposition(|byte| *byte == b'\n').unwrap();
    let doubled = [&found[..], &found[start..]].concat();
    put(disk, path, &doubled);
}

#[test]
fn a_repeated_line_that_lacks_its_newline_is_told_once_and_costs_nothing() {
    let disk = MemoryDisk::new();
    let (sealed, first) = block_on(async {
        let mut begun = Begun::new(&on(&disk), "a").await;
        begun.say("m1").await;
        let first = begun.position.seq;
        begun.compact("s1", first).await;
        begun.chat.ledger().accept(entry("k1", "x")).await.unwrap();
        begun.lane.record_request(Object::from([("id", "q1")])).await.unwrap();
        (begun.chat.log().sealed().await.unwrap().remove(0).name, first)
    });
    let archived = format!(".ship/chat/a/messages/archive/{}.jsonl", sealed.as_str());
    for path in [LIVE, LEDGER, REQUESTS, &archived] {
        double_last_line(&disk, path);
    }
    block_on(async {
        assert_eq!(opened(&disk).await.verify().await.unwrap().len(), 4);
        assert_eq!(opened(&disk).await.repair().await.unwrap().len(), 3);
        assert_eq!(opened(&disk).await.repair().await.unwrap(), []);
        let chat = opened(&disk).await;
        let lane = chat.lane("test").await.unwrap();
        let view = chat.log().view().await.unwrap().unwrap();
        let back = Rotation {
            expected: Some(view.position.generation),
            head: view.head,
            pieces: vec![LogPiece::Sealed { log: sealed, first, last: first }],
        };
        assert_eq!(lane.rotate(back).await.unwrap().damage.len(), 1);
        assert_eq!(ids(&*chat).await, ["m1"]);
    });
}

/// Flips a bit in the blob that holds `text`.
fn damage_blob(disk: &MemoryDisk, text: &str) {
    let holds = |content: &Option<Vec<u8>>| {
        content
            .as_ref()
            .is_some_and(|bytes| bytes.windows(text.len()).any(|window| window == text.as_bytes()))
    };
    let contents = disk.contents();
    let mut blobs = contents.iter().filter(|(path, _)| path.starts_with(".ship/blobs"));
    let (path, _) = blobs.find(|(_, content)| holds(content)).expect("a blob with this text");
    damage(disk, path.to_str().unwrap(), text);
}

#[test]
fn a_damaged_blob_that_a_person_has_seen_is_known_wherever_its_message_goes() {
    let disk = MemoryDisk::new();
    block_on(async {
        let mut begun = Begun::new(&on(&disk), "a").await;
        begun.say("m1").await;
        let large = message("m2", &format!("large {}", "x".repeat(500_000)));
        begun.position = begun.lane.append(vec![large.into()], begun.position).await.unwrap();
        damage_blob(&disk, "large");
        let problems = begun.chat.verify().await.unwrap();
        assert_eq!(known(&problems), [false]);
        begun.chat.acknowledge(problems).await.unwrap();
        assert_eq!(known(&begun.chat.verify().await.unwrap()), [true]);

        begun.compact("s1", begun.position.seq).await;
        assert_eq!(known(&begun.chat.verify().await.unwrap()), [true, true], "kept and sealed");
        damage_blob(&disk, "xxx");
        assert_eq!(known(&begun.chat.verify().await.unwrap()), [false, false], "another injury");
    });
}

#[test]
fn a_damaged_text_of_a_recorded_request_is_named_once_and_one_that_was_never_stored_is_not() {
    for (text, named) in [("the role", 1), ("some tools", 1), ("\"system\"", 1), ("nothing", 0)] {
        let disk = MemoryDisk::new();
        block_on(async {
            let store = on(&disk);
            let begun = Begun::new(&store, "a").await;
            let put = async |text: &str| {
                store.put_blob(text.as_bytes().to_vec(), "text/plain").await.unwrap().sha256
            };
            let (role, tools) = (put("the role").await, put("some tools").await);
            let frame = format!(
                r#"{{"system":[{{"name":"Agent.md","sha256":"{role}"}}],"tools":"{tools}"}}"#
            );
            let frame = put(&frame).await;
            let never_stored = "0".repeat(64);
            for id in ["q_1", "q_2"] {
                let mut request = Object::from([("id", id)]);
                request.set("frame", frame.as_str());
                request.set("summary", never_stored.as_str());
                begun.lane.record_request(request).await.unwrap();
            }
            put("nothing").await;
            damage_blob(&disk, text);
            let problems = begun.chat.verify().await.unwrap();
            assert_eq!(problems.len(), named, "{text}: {problems:?}");
            assert!(problems.iter().all(|it| it.place.ends_with("requests.jsonl")), "{problems:?}");
        });
    }
}

#[test]
fn a_damaged_head_is_one_problem_in_the_live_log_and_in_the_sealed_one() {
    const LEDGER: &str = ".ship/chat/a/conversations/history.jsonl";
    for path in [LIVE, LEDGER] {
        let disk = MemoryDisk::new();
        block_on(async {
            let mut begun = Begun::new(&on(&disk), "a").await;
            begun.chat.ledger().accept(entry("k1", "hello")).await.unwrap();
            begun.say("m1").await;
        });
        damage(&disk, path, "\"event\":\"head\"");
        block_on(async {
            let chat = opened(&disk).await;
            let problems = chat.verify().await.unwrap();
            let [problem] = &problems[..] else { panic!("{problems:?}") };
            let message = &problem.message;
            assert!(message.starts_with("it does not begin with a head: "), "{message}");
            assert!(message.ends_with(" bytes cannot be read as lines"), "{message}");
            chat.repair().await.unwrap();
            let problems = chat.verify().await.unwrap();
            assert_eq!(known(&problems), [false], "{problems:?}");
            assert_ne!(problems[0].place, path);
            chat.acknowledge(problems).await.unwrap();
            assert_eq!(known(&opened(&disk).await.verify().await.unwrap()), [true]);
        });
    }
}

/// Publishes a log with the event of a switch, as an engine does, and says something in it.
async fn switch(begun: &mut Begun, entered: Option<&Head>) {
    let mut data = Object::from([("op", "new")]);
    data.set_or_remove("entered", entered.map(Head::entered).map(Json::from));
    let event = ContextEvent {
        id: "e_1".to_owned(),
        ts: Timestamp::from_millis(1_770_286_500_123),
        event: carry::SWITCHED.to_owned(),
        data: data.into(),
        ref_msg_id: None,
        inbox: None,
    };
    let rotation = Rotation {
        expected: Some(begun.position.generation),
        head: entered.cloned().unwrap_or(Head::new("c_20260205_second".parse().unwrap())),
        pieces: vec![LogPiece::New(event.into())],
    };
    begun.position = begun.lane.rotate(rotation).await.unwrap().position;
    begun.say("m2").await;
}

/// Damages the head of the live log, and removes its copy.
fn lose_head_and_copy(disk: &MemoryDisk) {
    damage(disk, LIVE, "\"event\":\"head\"");
    disk.remove(Path::new(HEAD_COPY)).unwrap();
}

#[test]
fn a_log_without_its_head_and_copy_takes_the_id_that_its_switch_tells() {
    let disk = MemoryDisk::new();
    let second =
        Head { title: Some("Two".to_owned()), ..Head::new("c_20260205_second".parse().unwrap()) };
    block_on(async {
        let mut begun = Begun::new(&on(&disk), "a").await;
        begun.say("m1").await;
        switch(&mut begun, Some(&second)).await;
    });
    lose_head_and_copy(&disk);
    block_on(async {
        let chat = opened(&disk).await;
        let read = chat.log().view().await.unwrap().unwrap().head;
        chat.repair().await.unwrap();
        let repaired = chat.log().view().await.unwrap().unwrap().head;
        for head in [read, repaired] {
            assert_eq!((head.context, head.title), (second.context.clone(), second.title.clone()));
        }
    });
}

#[test]
fn a_log_without_its_head_copy_and_id_gets_a_new_id_and_never_that_of_the_context_before() {
    let disk = MemoryDisk::new();
    let first = block_on(async {
        let mut begun = Begun::new(&on(&disk), "a").await;
        begun.say("m1").await;
        let first = begun.chat.log().view().await.unwrap().unwrap().head.context;
        switch(&mut begun, None).await;
        first
    });
    lose_head_and_copy(&disk);
    block_on(async {
        let chat = opened(&disk).await;
        let read = chat.log().view().await.unwrap().unwrap().head.context;
        assert_ne!(read, first);
        chat.repair().await.unwrap();
        let repaired = chat.log().view().await.unwrap().unwrap().head.context;
        assert_eq!(repaired, read, "every reader makes the same id");
    });
}

#[test]
fn a_log_without_its_head_has_all_that_the_head_said_from_its_copy() {
    let disk = MemoryDisk::new();
    let head = Head {
        title: Some("Two".to_owned()),
        carry: carry::Carry::from_object(Object::from([("skills", vec![Json::from("knots")])])),
        ..Head::new("c_20260205_second".parse().unwrap())
    };
    let before = block_on(async {
        let mut begun = Begun::new(&on(&disk), "a").await;
        begun.say("m1").await;
        switch(&mut begun, Some(&head)).await;
        begun.chat.log().view().await.unwrap().unwrap().head
    });
    damage(&disk, LIVE, "\"event\":\"head\"");
    block_on(async {
        let chat = opened(&disk).await;
        assert_eq!(chat.log().view().await.unwrap().unwrap().head, before);
        chat.repair().await.unwrap();
        let repaired = chat.log().view().await.unwrap().unwrap().head;
        assert_eq!((repaired.title, repaired.carry), (before.title, before.carry));
    });
    // A damaged copy is named, and removed by a repair.
    damage(&disk, HEAD_COPY, "\"event\":\"head\"");
    block_on(async {
        let chat = opened(&disk).await;
        assert!(chat.verify().await.unwrap().iter().any(|it| it.place == HEAD_COPY));
        chat.repair().await.unwrap();
        assert!(!chat.verify().await.unwrap().iter().any(|it| it.place == HEAD_COPY));
    });
}

/// A compacted chat that has said one thing since, and the live log cut behind some of its lines.
fn cut_behind(lines: usize, more: usize) -> MemoryDisk {
    let disk = MemoryDisk::new();
    block_on(async {
        let mut begun = Begun::new(&on(&disk), "a").await;
        for id in ["m1", "m2", "m3", "m4"] {
            begun.say(id).await;
        }
        let view = begun.chat.log().view().await.unwrap().unwrap();
        begun.compact("s1", view.line_of(&MessageId::new("m3").unwrap()).unwrap()).await;
        begun.say("m5").await;
        assert_eq!(ids(&*begun.chat).await, ["s1", "m3", "m4", "m5"]);
    });
    let whole = bytes(&disk, LIVE);
    let ends = whole.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    let end = ends.map(|(at, _)| at + 1).nth(lines - 1).unwrap();
    put(&disk, LIVE, &whole[..end + more]);
    disk
}

#[test]
fn copied_lines_that_were_cut_off_come_back_from_the_log_that_they_were_copied_from() {
    // Behind the last published line nothing can be told: `m5` may never have been said.
    let expected: [(usize, &[&str]); 4] = [
        (1, &["m3", "m4"]),
        (2, &["s1", "m3", "m4"]),
        (3, &["s1", "m3", "m4"]),
        (4, &["s1", "m3", "m4"]),
    ];
    for ((lines, expected), more) in expected.into_iter().flat_map(|it| [(it, 0), (it, 20)]) {
        let disk = cut_behind(lines, more);
        block_on(async {
            let chat = opened(&disk).await;
            let problems = chat.verify().await.unwrap();
            let is_named = problems.iter().any(|it| it.message.contains("was published with"));
            assert_eq!(is_named, lines < 4, "{problems:?}");
            chat.repair().await.unwrap();
            assert_eq!(ids(&*chat).await, expected, "{lines} lines and {more} bytes were left");
            assert_eq!(chat.verify().await.unwrap(), []);
        });
    }
}

#[test]
fn a_blob_that_was_seen_by_the_line_that_refers_to_it_is_reported_once_again() {
    let disk = MemoryDisk::new();
    block_on(async {
        let begun = Begun::new(&on(&disk), "a").await;
        let large = message("m1", &format!("large {}", "x".repeat(500_000)));
        begun.lane.append(vec![large.into()], begun.position).await.unwrap();
        damage_blob(&disk, "large");
        let problems = begun.chat.verify().await.unwrap();
        // As an earlier version wrote it.
        let live = disk.contents().remove(Path::new(&problems[0].place)).unwrap().unwrap();
        let line = live[problems[0].offset as usize..].split(|byte| *byte == b'\n').next().unwrap();
        let (file, offset, crc) =
            ("messages/history.jsonl", problems[0].offset, crc32c::crc32c(line));
        let seen = format!(
            "{{\"file\":\"{file}\",\"offset\":{offset},\"crc\":\"{crc:08x}\",\"kind\":\"{}\"}}\n",
            problems[0].kind.name()
        );
        disk.make_folder(Path::new(".ship/chat/a/quarantine")).unwrap();
        let path = Path::new(".ship/chat/a/quarantine/seen.jsonl");
        disk.open(path, OpenMode::Create).unwrap().write(seen.as_bytes()).unwrap();
        assert_eq!(known(&begun.chat.verify().await.unwrap()), [false]);
        begun.chat.acknowledge(problems).await.unwrap();
        assert_eq!(known(&begun.chat.verify().await.unwrap()), [true]);
    });
}

#[test]
fn a_journal_without_its_first_line_loses_nothing() {
    let disk = MemoryDisk::new();
    let read = async || {
        let chat = opened(&disk).await;
        (chat.runs().journal().await.unwrap(), chat.runs().requests(9).await.unwrap())
    };
    let before = block_on(async {
        let begun = Begun::new(&on(&disk), "a").await;
        begun.lane.begin_journal(Object::from([("run", "r1")]), Synced::Now).await.unwrap();
        begun.lane.journal(vec![Object::from([("step", "one")])], Synced::Now).await.unwrap();
        begun.lane.record_request(Object::from([("id", "q1")])).await.unwrap();
        read().await
    });
    assert_eq!((before.0.len(), before.1.len()), (2, 1));
    for journal in [REQUESTS, ".ship/chat/a/messages/run.jsonl"] {
        damage(&disk, journal, "\"event\":\"head\"");
    }
    block_on(async {
        assert_eq!(read().await, before);
        assert_eq!(opened(&disk).await.verify().await.unwrap().len(), 2);
        opened(&disk).await.repair().await.unwrap();
        assert_eq!(read().await, before);
    });
}

#[test]
fn records_of_requests_that_an_older_program_began_stay_readable_without_their_head() {
    let disk = MemoryDisk::new();
    block_on(async {
        let begun = Begun::new(&on(&disk), "a").await;
        for id in ["q1", "q2"] {
            begun.lane.record_request(Object::from([("id", id)])).await.unwrap();
        }
    });
    // Neither of the two heads can be read.
    for _ in 0..2 {
        damage(&disk, REQUESTS, "\"event\":\"head\"");
    }
    block_on(async {
        let chat = opened(&disk).await;
        chat.repair().await.unwrap();
        chat.lane("test")
            .await
            .unwrap()
            .record_request(Object::from([("id", "q3")]))
            .await
            .unwrap();
        let requests = chat.runs().requests(9).await.unwrap();
        let ids: Vec<_> = requests.iter().filter_map(|request| request.str("id")).collect();
        assert_eq!(ids, ["q1", "q2", "q3"]);
        let problems = chat.verify().await.unwrap();
        assert!(problems.iter().all(|it| it.place.contains("archive/requests-")), "{problems:?}");
        assert!(!problems.is_empty());
    });
}
