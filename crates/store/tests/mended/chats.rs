//! Chats: what is wrong in one place hides nothing elsewhere.

use super::*;

const LIVE: &str = ".ship/chat/a/messages/history.jsonl";

#[test]
fn one_bad_chat_is_told_and_the_others_are_listed() {
    let disk = MemoryDisk::new();
    block_on(async {
        let store = store_on(disk.clone());
        for key in ["a", "b", "c", "d"] {
            Begun::new(&store, key).await;
        }
        // No `chat.json`, all files of another chat, and a stray file.
        disk.remove(Path::new(".ship/chat/b/chat.json")).unwrap();
        for file in ["chat.json", "messages/history.jsonl"] {
            let of_another = bytes(&disk, &format!(".ship/chat/a/{file}"));
            put(&disk, Path::new(&format!(".ship/chat/c/{file}")), &of_another);
        }
        put(&disk, Path::new(".ship/chat/.DS_Store"), b"x");
        let chats = store.chats(None, usize::MAX).await.unwrap().chats;
        let told: Vec<String> = chats
            .iter()
            .map(|look| match &look.key {
                Ok(key) => key.to_string(),
                Err(problem) => format!("{:?} {}", problem.kind, problem.place),
            })
            .collect();
        let expected = ["a", "b", "Damage .ship/chat/c/chat.json", "d"];
        assert_eq!(told, expected);
    });
}

#[test]
fn a_folder_that_cannot_be_looked_into_does_not_stop_the_list() {
    let project = Project::new();
    block_on(async {
        let store = project.store();
        Begun::new(&store, "a").await;
        Begun::new(&store, "b").await;
        let messages = project.0.path().join(".ship/chat/a/messages");
        fs::remove_dir_all(&messages).unwrap();
        fs::write(&messages, "a file").unwrap();
        let chats = store.chats(None, usize::MAX).await.unwrap().chats;
        assert_eq!(chats.iter().map(|look| look.key.is_ok()).collect::<Vec<_>>(), [true, false]);
    });
}

#[test]
fn the_logs_of_another_chat_are_not_adopted() {
    let disk = MemoryDisk::new();
    block_on(async {
        let store = store_on(disk.clone());
        Begun::new(&store, "a").await;
        Begun::new(&store, "b").await;
        let log = bytes(&disk, ".ship/chat/b/messages/history.jsonl");
        put(&disk, Path::new(".ship/chat/a/messages/history.jsonl"), &log);
        disk.remove(Path::new(".ship/chat/a/chat.json")).unwrap();
        let store = store_on(disk.clone());
        let refused = store.create(&"a".parse().unwrap(), About::default()).await.map(|_| ());
        let Err(error @ StorageError::OtherChat { .. }) = refused else { panic!("{refused:?}") };
        assert!(error.to_string().contains("belongs to chat `b`"), "{error}");
        // One's own are: only `chat.json` was lost.
        disk.remove(Path::new(".ship/chat/b/chat.json")).unwrap();
        store_on(disk.clone()).create(&"b".parse().unwrap(), About::default()).await.unwrap();
    });
}

/// A chat with three sealed logs, the oldest first.
async fn with_sealed(disk: &MemoryDisk) -> Vec<PathBuf> {
    let mut begun = Begun::new(&store_on(disk.clone()), "a").await;
    for number in 1..=3 {
        begun.say(&format!("m{number}")).await;
        begun.compact(&format!("s{number}"), begun.position.seq.next()).await;
    }
    begun.say("m4").await;
    let mut sealed = names(disk, ".ship/chat/a/messages/archive");
    sealed.remove(0);
    sealed.sort_by_key(|path| bytes(disk, path.to_str().unwrap())[7]);
    sealed
}

