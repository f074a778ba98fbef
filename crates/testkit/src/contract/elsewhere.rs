//! Promises of rotations that copy lines from elsewhere.

use std::sync::Arc;

use ship_store::{
    About, Chat, Lane, LedgerSeq, LogPiece, NewLine, NewMessage, ReadError, RefusedInput,
    RotateError, Rotation, SealedName, Seq, Store, View,
};

use crate::chat::{Begun, entry, first_context, id, ids, message, text};

/// A message of many bytes, which is kept as a blob.
fn long() -> String {
    "0123456789 漢字 🦜 ".repeat(3000)
}

fn revised(id: &str, text: &str, rev: u64) -> NewLine {
    NewMessage { message: message(id, text), rev, inbox: None }.into()
}

fn promoted(id: &str, place: LedgerSeq) -> NewLine {
    NewMessage { message: message(id, id), rev: 0, inbox: Some(place) }.into()
}

/// Replaces the active log by these pieces.
async fn rotate(begun: &mut Begun, pieces: Vec<LogPiece>) -> Result<SealedName, RotateError> {
    let view = begun.chat.log().view().await.unwrap().unwrap();
    let expected = Some(view.position.generation);
    let rotated = begun.lane.rotate(Rotation { expected, head: view.head, pieces }).await?;
    begun.position = rotated.position;
    Ok(rotated.sealed.expect("a log was sealed"))
}

/// Puts the active context away, and goes on with nothing. Returns its sealed log.
async fn leave(begun: &mut Begun) -> SealedName {
    rotate(begun, Vec::new()).await.unwrap()
}

/// All of a sealed log.
fn all(log: &SealedName) -> LogPiece {
    let (first, last) = log.range();
    LogPiece::Sealed { log: log.clone(), first, last }
}

async fn view(chat: &Arc<dyn Chat>) -> View {
    chat.log().view().await.unwrap().unwrap()
}

async fn texts(chat: &Arc<dyn Chat>) -> Vec<String> {
    view(chat).await.messages().map(text).collect()
}

pub async fn lines_of_a_sealed_log_come_back_as_they_were(store: &dyn Store) {
    let mut begun = Begun::new(store, "a").await;
    begun.say("m1").await;
    begun.say("m2").await;
    let (rev, said) = (revised("m1", "better", 1), message("m3", &long()));
    begun.position = begun.lane.append(vec![rev, said.into()], begun.position).await.unwrap();
    let before = view(&begun.chat).await;
    let log = leave(&mut begun).await;
    begun.say("m4").await;
    let (first, last) = (before.lines[0].seq, before.lines[1].seq);
    let some = LogPiece::Sealed { log: log.clone(), first, last };
    rotate(&mut begun, vec![some, LogPiece::KeepFrom(Seq::FIRST)]).await.unwrap();
    assert_eq!(texts(&begun.chat).await, ["better", "m2", "m4"]);
    rotate(&mut begun, vec![all(&log)]).await.unwrap();
    let after = view(&begun.chat).await;
    let bodies =
        |view: &View| view.lines.iter().map(|l| (l.rev, l.body.clone())).collect::<Vec<_>>();
    assert_eq!(bodies(&after), bodies(&before));
    assert_eq!(bodies(&begun.chat.log().sealed_view(&log).await.unwrap()), bodies(&before));
    // They are lines of this log like any other.
    begun.lane.append(vec![revised("m1", "best", 2)], begun.position).await.unwrap();
    assert_eq!(texts(&begun.chat).await, ["best", "m2", &long()]);
    assert_eq!(begun.chat.verify().await.unwrap(), []);
}

