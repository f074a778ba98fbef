//! A lane that is a lease: it runs out, and then its holder writes nothing more.

use ship_message::json::Object;
use ship_store::{
    AcceptError, AppendError, DeliveryState, Lane, RotateError, StorageError, Store as _, Synced,
};
use ship_testkit::chat::{Begun, entry, first_context, ids, message};
use ship_testkit::clock::ManualClock;
use ship_testkit::map_store::{CallFault, LEASE_MS, MapStore};
use ship_testkit::runtime::block_on;

fn is_lost(error: &StorageError) -> bool {
    matches!(error, StorageError::LaneLost { .. })
}

/// Tries every write of a lane, each of which must be refused.
async fn writes_nothing(lane: &dyn Lane, position: ship_store::Position) {
    let late = vec![message("late", "x").into()];
    let Err(AppendError::Storage(append)) = lane.append(late, position).await else { panic!() };
    let Err(RotateError::Storage(rotate)) = lane.rotate(first_context()).await else { panic!() };
    let Err(AcceptError::Storage(record)) = lane.record(entry("late", "x")).await else { panic!() };
    let delivery = ship_store::Delivery {
        entry: ship_store::LedgerSeq::FIRST,
        id: "late".to_owned(),
        ts: ship_store::Timestamp::from_millis(0),
        state: DeliveryState::Sent,
        data: Object::new(),
    };
    let Err(AcceptError::Storage(deliver)) = lane.deliver(vec![delivery]).await else { panic!() };
    let begin = lane.begin_journal(Object::new(), Synced::Now).await.unwrap_err();
    let journal = lane.journal(vec![Object::new()], Synced::Now).await.unwrap_err();
    let request = lane.record_request(Object::new()).await.unwrap_err();
    let touch = lane.touch().await.unwrap_err();
    for error in [append, rotate, record, deliver, begin, journal, request, touch] {
        assert!(is_lost(&error), "{error}");
    }
}

#[test]
fn a_lease_that_runs_out_is_lost_before_and_after_another_process_has_it() {
    block_on(async {
        let store = MapStore::default();
        let mut begun = Begun::new(&store, "a").await;
        begun.say("m1").await;
        store.end_leases();
        begun.lane.lost().await;
        let rows = store.rows();
        writes_nothing(&*begun.lane, begun.position).await;
        let other = store.another_process().open(begun.chat.key()).await.unwrap().unwrap();
        let lane = other.lane_now("run").await.unwrap();
        writes_nothing(&*begun.lane, begun.position).await;
        assert_eq!(store.rows(), rows);
        // What the holder before gives back is not the lane of the next one.
        begun.lane.release().await;
        lane.append(vec![message("m2", "x").into()], begun.position).await.unwrap();
        assert_eq!(ids(&*other).await, ["m1", "m2"]);
    });
}

#[test]
fn a_lease_that_is_renewed_is_kept_and_a_waiting_caller_has_it_when_it_runs_out() {
    block_on(async {
        let clock = ManualClock::default();
        let store = MapStore::new(clock.clone());
        let begun = Begun::new(&store, "a").await;
        for _ in 0..3 {
            clock.advance(LEASE_MS - 1);
            begun.lane.touch().await.unwrap();
        }
        assert!(begun.chat.lane_now("other").await.is_err());
        let chat = begun.chat.clone();
        let waiting = tokio::spawn(async move { chat.lane("other").await.map(|_| ()) });
        tokio::task::yield_now().await;
        store.end_leases();
        waiting.await.unwrap().unwrap();
    });
}

#[test]
fn a_write_whose_answer_is_lost_is_done_and_may_be_repeated() {
    block_on(async {
        let store = MapStore::default();
        let mut begun = Begun::new(&store, "a").await;
        for (fault, is_known_to_fail, is_done) in [
            (CallFault::Unreachable, true, false),
            (CallFault::RequestLost, false, false),
            (CallFault::AnswerLost, false, true),
        ] {
            let id = format!("{fault:?}");
            store.calls().fail_at(store.calls().names().len(), fault);
            let batch = || vec![message(&id, &id).into()];
            let error = begun.lane.append(batch(), begun.position).await.unwrap_err();
            let AppendError::Storage(StorageError::Unavailable { may_have_happened, .. }) = error
            else {
                panic!("{error:?}")
            };
            assert_eq!(may_have_happened, !is_known_to_fail);
            assert_eq!(ids(&*begun.chat).await.contains(&id), is_done, "{fault:?}");
            begun.position = begun.lane.append(batch(), begun.position).await.unwrap();
        }
        assert_eq!(ids(&*begun.chat).await, ["Unreachable", "RequestLost", "AnswerLost"]);
    });
}
