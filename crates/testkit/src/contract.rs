//! The contract of a store: one suite of promises, for every back end. It knows nothing of files.
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
                what_the_holder_of_a_lane_records_is_an_entry_like_any_other,
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
                chats_are_listed_by_pages_with_their_sizes,
                a_chat_may_have_work_until_it_is_seen_idle_at_its_sizes,
                a_list_shows_the_content_of_chats_by_pages_in_the_same_order,
                chats_with_work_are_listed_without_those_that_are_idle,
                the_memory_of_a_chat_is_kept_and_may_come_before_the_chat,
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
                a_fork_copies_another_chat_while_its_lane_is_held,
                a_fork_shares_no_inbox,
                a_fork_of_what_is_not_there_is_refused,
                sealed_logs_are_listed_by_pages,
                a_sealed_log_tells_its_lines_and_when_it_was_sealed,
                a_message_is_found_in_the_newest_log_that_has_it,
                a_purged_log_tells_what_it_was_and_nothing_else,
                a_purged_log_breaks_no_chain,
                what_was_purged_is_never_copied,
                a_purge_takes_only_what_is_sealed,
                a_purge_leaves_the_blobs,
                archived_contexts_are_listed_by_their_snapshots,
                what_arrives_in_a_chat_ends_a_wait_for_it,
                what_the_holder_of_a_lane_writes_ends_only_a_wait_for_the_store,
                a_wait_for_one_chat_goes_on_when_another_changes,
                a_lane_goes_to_the_caller_that_waits_for_it,
                a_lane_that_was_given_back_is_free_and_writes_nothing_more,
                pages_of_any_size_give_the_lines_of_all_logs_in_order,
                a_reader_that_has_all_gets_what_comes,
                what_happens_between_two_pages_is_neither_missed_nor_read_twice,
                a_reader_hears_once_of_a_purge_behind_it,
                a_cursor_of_lines_that_are_not_there_begins_anew,
                an_import_goes_below_the_live_log_which_stays_as_it_was,
                imported_lines_come_once_between_the_old_and_the_live_ones,
                a_known_message_is_imported_only_with_the_same_content,
                an_import_that_is_refused_changes_nothing,
                an_empty_chat_continues_with_the_end_of_an_import,
                an_imported_log_is_found_copied_and_purged,
                a_record_is_replaced_only_by_a_writer_that_has_seen_it,
                no_update_of_a_record_is_lost,
                records_are_listed_by_the_beginning_of_their_names,
                a_lease_has_one_holder_until_it_is_released_or_dropped,
            );
        }
    };
    (@tests $make:expr, $($test:ident,)*) => {
        $(
            #[test]
            fn $test() {
                let (store, _keep) = $make;
                $crate::runtime::block_on($crate::contract::promises::$test(&store));
            }
        )*
    };
}

#[expect(missing_docs, reason = "each name is the sentence that documents it")]
mod changes;
#[expect(missing_docs, reason = "each name is the sentence that documents it")]
mod chats;
#[expect(missing_docs, reason = "each name is the sentence that documents it")]
mod context_log;
#[expect(missing_docs, reason = "each name is the sentence that documents it")]
mod elsewhere;
#[expect(missing_docs, reason = "each name is the sentence that documents it")]
mod import;
#[expect(missing_docs, reason = "each name is the sentence that documents it")]
mod ledger;
#[expect(missing_docs, reason = "each name is the sentence that documents it")]
mod line_pages;
#[expect(missing_docs, reason = "each name is the sentence that documents it")]
mod records;
#[expect(missing_docs, reason = "each name is the sentence that documents it")]
mod rotation;
#[expect(missing_docs, reason = "each name is the sentence that documents it")]
mod run_records;
#[expect(missing_docs, reason = "each name is the sentence that documents it")]
mod sealed;

/// The promises, one function each.
pub mod promises {
    pub use super::changes::*;
    pub use super::chats::*;
    pub use super::context_log::*;
    pub use super::elsewhere::*;
    pub use super::import::*;
    pub use super::ledger::*;
    pub use super::line_pages::*;
    pub use super::records::*;
    pub use super::rotation::*;
    pub use super::run_records::*;
    pub use super::sealed::*;
}
