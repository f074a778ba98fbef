//! Promises about rotations of a context log.

use ship_store::{
    About, AppendError, Checkpoint, LedgerSeq, LogPiece, NewLine, NewMessage, ReadError,
    RotateError, Rotation, SealedName, Seq, Store,
};

use super::context_log::revised;
use crate::chat::{Begun, compaction, entry, everything, first_context, id, ids, message, text};

fn promoted(id: &str, place: u64) -> NewLine {
    let inbox = Some(LedgerSeq::new(place));
    NewMessage { message: message(id, id), rev: 0, inbox }.into()
}

pub async fn a_rotation_seals_the_whole_log(store: &dyn Store) {
    let mut begun = Begun::new(store, "a").await;
    for id in ["m1", "m2", "m3"] {
        begun.say(id).await;
    }
    begun.compact("s1", Seq::new(4)).await;
    assert_eq!(ids(&*begun.chat).await, ["s1", "m3"]);
    let sealed = begun.chat.log().sealed().await.unwrap();
    assert_eq!((sealed[0].first, sealed[0].last), (Seq::new(1), Seq::new(4)));
    let old = begun.chat.log().sealed_view(&sealed[0].name).await.unwrap();
    assert_eq!(old.messages().map(id).collect::<Vec<_>>(), ["m1", "m2", "m3"]);
    begun.compact("s2", Seq::new(7)).await;
    let names: Vec<_> =
        begun.chat.log().sealed().await.unwrap().into_iter().map(|s| s.name).collect();
    assert_eq!(names.len(), 2);
    assert_eq!(names[1], sealed[0].name);
    let all: Vec<_> = everything(&*begun.chat).await.unwrap().iter().map(id).collect();
    assert_eq!(all, ["m1", "m2", "m3", "s1", "s2"]);
    let missing = SealedName::parse("20260205T101500000Z-90-91").unwrap();
    let refused = begun.chat.log().sealed_view(&missing).await;
    assert!(matches!(refused, Err(ReadError::NoSealedLog { .. })), "{refused:?}");
}

pub async fn a_rotation_keeps_what_was_appended_meanwhile(store: &dyn Store) {
    let mut begun = Begun::new(store, "a").await;
    begun.say("m1").await;
    begun.say("m2").await;
    let view = begun.chat.log().view().await.unwrap().unwrap();
    begun.say("m3").await;
    let summary = vec![message("s1", "summary").into()];
    let rotated = begun.lane.rotate(compaction(&view, summary, Seq::new(3))).await.unwrap();
    assert_eq!(ids(&*begun.chat).await, ["s1", "m2", "m3"]);
    let sealed = begun.chat.log().sealed_view(&rotated.sealed.unwrap()).await.unwrap();
    assert_eq!(rotated.sealed_crc, sealed.crc);
}

pub async fn a_rotation_with_another_generation_is_refused(store: &dyn Store) {
    let mut begun = Begun::new(store, "a").await;
    begun.say("m1").await;
    let view = begun.chat.log().view().await.unwrap().unwrap();
    begun.compact("s1", Seq::new(2)).await;
    let refused = begun.lane.rotate(compaction(&view, Vec::new(), Seq::new(2))).await;
    assert!(matches!(refused, Err(RotateError::Moved { .. })), "{refused:?}");
    let refused = begun.lane.rotate(crate::chat::first_context()).await;
    assert!(matches!(refused, Err(RotateError::Moved { .. })), "{refused:?}");
    assert_eq!(ids(&*begun.chat).await, ["s1", "m1"]);
}

pub async fn a_rotation_keeps_the_newest_revision_at_its_place(store: &dyn Store) {
    let mut begun = Begun::new(store, "a").await;
    begun.say("m1").await;
    begun.say("m2").await;
    begun.position = begun.lane.append(vec![revised("better", 1)], begun.position).await.unwrap();
    begun.compact("s1", Seq::new(2)).await;
    let view = begun.chat.log().view().await.unwrap().unwrap();
    assert_eq!(view.messages().map(text).collect::<Vec<_>>(), ["s1", "better", "m2"]);
    begun.lane.append(vec![revised("best", 2)], begun.position).await.unwrap();
    let view = begun.chat.log().view().await.unwrap().unwrap();
    assert_eq!(view.messages().map(text).collect::<Vec<_>>(), ["s1", "best", "m2"]);
}

