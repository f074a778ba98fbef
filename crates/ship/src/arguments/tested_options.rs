//! Every command, argument and flag has a test that drives the program with it.

use std::path::Path;

use clap::{Arg, Command};
use ship_testkit::tested::{Offer, TestedBy, assert_all_tested};

use super::command_line;

const TESTED: &[TestedBy] = &[
    (
        "ship --project",
        &[
            "cli::every_option::every_command_can_be_given_a_project_a_chat_and_json",
            "cli::shell::variables_choose_project_and_chat_and_flags_win",
        ],
    ),
    (
        "ship --chat",
        &[
            "cli::every_option::every_command_can_be_given_a_project_a_chat_and_json",
            "cli::shell::variables_choose_project_and_chat_and_flags_win",
        ],
    ),
    (
        "ship --model",
        &[
            "providers::models::a_chat_a_look_and_a_compaction_take_a_model_for_this_command_alone",
            "providers::models::a_model_is_chosen_for_one_call_or_kept_with_the_chat",
        ],
    ),
    ("ship --json", &["cli::every_option::every_command_can_be_given_a_project_a_chat_and_json"]),
    ("ship --last", &["cli::print::flags_stand_before_or_after_the_command"]),
    ("ship --ledger", &["cli::print::flags_stand_before_or_after_the_command"]),
    ("ship --follow", &["cli::every_option::a_log_that_is_followed_shows_what_comes"]),
    ("ship --request", &["cli::print::flags_stand_before_or_after_the_command"]),
    ("ship --requests", &["cli::print::flags_stand_before_or_after_the_command"]),
    ("ship --raw", &["cli::print::flags_stand_before_or_after_the_command"]),
    ("ship --help", &["cli::every_option::the_short_flags_ask_for_help_and_the_version"]),
    ("ship --version", &["cli::every_option::the_short_flags_ask_for_help_and_the_version"]),
    ("help", &["cli::every_option::the_short_flags_ask_for_help_and_the_version"]),
    ("init", &["cli::init::init_makes_the_folder_it_is_given_and_tells_programs_what_it_did"]),
    (
        "init <folder>",
        &["cli::init::init_makes_the_folder_it_is_given_and_tells_programs_what_it_did"],
    ),
    ("chat", &["cli::chat::slash_commands_are_obeyed_and_unknown_ones_named"]),
    ("chat <words>", &["cli::first_words::a_chat_begins_with_the_words_behind_it"]),
    ("send", &["cli::print::the_ledger_tells_what_came_in_and_went_out"]),
    (
        "send <words>",
        &["cli::first_words::words_without_quotes_are_one_message_and_a_pipe_alone_is_one_too"],
    ),
    ("send --file", &["cli::attachments::files_are_attached_by_a_flag_and_by_an_at_sign"]),
    (
        "send --message",
        &["cli::first_words::a_message_without_a_text_is_refused_with_the_command_to_write"],
    ),
    ("chats", &["cli::every_option::every_command_can_be_given_a_project_a_chat_and_json"]),
    (
        "history",
        &["cli::print::history_prints_ui_messages_oldest_first_and_the_last_20_unless_told"],
    ),
    (
        "history --last",
        &["cli::print::history_prints_ui_messages_oldest_first_and_the_last_20_unless_told"],
    ),
    ("history --ledger", &["cli::print::the_ledger_tells_what_came_in_and_went_out"]),
    ("history --around", &["cli::search::a_hit_is_opened_with_what_was_said_around_it"]),
    ("search", &["cli::search::what_was_said_is_found_in_every_place_of_a_chat"]),
    ("search <words>", &["cli::search::what_was_said_is_found_in_every_place_of_a_chat"]),
    ("search --all-chats", &["cli::search::a_search_in_all_chats_shows_a_copy_where_it_was_said"]),
    ("search --role", &["cli::search::a_search_is_limited_by_role_context_time_and_number"]),
    ("search --context", &["cli::search::a_search_is_limited_by_role_context_time_and_number"]),
    ("search --since", &["cli::search::a_search_is_limited_by_role_context_time_and_number"]),
    ("search --until", &["cli::search::a_search_is_limited_by_role_context_time_and_number"]),
    ("search --limit", &["cli::search::a_search_is_limited_by_role_context_time_and_number"]),
    ("inspect", &["providers::explained::a_person_reads_what_was_sent_and_what_came_of_it"]),
    (
        "inspect --request",
        &["providers::explained::a_person_reads_what_was_sent_and_what_came_of_it"],
    ),
    (
        "inspect --raw",
        &["providers::explained::what_is_not_on_record_and_what_is_lost_is_said_plainly"],
    ),
    (
        "inspect --requests",
        &["providers::explained::a_person_reads_what_was_sent_and_what_came_of_it"],
    ),
    ("inspect --last", &["cli::print::of_many_requests_only_the_last_are_listed_when_asked_for"]),
    ("compact", &["cli::print::a_context_is_compacted_looked_at_before_and_taken_back"]),
    ("compact --dry-run", &["cli::print::a_context_is_compacted_looked_at_before_and_taken_back"]),
    ("compact --undo", &["cli::print::a_context_is_compacted_looked_at_before_and_taken_back"]),
    (
        "compact --instructions",
        &["providers::models::a_chat_a_look_and_a_compaction_take_a_model_for_this_command_alone"],
    ),
    ("context", &["cli::contexts::the_words_behind_new_are_the_title_as_the_flag_is"]),
    (
        "context list",
        &["cli::contexts::a_list_is_as_long_as_was_asked_for_and_says_that_there_is_more"],
    ),
    (
        "context list --limit",
        &["cli::contexts::a_list_is_as_long_as_was_asked_for_and_says_that_there_is_more"],
    ),
    (
        "context show",
        &[
            "cli::contexts::show_says_which_project_chat_and_context_it_is_and_since_when_and_by_what",
        ],
    ),
    ("context show <which>", &["cli::contexts::what_is_printed_for_programs_has_a_shape"]),
    ("context new", &["cli::contexts::the_words_behind_new_are_the_title_as_the_flag_is"]),
    ("context new <words>", &["cli::contexts::the_words_behind_new_are_the_title_as_the_flag_is"]),
    ("context new --title", &["cli::contexts::the_words_behind_new_are_the_title_as_the_flag_is"]),
    (
        "context new --reason",
        &[
            "cli::every_option::a_reason_is_kept_with_the_context_that_is_left",
            "cli::contexts::the_words_behind_new_are_the_title_as_the_flag_is",
        ],
    ),
    (
        "context load",
        &[
            "cli::contexts::a_recalled_context_is_shown_to_the_person_and_to_the_model_and_nothing_is_left",
        ],
    ),
    (
        "context load <which>",
        &["cli::contexts::a_context_is_found_by_words_by_the_beginning_of_its_id_and_as_the_last"],
    ),
    (
        "context load --mode",
        &[
            "cli::contexts::a_recalled_context_is_shown_to_the_person_and_to_the_model_and_nothing_is_left",
            "cli::every_option::the_modes_of_load_and_recall_are_those_of_the_help",
        ],
    ),
    (
        "context recall",
        &[
            "cli::contexts::a_recalled_context_is_shown_to_the_person_and_to_the_model_and_nothing_is_left",
        ],
    ),
    (
        "context recall <which>",
        &[
            "cli::contexts::a_recalled_context_is_shown_to_the_person_and_to_the_model_and_nothing_is_left",
        ],
    ),
    (
        "context recall --mode",
        &["cli::every_option::the_modes_of_load_and_recall_are_those_of_the_help"],
    ),
    (
        "context recall --around",
        &["cli::search::a_hit_is_shown_to_the_model_with_what_was_said_around_it"],
    ),
    (
        "context clear",
        &[
            "cli::contexts::what_cannot_be_done_is_told_and_changes_nothing",
            "cli::every_option::every_command_can_be_given_a_project_a_chat_and_json",
        ],
    ),
    (
        "context rename",
        &[
            "cli::contexts::show_says_which_project_chat_and_context_it_is_and_since_when_and_by_what",
        ],
    ),
    (
        "context rename <title>",
        &[
            "cli::contexts::show_says_which_project_chat_and_context_it_is_and_since_when_and_by_what",
        ],
    ),
    ("checkpoint", &["cli::contexts::a_checkpoint_is_rewound_to_and_forked_from_and_undone"]),
    (
        "checkpoint <name>",
        &["cli::contexts::a_checkpoint_is_rewound_to_and_forked_from_and_undone"],
    ),
    ("fork", &["cli::contexts::a_checkpoint_is_rewound_to_and_forked_from_and_undone"]),
    ("fork --at", &["cli::contexts::a_checkpoint_is_rewound_to_and_forked_from_and_undone"]),
    ("fork --to", &["cli::contexts::a_copy_in_another_chat_goes_on_by_itself"]),
    ("rewind", &["cli::contexts::a_checkpoint_is_rewound_to_and_forked_from_and_undone"]),
    ("rewind <to>", &["cli::contexts::a_checkpoint_is_rewound_to_and_forked_from_and_undone"]),
    ("undo", &["cli::contexts::a_checkpoint_is_rewound_to_and_forked_from_and_undone"]),
    ("export", &["cli::export::what_was_said_is_exported_in_each_format"]),
    ("export --format", &["cli::export::what_was_said_is_exported_in_each_format"]),
    (
        "export --context",
        &["cli::export::a_context_all_of_them_and_the_messages_around_one_are_chosen"],
    ),
    (
        "export --all",
        &["cli::export::a_context_all_of_them_and_the_messages_around_one_are_chosen"],
    ),
    (
        "export --around",
        &["cli::export::a_context_all_of_them_and_the_messages_around_one_are_chosen"],
    ),
    ("import", &["cli::import::a_file_is_looked_at_and_becomes_a_context"]),
    ("import <file>", &["cli::import::a_file_is_looked_at_and_becomes_a_context"]),
    ("import --format", &["cli::import::each_format_of_the_help_is_read"]),
    ("import --title", &["cli::import::a_file_is_looked_at_and_becomes_a_context"]),
    ("import --dry-run", &["cli::import::a_file_is_looked_at_and_becomes_a_context"]),
    ("import --skip-bad", &["cli::import::what_cannot_be_imported_is_an_error_with_a_code"]),
    ("verify", &["cli::damage::verify_is_content_with_a_whole_chat_and_names_damage"]),
    ("repair", &["cli::damage::a_flipped_byte_costs_its_line_and_repair_makes_it_known"]),
    ("repair --dry-run", &["cli::damage::a_flipped_byte_costs_its_line_and_repair_makes_it_known"]),
    ("config", &["cli::every_option::a_setting_of_the_person_is_set_and_unset"]),
    ("config list", &["cli::every_option::a_setting_of_the_person_is_set_and_unset"]),
    ("config ls", &["cli::every_option::a_setting_of_the_person_is_set_and_unset"]),
    ("config show", &["cli::every_option::a_setting_of_the_person_is_set_and_unset"]),
    ("config get", &["cli::every_option::a_setting_of_the_person_is_set_and_unset"]),
    ("config get <key>", &["cli::every_option::a_setting_of_the_person_is_set_and_unset"]),
    ("config set", &["cli::every_option::a_setting_of_the_person_is_set_and_unset"]),
    ("config set <key>", &["cli::every_option::a_setting_of_the_person_is_set_and_unset"]),
    ("config set <value>", &["cli::every_option::a_setting_of_the_person_is_set_and_unset"]),
    ("config set --user", &["cli::every_option::a_setting_of_the_person_is_set_and_unset"]),
    ("config unset", &["cli::every_option::a_setting_of_the_person_is_set_and_unset"]),
    ("config unset <key>", &["cli::every_option::a_setting_of_the_person_is_set_and_unset"]),
    ("config unset --user", &["cli::every_option::a_setting_of_the_person_is_set_and_unset"]),
    ("logs", &["cli::secrets::every_model_call_is_logged_and_one_request_can_be_followed"]),
    ("logs --follow", &["cli::every_option::a_log_that_is_followed_shows_what_comes"]),
    (
        "logs --request",
        &["cli::secrets::every_model_call_is_logged_and_one_request_can_be_followed"],
    ),
    (
        "completions",
        &["cli::shell::each_shell_gets_a_script_that_calls_ship_and_help_says_where_it_goes"],
    ),
    (
        "completions <shell>",
        &["cli::shell::each_shell_gets_a_script_that_calls_ship_and_help_says_where_it_goes"],
    ),
    ("man", &["cli::shell::the_manual_is_printed_or_written_page_by_page"]),
    ("man <folder>", &["cli::shell::the_manual_is_printed_or_written_page_by_page"]),
];