/// A compaction is undone: the originals come back before what was said since, and what was said better
/// since stays better.
pub async fn what_is_in_two_pieces_is_once_where_it_was_first(store: &dyn Store) {
    let mut begun = Begun::new(store, "a").await;
    for id in ["m1", "m2", "m3"] {
        begun.say(id).await;
    }
    begun.compact("s1", Seq::new(3)).await;
    let log = begun.chat.log().sealed_logs(None, 1).await.unwrap()[0].name.clone();
    begun.position =
        begun.lane.append(vec![revised("m2", "better", 1)], begun.position).await.unwrap();
    begun.say("m4").await;
    rotate(&mut begun, vec![all(&log), LogPiece::KeepFrom(Seq::FIRST)]).await.unwrap();
    assert_eq!(texts(&begun.chat).await, ["m1", "better", "m3", "s1", "m4"]);
    rotate(&mut begun, vec![LogPiece::KeepFrom(Seq::FIRST), all(&log), all(&log)]).await.unwrap();
    assert_eq!(texts(&begun.chat).await, ["m1", "better", "m3", "s1", "m4"]);
}

pub async fn something_new_counts_before_a_copy_and_is_refused_behind_it(store: &dyn Store) {
    let mut begun = Begun::new(store, "a").await;
    begun.say("m1").await;
    begun.say("m2").await;
    let log = leave(&mut begun).await;
    let new = LogPiece::New(message("m2", "said anew").into());
    let refused = rotate(&mut begun, vec![all(&log), new.clone()]).await;
    let Err(RotateError::Refused(RefusedInput::Twice(twice))) = refused else {
        panic!("{refused:?}")
    };
    assert_eq!(twice, "m2");
    assert!(ids(&*begun.chat).await.is_empty());
    rotate(&mut begun, vec![new, all(&log)]).await.unwrap();
    assert_eq!(texts(&begun.chat).await, ["said anew", "m1"]);
}

pub async fn a_copy_moves_the_inbox_cursor_neither_back_nor_on(store: &dyn Store) {
    let mut begun = Begun::new(store, "a").await;
    let first = begun.chat.ledger().accept(entry("k1", "x")).await.unwrap().seq;
    let second = begun.chat.ledger().accept(entry("k2", "x")).await.unwrap().seq;
    begun.position = begun.lane.append(vec![promoted("m1", first)], begun.position).await.unwrap();
    let log = leave(&mut begun).await;
    begun.position = begun.lane.append(vec![promoted("m2", second)], begun.position).await.unwrap();
    rotate(&mut begun, vec![all(&log)]).await.unwrap();
    let view = view(&begun.chat).await;
    assert_eq!((view.inbox, view.lines[0].inbox), (Some(second), Some(first)));
    assert_eq!(view.messages().map(id).collect::<Vec<_>>(), ["m1"]);
}

pub async fn lines_that_a_sealed_log_does_not_have_are_refused(store: &dyn Store) {
    let mut begun = Begun::new(store, "a").await;
    begun.say("m1").await;
    let log = leave(&mut begun).await;
    begun.say("m2").await;
    for (first, last) in [(1, 3), (0, 2), (2, 1), (3, 3)] {
        let (first, last) = (Seq::new(first), Seq::new(last));
        let piece = LogPiece::Sealed { log: log.clone(), first, last };
        let refused = rotate(&mut begun, vec![piece]).await;
        let expected = RefusedInput::NoLines { first, last };
        assert!(matches!(&refused, Err(RotateError::Refused(r)) if *r == expected), "{refused:?}");
    }
    let missing = SealedName::parse("20260205T101500000Z-90-91").unwrap();
    let refused = rotate(&mut begun, vec![all(&missing)]).await;
    let Err(RotateError::Source(ReadError::NoSealedLog { name, .. })) = refused else {
        panic!("{refused:?}")
    };
    assert_eq!((name.as_str(), ids(&*begun.chat).await), (missing.as_str(), vec!["m2".to_owned()]));
}

/// Begins the chat `key` with pieces of others.
async fn begin(
    store: &dyn Store,
    key: &str,
    pieces: Vec<LogPiece>,
) -> Result<(Arc<dyn Chat>, Arc<dyn Lane>), RotateError> {
    let chat = store.create(&key.parse().unwrap(), About::default()).await.unwrap();
    let lane = chat.lane("fork").await.unwrap();
    lane.rotate(Rotation { pieces, ..first_context() }).await?;
    Ok((chat, lane))
}