#[test]
fn one_bad_sealed_log_hides_no_other() {
    for remains in [None, Some(&b"garbage\n"[..])] {
        let disk = MemoryDisk::new();
        block_on(async {
            let sealed = with_sealed(&disk).await;
            disk.remove(&sealed[1]).unwrap();
            remains.into_iter().for_each(|bytes| put(&disk, &sealed[1], bytes));
            let chat = opened(&disk).await;
            let all: Vec<String> = everything(&*chat).await.unwrap().iter().map(id).collect();
            assert_eq!(all, ["m1", "s2", "m3", "s3", "m4"]);
            let problems = chat.verify().await.unwrap();
            let files: Vec<&Path> = problems.iter().map(|told| Path::new(&told.place)).collect();
            assert!(files.iter().all(|file| *file == sealed[1]) && !files.is_empty(), "{files:?}");
        });
    }
}

#[test]
fn a_repair_goes_on_from_the_newest_sealed_log_when_the_live_one_is_lost() {
    for remains in [None, Some(&b""[..]), Some(b"garbage\n")] {
        let disk = MemoryDisk::new();
        block_on(async {
            with_sealed(&disk).await;
            let before = opened(&disk).await.log().view().await.unwrap().unwrap();
            disk.remove(Path::new(LIVE)).unwrap();
            remains.into_iter().for_each(|bytes| put(&disk, Path::new(LIVE), bytes));
            let chat = opened(&disk).await;
            let problems = chat.verify().await.unwrap();
            assert!(problems.iter().any(|problem| problem.place == LIVE), "{problems:?}");
            chat.repair().await.unwrap();
            assert_eq!(chat.verify().await.unwrap(), []);
            let view = chat.log().view().await.unwrap().unwrap();
            assert_eq!(view.head.context, before.head.context);
            assert_eq!(view.position.generation, before.position.generation);
            assert_eq!(ids(&*chat).await, ["s2", "m3"]);
            let lane = chat.lane("test").await.unwrap();
            lane.append(vec![message("m5", "m5").into()], view.position).await.unwrap();
            let all: Vec<String> = everything(&*chat).await.unwrap().iter().map(id).collect();
            assert_eq!(all, ["m1", "s1", "m2", "s2", "m3", "m5"]);
            let kept = names(&disk, ".ship/chat/a/quarantine");
            let found = kept.iter().any(|path| {
                remains.is_some_and(|remains| disk.contents()[path].as_deref() == Some(remains))
            });
            assert_eq!(found, remains.is_some());
        });
    }
}

/// A chat with two sealed logs that has lost its live one, and whose ledger is a copy from before the second. Returns
/// the last entry that the newest sealed log has read, too.
async fn with_lost_log_and_older_ledger() -> (SimDisk, LedgerSeq) {
    let disk = SimDisk::new();
    let mut begun = Begun::new(&store_on(disk.clone()), "a").await;
    let (mut read, mut older) = (LedgerSeq::new(0), Vec::new());
    for id in ["m1", "m2"] {
        older = disk.memory().contents().remove(Path::new(LEDGER)).flatten().unwrap_or_default();
        read = begun.chat.ledger().accept(entry(id, "x")).await.unwrap().seq;
        let promoted = NewMessage { message: message(id, "x"), rev: 0, inbox: Some(read) };
        begun.position = begun.lane.append(vec![promoted.into()], begun.position).await.unwrap();
        begun.compact(&format!("s{id}"), begun.position.seq.next()).await;
    }
    disk.remove(Path::new(LIVE)).unwrap();
    put(&disk.memory(), Path::new(LEDGER), &older);
    (disk, read)
}

#[test]
fn a_read_that_fails_once_brings_no_older_log_back_and_gives_no_number_twice() {
    let is_last = |failing: usize, code: i32, repairs: bool| {
        block_on(async {
            let (disk, read) = with_lost_log_and_older_ledger().await;
            let open =
                async || store_on(disk.clone()).open(&"a".parse().unwrap()).await.unwrap().unwrap();
            let chat = open().await;
            let before = disk.calls();
            disk.fail_in(failing, Fault::Fail(code, Lasts::Once));
            if repairs {
                let _ = chat.repair().await;
            } else if let Ok(accepted) = chat.ledger().accept(entry("m3", "x")).await {
                assert!(accepted.seq > read, "call {failing}: {} after {read}", accepted.seq);
            }
            let calls = disk.calls() - before;
            disk.heal();
            open().await.repair().await.unwrap();
            assert_eq!(ids(&*open().await).await, ["sm1", "m2"], "call {failing}");
            calls <= failing
        })
    };
    for (code, repairs) in [(EIO, true), (EMFILE, true), (EIO, false), (EMFILE, false)] {
        assert!((0..).find(|failing| is_last(*failing, code, repairs)) > Some(20));
    }
}

