//! The contract of a store: one suite of promises, for every back end.
//!
//! `ship_testkit::store_contract!(name, make)` makes a module of tests; `make` is an expression that
//! gives a fresh store and whatever must live as long as it.

/// Makes a module of tests that hold a store to its promises.
#[macro_export]
macro_rules! store_contract {
    ($name:ident, $make:expr) => {
        mod $name {
            $crate::store_contract!(@tests $make,
                what_is_appended_is_read_back_in_order,
                a_batch_is_all_or_nothing,
                an_append_that_expects_another_end_is_refused,
                the_same_message_again_adds_nothing,
                another_message_of_the_same_id_is_a_conflict,
                a_higher_revision_replaces_a_message_at_its_place,
                reserved_fields_are_refused,
                what_is_no_message_is_refused,
                a_message_over_the_limit_is_refused,
                long_strings_come_back_whole,
                a_rotation_seals_the_whole_log,
                a_rotation_keeps_what_was_appended_meanwhile,
                a_rotation_with_another_generation_is_refused,
                a_rotation_keeps_the_newest_revision_at_its_place,
                numbers_go_on_through_rotations,
                what_is_not_in_the_ledger_is_not_promoted,
                the_inbox_cursor_never_goes_back,
                a_first_context_begins_behind_the_entry_that_it_names,
                a_checkpoint_learns_where_it_was_sealed,
                the_same_key_is_the_same_entry,
                the_ledger_is_read_from_both_ends,
                an_entry_is_found_by_its_key,
                deliveries_are_open_until_they_are_done,
                a_delivery_of_nothing_is_refused,
                a_journal_is_that_of_the_last_run,
                what_decides_about_a_chat_is_read_in_one_go,
                requests_are_kept_in_order,
                derived_state_names_its_source,
                blobs_are_kept_by_their_digest,
                a_chat_keeps_what_it_is_about,
                chats_are_listed_with_their_sizes,
                hostile_keys_are_kept_apart,
                a_lane_has_one_holder_and_says_who,
                a_lane_that_is_free_is_had_without_waiting,
                anyone_may_accept_while_a_run_holds_the_lane,
                many_writers_get_each_their_own_place,
                a_healthy_chat_has_no_problems,
                lines_of_a_sealed_log_come_back_as_they_were,
                what_is_in_two_pieces_is_once_where_it_was_first,
                something_new_counts_before_a_copy_and_is_refused_behind_it,
                a_copy_moves_the_inbox_cursor_neither_back_nor_on,
                lines_that_a_sealed_log_does_not_have_are_refused,
                a_fork_copies_another_chat_whoever_holds_its_lane,
                a_fork_shares_no_inbox,
                a_fork_of_what_is_not_there_is_refused,
                sealed_logs_are_listed_by_pages,
                a_sealed_line_is_found_by_the_names,
                a_message_is_found_in_the_newest_log_that_has_it,
                a_purged_log_tells_what_it_was_and_nothing_else,
                a_purged_log_breaks_no_chain,
                what_was_purged_is_never_copied,
                a_purge_takes_only_what_is_sealed,
                a_purge_leaves_the_blobs,
                archived_contexts_are_listed_by_their_snapshots,
            );
        }
    };
    (@tests $make:expr, $($test:ident,)*) => {
        $(
            #[test]
            fn $test() {
                $crate::contract::run(|| $make, $crate::contract::promises::$test);
            }
        )*
    };
}

#[expect(missing_docs, reason = "each name is the sentence that documents it")]
mod elsewhere;
#[expect(missing_docs, reason = "each name is the sentence that documents it")]
mod sealed;

use ship_store::Store;

/// Runs one promise on a fresh store.
pub fn run<S: Store, Keep>(
    make: impl FnOnce() -> (S, Keep),
    promise: impl AsyncFnOnce(&dyn Store),
) {
    crate::sweep::block_on(async {
        let (store, _keep) = make();
        promise(&store).await;
    });
}

/// The promises, one function each.
#[expect(missing_docs, reason = "each name is the sentence that documents it")]
pub mod promises {
    use ship_message::json::{Array, Json, Object};
    use ship_store::{
        About, AcceptError, AppendError, Checkpoint, ContextBody, ContextEvent, Delivery,
        DeliveryState, Derived, DerivedState, LaneError, LedgerBody, LedgerSeq, LogPiece, NewLine,
        NewMessage, ReadError, RefusedInput, RotateError, Rotation, SealedName, Seq, StorageError,
        Store, Synced, Timestamp,
    };

