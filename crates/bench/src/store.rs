//! What the store costs, as ratios within one run: beside a bare write and sync, beside itself when the
//! chat was young, and beside one chat alone.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ship_message::json::Json;
use ship_store::disk::{Disk, DiskFile, FileLook, OpenMode, RealDisk};
use ship_store::{
    About, Chat, Durability, FileStore, Lane, LogPiece, NewLine, Position, Rotation, Seq, Store,
    StoreOptions, SystemClock, View,
};
use ship_testkit::chat::{entry, first_context, message};

use crate::report::{Report, Want};

/// The size of a record, as JSON.
const RECORD_BYTES: usize = 1500;
const YOUNG: u64 = 100;
const OLD: u64 = 1_000_000;
const ROTATE_EVERY: u64 = 5_000;
const WINDOW: u64 = 200;
const APPENDS: usize = 1_000;

/// Measures everything on a disk below `folder`.
///
/// # Errors
/// When the disk fails.
pub fn bench(folder: &Path, report: &mut Report<'_>) -> io::Result<()> {
    report.section(
        "Store: 1.5 KB records, beside a bare write and sync, and a chat of 1,000,000 messages",
    );
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_time().build()?;
    let folder = tempfile::tempdir_in(folder)?;
    runtime.block_on(async {
        let young = Aged::new(&folder.path().join("young"), YOUNG).await?;
        let old = Aged::new(&folder.path().join("old"), OLD).await?;
        append_cost(&young, &old, report).await?;
        bytes_on_disk(&young, report)?;
        opening_cost(&young, &old, report).await?;
        side_by_side(folder.path(), report).await?;
        shared_syncs(folder.path(), report).await?;
        Ok(())
    })
}

fn options(durability: Durability) -> StoreOptions {
    StoreOptions { durability, clock: Arc::new(SystemClock), ..StoreOptions::default() }
}

fn failed(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::other(error)
}

fn record(number: u64) -> NewLine {
    let id = format!("m{number}");
    let rest = RECORD_BYTES - Json::from(message(&id, "")).to_string().len();
    message(&id, &"all work and no play ".repeat(rest / 21 + 1)[..rest]).into()
}

/// A chat that has this many messages behind it, and a live window of 200 at most.
pub(crate) struct Aged {
    folder: std::path::PathBuf,
    messages: u64,
}

impl Aged {
    pub(crate) async fn new(folder: &Path, messages: u64) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        let store = FileStore::new(folder, options(Durability::Flush)).map_err(failed)?;
        let (chat, lane, mut end) = begin(&store, "bench").await?;
        let mut next = 0;
        while next < messages {
            let until = (next + 500).min(messages);
            let batch = (next..until).map(record).collect();
            end = lane.append(batch, end).await.map_err(failed)?;
            next = until;
            if next % ROTATE_EVERY == 0 || next == messages {
                end = rotate(&*chat, &*lane, WINDOW).await?;
            }
        }
        Ok(Self { folder: folder.to_owned(), messages })
    }

    fn store(&self) -> io::Result<FileStore> {
        FileStore::new(&self.folder, options(Durability::Sync)).map_err(failed)
    }
}

async fn begin(
    store: &FileStore,
    key: &str,
) -> io::Result<(Arc<dyn Chat>, Arc<dyn Lane>, Position)> {
    let key = key.parse::<ship_store::ChatKey>().map_err(failed)?;
    let chat = store.create(&key, About::default()).await.map_err(failed)?;
    let lane = chat.lane("bench").await.map_err(failed)?;
    let end = match chat.log().view().await.map_err(failed)? {
        Some(view) => view.position,
        None => lane.rotate(first_context()).await.map_err(failed)?.position,
    };
    Ok((chat, lane, end))
}

async fn rotate(chat: &dyn Chat, lane: &dyn Lane, keep: u64) -> io::Result<Position> {
    let view = chat.log().view().await.map_err(failed)?.ok_or(io::ErrorKind::NotFound)?;
    let from = Seq::new((view.position.seq.get() + 1).saturating_sub(keep).max(2));
    let rotation = Rotation {
        expected: Some(view.position.generation),
        head: view.head,
        pieces: vec![LogPiece::KeepFrom(from)],
    };
    Ok(lane.rotate(rotation).await.map_err(failed)?.position)
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64()
}

