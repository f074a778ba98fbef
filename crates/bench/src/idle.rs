//! A project with a hundred thousand chats in which nothing is left to do: what a process pays for them when it starts,
//! and what the list of the newest costs.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::path::Path;
use std::time::Instant;

use ship_agent::{Agent, Inbound, Stop};
use ship_store::{ChatKey, FileStore, Store as _, StoreOptions};

use crate::large::{KEY, with_checksums};
use crate::processor::{all_time, resident_bytes};
use crate::report::{Report, Want};
use crate::ship::{Ship, spent};

const CHATS: usize = 100_000;
const NEWEST: usize = 50;
const LISTS: usize = 9;

/// Measures a store with this many idle chats, and the `ship` that was built beside this program, below `folder`.
///
/// # Errors
/// When the chats cannot be written, or an agent does not answer.
pub fn bench(folder: &Path, report: &mut Report<'_>) -> io::Result<()> {
    report.section(&format!("Idle: {CHATS} chats in which nothing is left to do"));
    let Some(program) = crate::ship::built() else {
        report.skipped("there is no `ship` beside this program; build it with the same profile");
        return Ok(());
    };
    let folder = tempfile::tempdir_in(folder)?;
    let ship = Ship { program, folder: folder.path().to_owned() };
    let root = ship.project("idle", "{}")?;
    ship.says(&root, "hello", 1)?;
    write_chats(&root)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_time().build()?;
    runtime.block_on(start_and_list(&root, report))?;
    let sent = spent(|| match ship.command(&root, &["send", "hello"]).status()?.success() {
        true => Ok(()),
        false => Err(io::Error::other("ship send failed")),
    })?;
    report.ratio("seconds of processor for `ship send`", sent / 1000.0, Want::AtMost(2.0));
    folder.close()
}

/// The first answer comes after a look at all chats, as in a server that goes on with what was left.
async fn start_and_list(root: &Path, report: &mut Report<'_>) -> io::Result<()> {
    let key = |number: usize| key_of(number).parse::<ChatKey>().map_err(io::Error::other);
    let waiting = Inbound { key: "one".to_owned(), ..Inbound::from("hello") };
    agent_on(&store_on(root)?).accept(&key(CHATS / 2)?, waiting).await.map_err(io::Error::other)?;

    let (began, before) = (Instant::now(), all_time());
    let store = store_on(root)?;
    let agent = agent_on(&store);
    let (mut unfinished, mut found) = (agent.unfinished_chats(), Vec::new());
    while let Some(chat) = unfinished.next().await.map_err(io::Error::other)? {
        agent.run(&chat, &Stop::default()).await.map_err(io::Error::other)?;
        found.push(chat);
    }
    let used = (all_time() - before).as_secs_f64();
    report.ratio("seconds of processor from start to the first answer", used, Want::AtMost(2.0));
    let (waited, memory) = (began.elapsed().as_secs_f64(), resident_bytes() >> 20);
    report.note(&format!("{waited:.1} s by the clock; {memory} MB of memory"));
    let wrong = f64::from(found != [key(CHATS / 2)?]);
    report.ratio("other chats that were opened or missed", wrong, Want::AtMost(0.0));

    let mut times = Vec::new();
    for number in 0..LISTS {
        // Each list finds another chat at its beginning.
        let chat = key(number)?;
        agent.send(&chat, "hello").await.map_err(io::Error::other)?;
        let began = Instant::now();
        let page = store.overviews(None, NEWEST).await.map_err(io::Error::other)?;
        times.push(began.elapsed().as_secs_f64() * 1000.0);
        let first = page.chats.first().and_then(|first| first.look.key.as_ref().ok());
        if first != Some(&chat) || page.chats.len() != NEWEST {
            return Err(io::Error::other("the list lacks the newest chat"));
        }
    }
    times.sort_by(f64::total_cmp);
    let what = format!("ms to list the newest {NEWEST}, median of {LISTS}");
    report.ratio(&what, times[LISTS / 2], Want::AtMost(20.0));
    report.note(&format!("{:.1} ms at most", times[LISTS - 1]));
    Ok(())
}

fn store_on(root: &Path) -> io::Result<FileStore> {
    FileStore::new(root, StoreOptions::default()).map_err(io::Error::other)
}

fn agent_on(store: &FileStore) -> Agent {
    Agent::builder().store(store.clone()).build()
}

fn key_of(number: usize) -> String {
    format!("terminal:{number:06}")
}

/// Copies the first chat under other keys, without what is not read, and notes each copy as idle.
fn write_chats(root: &Path) -> io::Result<()> {
    const FILES: [&str; 3] = ["chat.json", "messages/history.jsonl", "conversations/history.jsonl"];
    let chats = root.join(".ship/chat");
    let mut texts = Vec::new();
    for file in FILES {
        texts.push(fs::read_to_string(chats.join("terminal%3Amain").join(file))?);
    }
    let mut notes = BufWriter::new(File::create(root.join(".ship/idle.jsonl"))?);
    for number in 0..CHATS {
        let key = key_of(number);
        let name = key.replace(':', "%3A");
        let folder = chats.join(&name);
        for below in ["", "messages", "conversations"] {
            fs::create_dir(folder.join(below))?;
        }
        let mut sizes = Vec::new();
        for (file, text) in FILES.into_iter().zip(&texts) {
            let text = text.replace(KEY, &key);
            let text = match file.ends_with(".jsonl") {
                true => with_checksums(&text),
                false => text,
            };
            sizes.push(text.len());
            fs::write(folder.join(file), text)?;
        }
        let (context, ledger) = (sizes[1], sizes[2]);
        writeln!(notes, "{{\"chat\":\"{name}\",\"sizes\":[{context},{ledger},0]}}")?;
    }
    notes.flush()
}
