//! Every exit code and every code of an error that the README promises has a test, and no other code is in the sources.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use ship_testkit::tested::{Offer, TestedBy, assert_all_tested};

use super::{READER_GONE, USAGE};

const EXIT_CODES: &[TestedBy] = &[
    ("0", &["tests::cli::every_option::every_command_can_be_given_a_project_a_chat_and_json"]),
    ("1", &["tests::cli::error_codes::a_terminal_that_cannot_be_read_ends_a_chat_with_its_code"]),
    (
        "2",
        &["tests::cli::first_words::a_message_without_a_text_is_refused_with_the_command_to_write"],
    ),
    (
        "3",
        &["tests::cli::together::a_send_behind_a_stopped_process_names_it_and_keeps_the_message"],
    ),
    (
        "129",
        &[
            "tests::providers::typed_ahead::what_was_queued_when_the_chat_ended_comes_back_to_its_next_prompts",
        ],
    ),
    ("130", &["tests::providers::interrupts::ctrl_c_in_a_send_keeps_what_was_said"]),
    (
        "143",
        &[
            "tests::providers::interrupts::a_send_that_is_terminated_says_what_is_kept_and_ends_its_line",
        ],
    ),
];

/// Some cannot be brought about from outside, so tests of this crate make them. Damage costs a line and no command, the
/// file store is always there, and a `send` whose chat is taken away takes it again.
const CODES: &[TestedBy] = &[
    (
        "storage_full",
        &[
            "tests::cli::limits::a_write_over_the_limit_on_the_size_of_files_is_an_error_and_the_chat_goes_on",
        ],
    ),
    (
        "storage_readonly",
        &["tests::cli::error_codes::calls_of_the_system_that_fail_have_a_code_each"],
    ),
    (
        "storage_denied",
        &["tests::cli::error_codes::calls_of_the_system_that_fail_have_a_code_each"],
    ),
    ("storage_io", &["tests::cli::error_codes::calls_of_the_system_that_fail_have_a_code_each"]),
    (
        "storage_busy",
        &[
            "tests::cli::together::a_send_behind_a_stopped_writer_names_it_and_says_that_the_message_is_not_kept",
        ],
    ),
    (
        "frozen",
        &["tests::cli::together::a_send_behind_a_stopped_process_names_it_and_keeps_the_message"],
    ),
    (
        "storage_lock_lost",
        &["src::failure::a_program_learns_which_problem_of_the_store_stopped_a_command"],
    ),
    (
        "storage_unavailable",
        &["src::failure::a_program_learns_which_problem_of_the_store_stopped_a_command"],
    ),
    (
        "storage_damaged",
        &["src::failure::a_program_learns_which_problem_of_the_store_stopped_a_command"],
    ),
    (
        "storage_newer_format",
        &["tests::cli::error_codes::files_of_a_chat_that_cannot_be_used_have_a_code_each"],
    ),
    (
        "storage_reader_too_old",
        &["tests::cli::error_codes::files_of_a_chat_that_cannot_be_used_have_a_code_each"],
    ),
    (
        "storage_other_chat",
        &["tests::cli::error_codes::files_of_a_chat_that_cannot_be_used_have_a_code_each"],
    ),
    (
        "storage_not_plain",
        &["tests::cli::error_codes::files_of_a_chat_that_cannot_be_used_have_a_code_each"],
    ),
    (
        "storage_unsettled",
        &["src::failure::a_program_learns_which_problem_of_the_store_stopped_a_command"],
    ),
    (
        "storage_cannot_seal",
        &["src::failure::a_program_learns_which_problem_of_the_store_stopped_a_command"],
    ),
    (
        "storage_refused",
        &["src::failure::a_program_learns_which_problem_of_the_store_stopped_a_command"],
    ),
    ("open_files", &["tests::cli::error_codes::too_few_open_files_have_a_code"]),
    (
        "storage_open_files",
        &["tests::cli::error_codes::calls_of_the_system_that_fail_have_a_code_each"],
    ),
    (
        "not_utf8",
        &[
            "tests::cli::pipes::input_that_is_no_text_is_refused_with_the_place_of_its_first_bad_byte",
        ],
    ),
    (
        "refused",
        &["tests::cli::chat::a_message_that_is_too_long_is_refused_and_everything_else_goes_on"],
    ),
    (
        "empty",
        &[
            "tests::cli::print::send_json_prints_the_final_message_and_a_dash_reads_the_text_from_a_pipe",
        ],
    ),
    ("chat_key", &["tests::cli::limits::a_chat_key_of_blanks_is_refused"]),
    ("config", &["tests::cli::error_codes::settings_that_cannot_work_have_a_code_each"]),
    ("no_key", &["tests::cli::error_codes::settings_that_cannot_work_have_a_code_each"]),
    ("no_model", &["tests::cli::error_codes::settings_that_cannot_work_have_a_code_each"]),
    ("base_url", &["tests::cli::error_codes::settings_that_cannot_work_have_a_code_each"]),
    ("key", &["tests::cli::error_codes::settings_that_cannot_work_have_a_code_each"]),
    ("no_project", &["tests::cli::print::a_project_elsewhere_is_named_by_its_folder"]),
    (
        "no_chat",
        &["tests::cli::print::an_error_is_words_on_stderr_or_json_on_stdout_and_ends_with_1"],
    ),
    ("no_message", &["tests::cli::search::a_hit_is_opened_with_what_was_said_around_it"]),
    ("no_request", &["tests::cli::print::flags_stand_before_or_after_the_command"]),
    ("not_done", &["tests::cli::print::a_context_is_compacted_looked_at_before_and_taken_back"]),
    (
        "purged",
        &[
            "tests::providers::compactions::an_undo_whose_originals_are_gone_ends_with_1_and_says_what_to_do",
        ],
    ),
    (
        "not_explained",
        &["tests::providers::explained::what_is_not_on_record_and_what_is_lost_is_said_plainly"],
    ),
    ("failed", &["tests::cli::turns::a_run_that_failed_is_a_failure_of_send"]),
    (
        "stopped",
        &[
            "tests::providers::interrupts::a_program_learns_from_the_error_that_an_answer_was_stopped",
        ],
    ),
    ("cut", &["tests::providers::costs::an_answer_that_is_cut_off_is_printed_and_ends_with_1"]),
    (
        "waiting",
        &[
            "tests::cli::questions::a_send_to_a_chat_that_waits_is_kept_and_says_why_there_is_no_answer",
        ],
    ),
    (
        "no_answer",
        &[
            "tests::cli::together::ctrl_c_leaves_a_message_that_another_process_answers_and_loses_nothing",
        ],
    ),
    (
        "not_kept",
        &["tests::cli::together::ctrl_c_before_a_message_is_on_disk_says_that_it_may_not_be_kept"],
    ),
    ("line", &["tests::cli::chat::a_line_that_is_not_done_is_a_failure_for_a_program"]),
    ("init", &["tests::cli::error_codes::settings_that_cannot_work_have_a_code_each"]),
    (
        "input",
        &[
            "tests::cli::pipes::input_that_is_no_text_is_refused_with_the_place_of_its_first_bad_byte",
        ],
    ),
    ("import", &["tests::cli::import::what_cannot_be_imported_is_an_error_with_a_code"]),
    ("output", &["src::failure::a_program_learns_the_area_of_any_other_failure"]),
    ("editor", &["tests::cli::error_codes::an_editor_that_cannot_be_started_has_a_code"]),
    (
        "terminal",
        &["tests::cli::error_codes::a_terminal_that_cannot_be_read_ends_a_chat_with_its_code"],
    ),
    ("logs", &["tests::cli::error_codes::logs_that_cannot_be_read_are_told_by_their_code"]),
    ("system", &["tests::cli::error_codes::calls_of_the_system_that_fail_have_a_code_each"]),
    ("storage", &["src::failure::a_program_learns_the_area_of_any_other_failure"]),
    (
        "run",
        &["tests::cli::error_codes::a_context_for_which_no_model_has_room_has_the_code_of_runs"],
    ),
];