/// The time of a durable append over that of a bare write and sync, each beside the other.
async fn append_ratio(aged: &Aged) -> io::Result<f64> {
    let (_chat, lane, mut end) = begin(&aged.store()?, "bench").await?;
    let bare = OpenOptions::new().create(true).append(true).open(aged.folder.join("bare"))?;
    let bytes = vec![b'x'; RECORD_BYTES];
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for number in 0..APPENDS as u64 {
        let batch = vec![record(aged.messages + number)];
        let begun = Instant::now();
        end = lane.append(batch, end).await.map_err(failed)?;
        ours.push(begun.elapsed());
        let begun = Instant::now();
        write_and_sync(&bare, &bytes)?;
        theirs.push(begun.elapsed());
    }
    Ok(median(ours) / median(theirs))
}

fn write_and_sync(mut file: &File, bytes: &[u8]) -> io::Result<()> {
    file.write_all(bytes)?;
    file.sync_data()
}

async fn append_cost(young: &Aged, old: &Aged, report: &mut Report<'_>) -> io::Result<()> {
    let (first, last) = (append_ratio(young).await?, append_ratio(old).await?);
    report.ratio("durable append over bare write and sync", first, Want::AtMost(2.0));
    report.ratio("the same with 1,000,000 messages", last, Want::AtMost(2.0));
    report.ratio("append at 1,000,000 over 100 messages", last / first, Want::AtMost(1.25));
    Ok(())
}

fn bytes_on_disk(young: &Aged, report: &mut Report<'_>) -> io::Result<()> {
    let log = fs::metadata(young.folder.join(".ship/chat/bench/messages/history.jsonl"))?.len();
    let records = (young.messages as usize + APPENDS) as f64;
    let json = records * RECORD_BYTES as f64;
    report.ratio("bytes on disk over bytes of JSON", log as f64 / json, Want::AtMost(1.3));
    Ok(())
}

/// Time and memory to open a chat with a window of 200 messages, young and old.
async fn opening_cost(young: &Aged, old: &Aged, report: &mut Report<'_>) -> io::Result<()> {
    for aged in [young, old] {
        let (chat, lane, _) = begin(&aged.store()?, "bench").await?;
        rotate(&*chat, &*lane, WINDOW).await?;
    }
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..100 {
        for (times, aged) in times.iter_mut().zip([young, old]) {
            let begun = Instant::now();
            drop(open(aged).await?);
            times.push(begun.elapsed());
        }
    }
    // The first opens fill what earlier work left free; then both orders, so that neither is favoured.
    let mut memory = [0.0, 0.0];
    let mut kept = Vec::new();
    for (round, which) in [0, 0, 1, 1, 0].into_iter().enumerate() {
        let before = resident_bytes()?;
        for _ in 0..40 {
            kept.push(open([young, old][which]).await?);
        }
        if round > 0 {
            memory[which] += resident_bytes()?.saturating_sub(before) as f64;
        }
    }
    let [young, old] = times.map(median);
    report.ratio("time to open at 1,000,000 over 100 messages", old / young, Want::AtMost(1.25));
    report.ratio(
        "memory to open at 1,000,000 over 100 messages",
        memory[1] / memory[0],
        Want::AtMost(1.25),
    );
    Ok(())
}

/// Opens a chat as a program that starts does.
async fn open(aged: &Aged) -> io::Result<(FileStore, Option<View>)> {
    let store = aged.store()?;
    let key = "bench".parse::<ship_store::ChatKey>().map_err(failed)?;
    let chat = store.open(&key).await.map_err(failed)?.ok_or(io::ErrorKind::NotFound)?;
    let view = chat.log().view().await.map_err(failed)?;
    Ok((store, view))
}

fn resident_bytes() -> io::Result<u64> {
    let pages = fs::read_to_string("/proc/self/statm")?;
    let pages = pages.split(' ').nth(1).and_then(|word| word.parse::<u64>().ok());
    Ok(pages.unwrap_or(0) * 4096)
}

