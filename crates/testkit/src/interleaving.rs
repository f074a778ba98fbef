//! Runs tasks in an order that the test decides: at each call of a store, another task may go on.
//!
//! A store whose calls let other tasks go first can be interleaved, such as a [`MapStore`](crate::map_store::MapStore).
//! [`InterleavedStore`] makes one of any other store. A seed repeats nearly the same order: what `select!` looks at first
//! is random, and cannot be told.

mod store;

use std::cell::Cell;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

pub use store::InterleavedStore;

thread_local! {
    /// The number of the present step; `None` outside of [`interleave`].
    static STEP: Cell<Option<u64>> = const { Cell::new(None) };
}

/// Lets other tasks go on first, if several are interleaved: waits for the next step of its task. One step may poll a
/// part of its task several times.
async fn next_step() {
    let before = STEP.get();
    let next = poll_fn(|context| match before.is_some() && STEP.get() == before {
        true => {
            context.waker().wake_by_ref();
            Poll::Pending
        }
        false => Poll::Ready(()),
    });
    next.await;
}

/// A task of a test.
pub type Task<'a> = Pin<Box<dyn Future<Output = ()> + 'a>>;

/// Notes that a task can go on, and wakes the scheduler.
struct Woken {
    is_woken: AtomicBool,
    scheduler: Waker,
}

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.is_woken.store(true, Ordering::SeqCst);
        self.scheduler.wake_by_ref();
    }
}

/// Runs tasks to their ends, one call of a store at a time. `choose` gets the number of tasks that can go on, and says
/// which of them does. The clock of the runtime must be paused: it goes on when no task can.
///
/// # Panics
/// When a task waits for ten minutes of that clock, because what it waits for never comes.
pub async fn interleave(tasks: Vec<Task<'_>>, choose: &mut dyn FnMut(usize) -> usize) {
    let scheduler = poll_fn(|context| Poll::Ready(context.waker().clone())).await;
    let woken = |task| {
        let scheduler = scheduler.clone();
        (task, Arc::new(Woken { is_woken: AtomicBool::new(true), scheduler }))
    };
    let mut tasks: Vec<(Task<'_>, Arc<Woken>)> = tasks.into_iter().map(woken).collect();
    let steps = async {
        while !tasks.is_empty() {
            let polled = poll_fn(|_| step(&mut tasks, choose)).await;
            // What the step has woken is known only when the runtime has had its turn.
            tokio::task::yield_now().await;
            if !polled.is_woken.load(Ordering::SeqCst) {
                until_threads_are_done().await;
            }
        }
    };
    let ended = tokio::time::timeout(Duration::from_secs(600), steps).await;
    STEP.set(None);
    ended.expect("a task waits for what never comes");
}

/// Polls one of the tasks that can go on, if there is any.
fn step(
    tasks: &mut Vec<(Task<'_>, Arc<Woken>)>,
    choose: &mut dyn FnMut(usize) -> usize,
) -> Poll<Arc<Woken>> {
    let can_go_on = |(at, (_, woken)): (usize, &(Task<'_>, Arc<Woken>))| {
        woken.is_woken.load(Ordering::SeqCst).then_some(at)
    };
    let ready: Vec<usize> = tasks.iter().enumerate().filter_map(can_go_on).collect();
    if ready.is_empty() {
        return Poll::Pending;
    }
    let at = ready[choose(ready.len())];
    STEP.set(Some(STEP.get().map_or(0, |step| step + 1)));
    let (task, woken) = &mut tasks[at];
    let woken = Arc::clone(woken);
    woken.is_woken.store(false, Ordering::SeqCst);
    let waker = Waker::from(Arc::clone(&woken));
    if task.as_mut().poll(&mut Context::from_waker(&waker)).is_ready() {
        drop(tasks.remove(at));
    }
    Poll::Ready(woken)
}

/// Waits until no thread works for a task any more, so that it is known which tasks can go on. A paused clock stands
/// still as long as one does.
#[expect(clippy::disallowed_methods, reason = "the clock is paused")]
async fn until_threads_are_done() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}
