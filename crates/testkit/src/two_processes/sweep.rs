//! All cases, or a part of them that a seed chooses.

use std::fmt;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::case_runner::{CaseRunner, FILLER};
use super::fault_case::{BrokenPromise, FailingCommand, FaultCase};
use super::test_project::TestProject;
use crate::random::Random;

/// How many calls fail in a row, at most.
const WINDOW_MAX: usize = 5;
/// A disk that is full for a while fails so many calls.
const LONG_WINDOW: usize = 40;
/// So many failures are printed; more tell nothing new.
const PRINTED_MAX: usize = 20;

/// Counts what a sweep did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SweepCounts {
    /// Commands with a window of failing calls.
    pub cases: usize,
    /// Calls that failed.
    pub faults: usize,
    /// Processes that were stopped behind their window while the other one wrote.
    pub stops: usize,
    /// Those of them that did not hold the write right.
    pub stops_outside: usize,
    /// Messages that were answered.
    pub answered: usize,
    /// Messages that were kept and not answered at once.
    pub kept: usize,
    /// Messages that were refused.
    pub refused: usize,
}

impl SweepCounts {
    pub(super) fn add(&mut self, other: &Self) {
        self.cases += other.cases;
        self.faults += other.faults;
        self.stops += other.stops;
        self.stops_outside += other.stops_outside;
        self.answered += other.answered;
        self.kept += other.kept;
        self.refused += other.refused;
    }
}

impl fmt::Display for SweepCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cases, faults, stops, stops_outside, answered, kept, refused } = self;
        write!(
            f,
            "{cases} cases of two processes with {faults} failed calls, {stops} stops \
             ({stops_outside} outside the write right), {answered} messages answered at once, \
             {kept} kept and {refused} refused"
        )
    }
}

/// Holds every case of a program, ready to be run.
pub struct Sweep<'a> {
    /// What every case begins with, by command.
    beginnings: Vec<(FailingCommand, CaseRunner<'a>)>,
    cases: Vec<FaultCase>,
}

impl<'a> Sweep<'a> {
    /// Counts the calls of each command of the program `ship`, and makes every case of them.
    ///
    /// # Errors
    /// When a command fails though none of its calls do.
    pub fn new(ship: &Path, shim: &'a Path) -> Result<Self, BrokenPromise> {
        let (mut beginnings, mut cases) = (Vec::new(), Vec::new());
        for command in FailingCommand::ALL {
            let beginning = beginning(command, ship, shim)?;
            let dry = FaultCase { command, what: "", at: 0, window: 1, then_stop: false };
            let calls = beginning.copied().run(&dry)?;
            assert!(calls > 10, "{command:?} makes {calls} calls only");
            cases.extend((1..=calls).flat_map(|at| cases_at(command, at)));
            beginnings.push((command, beginning));
        }
        Ok(Self { beginnings, cases })
    }

    /// Returns the number of cases.
    pub fn len(&self) -> usize {
        self.cases.len()
    }

    /// Returns whether there is no case, which cannot be.
    pub fn is_empty(&self) -> bool {
        self.cases.is_empty()
    }

    /// Runs so many cases of each command, chosen by a seed.
    ///
    /// # Errors
    /// The cases that broke a promise, and how.
    pub fn run_some(
        &self,
        seed: u64,
        of_each_command: usize,
    ) -> Result<SweepCounts, BrokenPromise> {
        let mut random = Random::new(seed);
        let mut chosen = Vec::new();
        for command in FailingCommand::ALL {
            let cases: Vec<&FaultCase> =
                self.cases.iter().filter(|case| case.command == command).collect();
            chosen.extend((0..of_each_command).map(|_| **random.one(&cases)));
        }
        self.run(&chosen)
    }