#[test]
fn records_of_model_calls_are_read_on_into_the_sealed_ones() {
    let disk = MemoryDisk::new();
    block_on(async {
        let begun = Begun::new(&store_on(disk.clone()), "a").await;
        let text = "x".repeat(30_000);
        for number in 0..150 {
            let record = Object::from([
                ("number", Json::from(u64::try_from(number).unwrap())),
                ("text", text.as_str().into()),
            ]);
            begun.lane.record_request(record).await.unwrap();
        }
        let numbers = async |limit| -> Vec<u64> {
            let requests = begun.chat.runs().requests(limit).await.unwrap();
            requests.iter().filter_map(|request| request.get("number")?.as_u64()).collect()
        };
        assert_eq!(numbers(200).await, (0..150).collect::<Vec<_>>());
        assert_eq!(numbers(3).await, [147, 148, 149]);
        // A record is a record though the head is damaged.
        let path = ".ship/chat/a/messages/requests.jsonl";
        let mut live = bytes(&disk, path);
        live[20] ^= 1;
        put(&disk, Path::new(path), &live);
        assert_eq!(numbers(200).await.len(), 150);
    });
}

#[test]
fn records_of_model_calls_that_are_lost_under_a_process_stop_none_and_hide_no_sealed_ones() {
    const REQUESTS: &str = ".ship/chat/a/messages/requests.jsonl";
    let injuries: [fn(&MemoryDisk); 3] = [
        |disk| disk.remove(Path::new(REQUESTS)).unwrap(),
        |disk| put(disk, Path::new(REQUESTS), b""),
        |disk| put(disk, Path::new(REQUESTS), b"no line\n"),
    ];
    for injure in injuries {
        let disk = MemoryDisk::new();
        block_on(async {
            let begun = Begun::new(&store_on(disk.clone()), "a").await;
            let text = "x".repeat(30_000);
            for name in ["q1", "q2", "q3", "q4"] {
                begun.lane.record_request(message(name, &text)).await.unwrap();
            }
            let recorded = async || -> Vec<String> {
                let requests = begun.chat.runs().requests(9).await.unwrap();
                requests.iter().filter_map(|request| Some(request.str("id")?.to_owned())).collect()
            };
            assert_eq!(recorded().await, ["q1", "q2", "q3", "q4"]);
            injure(&disk);
            begun.lane.record_request(message("q5", "x")).await.unwrap();
            assert_eq!(recorded().await, ["q1", "q2", "q3", "q5"], "q4 was not sealed yet");
            assert_eq!(begun.chat.verify().await.unwrap(), []);
        });
    }
}

#[test]
fn damage_in_the_ledger_is_read_around_and_named() {
    let disk = MemoryDisk::new();
    block_on(async {
        let chat = Begun::new(&store_on(disk.clone()), "a").await.chat;
        for key in ["k1", "k2", "k3"] {
            chat.ledger().accept(entry(key, "x")).await.unwrap();
        }
        let mut live = bytes(&disk, LEDGER);
        let at = live.windows(4).position(|four| four == b"\"k2\"").unwrap();
        live[at + 1] ^= 1;
        put(&disk, Path::new(LEDGER), &live);
        let chat = opened(&disk).await;
        assert_eq!(ledger_keys(&*chat).await, ["k1", "k3"]);
        let problems = chat.verify().await.unwrap();
        let [problem] = &problems[..] else { panic!("{problems:?}") };
        assert_eq!((problem.kind, problem.place.as_str()), (StorageProblemKind::Damage, LEDGER));
        chat.ledger().accept(entry("k4", "x")).await.unwrap();
        assert_eq!(ledger_keys(&*chat).await, ["k1", "k3", "k4"]);
    });
}
