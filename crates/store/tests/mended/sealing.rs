//! Sealing on a disk without hard links: a copy takes the place of the second name.

use super::*;

const EPERM: i32 = 1;
const ARCHIVE: &str = ".ship/chat/a/messages/archive";

fn archived(disk: &SimDisk) -> Vec<PathBuf> {
    let mut names = names(&disk.memory(), ARCHIVE);
    names.retain(|path| path != Path::new(ARCHIVE));
    names
}

#[test]
fn every_log_is_sealed_by_a_copy_where_files_have_one_name() {
    // EPERM, EXDEV, EMLINK, ENOSYS, EOPNOTSUPP
    for code in [EPERM, 18, 31, 38, 95] {
        let disk = SimDisk::new();
        disk.refuse_links(code);
        block_on(async {
            let mut begun = Begun::new(&store_on(disk.clone()), "a").await;
            begun.say("m1").await;
            begun.compact("s1", Seq::new(2)).await;
            begun.say("m2").await;
            fill(&*begun.chat, "k").await;
            begun.chat.ledger().accept(entry("last", "x")).await.unwrap();
            let chat = opened(&disk.memory()).await;
            let all: Vec<String> = everything(&*chat).await.unwrap().iter().map(id).collect();
            assert_eq!(all, ["m1", "s1", "m2"], "error {code}");
            assert_eq!(ledger_keys(&*chat).await.len(), 141);
            assert!(disk.stat(Path::new(SEALED)).is_ok());
            assert_eq!(chat.verify().await.unwrap(), []);
        });
    }
}

#[test]
fn a_copy_that_an_interrupted_rotation_left_is_replaced_by_one_with_all_that_came_since() {
    let clock = ManualClock::default();
    let disk = SimDisk::new();
    disk.refuse_links(EPERM);
    block_on(async {
        let options = StoreOptions { clock: Arc::new(clock.clone()), ..options() };
        let store = FileStore::on_disk(Box::new(disk.clone()), options);
        let mut begun = Begun::new(&store, "a").await;
        begun.say("m1").await;
        let view = begun.chat.log().view().await.unwrap().unwrap();
        // Sooner or later the copy gets its name, and the new log does not get its own.
        let is_copy = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "jsonl");
        let mut left = Vec::new();
        for after in 0..20 {
            disk.fail_changes(Window { after, len: 1, code: EIO, tears: false });
            let rotated = begun.lane.rotate(compaction(&view, Vec::new(), Seq::new(1))).await;
            disk.heal();
            left = archived(&disk).into_iter().filter(is_copy).collect();
            if !left.is_empty() {
                assert!(rotated.is_err(), "the rotation was done when change {after} failed");
                break;
            }
            clock.advance(1000);
        }
        assert_eq!(left.len(), 1);
        clock.advance(1000);
        begun.say("m2").await;
        begun.compact("s1", Seq::new(99)).await;
        let [sealed] = &archived(&disk)[..] else { panic!("{:?}", archived(&disk)) };
        assert_ne!(*sealed, left[0]);
        let all: Vec<String> = everything(&*begun.chat).await.unwrap().iter().map(id).collect();
        assert_eq!(all, ["m1", "m2", "s1"]);
        assert_eq!(begun.chat.verify().await.unwrap(), []);
    });
}

#[test]
fn a_disk_that_takes_neither_links_nor_copies_refuses_a_rotation_before_anything_changes() {
    let disk = SimDisk::new();
    disk.refuse_links(EPERM);
    block_on(async {
        let mut begun = Begun::new(&store_on(disk.clone()), "a").await;
        begun.say("m1").await;
        disk.close_folder(Path::new(ARCHIVE), EPERM);
        let before = disk.memory().contents();
        let view = begun.chat.log().view().await.unwrap().unwrap();
        let refused = begun.lane.rotate(compaction(&view, Vec::new(), Seq::new(1))).await;
        let Err(RotateError::Storage(error @ StorageError::CannotSeal { .. })) = refused else {
            panic!("{refused:?}")
        };
        assert!(error.to_string().contains("nothing was changed"), "{error}");
        let lock = Path::new(".ship/chat/a/lock");
        let mut after = disk.memory().contents();
        after.insert(lock.to_owned(), before[lock].clone());
        assert!(after == before, "only the note in the lock differs");
        begun.say("m2").await;
        assert_eq!(ids(&*begun.chat).await, ["m1", "m2"]);
    });
}

#[test]
fn whether_a_log_can_be_sealed_is_known_before_and_nothing_changes() {
    let refusals: [fn(&SimDisk); 3] = [
        |_| {},
        |disk| disk.refuse_links(EPERM),
        |disk| {
            disk.refuse_links(EPERM);
            disk.close_folder(Path::new(ARCHIVE), EPERM);
        },
    ];
    for (refuse, can_be_sealed) in refusals.into_iter().zip([true, true, false]) {
        let disk = SimDisk::new();
        block_on(async {
            let mut begun = Begun::new(&store_on(disk.clone()), "a").await;
            begun.say("m1").await;
            refuse(&disk);
            let before = disk.memory().contents();
            let checked = begun.lane.check_seal().await;
            let is_refused = |error: &RotateError| {
                matches!(error, RotateError::Storage(StorageError::CannotSeal { .. }))
            };
            assert_eq!(checked.is_ok(), can_be_sealed, "{checked:?}");
            assert!(checked.err().iter().all(is_refused));
            assert!(disk.memory().contents() == before, "nothing is left behind");
        });
    }
}
