//! Time that a processor was used, which other programs on the machine do not lengthen.

use std::path::Path;
use std::time::{Duration, SystemTime};

use rustix::time::{ClockId, clock_gettime};

/// Long enough for a clock that ticks every few milliseconds.
const MEASURED: Duration = Duration::from_millis(40);
const ROUNDS: usize = 7;

/// The processor time in seconds of one call, as the mean of as many as it takes.
pub(crate) fn time_of(mut measured: impl FnMut()) -> f64 {
    let start = processor_time();
    for rounds in 1.. {
        measured();
        let time = processor_time().saturating_sub(start);
        if time >= MEASURED {
            return time.as_secs_f64() / f64::from(rounds);
        }
    }
    unreachable!("time goes on");
}

/// The least of several means: caches are shared with other programs, processors are not.
pub(crate) fn best_time_of(mut measured: impl FnMut()) -> f64 {
    (0..ROUNDS).map(|_| time_of(&mut measured)).fold(f64::INFINITY, f64::min)
}

/// What this thread has used of a processor; on systems that do not tell, the time of day.
fn processor_time() -> Duration {
    used_by("/proc/thread-self".as_ref()).unwrap_or_else(time_of_day)
}

/// What the present threads of this process have used of a processor; on systems that do not tell, the time of day.
pub(crate) fn process_time() -> Duration {
    time_of_process(std::process::id())
}

/// What the present threads of a process have used of a processor; on systems that do not tell, the time of day.
pub(crate) fn time_of_process(id: u32) -> Duration {
    let threads = std::fs::read_dir(format!("/proc/{id}/task"));
    let Ok(threads) = threads else { return time_of_day() };
    threads.flatten().filter_map(|thread| used_by(&thread.path())).sum()
}

fn used_by(thread: &Path) -> Option<Duration> {
    let text = std::fs::read_to_string(thread.join("schedstat")).ok()?;
    text.split(' ').next()?.parse().ok().map(Duration::from_nanos)
}

fn time_of_day() -> Duration {
    SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default()
}

/// What this thread has used of a processor, to the nanosecond.
pub(crate) fn thread_time() -> Duration {
    clock(ClockId::ThreadCPUTime)
}

/// What all threads of this process have used of a processor, also those that have ended.
pub(crate) fn all_time() -> Duration {
    clock(ClockId::ProcessCPUTime)
}

fn clock(id: ClockId) -> Duration {
    Duration::try_from(clock_gettime(id)).unwrap_or_default()
}

/// Returns the memory of this process, none on systems that do not tell.
pub(crate) fn resident_bytes() -> u64 {
    status("VmRSS:") * 1024
}

/// Returns the most memory that this process had since [`forget_peak`], none on systems that do not tell.
pub(crate) fn peak_bytes() -> u64 {
    status("VmHWM:") * 1024
}

/// Begins to look for the most memory anew, on systems that can.
pub(crate) fn forget_peak() {
    // Elsewhere the peak includes what was before, which is only more.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// Returns the bytes that this process has read so far, wherever from; none on systems that do not tell.
pub(crate) fn read_bytes() -> u64 {
    number_in("/proc/self/io", "rchar:")
}

fn status(name: &str) -> u64 {
    number_in("/proc/self/status", name)
}

fn number_in(file: &str, name: &str) -> u64 {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
