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
impl<Op, Out> WriteGroup<Op, Out> {
    /// Blocks until a writer leads and this number of others wait for it.
    pub(super) fn wait_for(&self, others: usize) {
        let is_so =
            |state: &WriteGroupState<Op, Out>| state.leading && state.waiting.len() >= others;
        while !is_so(&self.state.lock()) {
            std::thread::yield_now();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread::scope;

    use super::*;

    #[test]
    fn writers_that_wait_share_a_commit_and_each_gets_its_own_result() {
        let group = WriteGroup::<u32, u32>::new();
        let commits = AtomicUsize::new(0);
        // The first commit lasts until everybody else waits.
        let commit = |ops: Vec<u32>| {
            let others =
                if commits.fetch_add(1, Ordering::Relaxed) == 0 { 32 - ops.len() } else { 0 };
            group.wait_for(others);
            ops.into_iter().map(|op| op * 2).collect()
        };
        scope(|scope| {
            for number in 0..32 {
                let (group, commit) = (&group, &commit);
                scope.spawn(move || assert_eq!(group.submit(number, commit), number * 2));
            }
        });
        assert_eq!(commits.into_inner(), 2);
    }
}
