//! Failed syncs, rotations and waits: nothing rests on what was not there for good.

use super::*;

/// A disk on which the next sync of one folder fails.
#[derive(Clone)]
struct FailingFolder(SimDisk, Arc<Mutex<Option<PathBuf>>>);

impl Disk for FailingFolder {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Box<dyn DiskFile>> {
        self.0.open(path, mode)
    }
    fn make_folder(&self, path: &Path) -> io::Result<()> {
        self.0.make_folder(path)
    }
    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.0.link(from, to)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.0.rename(from, to)
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        self.0.remove(path)
    }
    fn symlink(&self, target: &str, path: &Path) -> io::Result<()> {
        self.0.symlink(target, path)
    }
    fn stat(&self, path: &Path) -> io::Result<FileLook> {
        self.0.stat(path)
    }
    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        self.0.list(path)
    }
    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        match self.1.lock().unwrap().take_if(|failing| failing == path) {
            Some(_) => Err(io::Error::from_raw_os_error(EIO)),
            None => self.0.sync_folder(path),
        }
    }
}

#[test]
fn a_name_whose_sync_failed_is_given_anew() {
    let cases =
        [(".ship/chat/a/messages", "history.jsonl"), (".ship/chat/a/messages/archive", ".jsonl")];
    for (folder, name) in cases {
        let disk = FailingFolder(SimDisk::new(), Arc::default());
        block_on(async {
            let store = store_on(disk.clone());
            let mut begun = Begun::new(&store, "a").await;
            begun.say("m1").await;
            let view = begun.chat.log().view().await.unwrap().unwrap();
            *disk.1.lock().unwrap() = Some(folder.into());
            begun.lane.rotate(compaction(&view, Vec::new(), Seq::new(1))).await.unwrap_err();
            let failed_at = disk.0.ops_len();
            let view = begun.chat.log().view().await.unwrap().unwrap();
            match name {
                "history.jsonl" => {
                    let batch = vec![message("m2", "m2").into()];
                    begun.lane.append(batch, view.position).await.unwrap();
                }
                _ => {
                    let rotation = compaction(&view, Vec::new(), Seq::new(1));
                    begun.lane.rotate(rotation).await.unwrap();
                }
            }
            let ops = disk.0.ops().split_off(failed_at);
            let anew = ops.iter().position(|op| match op {
                Op::Name(path, _) | Op::Rename(_, path, _) => {
                    path.starts_with(folder) && path.to_str().unwrap().ends_with(name)
                }
                _ => false,
            });
            assert!(anew.is_some(), "{folder}: {ops:?}");
        });
    }
}

#[test]
fn what_a_journal_took_for_later_is_not_believed_after_a_failed_sync() {
    let disk = SimDisk::new();
    block_on(async {
        let store = store_on(disk.clone());
        let begun = Begun::new(&store, "a").await;
        let part = |id: &str| vec![message(id, id)];
        begun.lane.begin_journal(Object::new(), Synced::Now).await.unwrap();
        begun.lane.journal(part("p1"), Synced::Later).await.unwrap();
        disk.fail_next_sync(EIO);
        begun.lane.journal(part("p2"), Synced::Now).await.unwrap_err();
        begun.lane.journal(part("p2"), Synced::Now).await.unwrap();
        for (name, cut) in power::states(&disk.ops()) {
            let chat = store_on(cut).open(&"a".parse().unwrap()).await.unwrap().unwrap();
            let journal = chat.runs().journal().await.unwrap();
            let id = |part: &Object| part.str("id").unwrap_or_default().to_owned();
            let parts: Vec<String> = journal.iter().map(id).collect();
            assert_eq!(parts, ["", "p1", "p2"], "{name}");
        }
    });
}

#[test]
fn a_rotation_keeps_only_lines_that_are_there() {
    let disk = MemoryDisk::new();
    block_on(async {
        let mut begun = Begun::new(&store_on(disk.clone()), "a").await;
        begun.say("m1").await;
        let view = begun.chat.log().view().await.unwrap().unwrap();
        for (first, last) in [(2, 9), (0, 2), (2, 1), (7, 9)] {
            let mut rotation = compaction(&view, Vec::new(), Seq::new(99));
            rotation.pieces = vec![LogPiece::Keep(Seq::new(first), Seq::new(last))];
            let refused = begun.lane.rotate(rotation).await;
            let Err(RotateError::Refused(RefusedInput::NoLines { .. })) = refused else {
                panic!("{refused:?}")
            };
        }
    });
}

