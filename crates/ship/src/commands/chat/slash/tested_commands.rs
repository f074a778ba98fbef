//! Every command of a chat has a test that types it, with what stands behind it.

use std::path::Path;

use ship_testkit::tested::{Offer, TestedBy, assert_all_tested};

use super::{COMMANDS, Listed, SUBCOMMANDS};

const ALONE: &str = "cli::chat::slash_commands_are_obeyed_and_unknown_ones_named";
const AS_IN_A_SHELL: &str =
    "cli::every_option::the_commands_of_a_chat_do_what_those_of_the_shell_do";
const CONTEXTS: &str =
    "cli::contexts_in_chat::everything_can_be_done_in_a_chat_and_what_is_meant_otherwise_is_told";
const FLAGS: &str =
    "cli::contexts_in_chat::flags_behind_the_commands_of_a_chat_are_those_of_the_shell";
const REASON: &str = "cli::every_option::a_reason_is_kept_with_the_context_that_is_left";

const TESTED: &[TestedBy] = &[
    ("/help", &[ALONE]),
    ("/history", &[AS_IN_A_SHELL]),
    ("/search", &["cli::search::what_was_said_is_found_in_every_place_of_a_chat"]),
    ("/retry", &["cli::chat::a_message_is_asked_again_and_a_context_is_cleared"]),
    (
        "/answer",
        &["cli::questions::a_question_that_is_left_open_can_be_answered_in_the_same_session"],
    ),
    ("/model", &["providers::models::a_model_is_chosen_for_one_call_or_kept_with_the_chat"]),
    ("/edit", &["cli::lines::an_edited_message_is_sent_as_it_was_saved_and_an_empty_one_is_not"]),
    ("/inspect", &[AS_IN_A_SHELL]),
    ("/context", &[CONTEXTS]),
    (
        "/context list",
        &["cli::contexts::a_list_is_as_long_as_was_asked_for_and_says_that_there_is_more", FLAGS],
    ),
    ("/context show", &[CONTEXTS]),
    ("/context new", &[CONTEXTS, REASON, FLAGS]),
    ("/context load", &[CONTEXTS, FLAGS]),
    ("/context recall", &[CONTEXTS, FLAGS]),
    ("/context clear", &[CONTEXTS]),
    ("/context rename", &[CONTEXTS]),
    ("/context undo", &[AS_IN_A_SHELL]),
    ("/checkpoint", &[CONTEXTS]),
    ("/rewind", &[CONTEXTS]),
    ("/fork", &[AS_IN_A_SHELL, CONTEXTS, FLAGS]),
    ("/new", &["cli::contexts::the_words_behind_new_are_the_title_as_the_flag_is", FLAGS]),
    ("/clear", &["cli::chat::a_message_is_asked_again_and_a_context_is_cleared"]),
    (
        "/undo",
        &["cli::contexts_in_chat::undo_takes_back_the_last_thing_be_it_a_command_or_an_exchange"],
    ),
    (
        "/compact",
        &[
            "providers::compactions::in_a_chat_a_summary_heeds_the_words_behind_compact_and_undo_takes_it_back",
            FLAGS,
        ],
    ),
    ("/chats", &[AS_IN_A_SHELL]),
    ("/config", &[AS_IN_A_SHELL]),
    ("/verify", &[AS_IN_A_SHELL]),
    ("/exit", &[ALONE]),
];

/// Returns a command with something behind it, if it takes anything, and each of its flags behind its name.
fn offer(Listed { name, takes, flags, .. }: &Listed, of: &str) -> Offer {
    let name = format!("{of}{name}");
    let typed = if takes.is_empty() || *takes == "…" { name.clone() } else { format!("{name} ") };
    let together = flags.iter().map(|flag| vec![name.clone(), (*flag).to_owned()]).collect();
    Offer { words: vec![typed], name, together }
}

#[test]
fn every_command_is_typed_by_a_test() {
    let offers: Vec<Offer> = COMMANDS
        .iter()
        .map(|command| offer(command, ""))
        .chain(SUBCOMMANDS.iter().map(|command| offer(command, "/context ")))
        .collect();
    assert_all_tested(&offers, TESTED, &Path::new(env!("CARGO_MANIFEST_DIR")).join("tests"));
}