    use crate::chat::{
        Begun, compaction, entry, everything, first_context, id, ids, ledger_keys, message, text,
    };

    pub use super::elsewhere::*;
    pub use super::sealed::*;

    const NOON: Timestamp = Timestamp::from_millis(1_770_292_800_000);

    fn event(id: &str) -> NewLine {
        let (event, data) = ("checkpoint".to_owned(), Json::from("before the move"));
        ContextEvent { id: id.to_owned(), ts: NOON, event, data, ref_msg_id: None, inbox: None }
            .into()
    }

    pub async fn what_is_appended_is_read_back_in_order(store: &dyn Store) {
        let mut begun = Begun::new(store, "a").await;
        begun.say("m1").await;
        begun.position = begun.lane.append(vec![event("e1")], begun.position).await.unwrap();
        begun.say("m2").await;
        let view = begun.chat.log().view().await.unwrap().unwrap();
        let told: Vec<String> = view
            .lines
            .iter()
            .map(|line| match &line.body {
                ContextBody::Message(message) => format!("{} {}", line.seq, id(message)),
                ContextBody::Event(event) => format!("{} {}", line.seq, event.event),
            })
            .collect();
        assert_eq!(told, ["2 m1", "3 checkpoint", "4 m2"]);
        assert_eq!(view.position, begun.position);
        assert_eq!(view.messages().next(), Some(&message("m1", "m1")));
    }

    pub async fn a_batch_is_all_or_nothing(store: &dyn Store) {
        let mut begun = Begun::new(store, "a").await;
        begun.say("m1").await;
        let batch = vec![message("m2", "new").into(), message("m1", "other").into()];
        let refused = begun.lane.append(batch, begun.position).await;
        assert!(matches!(refused, Err(AppendError::Conflict { .. })), "{refused:?}");
        assert_eq!(ids(&*begun.chat).await, ["m1"]);
        let batch = vec![message("m2", "new").into(), message("m3", "new").into()];
        begun.lane.append(batch, begun.position).await.unwrap();
        assert_eq!(ids(&*begun.chat).await, ["m1", "m2", "m3"]);
    }

    pub async fn an_append_that_expects_another_end_is_refused(store: &dyn Store) {
        let mut begun = Begun::new(store, "a").await;
        let before = begun.position;
        begun.say("m1").await;
        let refused = begun.lane.append(vec![message("m2", "x").into()], before).await;
        let Err(AppendError::Moved { expected, found, .. }) = refused else {
            panic!("{refused:?}")
        };
        assert_eq!((expected, found), (before, begun.position));
        assert_eq!(ids(&*begun.chat).await, ["m1"]);
    }

    pub async fn the_same_message_again_adds_nothing(store: &dyn Store) {
        let mut begun = Begun::new(store, "a").await;
        let before = begun.position;
        begun.say("m1").await;
        let end =
            begun.lane.append(vec![message("m1", "m1").into()], begun.position).await.unwrap();
        assert_eq!(end, begun.position);
        // The answer to the first attempt was lost, and the caller still knows the old end.
        let end = begun.lane.append(vec![message("m1", "m1").into()], before).await.unwrap();
        assert_eq!(end, begun.position);
        assert_eq!(ids(&*begun.chat).await, ["m1"]);
    }

    pub async fn another_message_of_the_same_id_is_a_conflict(store: &dyn Store) {
        let mut begun = Begun::new(store, "a").await;
        begun.say("m1").await;
        let refused = begun.lane.append(vec![message("m1", "other").into()], begun.position).await;
        let Err(AppendError::Conflict { seq, next_rev, .. }) = refused else {
            panic!("{refused:?}")
        };
        assert_eq!((seq, next_rev), (Seq::new(2), 1));
    }

    fn revised(text: &str, rev: u64) -> NewLine {
        NewMessage { message: message("m1", text), rev, inbox: None }.into()
    }