#[test]
fn a_rotation_ignores_the_cursor_of_its_caller_and_makes_the_link_again() {
    let disk = MemoryDisk::new();
    block_on(async {
        let begun = Begun::new(&store_on(disk.clone()), "a").await;
        let link = Path::new(".ship/chat/a/contexts/active.jsonl");
        disk.remove(link).unwrap();
        let view = begun.chat.log().view().await.unwrap().unwrap();
        let mut rotation = compaction(&view, Vec::new(), Seq::new(99));
        rotation.head.inbox = Some(LedgerSeq::new(7));
        begun.lane.rotate(rotation).await.unwrap();
        assert_eq!(begun.chat.log().view().await.unwrap().unwrap().inbox, None);
        assert!(disk.stat(link).is_ok());
        disk.remove(link).unwrap();
        begun.chat.repair().await.unwrap();
        assert!(disk.stat(link).is_ok());
    });
}

#[test]
fn errors_name_the_thing_that_is_wrong() {
    let project = Project::new();
    block_on(async {
        let limited = StoreOptions { message_bytes_max: 100, ..options() };
        let store = FileStore::new(project.0.path(), limited).unwrap();
        let begun = Begun::new(&store, "a").await;
        let long = Object::from([("text", Json::from("x".repeat(200)))]);
        let told = begun.lane.record_request(long).await.unwrap_err().to_string();
        assert!(told.contains("requests.jsonl") && told.contains("limits.messageBytes"), "{told}");
        assert!(!told.contains("disk"), "{told}");
    });
    let chat = project.0.path().join(".ship/chat/a");
    fs::remove_dir_all(chat.join("conversations")).unwrap();
    block_on(async {
        let chat = project.store().open(&"a".parse().unwrap()).await.unwrap().unwrap();
        chat.ledger().accept(entry("k1", "x")).await.unwrap();
    });
    fs::remove_file(chat.join("conversations/history.jsonl")).unwrap();
    fs::create_dir(chat.join("conversations/history.jsonl")).unwrap();
    block_on(async {
        let chat = project.store().open(&"a".parse().unwrap()).await.unwrap().unwrap();
        let told = chat.ledger().accept(entry("k1", "x")).await.unwrap_err().to_string();
        assert!(told.contains("is not a plain file"), "{told}");
    });
}

#[test]
fn waiting_for_a_lane_blocks_no_other_work() {
    let patient = StoreOptions { lock_wait_ms: 5000, ..options() };
    let store = FileStore::in_memory(patient);
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_time().max_blocking_threads(2).build().unwrap();
    runtime.block_on(async {
        let Begun { chat, lane, .. } = Begun::new(&store, "a").await;
        let other = Begun::new(&store, "b").await.chat;
        let begun = Arc::new(AtomicUsize::new(0));
        let waiting: Vec<_> = (0..8)
            .map(|_| {
                let (chat, begun) = (chat.clone(), begun.clone());
                tokio::spawn(async move {
                    begun.fetch_add(1, Ordering::Relaxed);
                    chat.lane("waiting").await.map(drop)
                })
            })
            .collect();
        // Each has then asked for a thread, before the entry does.
        while begun.load(Ordering::Relaxed) < 8 {
            tokio::task::yield_now().await;
        }
        let accepted = other.ledger().accept(entry("k1", "x"));
        tokio::time::timeout(Duration::from_secs(2), accepted).await.unwrap().unwrap();
        drop(lane);
        for waiter in waiting {
            waiter.await.unwrap().unwrap();
        }
    });
}

#[test]
fn a_torn_tail_is_in_quarantine_for_good_before_it_is_cut() {
    let disk = SimDisk::new();
    block_on(async {
        Begun::new(&store_on(disk.clone()), "a").await.say("m1").await;
        let live = Path::new(".ship/chat/a/messages/history.jsonl");
        disk.open(live, OpenMode::Append).unwrap().write(b"{\"seq\":3,\"ty").unwrap();
        let before = disk.ops_len();
        let chat = store_on(disk.clone()).open(&"a".parse().unwrap()).await.unwrap().unwrap();
        chat.repair().await.unwrap();
        let ops = disk.ops().split_off(before);
        let cut = ops.iter().position(|op| matches!(op, Op::Truncate(..))).unwrap();
        let aside = Path::new(".ship/chat/a/quarantine");
        let kept = ops
            .iter()
            .position(|op| matches!(op, Op::SyncFolder(folder) if folder == aside))
            .unwrap();
        assert!(kept < cut, "{ops:?}");
    });
}
