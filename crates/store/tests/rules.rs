//! A back end needs nothing but the public rules: a chat in the rows of a database gives the answers of the file store.

use std::sync::Arc;

use ship_message::json::Object;
use ship_store::{
    About, Chat, Clock as _, Delivery, DeliveryState, Explain, FileStore, Lane, LedgerSeq,
    LogPiece, NewLine, NewMessage, Position, Rotation, SealedName, Seq, Store, Timestamp,
};
use ship_testkit::chat::{compaction, entry, first_context, message, options};
use ship_testkit::clock::ManualClock;
use ship_testkit::map_store::MapStore;
use ship_testkit::runtime::block_on;

fn now() -> Timestamp {
    ManualClock::default().now()
}

async fn begun(store: &dyn Store) -> (Arc<dyn Chat>, Arc<dyn Lane>) {
    let chat = store.create(&"a".parse().unwrap(), About::default()).await.unwrap();
    let lane = chat.lane("test").await.unwrap();
    (chat, lane)
}

/// Compares two answers; errors are the same if they say the same.
fn same<T: PartialEq + std::fmt::Debug, E: Explain>(
    rows: Result<T, E>,
    file: Result<T, E>,
) -> Result<T, String> {
    let told = |answer: Result<T, E>| answer.map_err(|error| error.explain().to_string());
    let (rows, file) = (told(rows), told(file));
    assert_eq!(rows, file);
    rows
}

#[test]
fn a_chat_in_rows_gives_the_answers_of_the_file_store() {
    block_on(async {
        let (in_files, in_maps) = (FileStore::in_memory(options()), MapStore::default());
        let (chat, lane) = begun(&in_files).await;
        let (rows, row_lane) = begun(&in_maps).await;
        let rotate = async |rotation: Rotation| {
            same(row_lane.rotate(rotation.clone()).await, lane.rotate(rotation).await)
        };
        let begun = rotate(first_context()).await.unwrap();

        let long = "0123456789 漢字 🦜 ".repeat(3000);
        for (key, is_new) in [("k1", true), ("k2", true), ("k1", false)] {
            let entry = entry(key, &long);
            let in_rows = rows.ledger().accept(entry.clone()).await;
            let accepted = same(in_rows, chat.ledger().accept(entry).await).unwrap();
            assert_eq!(accepted.new, is_new);
        }
        let answered = chat.ledger().after(None, 1).await.unwrap()[0].seq;
        let promoted = |inbox| NewMessage { message: message("m1", &long), rev: 0, inbox };
        let better = NewMessage { message: message("m1", "better"), rev: 1, inbox: None };
        let batches: [(Vec<NewLine>, u64); 6] = [
            (vec![promoted(Some(answered)).into(), message("m2", "m2").into()], 1),
            (vec![message("m3", "too late").into()], 1),
            (vec![promoted(Some(answered)).into()], 1),
            (vec![better.into()], 3),
            (vec![message("m2", "a conflict").into()], 4),
            (vec![promoted(Some(LedgerSeq::new(99))).into()], 4),
        ];
        let mut refused = 0;
        for (batch, seq) in batches {
            let expected = Position { seq: Seq::new(seq), ..begun.position };
            let in_rows = row_lane.append(batch.clone(), expected).await;
            refused += usize::from(same(in_rows, lane.append(batch, expected).await).is_err());
        }
        assert_eq!(refused, 3);

        let delivery = |id: &str, state, text: &str| {
            let data = Object::from([("text", text)]);
            Delivery { entry: answered, id: id.to_owned(), ts: now(), state, data }
        };
        let planned = delivery("p1", DeliveryState::Planned, &long);
        let sent = vec![planned.clone(), delivery("p2", DeliveryState::Sent, "")];
        let ghost = vec![Delivery { entry: LedgerSeq::new(99), ..planned.clone() }];
        for (states, is_taken) in [(sent, true), (ghost, false)] {
            let in_rows = row_lane.deliver(states.clone()).await;
            assert_eq!(same(in_rows, lane.deliver(states).await).is_ok(), is_taken);
        }

        let view = rows.log().view().await.unwrap().unwrap();
        let compacted = compaction(&view, vec![message("s1", "summary").into()], Seq::new(3));
        let rotated = rotate(compacted.clone()).await.map(|rotated| rotated.sealed);
        assert!(rotate(compacted).await.is_err());
        let sealed: SealedName = rotated.unwrap().unwrap();
        let (first, last) = sealed.range();
        let pieces = vec![LogPiece::Sealed { log: sealed.clone(), first, last }];
        let expected = Some(begun.position.generation.next());
        rotate(Rotation { expected, head: view.head, pieces }).await.unwrap();

        let live = chat.log().view().await.unwrap().unwrap();
        assert_eq!(rows.log().view().await.unwrap().unwrap(), live);
        assert_eq!(live.lines.len(), 2);
        // Rows need no marks of a batch, which change the checksums in the sealed log.
        let in_rows = rows.log().sealed_view(&sealed).await.unwrap();
        assert_eq!(in_rows.lines, chat.log().sealed_view(&sealed).await.unwrap().lines);
        let entries = rows.ledger().after(None, 9).await.unwrap();
        assert_eq!(entries, chat.ledger().after(None, 9).await.unwrap());
        assert_eq!(rows.ledger().open_deliveries().await.unwrap(), [planned]);
    });
}