pub async fn numbers_go_on_through_rotations(store: &dyn Store) {
    let mut begun = Begun::new(store, "a").await;
    begun.say("m1").await;
    assert_eq!(begun.position.seq, Seq::new(2));
    begun.compact("s1", Seq::new(2)).await;
    assert_eq!(begun.position.seq, Seq::new(5));
    assert_eq!(begun.position.generation.get(), 1);
    begun.say("m2").await;
    let view = begun.chat.log().view().await.unwrap().unwrap();
    let seqs: Vec<u64> = view.lines.iter().map(|line| line.seq.get()).collect();
    assert_eq!(seqs, [4, 5, 6]);
}

pub async fn what_is_not_in_the_ledger_is_not_promoted(store: &dyn Store) {
    let begun = Begun::new(store, "a").await;
    let refused = begun.lane.append(vec![promoted("m1", 2)], begun.position).await;
    assert!(matches!(refused, Err(AppendError::NoEntry { .. })), "{refused:?}");
    let seq = begun.chat.ledger().accept(entry("k1", "x")).await.unwrap().seq.get();
    let refused = begun.lane.append(vec![promoted("m1", seq + 1)], begun.position).await;
    assert!(matches!(refused, Err(AppendError::NoEntry { .. })), "{refused:?}");
    let rotation = Rotation {
        expected: Some(begun.position.generation),
        pieces: vec![LogPiece::New(promoted("m1", seq + 1))],
        ..first_context()
    };
    let refused = begun.lane.rotate(rotation).await;
    assert!(matches!(refused, Err(RotateError::NoEntry { .. })), "{refused:?}");
    begun.lane.append(vec![promoted("m1", seq)], begun.position).await.unwrap();
}

/// A chat's first context begins where it is told to, if the ledger goes that far.
pub async fn a_first_context_begins_behind_the_entry_that_it_names(store: &dyn Store) {
    let chat = store.create(&"a".parse().unwrap(), About::default()).await.unwrap();
    let accepted = chat.ledger().accept(entry("k1", "answered long ago")).await.unwrap();
    let lane = chat.lane("test").await.unwrap();
    let behind = |seq: LedgerSeq| {
        let mut rotation = first_context();
        rotation.head.inbox = Some(seq);
        rotation
    };
    let beyond = LedgerSeq::new(accepted.seq.get() + 1);
    let refused = lane.rotate(behind(beyond)).await.unwrap_err();
    assert!(matches!(refused, RotateError::NoEntry { .. }), "{refused}");
    lane.rotate(behind(accepted.seq)).await.unwrap();
    let view = chat.log().view().await.unwrap().unwrap();
    assert_eq!((view.inbox, view.lines.len()), (Some(accepted.seq), 0));
}

pub async fn the_inbox_cursor_never_goes_back(store: &dyn Store) {
    let mut begun = Begun::new(store, "a").await;
    let mut places = Vec::new();
    for key in ["k1", "k2", "k3"] {
        places.push(begun.chat.ledger().accept(entry(key, "x")).await.unwrap().seq);
    }
    let batch = vec![promoted("m1", places[1].get()), promoted("m2", places[2].get())];
    begun.position = begun.lane.append(batch, begun.position).await.unwrap();
    let view = begun.chat.log().view().await.unwrap().unwrap();
    assert_eq!((view.inbox, view.lines[0].inbox), (Some(places[2]), Some(places[1])));
    // Nothing is kept, and the head that the caller hands in knows nothing of it.
    begun.compact("s1", begun.position.seq.next()).await;
    begun.compact("s2", begun.position.seq.next()).await;
    let view = begun.chat.log().view().await.unwrap().unwrap();
    assert_eq!(view.inbox, Some(places[2]));
}

pub async fn a_checkpoint_learns_where_it_was_sealed(store: &dyn Store) {
    let mut begun = Begun::new(store, "a").await;
    begun.say("m1").await;
    let view = begun.chat.log().view().await.unwrap().unwrap();
    let mut rotation = compaction(&view, Vec::new(), Seq::new(9));
    let (name, seq) = ("plan".to_owned(), Seq::new(2));
    rotation.head.checkpoints = vec![Checkpoint { name, sealed: None, seq, message: None }];
    rotation.head.title = Some("Moving house".to_owned());
    rotation.head.carry.set_skills(["pptx"].into_iter());
    let sealed = begun.lane.rotate(rotation.clone()).await.unwrap().sealed;
    let head = begun.chat.log().view().await.unwrap().unwrap().head;
    assert_eq!(head.checkpoints[0].sealed, sealed);
    assert_eq!((head.title, head.carry), (rotation.head.title, rotation.head.carry));
    begun.compact("s1", Seq::new(9)).await;
    let head = begun.chat.log().view().await.unwrap().unwrap().head;
    assert_eq!(head.checkpoints[0].sealed, sealed);
}
