//! Tells for how long this process was stopped.
//!
//! A process that is stopped (Ctrl-Z, a machine asleep) does not work, but its clock may go on. So the clock is looked at
//! in short intervals while anything is run. An interval that is far too long is one in which the process did not run.
//! One run looks for all: a thousand timers would wake a thread a thousand times a second while all of them wait.

use std::convert::Infallible;
use std::time::Duration;

use parking_lot::Mutex as SyncMutex;
use tokio::sync::Mutex;
use tokio::time::Instant;

/// The interval between two looks at the clock while a process works.
const INTERVAL: Duration = Duration::from_secs(1);

/// The longest interval that a busy machine explains. In a longer one, the process did not run.
const INTERVAL_MAX: Duration = Duration::from_secs(10);

/// The clock of all runs of an agent.
#[derive(Debug, Default)]
pub(crate) struct WorkClock {
    looks: SyncMutex<Looks>,
    /// Held by the run that looks at the clock for all.
    watching: Mutex<()>,
}

/// What was seen of the clock.
#[derive(Debug, Default)]
struct Looks {
    last: Option<Instant>,
    stopped: Duration,
}

impl WorkClock {
    /// Looks at the clock. Returns the present moment, and the time for which the process was stopped so far; a time
    /// without any run counts as such.
    pub(crate) fn look(&self) -> (Instant, Duration) {
        let now = Instant::now();
        (now, self.looks.lock().add(now))
    }

    /// Looks at the clock again and again, beside the work, unless another run does.
    #[expect(clippy::disallowed_methods, reason = "the clock is looked at from time to time")]
    pub(crate) async fn keep_watching(&self) -> Infallible {
        let _watching = self.watching.lock().await;
        loop {
            tokio::time::sleep(INTERVAL).await;
            self.look();
        }
    }
}

impl Looks {
    /// Adds a look, and returns the time for which the process was stopped.
    fn add(&mut self, now: Instant) -> Duration {
        let interval = now.saturating_duration_since(self.last.unwrap_or(now));
        self.last = Some(now);
        if interval > INTERVAL_MAX {
            // Until it was stopped, the process may have worked for one interval.
            self.stopped += interval - INTERVAL;
        }
        self.stopped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_in_which_nothing_ran_counts_as_one_look_and_a_slow_machine_in_full() {
        let mut now = Instant::now();
        let mut looks = Looks::default();
        assert_eq!(looks.add(now), Duration::ZERO);
        for (interval_ms, stopped_ms) in
            [(1_000, 0), (10_000, 0), (10_001, 9_001), (3_600_000, 3_608_001), (0, 3_608_001)]
        {
            now += Duration::from_millis(interval_ms);
            assert_eq!(looks.add(now), Duration::from_millis(stopped_ms), "{interval_ms}");
        }
    }

    #[tokio::test(start_paused = true)]
    #[expect(clippy::disallowed_methods, reason = "the clock is paused")]
    async fn one_run_looks_at_the_clock_for_all_and_another_when_it_ends() {
        let clock = WorkClock::default();
        let (begun, _) = clock.look();
        {
            let mut first = std::pin::pin!(clock.keep_watching());
            let mut second = std::pin::pin!(clock.keep_watching());
            tokio::select! {
                never = &mut first => match never {},
                never = &mut second => match never {},
                () = tokio::time::sleep(Duration::from_secs(30)) => {}
            }
            assert!(clock.watching.try_lock().is_err());
        }
        tokio::select! {
            never = clock.keep_watching() => match never {},
            () = tokio::time::sleep(Duration::from_secs(30)) => {}
        }
        let (now, stopped) = clock.look();
        assert_eq!((now - begun, stopped), (Duration::from_secs(60), Duration::ZERO));
        tokio::time::advance(Duration::from_secs(60)).await;
        assert_eq!(clock.look().1, Duration::from_secs(59), "no run was looking");
    }
}
