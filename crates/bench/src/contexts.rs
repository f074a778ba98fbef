//! Contexts: what leaving one, coming back and branching off cost in a chat of a million messages, beside one of a
//! hundred with the same live window.
//!
//! Each operation is done by an agent of its own, as a command does it, so that what opening the chat costs counts.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ship_agent::{Agent, ContextOperation, OperationOutcome};
use ship_message::json::{Array, Json, Object};
use ship_store::{
    About, ChatKey, Durability, FileStore, LogPiece, NewLine, Rotation, Seq, Store, StoreOptions,
    SystemClock,
};
use ship_testkit::chat::first_context;

use crate::report::{Report, Want};
use crate::ship::Ship;
use crate::traced::Trace;

const YOUNG: u64 = 100;
const OLD: u64 = 1_000_000;
/// A log is sealed after so many messages, and so many stay.
const ROTATE_EVERY: u64 = 5_000;
const WINDOW: u64 = 100;
const ROUNDS: usize = 15;

/// Measures them on a disk below `folder`.
///
/// # Errors
/// When the disk fails, or an operation is refused.
pub fn bench(folder: &Path, report: &mut Report<'_>) -> io::Result<()> {
    report.section("Contexts: a chat of 1,000,000 messages beside one of 100");
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_time().build()?;
    let folder = tempfile::tempdir_in(folder)?;
    runtime.block_on(async {
        let young = Aged::new(folder.path().join("young"), YOUNG).await?;
        let old = Aged::new(folder.path().join("old"), OLD).await?;
        let mut times: Vec<[(Duration, Duration); 3]> = Vec::new();
        for _ in 0..ROUNDS {
            let mut round = [(Duration::ZERO, Duration::ZERO); 3];
            for (at, operation) in operations().into_iter().enumerate() {
                // One beside the other, so that whatever else the machine does disturbs both.
                round[at] = (young.time(&operation).await?, old.time(&operation).await?);
            }
            times.push(round);
        }
        for (at, operation) in operations().iter().enumerate() {
            let young = median(times.iter().map(|round| round[at].0));
            let old = median(times.iter().map(|round| round[at].1));
            let what = format!("{}: time in the old chat over the young one", operation.name());
            report.note(&format!("{}: {:.1} ms in the old chat", operation.name(), old * 1e3));
            report.ratio(&what, old / young, Want::AtMost(1.5));
        }
        io::Result::Ok(())
    })?;
    commands(folder.path(), report)
}

/// The turns of the chat in which commands are counted.
const TURNS: u32 = 100;

/// Counts what each operation costs as a command of its own.
fn commands(folder: &Path, report: &mut Report<'_>) -> io::Result<()> {
    let Some(program) = crate::ship::built() else {
        report.skipped("there is no `ship` beside this program; build it with the same profile");
        return Ok(());
    };
    let ship = Ship { program, folder: folder.to_owned() };
    let root = ship.project("commands", r#"{ "durability": "sync" }"#)?;
    ship.says(&root, "hello there, how are you?", TURNS)?;
    let log = root.join(".ship/chat/terminal%3Amain").join(LOG);
    let first = fs::read_to_string(&log)?;
    let Some(asked) = first.lines().filter_map(|line| line.split("\"id\":\"").nth(1)).nth(100)
    else {
        return Err(io::ErrorKind::NotFound.into());
    };
    let asked = asked.split('"').next().unwrap_or_default();
    for arguments in [
        &["fork"][..],
        &["undo"],
        &["rewind", asked],
        &["context", "new"],
        &["context", "load", "last"],
        &["context", "clear"],
        &["undo"],
    ] {
        let before = fs::metadata(&log)?.len();
        let Some(trace) = Trace::of(&ship.command(&root, arguments))? else {
            report.skipped("syncs, calls and bytes read: there is no `strace` here");
            return Ok(());
        };
        // The larger of the log that was left and the one that was published.
        let size = before.max(fs::metadata(&log)?.len()) as f64;
        let name =
            arguments.iter().filter(|it| **it != asked).copied().collect::<Vec<_>>().join(" ");
        report.limit(&format!("ship {name}: syncs"), trace.syncs() as f64, 12.0, 7.0);
        let read = trace.bytes_read_of(LOG) as f64 / size;
        report.limit(&format!("ship {name}: bytes read over the log"), read, 4.0, 2.0);
        report.note(&format!("{} calls; a log of {size} bytes", trace.calls()));
    }
    Ok(())
}

/// The live log, below the folder of a chat.
const LOG: &str = "messages/history.jsonl";

/// One after the other they end in a context like the one they began in.
fn operations() -> [ContextOperation; 3] {
    [
        ContextOperation::Fork { at: None, to: None },
        ContextOperation::New { title: None, reason: None },
        ContextOperation::Load { which: "last".to_owned() },
    ]
}

fn median(times: impl Iterator<Item = Duration>) -> f64 {
    let mut times: Vec<Duration> = times.collect();
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64()
}

fn failed(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::other(error)
}

/// A chat that has this many messages behind it.
struct Aged {
    folder: PathBuf,
    chat: ChatKey,
}

impl Aged {
    async fn new(folder: PathBuf, messages: u64) -> io::Result<Self> {
        std::fs::create_dir_all(&folder)?;
        let aged = Self { folder, chat: "terminal:main".parse().map_err(failed)? };
        let store = aged.store(Durability::Flush)?;
        let chat = store.create(&aged.chat, About::default()).await.map_err(failed)?;
        let lane = chat.lane("bench").await.map_err(failed)?;
        let mut end = lane.rotate(first_context()).await.map_err(failed)?.position;
        let mut next = 0;
        while next < messages {
            let until = (next + 500).min(messages);
            end = lane.append((next..until).map(said).collect(), end).await.map_err(failed)?;
            next = until;
            if next.is_multiple_of(ROTATE_EVERY) {
                let view =
                    chat.log().view().await.map_err(failed)?.ok_or(io::ErrorKind::NotFound)?;
                let from = Seq::new(view.position.seq.get() + 1 - WINDOW);
                let rotation = Rotation {
                    expected: Some(view.position.generation),
                    head: view.head,
                    pieces: vec![LogPiece::KeepFrom(from)],
                };
                end = lane.rotate(rotation).await.map_err(failed)?.position;
            }
        }
        Ok(aged)
    }

    fn store(&self, durability: Durability) -> io::Result<FileStore> {
        let options =
            StoreOptions { durability, clock: Arc::new(SystemClock), ..StoreOptions::default() };
        FileStore::new(&self.folder, options).map_err(failed)
    }

    /// Does an operation as a command does it, and tells how long that takes.
    async fn time(&self, operation: &ContextOperation) -> io::Result<Duration> {
        let begun = Instant::now();
        let agent = Agent::builder().store(self.store(Durability::Sync)?).build();
        match agent.operate(&self.chat, operation.clone(), "terminal").await.map_err(failed)? {
            OperationOutcome::Done(_) => Ok(begun.elapsed()),
            other => Err(failed(format!("{} was not done: {other:?}", operation.name()))),
        }
    }
}

/// What was said: a question and an answer in turn.
fn said(number: u64) -> NewLine {
    let role = if number.is_multiple_of(2) { "user" } else { "assistant" };
    let text = format!("The {number}th thing that was said about the ship, its crew and the sea.");
    let part = Object::from([("type", Json::from("text")), ("text", text.into())]);
    Object::from([
        ("id", Json::from(format!("m{number}"))),
        ("role", role.into()),
        ("parts", Array::from(vec![part.into()]).into()),
    ])
    .into()
}