    pub async fn a_higher_revision_replaces_a_message_at_its_place(store: &dyn Store) {
        let mut begun = Begun::new(store, "a").await;
        begun.say("m1").await;
        begun.say("m2").await;
        begun.position =
            begun.lane.append(vec![revised("better", 1)], begun.position).await.unwrap();
        let skipped = begun.lane.append(vec![revised("best", 3)], begun.position).await;
        assert!(matches!(skipped, Err(AppendError::Conflict { next_rev: 2, .. })), "{skipped:?}");
        let view = begun.chat.log().view().await.unwrap().unwrap();
        assert_eq!(view.messages().map(text).collect::<Vec<_>>(), ["better", "m2"]);
        assert_eq!((view.lines[0].seq, view.lines[0].rev), (Seq::new(2), 1));
    }

    pub async fn reserved_fields_are_refused(store: &dyn Store) {
        let begun = Begun::new(store, "a").await;
        for field in ["seq", "type", "rev", "in", "batch", "blobs", "crc"] {
            let mut posing = message("m1", "x");
            posing.set(field, "x");
            let refused = begun.lane.append(vec![posing.clone().into()], begun.position).await;
            let Err(AppendError::Refused(RefusedInput::Reserved(name))) = refused else {
                panic!("{refused:?}")
            };
            assert_eq!(name, field);
            let posing = ship_store::LedgerEntry { key: "k".into(), entry: posing };
            let refused = begun.chat.ledger().accept(posing).await;
            assert!(matches!(refused, Err(AcceptError::Refused(_))), "{refused:?}");
        }
        // Deeper down it is content like any other.
        let mut innocent = message("m1", "x");
        innocent.set("metadata", Object::from([("blobs", Json::from("x"))]));
        begun.lane.append(vec![innocent.clone().into()], begun.position).await.unwrap();
        let view = begun.chat.log().view().await.unwrap().unwrap();
        assert_eq!(view.messages().next(), Some(&innocent));
    }

    pub async fn what_is_no_message_is_refused(store: &dyn Store) {
        let begun = Begun::new(store, "a").await;
        let without = |field: &str| {
            let mut broken = message("m1", "x");
            broken.remove(field);
            broken
        };
        let own = |name: &str| {
            let (id, event, data) = ("e1".to_owned(), name.to_owned(), Json::Null);
            NewLine::Event(ContextEvent {
                id,
                ts: NOON,
                event,
                data,
                ref_msg_id: None,
                inbox: None,
            })
        };
        let messages = ["id", "role", "parts"].map(|field| without(field).into());
        for broken in messages.into_iter().chain(["head", "purged"].map(own)) {
            let refused = begun.lane.append(vec![broken], begun.position).await;
            assert!(matches!(refused, Err(AppendError::Refused(_))), "{refused:?}");
        }
        let refused = begun.lane.append(Vec::new(), begun.position).await;
        assert!(matches!(refused, Err(AppendError::Refused(RefusedInput::Empty))), "{refused:?}");
    }

    pub async fn a_message_over_the_limit_is_refused(store: &dyn Store) {
        let begun = Begun::new(store, "a").await;
        let long = "x".repeat(8_388_608);
        let refused = begun.lane.append(vec![message("m1", &long).into()], begun.position).await;
        let Err(error @ AppendError::Refused(RefusedInput::TooLarge { .. })) = refused else {
            panic!("{refused:?}")
        };
        assert!(error.to_string().contains("limits.messageBytes"), "{error}");
        assert!(ids(&*begun.chat).await.is_empty());
    }

    pub async fn long_strings_come_back_whole(store: &dyn Store) {
        let mut begun = Begun::new(store, "a").await;
        let long: String = "0123456789 漢字 🦜 ".repeat(3000);
        let mut said = message("m1", &long);
        said.set(
            "metadata",
            Object::from([("a/b~c", Json::from(vec![Json::Null, long.as_str().into()]))]),
        );
        begun.position =
            begun.lane.append(vec![said.clone().into()], begun.position).await.unwrap();
        let again = begun.lane.append(vec![said.clone().into()], begun.position).await.unwrap();
        assert_eq!(again, begun.position);
        begun.compact("s1", Seq::new(2)).await;
        let view = begun.chat.log().view().await.unwrap().unwrap();
        assert_eq!(view.messages().last(), Some(&said));
        begun.chat.ledger().accept(entry("k1", &long)).await.unwrap();
        let lines = begun.chat.ledger().before(None, 1).await.unwrap();
        let LedgerBody::Entry(kept) = &lines[0].body else { panic!("{lines:?}") };
        assert_eq!(kept.entry.str("text"), Some(long.as_str()));
    }