fn of(begun: &Begun, log: Option<&SealedName>, (first, last): (u64, u64)) -> LogPiece {
    let (chat, log) = (begun.chat.key().clone(), log.cloned());
    LogPiece::Of { chat, log, first: Seq::new(first), last: Seq::new(last) }
}

pub async fn a_fork_copies_another_chat_while_its_lane_is_held(store: &dyn Store) {
    let mut begun = Begun::new(store, "a").await;
    begun.say("m1").await;
    let batch = vec![message("m2", &long()).into(), message("m3", "m3").into()];
    begun.position = begun.lane.append(batch, begun.position).await.unwrap();
    let (live, _lane) = begin(store, "b", vec![of(&begun, None, (2, 3))]).await.unwrap();
    assert_eq!(texts(&live).await, ["m1", &long()]);
    let log = leave(&mut begun).await;
    let sealed = of(&begun, Some(&log), (3, 4));
    let (sealed, _lane) = begin(store, "c", vec![sealed]).await.unwrap();
    assert_eq!(texts(&sealed).await, [long(), "m3".to_owned()]);
    for chat in [&begun.chat, &live, &sealed] {
        assert_eq!(chat.verify().await.unwrap(), []);
    }
    // What is said in one is not said in the other.
    begun.say("m4").await;
    assert_eq!(ids(&*live).await, ["m1", "m2"]);
    // A chat that names itself copies from itself.
    let own = vec![of(&begun, Some(&log), (2, 2)), of(&begun, None, (6, 6))];
    rotate(&mut begun, own).await.unwrap();
    assert_eq!(ids(&*begun.chat).await, ["m1", "m4"]);
}

pub async fn a_fork_shares_no_inbox(store: &dyn Store) {
    let begun = Begun::new(store, "a").await;
    let place = begun.chat.ledger().accept(entry("k1", "x")).await.unwrap().seq;
    begun.lane.append(vec![promoted("m1", place)], begun.position).await.unwrap();
    let (fork, lane) = begin(store, "b", vec![of(&begun, None, (2, 2))]).await.unwrap();
    let there = view(&fork).await;
    assert_eq!((there.inbox, there.lines[0].inbox), (None, None));
    assert_eq!(ids(&*fork).await, ["m1"]);
    // Its own first entry has the same number, and is new.
    let own = fork.ledger().accept(entry("k1", "x")).await.unwrap().seq;
    assert_eq!(own, place);
    let promoted = promoted("m2", own);
    lane.append(vec![promoted], there.position).await.unwrap();
    let there = view(&fork).await;
    assert_eq!(there.inbox, Some(own));
    // Now that number is behind its cursor, and still not that of what is copied.
    let (expected, pieces) = (Some(there.position.generation), vec![of(&begun, None, (2, 2))]);
    lane.rotate(Rotation { expected, pieces, ..first_context() }).await.unwrap();
    let there = view(&fork).await;
    assert_eq!((there.inbox, there.lines[0].inbox), (Some(own), None));
}

pub async fn a_fork_of_what_is_not_there_is_refused(store: &dyn Store) {
    let mut begun = Begun::new(store, "a").await;
    begun.say("m1").await;
    let (chat, first, last) = ("nobody".parse().unwrap(), Seq::FIRST, Seq::new(2));
    let refused = begin(store, "b", vec![LogPiece::Of { chat, log: None, first, last }]).await;
    assert!(matches!(&refused, Err(RotateError::NoChat(k)) if k.as_str() == "nobody"));
    assert!(store.open(&"nobody".parse().unwrap()).await.unwrap().is_none(), "nothing was made");
    // The live log was rotated since somebody read it: those numbers are not in it any more.
    leave(&mut begun).await;
    let refused = begin(store, "c", vec![of(&begun, None, (1, 2))]).await.map(|_| ());
    let expected = RefusedInput::NoLines { first, last };
    assert!(matches!(&refused, Err(RotateError::Refused(r)) if *r == expected), "{refused:?}");
    assert!(
        store
            .create(&"c".parse().unwrap(), About::default())
            .await
            .unwrap()
            .log()
            .view()
            .await
            .unwrap()
            .is_none()
    );
}
