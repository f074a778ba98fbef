//! The calls of a process: their numbers, the faults at them, and the places where the process stops.

use std::collections::HashMap;

use parking_lot::Mutex;
use ship_store::StorageError;
use tokio::sync::Notify;

/// What goes wrong at a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallFault {
    /// The database cannot be reached: nothing is done, and the caller knows it.
    Unreachable,
    /// The request is lost: nothing is done, and the caller does not know it.
    RequestLost,
    /// The answer is lost: everything is done, and the caller does not know it.
    AnswerLost,
}

/// The side of a call on which a process stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallStop {
    /// Before the database does anything.
    Before,
    /// After it has done everything, before the caller has the answer.
    After,
}

/// The kind of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallKind {
    Read,
    Write,
    /// A call of something else than the database, which cannot fail.
    Visit,
}

/// The calls of one process. The first has the number 0.
#[derive(Default)]
pub struct Calls {
    state: Mutex<CallState>,
    stopped: Notify,
    resumed: Notify,
}

#[derive(Default)]
struct CallState {
    names: Vec<&'static str>,
    faults: HashMap<usize, CallFault>,
    stop: Option<Stop>,
    /// The whole process stands still: no task of it comes past a call.
    is_frozen: bool,
}

#[derive(Clone, Copy)]
struct Stop {
    call: usize,
    side: CallStop,
    freezes: bool,
}

impl Calls {
    /// Returns the names of the calls so far, in order.
    pub fn names(&self) -> Vec<&'static str> {
        self.state.lock().names.clone()
    }

    /// Lets one call fail.
    pub fn fail_at(&self, call: usize, fault: CallFault) {
        self.state.lock().faults.insert(call, fault);
    }

    /// Keeps the task that makes a call waiting there until it is [resumed](Self::resume).
    pub fn stop_at(&self, call: usize, side: CallStop) {
        self.state.lock().stop = Some(Stop { call, side, freezes: false });
    }

    /// Freezes the process at a call: no task of it comes past a call until it is [resumed](Self::resume).
    pub fn freeze_at(&self, call: usize, side: CallStop) {
        self.state.lock().stop = Some(Stop { call, side, freezes: true });
    }

    /// Waits until the process has come to the call where it stops.
    pub async fn stopped(&self) {
        self.stopped.notified().await;
    }

    /// Lets a process go on that has stopped.
    pub fn resume(&self) {
        let mut state = self.state.lock();
        (state.stop, state.is_frozen) = (None, false);
        self.resumed.notify_waiters();
    }

    /// Makes a call. Other tasks have a turn before it, so that every order can come about.
    pub(super) async fn make<T, E: From<StorageError>>(
        &self,
        kind: CallKind,
        name: &'static str,
        work: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        let (number, fault) = {
            let mut state = self.state.lock();
            let number = state.names.len();
            state.names.push(name);
            (number, state.faults.remove(&number).filter(|_| kind != CallKind::Visit))
        };
        tokio::task::yield_now().await;
        self.stop_if(number, CallStop::Before).await;
        let lost = |may_have_happened| {
            let why = "the connection was lost".to_owned();
            E::from(StorageError::Unavailable { doing: name, why, may_have_happened })
        };
        match fault {
            Some(CallFault::Unreachable) => return Err(lost(false)),
            Some(CallFault::RequestLost) => return Err(lost(kind == CallKind::Write)),
            Some(CallFault::AnswerLost) | None => {}
        }
        let done = work();
        self.stop_if(number, CallStop::After).await;
        match fault {
            Some(_) => Err(lost(kind == CallKind::Write)),
            None => done,
        }
    }

    async fn stop_if(&self, number: usize, side: CallStop) {
        let stops_here = {
            let mut state = self.state.lock();
            let stop = state.stop.filter(|stop| (stop.call, stop.side) == (number, side));
            state.is_frozen |= stop.is_some_and(|stop| stop.freezes);
            stop.is_some()
        };
        if stops_here {
            self.stopped.notify_one();
        }
        loop {
            let resumed = self.resumed.notified();
            let is_held = {
                let state = self.state.lock();
                state.is_frozen || (stops_here && state.stop.is_some())
            };
            if !is_held {
                return;
            }
            resumed.await;
        }
    }
}
