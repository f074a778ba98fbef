//! Texts that are meant to do harm: indexing and finding one costs time in proportion to its length.

use std::hint::black_box;
use std::io;
use std::sync::Arc;

use ship_agent::{MessageSearch, SearchQuery};
use ship_store::{About, ChatKey, FileStore, Store};
use tokio::runtime::Runtime;

use super::stored_chats::{append, failed, fill, message};
use crate::processor::all_time;
use crate::report::{Report, Want};

/// The length of the shorter text, and how many times as long the other one is.
const BYTES: usize = 1 << 18;
const TIMES: usize = 4;

/// How often each is measured. The least counts.
const ROUNDS: usize = 3;

/// A kind of text, and how it is made at about a length.
type Kind = (&'static str, fn(usize) -> String);

const KINDS: [Kind; 6] = [
    ("words", |bytes| repeated("the boat lies in the harbour and waits ", bytes)),
    ("one character", |bytes| repeated("x", bytes)),
    ("one character of Chinese", |bytes| repeated("的", bytes)),
    ("distinct words", |bytes| (0..bytes / 10).map(|nth| format!("w{nth:07}x ")).collect()),
    ("marks of direction", |bytes| repeated("\u{202e}a\u{200f}b\u{2067} ", bytes)),
    ("NUL", |bytes| repeated("\0", bytes)),
];

fn repeated(text: &str, bytes: usize) -> String {
    text.repeat(bytes / text.len())
}

/// Measures what four times the text costs, by four times the cost of the text.
pub(super) fn bench(report: &mut Report<'_>) -> io::Result<()> {
    report.section("Search: messages of a megabyte that are meant to do harm");
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    for (name, text) in KINDS {
        let [short, long] = [1, TIMES].map(|times| best_time(&runtime, &text(BYTES * times)));
        let (short, long) = (short?, long?);
        report.note(&format!("{name}: {:.1} milliseconds", 1e3 * long));
        let growth = long / short / TIMES as f64;
        report.ratio("and by those of a quarter, times four", growth, Want::AtMost(1.5));
    }
    Ok(())
}

fn best_time(runtime: &Runtime, text: &str) -> io::Result<f64> {
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        best = best.min(runtime.block_on(time_of_search(text))?);
    }
    Ok(best)
}

/// Returns the processor time of reading a chat with this text into an index and searching in it.
async fn time_of_search(text: &str) -> io::Result<f64> {
    let key: ChatKey = "api:hostile".parse().map_err(failed)?;
    let store: Arc<dyn Store> = Arc::new(FileStore::in_memory(Default::default()));
    let chat = store.create(&key, About::default()).await.map_err(failed)?;
    fill(&*chat, 1, || "the zebra is here".to_owned()).await?;
    append(&*chat, vec![message(1, &format!("{text} giraffe"))]).await?;
    let begin = all_time();
    let search = MessageSearch::new(store);
    let found = search.search(&key, &SearchQuery::new("giraffe")).await.map_err(failed)?;
    let time = (all_time() - begin).as_secs_f64();
    let is_found = found.is_some_and(|found| found.hits.iter().any(|hit| !hit.marks.is_empty()));
    match black_box(is_found) {
        true => Ok(time),
        false => Err(failed("the message is not found")),
    }
}