fn readme() -> String {
    fs::read_to_string(this_crate().join("../../README.md")).expect("a README")
}

/// The first cells of the table below a heading.
fn first_cells(readme: &str, heading: &str) -> Vec<String> {
    let section = readme.split(heading).nth(1).expect("the section");
    let rows = section.split("\n#").next().unwrap_or_default().lines();
    let rows = rows.filter_map(|line| line.strip_prefix("| ")?.split(" |").next()).skip(2);
    rows.map(str::to_owned).collect()
}

fn this_crate() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn every_exit_code_is_seen_by_a_test() {
    let offers: Vec<Offer> = first_cells(&readme(), "### Exit codes")
        .into_iter()
        .map(|code| Offer { words: vec![code.clone()], name: code, together: Vec::new() })
        .collect();
    assert_all_tested(&offers, EXIT_CODES, this_crate());
}

fn documented() -> BTreeSet<String> {
    let cells = first_cells(&readme(), "### Errors for programs");
    cells
        .iter()
        .flat_map(|cell| cell.split(", "))
        .map(|code| code.trim_matches('`').to_owned())
        .collect()
}

#[test]
fn every_code_of_an_error_is_seen_by_a_test() {
    let offers = documented().into_iter();
    let offer =
        |code| Offer { words: vec![format!("\"{code}\"")], name: code, together: Vec::new() };
    let offers: Vec<Offer> = offers.map(offer).collect();
    assert_all_tested(&offers, CODES, this_crate());
}