    /// Runs a window of each length at every call of every command. A seed chooses how its calls fail, and whether
    /// the process stops behind it.
    ///
    /// # Errors
    /// The cases that broke a promise, and how.
    pub fn run_every_window(&self, seed: u64) -> Result<SweepCounts, BrokenPromise> {
        let mut random = Random::new(seed);
        let is_same = |a: &FaultCase, b: &FaultCase| {
            (a.command, a.at, a.window) == (b.command, b.at, b.window)
        };
        let windows = self.cases.chunk_by(is_same);
        self.run(&windows.map(|window| *random.one(window)).collect::<Vec<_>>())
    }

    /// Runs one case again, by the words that its failure was printed with. Its folder is kept, and named
    /// on standard error.
    ///
    /// # Errors
    /// That there is no such case, or how it broke a promise.
    pub fn run_again(&self, words: &str) -> Result<SweepCounts, BrokenPromise> {
        let case = self.cases.iter().find(|case| case.to_string() == words);
        let case = case.ok_or_else(|| BrokenPromise(format!("there is no case `{words}`")))?;
        let mut runner = self.runner(case);
        let ran = runner.run(case);
        eprintln!("{}", runner.project.keep().display());
        ran.map(|_| runner.counts)
    }

    /// Runs these cases on all processors.
    fn run(&self, cases: &[FaultCase]) -> Result<SweepCounts, BrokenPromise> {
        let (next, total) = (AtomicUsize::new(0), Mutex::new(SweepCounts::default()));
        let wrongs: Mutex<Vec<String>> = Mutex::new(Vec::new());
        let threads = std::thread::available_parallelism().map_or(2, usize::from);
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                        match self.run_one(case) {
                            Ok(counts) => total.lock().unwrap().add(&counts),
                            Err(wrong) => {
                                let wrong = format!("{case}: {wrong}").replace(FILLER, "…");
                                wrongs.lock().unwrap().push(wrong);
                            }
                        }
                    }
                });
            }
        });
        let wrongs = wrongs.into_inner().unwrap();
        if wrongs.is_empty() {
            return Ok(total.into_inner().unwrap());
        }
        let printed = wrongs.iter().take(PRINTED_MAX).cloned().collect::<Vec<_>>().join("\n");
        Err(BrokenPromise(format!(
            "{} of {} cases went wrong:\n{printed}",
            wrongs.len(),
            cases.len()
        )))
    }

    fn run_one(&self, case: &FaultCase) -> Result<SweepCounts, BrokenPromise> {
        let mut runner = self.runner(case);
        runner.run(case)?;
        Ok(runner.counts)
    }

    fn runner(&self, case: &FaultCase) -> CaseRunner<'a> {
        let begins = |(command, _): &&(FailingCommand, CaseRunner<'a>)| *command == case.command;
        let mut runner = self.beginnings.iter().find(begins).unwrap().1.copied();
        runner.counts.cases = 1;
        runner
    }
}

fn cases_at(command: FailingCommand, at: usize) -> impl Iterator<Item = FaultCase> {
    // A full disk that takes nothing is an error like any other; one that takes half is another.
    let ways = ["eio", "half", "late"];
    let short = (1..=WINDOW_MAX).flat_map(move |window| {
        ways.into_iter().flat_map(move |what| {
            [false, true].map(|then_stop| FaultCase { command, what, at, window, then_stop })
        })
    });
    let long = FaultCase { command, what: "half", at, window: LONG_WINDOW, then_stop: false };
    short.chain([long])
}

/// Makes a chat with enough in it for the command to do something.
fn beginning<'a>(
    command: FailingCommand,
    ship: &Path,
    shim: &'a Path,
) -> Result<CaseRunner<'a>, BrokenPromise> {
    let mut runner = CaseRunner::new(TestProject::new(ship), shim);
    if command == FailingCommand::FirstSend {
        return Ok(runner);
    }
    for _ in 0..4 {
        runner.healthy_send()?;
    }
    if command == FailingCommand::Undo {
        runner.operate(&["context", "new"])?;
        runner.healthy_send()?;
    }
    runner.finish()?;
    Ok(runner)
}
