//! What a turn costs in the command: time on the processor, system calls, syncs, allocations and bytes read, and how
//! the time grows with the messages in the window.

use std::io::{self, Read as _};
use std::path::Path;
use std::process::{Command, Stdio};

use ship_testkit::allocations;

use super::{Ship, Talk};
use crate::report::Report;
use crate::traced::Trace;

/// The turns before a measurement. In the first ones, texts are read and threads begin.
const FIRST_TURNS: u32 = 5;
const TURNS: u32 = 200;
const TRACED_TURNS: u32 = 40;
const LINE: &str = "hello there, how are you?";

pub(super) fn bench(ship: &Ship, report: &mut Report<'_>) -> io::Result<()> {
    time(ship, report)?;
    calls(ship, report)?;
    allocations_of_a_turn(ship, report)?;
    growth(ship, report)
}

/// Measures a turn without syncs, whose cost is the disk's: `"flush"` does everything else.
fn time(ship: &Ship, report: &mut Report<'_>) -> io::Result<()> {
    let measure = |durability: &str| {
        let settings = format!("{{ \"durability\": \"{durability}\" }}");
        let root = ship.project(&format!("turn-{durability}"), &settings)?;
        let mut talk = Talk::begin(ship.chat(&root))?;
        let each = talk.ms_per_turn(FIRST_TURNS, TURNS)?;
        talk.end()?;
        io::Result::Ok(each)
    };
    let (bare, synced) = (measure("flush")?, measure("sync")?);
    let what = format!("ms of processor for a turn, mean of {TURNS} in one chat");
    report.limit(&what, bare, 2.0, 1.0);
    report.note(&format!("{synced:.2} ms with its syncs"));
    Ok(())
}

/// Counts what a turn asks of the system.
fn calls(ship: &Ship, report: &mut Report<'_>) -> io::Result<()> {
    let root = ship.project("calls", "{}")?;
    let few = traced_talk(ship, &root, FIRST_TURNS)?;
    let many = traced_talk(ship, &root, FIRST_TURNS + TRACED_TURNS)?;
    let (Some(few), Some(many)) = (few, many) else {
        report.skipped("the calls of a turn: there is no `strace` here");
        return Ok(());
    };
    let each = |count: &dyn Fn(&Trace) -> u64| {
        count(&many).saturating_sub(count(&few)) as f64 / f64::from(TRACED_TURNS)
    };
    report.limit("syncs of a turn", each(&|trace| trace.syncs() as u64), 4.0, 2.0);
    report.limit("system calls of a turn", each(&|trace| trace.calls() as u64), 250.0, 150.0);
    let read = each(&|trace| trace.bytes_read_below(&root));
    report.note(&format!("{read:.0} bytes read of files in a turn"));
    if let Some(sent) = Trace::of(&ship.command(&root, &["send", LINE]))? {
        let turns = 2 * FIRST_TURNS + TRACED_TURNS;
        let (calls, syncs, read) = (sent.calls(), sent.syncs(), sent.bytes_read_below(&root));
        report.note(&format!(
            "`ship send` after {turns} turns: {calls} calls, {syncs} syncs, {read} bytes read of files"
        ));
    }
    Ok(())
}

/// Counts the allocations of a turn, as the difference between a long talk and a short one.
fn allocations_of_a_turn(ship: &Ship, report: &mut Report<'_>) -> io::Result<()> {
    let counted = |turns| {
        let root = ship.project(&format!("allocations-{turns}"), "{}")?;
        let mut command = ship.chat(&root);
        if !allocations::count_in(&mut command) {
            return Ok(None);
        }
        command.stderr(Stdio::piped());
        let mut talk = Talk::begin(command)?;
        let told = talk.child.stderr.take();
        (0..turns).try_for_each(|_| talk.turn(LINE).map(drop))?;
        talk.end()?;
        let mut text = String::new();
        told.map_or(Ok(0), |mut told| told.read_to_string(&mut text))?;
        io::Result::Ok(allocations::counted(&text))
    };
    let (few, many) = (counted(FIRST_TURNS)?, counted(FIRST_TURNS + TRACED_TURNS)?);
    let (Some(few), Some(many)) = (few, many) else {
        report.skipped("the allocations of a turn: there is no C compiler, or no glibc");
        return Ok(());
    };
    let each = many.saturating_sub(few) as f64 / f64::from(TRACED_TURNS);
    report.limit("allocations of a turn", each, 4_000.0, 1_500.0);
    Ok(())
}

fn traced_talk(ship: &Ship, root: &Path, turns: u32) -> io::Result<Option<Trace>> {
    Trace::during(&ship.chat(root), |mut traced: Command| {
        let mut talk = Talk::begin({
            traced.stdin(Stdio::piped()).stdout(Stdio::piped());
            traced
        })?;
        (0..turns).try_for_each(|_| talk.turn(LINE).map(drop))?;
        talk.end()
    })
}

/// Compares a turn in a window of a thousand messages with one in a window of fifty.
fn growth(ship: &Ship, report: &mut Report<'_>) -> io::Result<()> {
    // No window is compacted while it is measured.
    let settings =
        r#"{"durability":"flush","context":{"history":{"maxInputTokensApprox":100000000}}}"#;
    let (mut short, mut long) = (f64::INFINITY, f64::INFINITY);
    // A pair of measurements at a time, so that the mood of the machine is the same for both.
    let mut old = Talk::begin(ship.chat(&ship.project("window-1000", settings)?))?;
    let mut before = 485;
    for round in 0..3 {
        let mut young =
            Talk::begin(ship.chat(&ship.project(&format!("window-50-{round}"), settings)?))?;
        short = short.min(young.ms_per_turn(10, 30)?);
        young.end()?;
        long = long.min(old.ms_per_turn(before, 10)?);
        before = 0;
    }
    old.end()?;
    let what = "a turn at 1,000 messages over one at 50";
    report.limit(what, long / short, 2.0, 1.5);
    report.note(&format!("{long:.2} ms and {short:.2} ms"));
    Ok(())
}

impl Talk {
    /// Returns the processor time of a turn in milliseconds, as the mean of `measured` turns that follow `before` turns.
    fn ms_per_turn(&mut self, before: u32, measured: u32) -> io::Result<f64> {
        (0..before).try_for_each(|_| self.turn(LINE).map(drop))?;
        let began = self.processor_ms();
        (0..measured).try_for_each(|_| self.turn(LINE).map(drop))?;
        Ok((self.processor_ms() - began) / f64::from(measured))
    }
}
