//! Something goes wrong at every call, and the power goes after every change: nothing acknowledged is
//! lost, nothing is there twice, and the chat opens again.

use ship_testkit::sample::sample;
use ship_testkit::sim::{Fault, Lasts};
use ship_testkit::sweep::{
    Script, Tally, all_faults, block_on, calls, faults, power_cuts, second_lives,
    unsynced_power_cuts,
};

fn passed(result: Result<Tally, String>, at_least: usize) {
    let tally = result.unwrap_or_else(|wrong| panic!("{wrong}"));
    assert!(tally.disks >= at_least, "a sweep that judges little shows little: {tally:?}");
}

/// Of the calls that a script makes from its call `first` on, those at which something goes wrong.
fn calls_of(script: &Script, first: usize) -> impl Iterator<Item = usize> + use<> {
    sample(first..block_on(calls(script)), 4)
}

#[test]
fn a_power_cut_after_any_change_loses_nothing_acknowledged() {
    passed(block_on(power_cuts(&Script::short())), 200);
}

#[test]
fn a_power_cut_at_the_level_flush_leaves_a_chat_that_goes_on() {
    for script in [Script::short(), Script::branches(), Script::imports(), sealing()] {
        passed(block_on(unsynced_power_cuts(&script)), 200);
    }
}

#[test]
fn a_fault_at_any_call_loses_nothing_acknowledged() {
    let calls = calls_of(&Script::short(), 0);
    passed(block_on(faults(&Script::short(), &all_faults(), calls)), 100);
}

#[test]
fn the_script_does_all_it_says_when_nothing_goes_wrong() {
    let sim = ship_testkit::sim::SimDisk::with_fault(usize::MAX, Fault::KillBefore);
    let record = block_on(Script::short().run(&sim));
    assert_eq!(record.acknowledged(), 13);
    let record = block_on(Script::branches().run(&ship_testkit::sim::SimDisk::new()));
    assert_eq!(record.acknowledged(), 10);
    let record = block_on(sealing().run(&ship_testkit::sim::SimDisk::new()));
    assert_eq!(record.acknowledged(), 11, "without hard links");
    let record = block_on(Script::imports().run(&ship_testkit::sim::SimDisk::new()));
    assert_eq!(record.acknowledged(), 9);
}

#[test]
fn what_a_second_process_builds_upon_survives_a_power_cut() {
    let calls = calls_of(&Script::short(), 0);
    passed(block_on(second_lives(&Script::short(), calls)), 30);
}

/// How many calls a script makes before it brings back, purges and forks; the other sweeps go through those.
fn before_branching() -> usize {
    block_on(calls(&Script::branches().up_to(4)))
}

#[test]
fn a_power_cut_while_lines_are_copied_or_purged_loses_nothing() {
    passed(block_on(power_cuts(&Script::branches())), 150);
}

#[test]
fn a_fault_while_lines_are_copied_or_purged_loses_nothing() {
    let calls = calls_of(&Script::branches(), before_branching());
    passed(block_on(faults(&Script::branches(), &all_faults(), calls)), 50);
}

#[test]
fn what_a_second_process_copies_or_purges_survives_a_power_cut() {
    let calls = calls_of(&Script::branches(), before_branching());
    passed(block_on(second_lives(&Script::branches(), calls)), 15);
}

/// A script that seals twice, on a disk without hard links.
fn sealing() -> Script {
    Script::short().up_to(10).without_links()
}

fn before_sealing() -> usize {
    block_on(calls(&Script::short().up_to(3).without_links()))
}

#[test]
fn a_power_cut_while_a_log_is_sealed_by_a_copy_loses_nothing() {
    passed(block_on(power_cuts(&sealing())), 150);
}

#[test]
fn a_fault_while_a_log_is_sealed_by_a_copy_loses_nothing() {
    let kinds = [Fault::KillAfter, Fault::Torn, Fault::Fail(5, Lasts::Once), Fault::FailHalf(28)];
    let calls = calls_of(&sealing(), before_sealing());
    passed(block_on(faults(&sealing(), &kinds, calls)), 30);
}

#[test]
fn what_a_second_process_seals_by_a_copy_survives_a_power_cut() {
    let calls = calls_of(&sealing(), before_sealing());
    passed(block_on(second_lives(&sealing(), calls)), 15);
}

/// How many calls a script makes before its first import.
fn before_importing(script: &Script, steps: usize) -> usize {
    block_on(calls(&script.up_to(steps)))
}

#[test]
fn a_power_cut_during_an_import_leaves_all_of_it_or_nothing() {
    passed(block_on(power_cuts(&Script::imports())), 150);
}

#[test]
fn a_fault_during_an_import_leaves_all_of_it_or_nothing() {
    let script = Script::imports();
    let calls = calls_of(&script, before_importing(&script, 3));
    passed(block_on(faults(&script, &all_faults(), calls)), 50);
}

#[test]
fn what_a_second_process_imports_survives_a_power_cut() {
    let script = Script::imports();
    let calls = calls_of(&script, before_importing(&script, 3));
    passed(block_on(second_lives(&script, calls)), 15);
}

#[test]
fn an_import_without_hard_links_is_all_or_nothing() {
    let script = Script::imports().up_to(6).without_links();
    let kinds = [Fault::KillAfter, Fault::Torn, Fault::Fail(5, Lasts::Once), Fault::FailHalf(28)];
    let calls: Vec<usize> = calls_of(&script, before_importing(&script, 4)).collect();
    passed(block_on(faults(&script, &kinds, calls.iter().copied())), 30);
    passed(block_on(second_lives(&script, calls.into_iter())), 15);
}
