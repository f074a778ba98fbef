//! Promises about the lines of all logs, which a reader takes page by page.

use std::collections::BTreeSet;
use std::sync::Arc;

use ship_store::{
    Chat, Import, LinesCursor, LinesPage, LiveAfterImport, LogPiece, LoggedLine, Rotation,
    SealedName, Seq, Store,
};

use super::context_log::revised;
use super::import::{logs, source};
use crate::chat::{Begun, message};
use crate::random::Random;

/// A reader that keeps what it was told, as an index would.
#[derive(Default)]
struct Reader {
    cursor: Option<LinesCursor>,
    lines: Vec<LoggedLine>,
    purged: Vec<SealedName>,
}

impl Reader {
    async fn page(&mut self, chat: &Arc<dyn Chat>, limit: usize) -> LinesPage {
        let page = chat.log().lines_after(self.cursor, limit).await.unwrap();
        assert_eq!((page.begins_anew, page.problems.len()), (false, 0));
        assert!(page.lines.len() <= limit, "{} of {limit}", page.lines.len());
        self.cursor = Some(page.cursor);
        self.lines.extend(page.lines.iter().cloned());
        self.purged.extend(page.purged.iter().map(|log| log.name.clone()));
        page
    }

    async fn catch_up(&mut self, chat: &Arc<dyn Chat>, limit: usize) {
        while !self.page(chat, limit).await.is_last {}
    }

    /// The number, the revision and the id of each line.
    fn told(&self) -> Vec<(u64, u64, String)> {
        let told =
            |line: &LoggedLine| (line.line.seq.get(), line.line.rev, line.line.id().to_owned());
        self.lines.iter().map(told).collect()
    }
}

async fn all(chat: &Arc<dyn Chat>, limit: usize) -> Reader {
    let mut reader = Reader::default();
    reader.catch_up(chat, limit).await;
    reader
}

async fn newest(chat: &Arc<dyn Chat>) -> Option<SealedName> {
    chat.log().sealed_logs(None, 1).await.unwrap().pop().map(|log| log.name)
}

pub async fn pages_of_any_size_give_the_lines_of_all_logs_in_order(store: &dyn Store) {
    let mut begun = Begun::new(store, "a").await;
    begun.say("m1").await;
    let long = "a long story ".repeat(4000);
    let batch = vec![revised("better", 1), message("m2", &long).into()];
    begun.position = begun.lane.append(batch, begun.position).await.unwrap();
    let view = begun.chat.log().view().await.unwrap().unwrap();
    begun.compact("s1", Seq::new(4)).await;
    begun.say("m3").await;
    begun.compact("s2", begun.position.seq.next()).await;
    begun.say("m4").await;
    let whole = all(&begun.chat, usize::MAX).await;
    // The numbers 1, 5 and 9 are heads.
    let expected = [(2, 0, "m1"), (3, 1, "m1"), (4, 0, "m2")];
    let expected = expected.into_iter().chain([(6, 0, "s1"), (7, 0, "m2"), (8, 0, "m3")]);
    let expected = expected.chain([(10, 0, "s2"), (11, 0, "m4")]);
    let expected: Vec<_> = expected.map(|(seq, rev, id)| (seq, rev, id.to_owned())).collect();
    assert_eq!(whole.told(), expected);
    for limit in 1..9 {
        let pages = all(&begun.chat, limit).await;
        assert_eq!((&pages.lines, pages.cursor), (&whole.lines, whole.cursor), "pages of {limit}");
    }
    let sealed = begun.chat.log().sealed().await.unwrap();
    let log = |seq: u64| {
        let holder = sealed.iter().find(|log| (log.first.get()..=log.last.get()).contains(&seq));
        holder.map(|log| &log.name)
    };
    for LoggedLine { line, log: found, context, is_published } in &whole.lines {
        assert_eq!((found.as_ref(), context), (log(line.seq.get()), &view.head.context));
        assert_eq!(*is_published, [6, 7, 10].contains(&line.seq.get()), "line {}", line.seq);
    }
    assert_eq!(whole.lines[2].line.message().unwrap().text(), long);
}

pub async fn a_reader_that_has_all_gets_what_comes(store: &dyn Store) {
    let chat = store.create(&"a".parse().unwrap(), ship_store::About::default()).await.unwrap();
    let mut reader = all(&chat, 9).await;
    assert!(reader.lines.is_empty(), "nothing was said yet");
    let mut begun = Begun::new(store, "a").await;
    reader.catch_up(&chat, 9).await;
    begun.say("m1").await;
    reader.catch_up(&chat, 9).await;
    // What was live is sealed now.
    begun.say("m2").await;
    begun.compact("s1", begun.position.seq.next()).await;
    reader.catch_up(&chat, 9).await;
    assert!(reader.page(&chat, 9).await.lines.is_empty());
    let ids: Vec<_> = reader.told().into_iter().map(|(_, _, id)| id).collect();
    assert_eq!(ids, ["m1", "m2", "s1"]);
}

