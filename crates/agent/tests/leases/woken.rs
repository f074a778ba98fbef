//! A message that comes while another caller holds the lane, for a run or for something else: in whatever order the
//! calls of the processes come to the database, the message is answered, and no process waits for another that does
//! nothing.

use std::future::poll_fn;
use std::ops::Deref;
use std::sync::Arc;
use std::task::Poll;

use ship_testkit::interleaving::{Task, interleave};
use ship_testkit::map_store::MapStore;
use ship_testkit::random::Random;
use ship_testkit::sample::sample;

use super::callers::{Caller, Holding, begin, check, tasks};
use crate::harness::chat;

/// One random schedule in so many is tried at once.
const SAMPLE: usize = 200;
const SCHEDULES: u64 = 100_000;

/// The number of choices that are enumerated at the end of a run, and around each call by which another holder takes or
/// releases a lane. After them, the first task goes on as long as it can.
const RUN_CHOICES: usize = 12;
const HOLDER_CHOICES: usize = 7;

/// One process: its caller, and its way to the database.
struct Process {
    store: MapStore,
    caller: Caller,
}

impl Process {
    fn of(database: &MapStore) -> Self {
        let store = database.another_process();
        Self { caller: Caller::of(Arc::new(store.clone())), store }
    }
}

impl Deref for Process {
    type Target = Caller;

    fn deref(&self) -> &Caller {
        &self.caller
    }
}

/// Returns a database with a chat in which something was said.
async fn begun(said: &str) -> MapStore {
    let database = MapStore::default();
    begin(Arc::new(database.another_process()), said).await;
    database
}

/// Lets a task go on until its process has begun so many calls.
async fn until_calls(task: &mut Task<'_>, process: &Process, count: usize) {
    let until = poll_fn(|context| match process.store.calls().names().len() >= count {
        true => Poll::Ready(()),
        false => task.as_mut().poll(context),
    });
    until.await;
}

/// Ends the run of the first message while a second one comes, in the order of `choose`.
async fn end_while_accepting(choose: &mut dyn FnMut(usize) -> usize, last_look: usize, at: &str) {
    let database = MapStore::default();
    let (ending, coming) = (Process::of(&database), Process::of(&database));
    let key = chat();
    let mut run: Task<'_> = Box::pin(ending.accept_and_run_now(&key, "first"));
    // Up to the last look at the ledger while the lane is held, nothing else happens.
    until_calls(&mut run, &ending, last_look + 1).await;
    let come = Box::pin(coming.accept_and_run_now(&key, "second"));
    interleave(vec![run, come], choose).await;
    check(Arc::new(database), &key, &["first", "second"], at).await;
}

/// Holds a lane while a message comes, in the order of `choose` from a call of the holder on.
async fn hold_while_accepting(
    holding: Holding,
    choose: &mut dyn FnMut(usize) -> usize,
    from: usize,
    at: &str,
) {
    let database = begun(holding.said_before()).await;
    let (holder, coming) = (Process::of(&database), Process::of(&database));
    let mut holds: Task<'_> = Box::pin(holder.hold(holding));
    until_calls(&mut holds, &holder, from).await;
    let key = holding.chat();
    let come = Box::pin(coming.accept_and_run_now(&key, "second"));
    interleave(vec![holds, come], choose).await;
    check(Arc::new(database), &key, &["second"], at).await;
}

/// Tries every order of so many choices. `case` gets a function that chooses, and the name of the schedule. Returns the
/// number of schedules.
async fn in_every_order(
    choices: usize,
    case: impl AsyncFn(&mut dyn FnMut(usize) -> usize, &str),
) -> usize {
    let (mut prefix, mut schedules) = (Vec::new(), 0);
    loop {
        // The choices of this schedule, and how many there were.
        let mut made: Vec<(usize, usize)> = Vec::new();
        let mut choose = |count: usize| {
            let choice = prefix.get(made.len()).copied().filter(|_| count > 1).unwrap_or(0);
            if count > 1 && made.len() < choices {
                made.push((choice, count));
            }
            choice
        };
        case(&mut choose, &format!("schedule {prefix:?}")).await;
        schedules += 1;
        let Some(last) = made.iter().rposition(|(choice, count)| choice + 1 < *count) else {
            return schedules;
        };
        prefix = made[..last].iter().map(|(choice, _)| *choice).collect();
        prefix.push(made[last].0 + 1);
    }
}

/// Returns the number of the last look at the ledger that a run makes while it holds the lane.
async fn last_look() -> usize {
    let process = Process::of(&MapStore::default());
    process.accept_and_run_now(&chat(), "first").await;
    let calls = process.store.calls().names();
    let release = calls.iter().position(|call| *call == "release").unwrap();
    calls[..release].iter().rposition(|call| *call == "after").unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_message_that_comes_while_a_run_ends_is_answered_in_whatever_order() {
    let last_look = last_look().await;
    let schedules = in_every_order(RUN_CHOICES, async |choose, at| {
        end_while_accepting(choose, last_look, at).await;
    })
    .await;
    assert!(schedules > 500, "only {schedules} schedules");
}

/// Returns the numbers of the calls by which a holder takes and releases lanes when no message comes.
async fn lane_calls(holding: Holding) -> Vec<usize> {
    let process = Process::of(&begun(holding.said_before()).await);
    process.hold(holding).await;
    let calls = process.store.calls().names();
    let is_of_lane = |call: &usize| matches!(calls[*call], "lane" | "release");
    let found: Vec<usize> = (0..calls.len()).filter(is_of_lane).collect();
    assert!(found.len() >= 2, "{holding:?}: {calls:?}");
    found
}

#[tokio::test(start_paused = true)]
async fn a_message_that_comes_while_a_lane_is_held_for_something_else_is_answered() {
    for holding in Holding::ALL {
        for call in lane_calls(holding).await {
            let schedules = in_every_order(HOLDER_CHOICES, async |choose, at| {
                let at = format!("{holding:?} from call {call}, {at}");
                hold_while_accepting(holding, choose, call, &at).await;
            })
            .await;
            assert!(schedules > 30, "{holding:?} from call {call}: only {schedules} schedules");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn no_message_of_three_callers_waits_with_nobody_to_run_it() {
    for seed in sample(0..SCHEDULES, SAMPLE) {
        let mut random = Random::new(seed);
        let database = begun("before").await;
        let senders = [(); 3].map(|()| Process::of(&database));
        let holders = [(); 2].map(|()| Process::of(&database));
        let (key, texts) = (chat(), ["first", "second", "third"]);
        let senders = senders.each_ref().map(|process| &process.caller);
        let holders = holders.each_ref().map(|process| &process.caller);
        let tasks = tasks((&senders, &texts), &holders, &key, &mut random);
        interleave(tasks, &mut |count| random.below(count)).await;
        check(Arc::new(database), &key, &texts, &format!("seed {seed}")).await;
    }
}