/// Lists a command with its aliases, its arguments, and the commands below it. `path` is empty for `ship` itself.
fn offers_of(command: &Command, path: &str, offers: &mut Vec<Offer>) {
    let name = if path.is_empty() { "ship" } else { path };
    let own = command.get_arguments().filter(|arg| path.is_empty() || !arg.is_global_set());
    offers.extend(own.map(|arg| offer_of_argument(arg, name, path)));
    for below in command.get_subcommands() {
        for called in std::iter::once(below.get_name()).chain(below.get_all_aliases()) {
            let name = format!("{path} {called}").trim().to_owned();
            let words = vec![format!("\"{called}\"")];
            offers.push(Offer { name, words, together: Vec::new() });
        }
        offers_of(below, format!("{path} {}", below.get_name()).trim(), offers);
    }
}

/// Returns an argument with its flags, the words that it takes, and its variable.
fn offer_of_argument(arg: &Arg, command: &str, path: &str) -> Offer {
    let name = match arg.get_long() {
        Some(long) => format!("{command} --{long}"),
        None => format!("{command} <{}>", arg.get_id()),
    };
    let values = arg.get_possible_values();
    let values = values.iter().filter(|_| arg.get_action().takes_values());
    let command = path.rsplit(' ').next().filter(|word| !word.is_empty());
    let command = command.map(|command| format!("\"{command}\""));
    let words = arg.get_short().map(|short| format!("-{short}")).into_iter();
    let words = words
        .chain(arg.get_env().map(|variable| variable.to_string_lossy().into_owned()))
        .chain(values.map(|value| value.get_name().to_owned()));
    let flag = arg.get_long().map(|long| format!("--{long}"));
    let together = vec![command.into_iter().chain(flag).collect()];
    Offer { name, words: words.collect(), together }
}

#[test]
fn every_command_and_every_argument_is_driven_by_a_test() {
    let mut command = command_line();
    command.build();
    let mut offers = Vec::new();
    offers_of(&command, "", &mut offers);
    // Each command has the same `--help`, and `help` lists all commands again.
    offers.retain(|offer| {
        let mut words = offer.name.split(' ').skip_while(|word| !word.ends_with("help"));
        words.next().is_none() || ["help", "ship --help"].contains(&offer.name.as_str())
    });
    assert_all_tested(&offers, TESTED, &Path::new(env!("CARGO_MANIFEST_DIR")).join("tests"));
}
