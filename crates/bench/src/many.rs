//! One agent for a thousand chats on disk, each with a window of 200 messages and 300 KB, on two threads: what a turn
//! costs, whether a thread that serves many is blocked, and what the caches keep.
//!
//! `SHIP_BENCH_CHATS`, `SHIP_BENCH_TURNS` and `SHIP_BENCH_OBSERVED` take smaller numbers for a quick look; what they
//! show of memory is then less than the truth.

mod blocked;
mod fleet;
mod group;
mod model;

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use ship_testkit::random::Random;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::processor::{all_time, forget_peak, peak_bytes, resident_bytes};
use crate::report::{Report, Want};
use blocked::{Beats, PollTimes};
use fleet::Fleet;

const CHATS: usize = 1_000;
const TURNS: usize = 10_000;
const OBSERVED: usize = 50_000;
/// The threads on which work may block, and the tasks that run between two looks at timers, as `ship` has them.
const BLOCKING_THREADS: usize = 64;
const POLLS_BETWEEN_EVENTS: u32 = 3;
/// The turns that are under way at once, as many as a server has while it is busy.
const AT_ONCE: usize = 8;
/// The chats and rounds of the measurement of warm windows.
const WARM_CHATS: usize = 20;
const WARM_ROUNDS: usize = 10;
/// The time for which chats wait for their model: each touches its lane every 15 seconds, so at least twice.
const WAIT: Duration = Duration::from_secs(40);

const COLD_MS_MAX: f64 = 10.0;
const WARM_MS_MAX: f64 = 4.0;
const BLOCKED_MS_MAX: f64 = 10.0;
const MEMORY_MB_MAX: f64 = 256.0 * 1.048_576 + 100.0;

/// Measures an agent that serves many chats, on a disk below `folder`.
///
/// # Errors
/// When the disk fails, or a chat cannot be run.
pub fn bench(folder: &Path, report: &mut Report<'_>) -> io::Result<()> {
    let chats = number_from("SHIP_BENCH_CHATS", CHATS);
    let turns = number_from("SHIP_BENCH_TURNS", TURNS);
    report.section(&format!("Many: {turns} turns in {chats} chats with windows of 200 messages"));
    raise_open_files()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(BLOCKING_THREADS)
        .event_interval(POLLS_BETWEEN_EVENTS)
        .enable_time()
        .build()?;
    let folder = tempfile::tempdir_in(folder)?;
    let before = resident_bytes();
    let fleet = runtime.block_on(Fleet::build(folder.path(), chats))?;
    forget_peak();
    runtime.block_on(async {
        // First of all, so that no memory counts that was another agent's and is not given back to the system.
        turns_in_random_order(&fleet, turns, report).await?;
        memory(before, report);
        turn_costs(&fleet, report).await?;
        waiting_chats(&fleet, report).await?;
        group::bench(&fleet, number_from("SHIP_BENCH_OBSERVED", OBSERVED), report).await
    })
}

fn number_from(variable: &str, otherwise: usize) -> usize {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// Lets the process open as many files as it may: every running chat holds a lane.
fn raise_open_files() -> io::Result<()> {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    Ok(setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum })?)
}

/// Measures the processor time of a turn when its window is in no cache, and when it is in one.
async fn turn_costs(fleet: &Fleet, report: &mut Report<'_>) -> io::Result<()> {
    // The vocabulary is loaded, and what was counted is kept for the next process.
    let agent = fleet.agent(None)?;
    fleet.turn_in_each(&agent, 0..fleet.chats()).await?;
    drop(agent);

    let agent = fleet.agent(None)?;
    fleet.turn_in_each(&agent, 0..1).await?;
    let cold = time_per_turn(fleet.chats() - 1, async {
        fleet.turn_in_each(&agent, 1..fleet.chats()).await
    });
    report.ratio("CPU of a turn with a cold window, in ms", cold.await?, Want::AtMost(COLD_MS_MAX));

    let warm_chats = fleet.chats().min(WARM_CHATS);
    fleet.turn_in_each(&agent, 0..warm_chats).await?;
    let warm = time_per_turn(warm_chats * WARM_ROUNDS, async {
        for _ in 0..WARM_ROUNDS {
            fleet.turn_in_each(&agent, 0..warm_chats).await?;
        }
        Ok(())
    });
    report.ratio("CPU of a turn with a warm window, in ms", warm.await?, Want::AtMost(WARM_MS_MAX));
    Ok(())
}

