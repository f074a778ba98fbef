//! Group commit: one write and one sync serve all writers that wait for the same file.
//!
//! The first writer leads: it takes all waiting operations, commits them together, and hands each writer its
//! result. Writers that come meanwhile wait, and the first of them leads the next group. No writer waits on purpose
//! for others; a slow disk makes the groups large.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use parking_lot::{Condvar, Mutex};

/// A queue in front of one file.
pub(crate) struct WriteGroup<Op, Out> {
    state: Mutex<WriteGroupState<Op, Out>>,
    changed: Condvar,
}

struct WriteGroupState<Op, Out> {
    next_ticket: u64,
    leading: bool,
    waiting: Vec<(u64, Op)>,
    /// The results that are not yet fetched; `None` where the commit panicked.
    done: HashMap<u64, Option<Out>>,
}

impl<Op, Out> WriteGroup<Op, Out> {
    pub(crate) fn new() -> Self {
        let (waiting, done) = (Vec::new(), HashMap::new());
        let state = WriteGroupState { next_ticket: 0, leading: false, waiting, done };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    /// Commits `op` together with all waiting ones. `commit` returns one result for each, in order.
    pub(crate) fn submit(&self, op: Op, commit: impl Fn(Vec<Op>) -> Vec<Out>) -> Out {
        let mut state = self.state.lock();
        let ticket = state.next_ticket;
        state.next_ticket += 1;
        state.waiting.push((ticket, op));
        loop {
            if let Some(out) = state.done.remove(&ticket) {
                return out.expect("the commit that this was part of does not panic");
            }
            if state.leading {
                self.changed.wait(&mut state);
                continue;
            }
            state.leading = true;
            let (tickets, ops): (Vec<u64>, Vec<Op>) =
                std::mem::take(&mut state.waiting).into_iter().unzip();
            // Other writers can join the queue during the commit.
            drop(state);
            let results = catch_unwind(AssertUnwindSafe(|| commit(ops)));
            state = self.state.lock();
            state.leading = false;
            self.changed.notify_all();
            match results {
                Ok(results) => {
                    let results = results.into_iter().map(Some);
                    state.done.extend(tickets.into_iter().zip(results));
                }
                // A bug of ours fails the writers of this group and none after them.
                Err(panic) => {
                    state.done.extend(tickets.into_iter().map(|ticket| (ticket, None)));
                    drop(state);
                    resume_unwind(panic);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Arc, Barrier};

    use super::*;

    #[test]
    fn those_who_wait_share_a_commit_and_each_gets_its_own_result() {
        let group = Arc::new(WriteGroup::<u32, u32>::new());
        let commits = Arc::new(AtomicUsize::new(0));
        let start = Arc::new(Barrier::new(32));
        let threads: Vec<_> = (0..32)
            .map(|number| {
                let (group, commits, start) = (group.clone(), commits.clone(), start.clone());
                std::thread::spawn(move || {
                    start.wait();
                    let out = group.submit(number, |ops| {
                        commits.fetch_add(1, Ordering::Relaxed);
                        std::thread::sleep(std::time::Duration::from_millis(20));
                        ops.into_iter().map(|op| op * 2).collect()
                    });
                    assert_eq!(out, number * 2);
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
        assert!(commits.load(Ordering::Relaxed) <= 16, "{commits:?}");
    }
}
