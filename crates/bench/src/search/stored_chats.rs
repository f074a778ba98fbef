//! Searching in a chat on disk: a long one, with its index and by scan, and ten thousand short ones at once.

use std::hint::black_box;
use std::io;
use std::path::Path;
use std::sync::Arc;

use ship_agent::{MessageSearch, SearchQuery, SearchedBy};
use ship_message::UiMessage;
use ship_message::json::{Json, Object};
use ship_store::{
    About, Chat, ChatKey, ContextId, Durability, FileStore, Head, LogPiece, NewLine, Rotation,
    Store, StoreOptions, Timestamp,
};
use ship_testkit::random::Random;
use tokio::runtime::Runtime;

use super::{Corpus, MESSAGE_BYTES, MESSAGES, QUESTIONS};
use crate::processor::process_time;
use crate::report::{Report, Want};

/// The messages after which a log is sealed, and those that stay.
const SEALED_AFTER: usize = 2_000;
const KEPT: usize = 30;

/// How often each question is asked.
const ROUNDS: u32 = 5;

/// The messages that are said at once.
const SAID_AT_ONCE: usize = 4;

/// The chats of a project with many.
const CHATS: usize = 10_000;

/// Measures searches in stored chats.
pub(super) fn bench(folder: &Path, report: &mut Report<'_>) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    long_chat(&folder.join("long"), report, &runtime)?;
    many_chats(&folder.join("many"), report, &runtime)
}

pub(super) fn failed(error: impl std::fmt::Display) -> io::Error {
    io::Error::other(error.to_string())
}

pub(super) fn open(folder: &Path) -> io::Result<Arc<dyn Store>> {
    std::fs::create_dir_all(folder)?;
    let options = StoreOptions { durability: Durability::Flush, ..StoreOptions::default() };
    Ok(Arc::new(FileStore::new(folder, options).map_err(failed)?))
}

fn long_chat(folder: &Path, report: &mut Report<'_>, runtime: &Runtime) -> io::Result<()> {
    report.section("Search in a chat on disk: 100,000 messages of 600 bytes in five languages");
    let (corpus, mut random) = (Corpus::new(), Random::new(7));
    let key: ChatKey = "api:long".parse().map_err(failed)?;
    let store = open(folder)?;
    let chat = runtime.block_on(store.create(&key, About::default())).map_err(failed)?;
    let mut bytes = 0;
    runtime.block_on(fill(&*chat, MESSAGES, || {
        let text = corpus.text(&mut random, MESSAGE_BYTES);
        bytes += text.len();
        text
    }))?;
    let questions: Vec<String> = (0..QUESTIONS).map(|_| corpus.question(&mut random)).collect();
    let ask = |search: &MessageSearch, words: &str| -> io::Result<SearchedBy> {
        let found = runtime.block_on(search.search(&key, &SearchQuery::new(words)));
        Ok(black_box(found.map_err(failed)?.ok_or_else(|| failed("no chat"))?).from)
    };
    let scanning = MessageSearch::scanning(Arc::clone(&store));
    let begin = process_time();
    ask(&scanning, &questions[0])?;
    let scan = 1e3 * (process_time() - begin).as_secs_f64();
    report.ratio("milliseconds of processor time of a scan", scan, Want::AtMost(800.0));
    let search = MessageSearch::new(Arc::clone(&store));
    let begin = process_time();
    while !runtime.block_on(search.index(&key, 20)).map_err(failed)? {}
    let made = (process_time() - begin).as_secs_f64();
    report.note(&format!("{made:.1} seconds of processor time to make the index"));
    let size = bytes_in(&folder.join(".ship/index"))? as f64 / bytes as f64;
    report.ratio("bytes of the index, by those of the text", size, Want::AtMost(0.4));
    let mut times = Vec::new();
    for words in &questions {
        let begin = process_time();
        for _ in 0..ROUNDS {
            if ask(&search, words)? != SearchedBy::Index {
                return Err(failed("there is no index"));
            }
        }
        times.push(1e3 * (process_time() - begin).as_secs_f64() / f64::from(ROUNDS));
    }
    times.sort_by(f64::total_cmp);
    report.ratio("milliseconds of a search, the median", times[QUESTIONS / 2], Want::AtMost(8.0));
    report.ratio("and the 99th percentile", times[QUESTIONS * 99 / 100], Want::AtMost(30.0));
    let begin = process_time();
    let cold = MessageSearch::new(open(folder)?);
    ask(&cold, &questions[1])?;
    let first = 1e3 * (process_time() - begin).as_secs_f64();
    report.ratio("milliseconds of the first search of a process", first, Want::AtMost(100.0));
    let mut catching_up = Vec::new();
    for nth in 0..20 {
        let text = corpus.text(&mut random, MESSAGE_BYTES);
        runtime.block_on(append(&*chat, vec![message(MESSAGES + nth, &text)]))?;
        let begin = process_time();
        runtime.block_on(search.index(&key, 2)).map_err(failed)?;
        catching_up.push(1e3 * (process_time() - begin).as_secs_f64());
    }
    catching_up.sort_by(f64::total_cmp);
    let middle = catching_up[catching_up.len() / 2];
    report.ratio("milliseconds to catch up with one message", middle, Want::AtMost(1.0));
    Ok(())
}

