//! Blobs: an acknowledged text has its own bytes.

use super::*;

#[test]
fn an_unfinished_blob_of_a_process_with_the_same_number_stays() {
    let disk = MemoryDisk::new();
    block_on(async {
        let kept = store_on(disk.clone()).put_blob(b"one".to_vec(), "text/plain").await.unwrap();
        let folder = Path::new(".ship/blobs/sha256").join(&kept.sha256[..2]);
        disk.remove(&folder.join(&kept.sha256)).unwrap();
        // Any of the next names that a process number and a count would give.
        let theirs: Vec<PathBuf> = (0..100)
            .map(|number| folder.join(format!("{}-{number}.tmp", std::process::id())))
            .collect();
        theirs.iter().for_each(|path| put(&disk, path, b"half"));
        store_on(disk.clone()).put_blob(b"one".to_vec(), "text/plain").await.unwrap();
        assert!(theirs.iter().all(|path| disk.stat(path).is_ok()));
        assert_eq!(names(&disk, folder.to_str().unwrap()).len(), 102, "and nothing of ours");
    });
}

#[test]
fn a_blob_with_other_bytes_of_the_same_length_is_healed_by_the_next_put() {
    let project = Project::new();
    block_on(async {
        let store = project.store();
        let kept = store.put_blob(b"whole".to_vec(), "text/plain").await.unwrap();
        let path = project.0.path().join(".ship/blobs/sha256");
        let path = path.join(&kept.sha256[..2]).join(&kept.sha256);
        fs::write(&path, b"\0\0\0\0\0").unwrap();
        store.put_blob(b"whole".to_vec(), "text/plain").await.unwrap();
        assert_eq!(store.blob(&kept.sha256).await.unwrap(), b"whole");
    });
}

#[test]
fn a_blob_that_another_process_wrote_and_whose_sync_fails_is_written_anew() {
    let disk = SimDisk::new();
    block_on(async {
        let kept = store_on(disk.clone()).put_blob(b"whole".to_vec(), "text/plain").await.unwrap();
        let path = Path::new(".ship/blobs/sha256").join(&kept.sha256[..2]).join(&kept.sha256);
        // As another process leaves it that dies before its sync.
        disk.remove(&path).unwrap();
        disk.open(&path, OpenMode::Create).unwrap().write(b"whole").unwrap();
        disk.fail_next_sync(EIO);
        let store = store_on(disk.clone());
        if store.put_blob(b"whole".to_vec(), "text/plain").await.is_err() {
            store.put_blob(b"whole".to_vec(), "text/plain").await.unwrap();
        }
        for (name, cut) in power::states(&disk.ops()) {
            let found = store_on(cut).blob(&kept.sha256).await;
            assert_eq!(found.unwrap(), b"whole", "{name}");
        }
    });
}

#[test]
fn unfinished_blobs_are_left_alone_while_fresh_and_go_with_a_repair_when_old() {
    let disk = MemoryDisk::new();
    block_on(async {
        let store = store_on(disk.clone());
        let chat = Begun::new(&store, "a").await.chat;
        let kept = store.put_blob(b"one".to_vec(), "text/plain").await.unwrap();
        let folder = Path::new(".ship/blobs/sha256").join(&kept.sha256[..2]);
        let now = options().clock.now().millis();
        let name = |millis: i64| folder.join(format!("{millis}-00000000000000ff.tmp"));
        let (fresh, old) = (name(now - 60_000), name(now - 2 * 60 * 60 * 1000));
        [&fresh, &old].iter().for_each(|path| put(&disk, path, b"half"));
        let problems = chat.verify().await.unwrap();
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert_eq!(problems[0].kind, StorageProblemKind::Leftover);
        chat.repair().await.unwrap();
        assert_eq!((disk.stat(&fresh).is_ok(), disk.stat(&old).is_ok()), (true, false));
    });
}