/// The texts with which failures are made in the sources: as the first argument of these functions.
fn in_sources(folder: &Path, constants: &str, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            in_sources(&path, constants, found);
            continue;
        }
        if path.ends_with("tested_codes.rs") {
            continue;
        }
        let source = fs::read_to_string(&path).expect("a source");
        let source = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        let is_own = path.ends_with("src/failure.rs");
        let own = is_own.then_some("Self::new(");
        for made in ["Failure::new(", "from_error(", "from_other("].into_iter().chain(own) {
            for call in source.split(made).skip(1) {
                let first = call.split([',', '&']).next().unwrap_or_default();
                let text = first.split('"').nth(1).map(str::to_owned);
                found.extend(text.or_else(|| constant(constants, first.trim())));
            }
        }
    }
}

/// The codes of an error of another crate: the texts in its method `code`. `of` chooses among its cases.
fn codes_of(error: &str, of: impl Fn(&str) -> bool) -> BTreeSet<String> {
    let source = fs::read_to_string(this_crate().join("..").join(error)).expect("a source");
    let (_, method) = source.split_once("pub fn code(&self)").expect("a method");
    let arms = method.split("\n    }\n").next().unwrap_or_default().lines();
    let arms = arms.filter_map(|arm| arm.split_once(" => \""));
    let arms = arms.filter(|(cases, _)| cases.split('|').any(|case| of(case_name(case))));
    arms.filter_map(|(_, code)| code.split('"').next()).map(str::to_owned).collect()
}

/// The name of a case in a pattern or an expression.
fn case_name(text: &str) -> &str {
    let path = text.trim().split([' ', '{', '(']).next().unwrap_or_default();
    path.rsplit("::").next().unwrap_or(path)
}

/// The text of a constant.
fn constant(source: &str, name: &str) -> Option<String> {
    let (_, value) = source.split_once(&format!("const {name}: &str = \""))?;
    value.split('"').next().map(str::to_owned)
}

#[test]
fn every_code_in_the_sources_is_documented() {
    let constants = fs::read_to_string(this_crate().join("src/failure.rs")).expect("a source");
    let mut found = BTreeSet::new();
    in_sources(&this_crate().join("src"), &constants, &mut found);
    assert!(found.len() > 20, "{found:?}");
    let of_store = codes_of("store/src/error/storage.rs", |_| true);
    assert!(of_store.len() > 10, "{of_store:?}");
    found.extend(of_store);
    // Of a provider, a program is told what stops it from being opened. Its other failures are answers without an end.
    let opening = fs::read_to_string(this_crate().join("../provider/src/http/api.rs"));
    let opening = opening.expect("a source");
    let fails =
        |case: &str| opening.split("ProviderError::").skip(1).any(|it| case_name(it) == case);
    let of_provider = codes_of("provider/src/error.rs", fails);
    assert_eq!(of_provider, BTreeSet::from(["base_url", "key"].map(str::to_owned)));
    found.extend(of_provider);
    // A wrong command line is not told in JSON, and a reader that is gone is told nothing.
    let documented = documented();
    let untold = [USAGE, READER_GONE];
    found.retain(|code| !untold.contains(&code.as_str()) && !documented.contains(code));
    assert_eq!(found, BTreeSet::new(), "codes that the README does not have");
}