    pub async fn a_rotation_seals_the_whole_log(store: &dyn Store) {
        let mut begun = Begun::new(store, "a").await;
        for id in ["m1", "m2", "m3"] {
            begun.say(id).await;
        }
        begun.compact("s1", Seq::new(4)).await;
        assert_eq!(ids(&*begun.chat).await, ["s1", "m3"]);
        let sealed = begun.chat.log().sealed().await.unwrap();
        assert_eq!(sealed[0].name.range(), (Seq::new(1), Seq::new(4)));
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
        begun.lane.rotate(compaction(&view, summary, Seq::new(3))).await.unwrap();
        assert_eq!(ids(&*begun.chat).await, ["s1", "m2", "m3"]);
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
        begun.position =
            begun.lane.append(vec![revised("better", 1)], begun.position).await.unwrap();
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

    fn promoted(id: &str, place: u64) -> NewLine {
        let inbox = Some(LedgerSeq::new(place));
        NewMessage { message: message(id, id), rev: 0, inbox }.into()
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
        for number in 2..=9 {
            begun.chat.ledger().accept(entry(&format!("k{number}"), "x")).await.unwrap();
        }
        let batch = vec![promoted("m1", 7), promoted("m2", 9)];
        begun.position = begun.lane.append(batch, begun.position).await.unwrap();
        let view = begun.chat.log().view().await.unwrap().unwrap();
        assert_eq!(view.inbox, Some(LedgerSeq::new(9)));
        assert_eq!(view.lines[0].inbox, Some(LedgerSeq::new(7)));
        // Nothing is kept, and the head that the caller hands in knows nothing of it.
        begun.compact("s1", begun.position.seq.next()).await;
        begun.compact("s2", begun.position.seq.next()).await;
        let view = begun.chat.log().view().await.unwrap().unwrap();
        assert_eq!(view.inbox, Some(LedgerSeq::new(9)));
    }

    pub async fn a_checkpoint_learns_where_it_was_sealed(store: &dyn Store) {
        let mut begun = Begun::new(store, "a").await;
        begun.say("m1").await;
        let view = begun.chat.log().view().await.unwrap().unwrap();
        let mut rotation = compaction(&view, Vec::new(), Seq::new(9));
        let (name, seq) = ("plan".to_owned(), Seq::new(2));
        rotation.head.checkpoints = vec![Checkpoint { name, sealed: None, seq, message: None }];
        rotation.head.title = Some("Moving house".to_owned());
        rotation.head.carry = Object::from([("skills", Json::from(vec!["pptx".into()]))]);
        let sealed = begun.lane.rotate(rotation.clone()).await.unwrap().sealed;
        let head = begun.chat.log().view().await.unwrap().unwrap().head;
        assert_eq!(head.checkpoints[0].sealed, sealed);
        assert_eq!((head.title, head.carry), (rotation.head.title, rotation.head.carry));
        begun.compact("s1", Seq::new(9)).await;
        let head = begun.chat.log().view().await.unwrap().unwrap().head;
        assert_eq!(head.checkpoints[0].sealed, sealed);
    }

    pub async fn the_same_key_is_the_same_entry(store: &dyn Store) {
        let chat = Begun::new(store, "a").await.chat;
        let first = chat.ledger().accept(entry("telegram:7", "hello")).await.unwrap();
        let other = chat.ledger().accept(entry("telegram:8", "hello")).await.unwrap();
        let again = chat.ledger().accept(entry("telegram:7", "hello")).await.unwrap();
        assert!(first.new && other.new && !again.new);
        assert_eq!(again.seq, first.seq);
        assert_eq!(ledger_keys(&*chat).await, ["telegram:7", "telegram:8"]);
        let nameless = chat.ledger().accept(entry("", "hello")).await;
        assert!(matches!(nameless, Err(AcceptError::Refused(_))), "{nameless:?}");
    }

    pub async fn an_entry_is_found_by_its_key(store: &dyn Store) {
        let chat = Begun::new(store, "a").await.chat;
        assert_eq!(chat.ledger().entry_of("k1", None).await.unwrap(), None);
        let first = chat.ledger().accept(entry("k1", "x")).await.unwrap().seq;
        let second = chat.ledger().accept(entry("k2", "x")).await.unwrap().seq;
        assert_eq!(chat.ledger().entry_of("k1", None).await.unwrap(), Some(first));
        assert_eq!(chat.ledger().entry_of("k2", Some(first)).await.unwrap(), Some(second));
        assert_eq!(chat.ledger().entry_of("k", None).await.unwrap(), None);
    }

    pub async fn the_ledger_is_read_from_both_ends(store: &dyn Store) {
        let chat = Begun::new(store, "a").await.chat;
        let mut places = Vec::new();
        for number in 0..10 {
            places.push(chat.ledger().accept(entry(&format!("k{number}"), "x")).await.unwrap().seq);
        }
        let seqs = |lines: Vec<ship_store::LedgerLine>| -> Vec<LedgerSeq> {
            lines.into_iter().map(|line| line.seq).collect()
        };
        assert_eq!(seqs(chat.ledger().before(None, 3).await.unwrap()), places[7..]);
        assert_eq!(seqs(chat.ledger().before(Some(places[7]), 4).await.unwrap()), places[3..7]);
        assert_eq!(seqs(chat.ledger().before(Some(places[1]), 9).await.unwrap()), places[..1]);
        assert_eq!(seqs(chat.ledger().after(None, 2).await.unwrap()), places[..2]);
        assert_eq!(seqs(chat.ledger().after(Some(places[7]), 9).await.unwrap()), places[8..]);
    }

    fn delivery(entry: LedgerSeq, id: &str, state: DeliveryState) -> Delivery {
        let data = Object::from([("attempt", Json::from(1u64))]);
        Delivery { entry, id: id.to_owned(), ts: NOON, state, data }
    }

    pub async fn deliveries_are_open_until_they_are_done(store: &dyn Store) {
        let begun = Begun::new(store, "a").await;
        let (chat, lane) = (&begun.chat, &begun.lane);
        let out = chat.ledger().accept(entry("run:1", "reply")).await.unwrap().seq;
        let planned = ["p1", "p2"].map(|id| delivery(out, id, DeliveryState::Planned));
        lane.deliver(planned.to_vec()).await.unwrap();
        lane.deliver(vec![delivery(out, "p1", DeliveryState::Sending)]).await.unwrap();
        let open = chat.ledger().open_deliveries().await.unwrap();
        assert_eq!(open, [delivery(out, "p1", DeliveryState::Sending), planned[1].clone()]);
        lane.deliver(vec![delivery(out, "p1", DeliveryState::Sent)]).await.unwrap();
        assert_eq!(chat.ledger().open_deliveries().await.unwrap(), planned[1..]);
    }

    pub async fn a_delivery_of_nothing_is_refused(store: &dyn Store) {
        let begun = Begun::new(store, "a").await;
        let ghost = delivery(LedgerSeq::new(99), "p1", DeliveryState::Sent);
        let refused = begun.lane.deliver(vec![ghost]).await;
        assert!(matches!(refused, Err(AcceptError::NoEntry { .. })), "{refused:?}");
    }

    fn part(name: &str) -> Object {
        Object::from([("seq", Json::from(name)), ("type", "tool".into())])
    }

    pub async fn a_journal_is_that_of_the_last_run(store: &dyn Store) {
        let begun = Begun::new(store, "a").await;
        let (chat, lane) = (&begun.chat, &begun.lane);
        assert!(chat.runs().journal().await.unwrap().is_empty());
        for run in ["run 1", "run 2"] {
            lane.begin_journal(part(run)).await.unwrap();
            lane.journal(vec![part("a"), part("b")], Synced::Now).await.unwrap();
            lane.journal(vec![part("c")], Synced::Later).await.unwrap();
            let parts = chat.runs().journal().await.unwrap();
            assert_eq!(parts, [part(run), part("a"), part("b"), part("c")]);
        }
    }

    pub async fn what_decides_about_a_chat_is_read_in_one_go(store: &dyn Store) {
        let mut begun = Begun::new(store, "a").await;
        let (chat, lane) = (begun.chat.clone(), begun.lane.clone());
        chat.set_about(About { channel: Some("http".to_owned()), target: None }).await.unwrap();
        for key in ["k1", "k2", "k3", "k4"] {
            chat.ledger().accept(entry(key, key)).await.unwrap();
        }
        let first = chat.ledger().after(None, 1).await.unwrap()[0].seq;
        let promoted = NewMessage { message: message("m1", "k1"), rev: 0, inbox: Some(first) };
        begun.position = lane.append(vec![promoted.into()], begun.position).await.unwrap();
        lane.begin_journal(Object::from([("kind", "start")])).await.unwrap();
        let state = chat.state(2).await.unwrap();
        assert_eq!(state.about, chat.about().await.unwrap());
        assert_eq!(state.view, chat.log().view().await.unwrap());
        assert_eq!(state.new_lines, chat.ledger().after(Some(first), 2).await.unwrap());
        assert_eq!(
            (state.new_lines.len(), state.journal),
            (2, chat.runs().journal().await.unwrap())
        );
    }

    pub async fn requests_are_kept_in_order(store: &dyn Store) {
        let begun = Begun::new(store, "a").await;
        for name in ["r1", "r2", "r3"] {
            begun.lane.record_request(part(name)).await.unwrap();
        }
        assert_eq!(begun.chat.runs().requests(2).await.unwrap(), [part("r2"), part("r3")]);
        assert_eq!(begun.chat.runs().requests(9).await.unwrap().len(), 3);
    }

    pub async fn derived_state_names_its_source(store: &dyn Store) {
        let begun = Begun::new(store, "a").await;
        let view = begun.chat.log().view().await.unwrap().unwrap();
        let value = Object::from([("v", Json::from(1u64)), ("items", Array::default().into())]);
        let state = DerivedState { value, position: view.position, crc: view.crc };
        for which in
            [Derived::Meta, Derived::ContextIndex, Derived::Context(view.head.context.clone())]
        {
            assert_eq!(begun.chat.derived().read(which.clone()).await.unwrap(), None);
            begun.chat.derived().put(which.clone(), state.clone()).await.unwrap();
            assert_eq!(begun.chat.derived().read(which).await.unwrap(), Some(state.clone()));
        }
    }

    pub async fn blobs_are_kept_by_their_digest(store: &dyn Store) {
        let kept = store.put_blob(b"hello".to_vec(), "text/plain").await.unwrap();
        let again = store.put_blob(b"hello".to_vec(), "text/plain").await.unwrap();
        assert_eq!(kept, again);
        assert_eq!(kept.sha256, "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824");
        assert_eq!(store.blob(&kept.sha256).await.unwrap(), b"hello");
        for missing in ["00", "../../etc/passwd", &"0".repeat(64)] {
            assert!(store.blob(missing).await.is_err(), "{missing}");
        }
    }

    pub async fn a_chat_keeps_what_it_is_about(store: &dyn Store) {
        let key = "telegram-chat--100".parse().unwrap();
        let about = About { channel: Some("telegram".into()), target: Some("-100".into()) };
        assert!(store.open(&key).await.unwrap().is_none());
        store.create(&key, about.clone()).await.unwrap();
        let chat = store.create(&key, About::default()).await.unwrap();
        assert_eq!(chat.about().await.unwrap(), about);
        let moved = About { target: Some("-200".into()), ..about };
        chat.set_about(moved.clone()).await.unwrap();
        let chat = store.open(&key).await.unwrap().unwrap();
        assert_eq!((chat.key(), chat.about().await.unwrap()), (&key, moved));
    }

    pub async fn chats_are_listed_with_their_sizes(store: &dyn Store) {
        assert!(store.chats().await.unwrap().is_empty());
        Begun::new(store, "b").await.say("m1").await;
        store.create(&"a".parse().unwrap(), About::default()).await.unwrap();
        let chats = store.chats().await.unwrap();
        let keys: Vec<&str> = chats.iter().map(|c| c.key.as_ref().unwrap().as_str()).collect();
        assert_eq!(keys, ["a", "b"]);
        assert!(chats[0].context_bytes == 0 && chats[1].context_bytes > 100, "{chats:?}");
    }

    pub async fn hostile_keys_are_kept_apart(store: &dyn Store) {
        let long = |end: &str| format!("{}{end}", "k".repeat(299));
        let keys = ["../x", "a", "A", "🦜", "a/b", "a%2Fb", "CON", " a", "-", "~", "'"];
        let keys: Vec<String> =
            keys.iter().map(|&key| key.to_owned()).chain([long("1"), long("2")]).collect();
        for key in &keys {
            Begun::new(store, key).await.say(&format!("of {key}")).await;
        }
        for key in &keys {
            let chat = store.open(&key.parse().unwrap()).await.unwrap().unwrap();
            assert_eq!(ids(&*chat).await, [format!("of {key}")]);
        }
        assert_eq!(store.chats().await.unwrap().len(), keys.len());
    }

    pub async fn a_lane_that_is_free_is_had_without_waiting(store: &dyn Store) {
        let Begun { chat, lane, .. } = Begun::new(store, "a").await;
        let Err(LaneError::Storage(StorageError::Busy(busy))) = chat.lane_now("second").await
        else {
            panic!("it is held")
        };
        assert_eq!(
            (busy.waited_ms, busy.holder.map(|by| by.purpose)),
            (0, Some("test".to_owned()))
        );
        drop(lane);
        let lane = chat.lane_now("second").await.unwrap();
        lane.begin_journal(Object::new()).await.unwrap();
        assert!(chat.lane_now("third").await.is_err(), "it is held again");
    }

    pub async fn a_lane_has_one_holder_and_says_who(store: &dyn Store) {
        let begun = Begun::new(store, "a").await;
        let refused = begun.chat.lane("second").await.map(|_| ());
        let Err(LaneError::Storage(StorageError::Busy(busy))) = refused else {
            panic!("{refused:?}")
        };
        let holder = busy.holder.clone().expect("a note of the holder");
        assert_eq!((holder.pid, holder.purpose.as_str()), (std::process::id(), "test"));
        let told = busy.to_string();
        assert!(told.contains("`a`") && told.contains("lane") && told.contains("2026-"), "{told}");
        let Begun { chat, lane, .. } = begun;
        drop(lane);
        chat.lane("third").await.unwrap();
    }

    pub async fn anyone_may_accept_while_a_run_holds_the_lane(store: &dyn Store) {
        let begun = Begun::new(store, "a").await;
        let other = store.open(begun.chat.key()).await.unwrap().unwrap();
        assert!(other.ledger().accept(entry("k1", "x")).await.unwrap().new);
        assert_eq!(ledger_keys(&*begun.chat).await, ["k1"]);
    }

    pub async fn many_writers_get_each_their_own_place(store: &dyn Store) {
        let chat = Begun::new(store, "a").await.chat;
        let waiting: Vec<_> = (0..40)
            .map(|number| {
                let chat = chat.clone();
                tokio::spawn(async move {
                    chat.ledger().accept(entry(&format!("k{}", number % 20), "x")).await.unwrap()
                })
            })
            .collect();
        let mut accepted = Vec::new();
        for answer in waiting {
            accepted.push(answer.await.unwrap());
        }
        let new = accepted.iter().filter(|accepted| accepted.new).count();
        assert_eq!((new, ledger_keys(&*chat).await.len()), (20, 20));
        let mut places: Vec<u64> = accepted.iter().map(|accepted| accepted.seq.get()).collect();
        places.sort_unstable();
        places.dedup();
        assert_eq!(places, (2..22).collect::<Vec<u64>>());
    }

    pub async fn a_healthy_chat_has_no_problems(store: &dyn Store) {
        let mut begun = Begun::new(store, "a").await;
        begun.say("m1").await;
        begun.compact("s1", Seq::new(2)).await;
        begun.chat.ledger().accept(entry("k1", "x")).await.unwrap();
        let rotation = Rotation {
            expected: Some(begun.position.generation),
            head: begun.chat.log().view().await.unwrap().unwrap().head,
            pieces: vec![LogPiece::Keep(Seq::new(4), Seq::new(4)), LogPiece::New(event("e9"))],
        };
        begun.lane.rotate(rotation).await.unwrap();
        assert_eq!(begun.chat.verify().await.unwrap(), []);
        assert_eq!(begun.chat.repair().await.unwrap(), []);
        assert_eq!(ids(&*begun.chat).await, ["s1"]);
    }
}