/// Appends to this many chats at once, and returns appends per second.
async fn throughput(folder: &Path, chats: usize, each: u64) -> io::Result<f64> {
    let folder = folder.join(format!("side-{chats}"));
    fs::create_dir_all(&folder)?;
    let store = FileStore::new(&folder, options(Durability::Sync)).map_err(failed)?;
    let mut begun = Vec::new();
    for chat in 0..chats {
        begun.push(begin(&store, &format!("chat:{chat}")).await?);
    }
    let start = Instant::now();
    let tasks: Vec<_> = begun
        .into_iter()
        .map(|(_chat, lane, mut end)| {
            tokio::spawn(async move {
                for number in 0..each {
                    end = lane.append(vec![record(number)], end).await.map_err(failed)?;
                }
                io::Result::Ok(())
            })
        })
        .collect();
    for task in tasks {
        task.await.map_err(failed)??;
    }
    Ok(chats as f64 * each as f64 / start.elapsed().as_secs_f64())
}

async fn side_by_side(folder: &Path, report: &mut Report<'_>) -> io::Result<()> {
    let one = throughput(folder, 1, 1000).await?;
    let many = throughput(folder, 64, 100).await?;
    report.ratio("appends per second of 64 chats over one", many / one, Want::AtLeast(3.0));
    Ok(())
}

async fn shared_syncs(folder: &Path, report: &mut Report<'_>) -> io::Result<()> {
    let folder = folder.join("shared");
    fs::create_dir_all(&folder)?;
    let syncs = Arc::new(AtomicU64::new(0));
    let disk = Counting { disk: RealDisk::new(&folder)?, syncs: Arc::clone(&syncs) };
    let store = FileStore::on_disk(Box::new(disk), options(Durability::Sync));
    let (chat, _lane, _) = begin(&store, "bench").await?;
    chat.ledger().accept(entry("first", "x")).await.map_err(failed)?;
    syncs.store(0, Ordering::Relaxed);
    let (writers, each) = (64, 20);
    let tasks: Vec<_> = (0..writers)
        .map(|writer| {
            let chat = Arc::clone(&chat);
            tokio::spawn(async move {
                for number in 0..each {
                    chat.ledger()
                        .accept(entry(&format!("{writer}:{number}"), "x"))
                        .await
                        .map_err(failed)?;
                }
                io::Result::Ok(())
            })
        })
        .collect();
    for task in tasks {
        task.await.map_err(failed)??;
    }
    let syncs = syncs.load(Ordering::Relaxed) as f64;
    report.ratio(
        "syncs per append of 64 writers",
        syncs / f64::from(writers * each),
        Want::AtMost(0.25),
    );
    Ok(())
}

/// The real disk, counting the syncs of files.
struct Counting {
    disk: RealDisk,
    syncs: Arc<AtomicU64>,
}

struct CountingFile {
    file: Box<dyn DiskFile>,
    syncs: Arc<AtomicU64>,
}

impl Disk for Counting {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Box<dyn DiskFile>> {
        let file = self.disk.open(path, mode)?;
        Ok(Box::new(CountingFile { file, syncs: Arc::clone(&self.syncs) }))
    }

    fn make_folder(&self, path: &Path) -> io::Result<()> {
        self.disk.make_folder(path)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.disk.link(from, to)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.disk.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.disk.remove(path)
    }

    fn symlink(&self, target: &str, path: &Path) -> io::Result<()> {
        self.disk.symlink(target, path)
    }

    fn stat(&self, path: &Path) -> io::Result<FileLook> {
        self.disk.stat(path)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        self.disk.list(path)
    }

    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        self.disk.sync_folder(path)
    }
}

impl DiskFile for CountingFile {
    fn stat(&self) -> io::Result<FileLook> {
        self.file.stat()
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.file.read_at(buffer, offset)
    }

    fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn write_note(&self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_note(bytes)
    }

    fn truncate(&self, len: u64) -> io::Result<()> {
        self.file.truncate(len)
    }

    fn sync(&self) -> io::Result<()> {
        self.syncs.fetch_add(1, Ordering::Relaxed);
        self.file.sync()
    }

    fn try_lock(&self) -> io::Result<bool> {
        self.file.try_lock()
    }
}