/// Returns the processor time of each of so many turns, in milliseconds.
async fn time_per_turn(
    turns: usize,
    work: impl Future<Output = io::Result<()>>,
) -> io::Result<f64> {
    let before = all_time();
    work.await?;
    Ok(all_time().saturating_sub(before).as_secs_f64() * 1e3 / turns.max(1) as f64)
}

/// Runs two waves of the same turns, several at once.
async fn turns_in_random_order(
    fleet: &Fleet,
    turns: usize,
    report: &mut Report<'_>,
) -> io::Result<()> {
    let (agent, polls) = (fleet.agent(None)?, Arc::new(PollTimes::default()));
    let beats = Beats::begin();
    let mut ends = Vec::new();
    for _ in 0..2 {
        let mut random = Random::new(7);
        let (mut running, places) = (JoinSet::new(), Arc::new(Semaphore::new(AT_ONCE)));
        let begun = all_time();
        for _ in 0..turns {
            let place = Arc::clone(&places).acquire_owned().await.map_err(io::Error::other)?;
            let turn = fleet.turn(&agent, random.below(fleet.chats()));
            running.spawn(polls.measure(async move {
                let done = turn.await;
                drop(place);
                done
            }));
            while let Some(done) = running.try_join_next() {
                done??;
            }
        }
        while let Some(done) = running.join_next().await {
            done??;
        }
        let each = all_time().saturating_sub(begun).as_secs_f64() * 1e3 / turns.max(1) as f64;
        ends.push(resident_bytes());
        report.note(&format!("{each:.2} ms of processor a turn, {} MB", mb(ends[ends.len() - 1])));
    }
    let beats = beats.end().await?;
    report.note(&beats.describe());
    report.note(&polls.describe());
    report.ratio(
        "longest wait of a heartbeat, less what the machine adds, in ms",
        beats.longest_wait().as_secs_f64() * 1e3,
        Want::AtMost(BLOCKED_MS_MAX),
    );
    report.ratio(
        "longest time that a turn blocked its thread, in ms of CPU",
        polls.longest().as_secs_f64() * 1e3,
        Want::AtMost(BLOCKED_MS_MAX),
    );
    let growth = ends[1] as f64 / ends[0] as f64;
    report.ratio("memory after a second wave over the first", growth, Want::AtMost(1.1));
    Ok(())
}

/// Compares the most memory with what the process had before it had any chat.
fn memory(before: u64, report: &mut Report<'_>) {
    let most = peak_bytes().saturating_sub(before) as f64 / 1e6;
    let what = "most memory of the caches and all else, in MB";
    report.ratio(what, most, Want::AtMost(MEMORY_MB_MAX));
    report.note(&format!("{} MB before the first chat", mb(before)));
}

fn mb(bytes: u64) -> u64 {
    bytes / 1_000_000
}

/// Lets every chat wait for its model at once.
#[expect(clippy::disallowed_methods, reason = "what waiting costs shows only with time")]
async fn waiting_chats(fleet: &Fleet, report: &mut Report<'_>) -> io::Result<()> {
    let gate = model::Gate::new();
    let agent = fleet.agent(Some(gate.clone()))?;
    let mut running = JoinSet::new();
    for chat in 0..fleet.chats() {
        running.spawn(fleet.turn(&agent, chat));
    }
    gate.wait_for(fleet.chats()).await?;
    let before = all_time();
    tokio::time::sleep(WAIT).await;
    let used = all_time().saturating_sub(before).as_secs_f64() / WAIT.as_secs_f64();
    gate.open();
    while let Some(done) = running.join_next().await {
        done??;
    }
    let what = format!("a core used by {} chats that wait for a model, in %", fleet.chats());
    report.ratio(&what, used * 100.0, Want::AtMost(1.0));
    Ok(())
}
