//! How long the threads that serve all tasks are blocked by one of them.
//!
//! A heartbeat on the runtime is late when its threads are blocked, and also when the machine is busy with something
//! else. A thread of its own beats beside it, and is late only for the machine: what both wait at the same time is not
//! counted. The processor time of each poll of a turn shows the same without any clock.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::task::JoinHandle;

use crate::processor::thread_time;

/// The interval of the beats.
const INTERVAL: Duration = Duration::from_millis(2);
/// A poll that is worth being told.
const LONG: Duration = Duration::from_millis(1);

/// The processor times of polls.
#[derive(Default)]
pub(super) struct PollTimes(Mutex<Polls>);

#[derive(Default)]
struct Polls {
    count: usize,
    long: Vec<Duration>,
}

impl PollTimes {
    /// Returns a future whose polls are measured.
    pub(super) fn measure<F: Future>(
        self: &Arc<Self>,
        future: F,
    ) -> impl Future<Output = F::Output> + use<F> {
        Measured { times: Arc::clone(self), future: Box::pin(future) }
    }

    fn add(&self, time: Duration) {
        let mut polls = self.0.lock();
        polls.count += 1;
        if time >= LONG {
            polls.long.push(time);
        }
    }

    pub(super) fn longest(&self) -> Duration {
        self.0.lock().long.iter().copied().max().unwrap_or_default()
    }

    pub(super) fn describe(&self) -> String {
        let polls = self.0.lock();
        let over = |ms| polls.long.iter().filter(|it| **it > Duration::from_millis(ms)).count();
        let (one, five, ten) = (over(1), over(5), over(10));
        format!("{} polls: {one} over 1 ms of CPU, {five} over 5 ms, {ten} over 10 ms", polls.count)
    }
}

struct Measured<F> {
    times: Arc<PollTimes>,
    future: Pin<Box<F>>,
}

impl<F: Future> Future for Measured<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let begun = thread_time();
        let polled = self.future.as_mut().poll(context);
        self.times.add(thread_time().saturating_sub(begun));
        polled
    }
}

/// One beat: when it should have come, and how late it was.
#[derive(Clone, Copy)]
struct Beat {
    due: Instant,
    late: Duration,
}

impl Beat {
    fn of(begun: Instant) -> Self {
        Self { due: begun + INTERVAL, late: begun.elapsed().saturating_sub(INTERVAL) }
    }

    /// Returns for how long this beat and another were late at the same time.
    fn shared(&self, other: &Self) -> Duration {
        let end = (self.due + self.late).min(other.due + other.late);
        end.saturating_duration_since(self.due.max(other.due))
    }
}

/// Two heartbeats: a task of the runtime, and a thread of its own.
pub(super) struct Beats {
    task: JoinHandle<Vec<Beat>>,
    thread: thread::JoinHandle<Vec<Beat>>,
    ended: Arc<AtomicBool>,
}

impl Beats {
    #[expect(clippy::disallowed_methods, reason = "a heart beats from time to time")]
    pub(super) fn begin() -> Self {
        let ended = Arc::new(AtomicBool::new(false));
        let (of_task, of_thread) = (Arc::clone(&ended), Arc::clone(&ended));
        let task = async move {
            let mut beats = Vec::new();
            while !of_task.load(Ordering::Relaxed) {
                let begun = Instant::now();
                tokio::time::sleep(INTERVAL).await;
                beats.push(Beat::of(begun));
            }
            beats
        };
        let thread = move || {
            let mut beats = Vec::new();
            while !of_thread.load(Ordering::Relaxed) {
                let begun = Instant::now();
                thread::sleep(INTERVAL);
                beats.push(Beat::of(begun));
            }
            beats
        };
        Self { task: tokio::spawn(task), thread: thread::spawn(thread), ended }
    }

    /// Ends both.
    pub(super) async fn end(self) -> io::Result<BeatTimes> {
        self.ended.store(true, Ordering::Relaxed);
        let task = self.task.await?;
        let thread = self.thread.join().map_err(|_| io::Error::other("the thread has panicked"))?;
        Ok(BeatTimes { task, thread })
    }
}

/// The beats of both, in their order.
pub(super) struct BeatTimes {
    task: Vec<Beat>,
    thread: Vec<Beat>,
}

impl BeatTimes {
    /// Returns the longest time that the runtime was late while the thread was not. When the thread is late too, it is
    /// the machine that lets both wait.
    pub(super) fn longest_wait(&self) -> Duration {
        let own = |beat: &Beat| {
            // The beats of a thread never overlap, so those that are over before this one was due come first.
            let first = self.thread.partition_point(|other| other.due + other.late <= beat.due);
            let meanwhile = self.thread[first..].iter();
            let meanwhile = meanwhile.take_while(|other| other.due < beat.due + beat.late);
            beat.late.saturating_sub(meanwhile.map(|other| beat.shared(other)).sum())
        };
        self.task.iter().map(own).max().unwrap_or_default()
    }

    pub(super) fn describe(&self) -> String {
        let (task, thread) = (spread(&self.task), spread(&self.thread));
        format!("late beats of the runtime: {task}; of a thread: {thread}")
    }
}

fn spread(beats: &[Beat]) -> String {
    let mut late: Vec<Duration> = beats.iter().map(|beat| beat.late).collect();
    late.sort_unstable();
    let at = |share: f64| {
        let place = (late.len() as f64 * share) as usize;
        late.get(place.min(late.len().saturating_sub(1))).copied().unwrap_or_default()
    };
    let [half, most, nearly_all, all] =
        [0.5, 0.99, 0.999, 1.0].map(|share| at(share).as_secs_f64() * 1e3);
    format!("{half:.1} ms (half), {most:.1} (99 %), {nearly_all:.1} (99.9 %), {all:.1} (worst)")
}