/// Whatever is done to a chat: a reader in the middle of it gets each line once, and hears of each purge.
pub async fn what_happens_between_two_pages_is_neither_missed_nor_read_twice(store: &dyn Store) {
    for seed in 0..12 {
        let mut random = Random::new(seed);
        let mut begun = Begun::new(store, &format!("chat {seed}")).await;
        let mut readers = [Reader::default(), Reader::default(), Reader::default()];
        for step in 0..25 {
            change(&mut begun, &mut random, step).await;
            for reader in &mut readers {
                if random.percent(40) {
                    reader.page(&begun.chat, 1 + random.below(6)).await;
                }
            }
        }
        let fresh = all(&begun.chat, 100).await;
        let sealed = begun.chat.log().sealed().await.unwrap();
        let purged: BTreeSet<SealedName> =
            sealed.into_iter().filter(|log| log.purged.is_some()).map(|log| log.name).collect();
        for mut reader in readers {
            reader.catch_up(&begun.chat, 3).await;
            let told: BTreeSet<SealedName> = reader.purged.iter().cloned().collect();
            assert_eq!((told.len(), &told), (reader.purged.len(), &purged), "seed {seed}");
            let lines = reader.told();
            assert!(lines.is_sorted_by(|one, next| one.0 < next.0), "seed {seed}");
            let in_purged = |seq: u64| {
                let ranges = purged.iter().map(SealedName::range);
                ranges.into_iter().any(|(first, last)| (first.get()..=last.get()).contains(&seq))
            };
            let left: Vec<_> = lines.into_iter().filter(|line| !in_purged(line.0)).collect();
            assert_eq!(left, fresh.told(), "seed {seed}");
        }
    }
}

/// Says something, rotates, brings a log back, purges or imports.
async fn change(begun: &mut Begun, random: &mut Random, step: usize) {
    match random.below(11) {
        0..=4 => begun.say(&format!("m{step}")).await,
        5 | 6 => {
            let from = begun.position.seq.get().saturating_sub(random.below(4) as u64);
            begun.compact(&format!("s{step}"), Seq::new(from)).await;
        }
        7 => {
            let sealed = begun.chat.log().sealed().await.unwrap();
            let Some(log) = sealed.into_iter().find(|log| log.purged.is_none()) else { return };
            let back = LogPiece::Sealed { log: log.name, first: log.first, last: log.last };
            let view = begun.chat.log().view().await.unwrap().unwrap();
            let pieces = vec![back, LogPiece::KeepFrom(Seq::FIRST)];
            let expected = Some(view.position.generation);
            let undo = Rotation { expected, head: view.head, pieces };
            begun.position = begun.lane.rotate(undo).await.unwrap().position;
        }
        8 => {
            let (one, two) = (format!("i{step}"), format!("j{step}"));
            let pieces = logs(&[&[&one, &two], &[&two]]);
            let (expected, live) = (begun.position, LiveAfterImport::Kept);
            let import = Import { expected, live, source: source(pieces) };
            begun.position = begun.lane.import(import).await.unwrap().position;
        }
        _ => {
            let sealed = begun.chat.log().sealed().await.unwrap();
            if !sealed.is_empty() {
                begun.lane.purge(&random.one(&sealed).name, "test").await.unwrap();
            }
        }
    }
}

pub async fn a_reader_hears_once_of_a_purge_behind_it(store: &dyn Store) {
    let mut begun = Begun::new(store, "a").await;
    begun.say("m1").await;
    begun.compact("s1", begun.position.seq.next()).await;
    let first = newest(&begun.chat).await.unwrap();
    begun.say("m2").await;
    begun.compact("s2", begun.position.seq.next()).await;
    let mut reader = all(&begun.chat, 2).await;
    let purged = begun.lane.purge(&first, "test").await.unwrap();
    let page = reader.page(&begun.chat, 9).await;
    let told: Vec<_> = page.purged.iter().map(|log| (&log.name, log.purged.clone())).collect();
    assert_eq!((told, page.lines.len()), (vec![(&first, Some(purged))], 0));
    // The log with the last line that it has read is one like any other.
    begun.compact("s3", begun.position.seq.next()).await;
    let second = newest(&begun.chat).await.unwrap();
    begun.lane.purge(&second, "test").await.unwrap();
    begun.lane.purge(&first, "once more").await.unwrap();
    reader.catch_up(&begun.chat, 9).await;
    assert_eq!(reader.purged, [first.clone(), second.clone()]);
    assert_eq!(reader.told().last().unwrap().2, "s3");
    let new = all(&begun.chat, 1).await;
    assert_eq!(new.purged.into_iter().collect::<BTreeSet<_>>(), [first, second].into());
}

pub async fn a_cursor_of_lines_that_are_not_there_begins_anew(store: &dyn Store) {
    let mut begun = Begun::new(store, "a").await;
    begun.say("m1").await;
    begun.compact("s1", Seq::new(2)).await;
    begun.say("m2").await;
    let reader = all(&begun.chat, 9).await;
    let last = reader.cursor.unwrap();
    let other_line = LinesCursor { crc: last.crc.map(|crc| crc ^ 1), ..last };
    let later = LinesCursor { seq: Seq::new(70), crc: None, ..last };
    for cursor in [other_line, later] {
        let page = begun.chat.log().lines_after(Some(cursor), 9).await.unwrap();
        assert!(page.begins_anew, "{cursor:?}");
        assert_eq!((page.lines, page.cursor), (reader.lines.clone(), last));
    }
}
