//! What an append costs in a chat with an index, by one in a chat without.
//!
//! Either is followed by the same work: an append to another chat, and an index that is brought on. In the one case it is
//! the index of the chat itself, and in the other that of the other chat. So the ratio has what the index costs this chat,
//! and not what a processor does slower because it did something else before. Both take turns, and the best of many
//! rounds count.

use std::io;
use std::path::Path;
use std::time::Instant;

use ship_agent::{MessageSearch, SearchQuery};
use ship_store::{About, ChatKey};
use ship_testkit::random::Random;

use super::stored_chats::{append, failed, fill, message, open};
use super::{Corpus, MESSAGE_BYTES, MESSAGES};
use crate::report::{Report, Want};

/// The messages that are in each chat before.
const BEFORE: usize = 1_000;

/// The rounds, and the appends in each.
const ROUNDS: usize = 150;
const APPENDS: usize = 8;

/// Measures appends.
pub(super) fn bench(folder: &Path, report: &mut Report<'_>) -> io::Result<()> {
    report.section("Search: what an index costs an append");
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let ratio = runtime.block_on(best_ratio(folder))?;
    report.ratio("an append in a chat with an index, by one without", ratio, Want::AtMost(1.03));
    Ok(())
}

async fn best_ratio(folder: &Path) -> io::Result<f64> {
    let (corpus, mut random) = (Corpus::new(), Random::new(9));
    let store = open(folder)?;
    let mut chats = Vec::new();
    for name in ["api:with", "api:without", "api:also-with", "api:also-without"] {
        let key: ChatKey = name.parse().map_err(failed)?;
        let chat = store.create(&key, About::default()).await.map_err(failed)?;
        fill(&*chat, BEFORE, || corpus.text(&mut random, MESSAGE_BYTES)).await?;
        chats.push(chat);
    }
    let search = MessageSearch::new(store);
    for chat in [&chats[0], &chats[2]] {
        let query = SearchQuery::new("anything");
        search.search(chat.key(), &query).await.map_err(failed)?;
    }
    let mut best = [f64::INFINITY; 2];
    for round in 0..ROUNDS {
        // Neither kind always comes first.
        for at in [round % 2, 1 - round % 2] {
            let (measured, other) = (&*chats[at], &*chats[3 - at]);
            let indexed = if at == 0 { measured } else { other };
            let mut seconds = 0.0;
            for nth in 0..APPENDS {
                let number = BEFORE + round * APPENDS + nth;
                let [line, same] = [(); 2].map(|()| corpus.text(&mut random, MESSAGE_BYTES));
                let begin = Instant::now();
                append(measured, vec![message(number, &line)]).await?;
                seconds += begin.elapsed().as_secs_f64();
                append(other, vec![message(BEFORE + MESSAGES + number, &same)]).await?;
                search.index(indexed.key(), 2).await.map_err(failed)?;
            }
            best[at] = best[at].min(seconds);
        }
    }
    Ok(best[0] / best[1])
}