fn many_chats(folder: &Path, report: &mut Report<'_>, runtime: &Runtime) -> io::Result<()> {
    report.section("Search in 10,000 chats");
    let (corpus, mut random) = (Corpus::new(), Random::new(8));
    let store = open(folder)?;
    for nth in 0..CHATS {
        let key: ChatKey = format!("api:{nth}").parse().map_err(failed)?;
        let chat = runtime.block_on(store.create(&key, About::default())).map_err(failed)?;
        runtime.block_on(fill(&*chat, 4, || corpus.text(&mut random, 120)))?;
    }
    let query = SearchQuery::new(corpus.question(&mut random));
    let search = MessageSearch::new(Arc::clone(&store));
    runtime.block_on(search.search_all(&query)).map_err(failed)?;
    let begin = process_time();
    let cold = MessageSearch::new(open(folder)?);
    black_box(runtime.block_on(cold.search_all(&query)).map_err(failed)?);
    let all = 1e3 * (process_time() - begin).as_secs_f64();
    report.ratio("milliseconds of a search in all of them", all, Want::AtMost(500.0));
    Ok(())
}

/// Says messages, and seals the log now and then as compactions do.
pub(super) async fn fill(
    chat: &dyn Chat,
    count: usize,
    mut text: impl FnMut() -> String,
) -> io::Result<()> {
    let context = ContextId::new(Timestamp::from_millis(1_770_286_500_000), 1);
    let lane = chat.lane("bench").await.map_err(failed)?;
    let first = Rotation { expected: None, head: Head::new(context), pieces: Vec::new() };
    lane.rotate(first).await.map_err(failed)?;
    lane.release().await;
    let mut said = 0;
    while said < count {
        let next = (said + SEALED_AFTER).min(count);
        let messages: Vec<NewLine> = (said..next).map(|nth| message(nth, &text())).collect();
        // Batches as short as those of a chat: a batch is read as a whole.
        for batch in messages.chunks(SAID_AT_ONCE) {
            append(chat, batch.to_vec()).await?;
        }
        said = next;
        if said == count {
            break;
        }
        let view = chat.log().view().await.map_err(failed)?.ok_or_else(|| failed("no view"))?;
        let kept = view.lines[view.lines.len() - KEPT].seq;
        let rotation = Rotation {
            expected: Some(view.position.generation),
            head: view.head,
            pieces: vec![LogPiece::KeepFrom(kept)],
        };
        let lane = chat.lane("bench").await.map_err(failed)?;
        lane.rotate(rotation).await.map_err(failed)?;
        lane.release().await;
    }
    Ok(())
}

pub(super) async fn append(chat: &dyn Chat, messages: Vec<NewLine>) -> io::Result<()> {
    let view = chat.log().view().await.map_err(failed)?.ok_or_else(|| failed("no view"))?;
    let lane = chat.lane("bench").await.map_err(failed)?;
    lane.append(messages, view.position).await.map_err(failed)?;
    lane.release().await;
    Ok(())
}

/// A message every two minutes, with a night behind every fortieth.
pub(super) fn message(nth: usize, text: &str) -> NewLine {
    let minutes = nth as i64 * 2 + nth as i64 / 40 * 600;
    let ts = Timestamp::from_millis(1_600_000_000_000 + minutes * 60_000);
    let role = if nth.is_multiple_of(2) { "user" } else { "assistant" };
    let part = Object::from([("type", Json::from("text")), ("text", text.into())]);
    let mut message = Object::from([("id", Json::from(format!("m{nth}")))]);
    message.set("role", role);
    message.set("parts", vec![Json::from(part)]);
    message.set("metadata", Object::from([("ts", ts.to_json())]));
    UiMessage::from_object(message).into()
}

fn bytes_in(folder: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let about = entry.metadata()?;
        bytes += if about.is_dir() { bytes_in(&entry.path())? } else { about.len() };
    }
    Ok(bytes)
}
