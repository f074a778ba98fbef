//! A message that comes while a run ends: in whatever order the calls of the processes come to the database, the
//! message is answered, and no process waits for another that does nothing.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use ship_agent::{Agent, Stop};
use ship_message::UiMessage;
use ship_store::{About, Store as _};
use ship_testkit::chat::{everything, ledger_keys};
use ship_testkit::map_store::MapStore;
use ship_testkit::random::Random;
use ship_testkit::sample::sample;
use ship_testkit::scripted_model::{ScriptedModel, text};

use crate::harness::{chat, inbound};

/// One random schedule in so many is tried at once.
const SAMPLE: usize = 200;
const SCHEDULES: u64 = 100_000;

/// The number of choices that are enumerated. After them, the first task goes on as long as it can.
const DEPTH: usize = 12;

type Task<'a> = Pin<Box<dyn Future<Output = ()> + 'a>>;

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

/// Runs tasks to their ends, one call of the database at a time. `choose` gets the number of tasks that can go on, and
/// says which of them does.
async fn interleave(tasks: Vec<Task<'_>>, choose: &mut dyn FnMut(usize) -> usize) {
    let scheduler = poll_fn(|context| Poll::Ready(context.waker().clone())).await;
    let woken = |task| {
        let scheduler = scheduler.clone();
        (task, Arc::new(Woken { is_woken: AtomicBool::new(true), scheduler }))
    };
    let mut tasks: Vec<(Task<'_>, Arc<Woken>)> = tasks.into_iter().map(woken).collect();
    let steps = poll_fn(|context| {
        let can_go_on = |(at, (_, woken)): (usize, &(Task<'_>, Arc<Woken>))| {
            woken.is_woken.load(Ordering::SeqCst).then_some(at)
        };
        let ready: Vec<usize> = tasks.iter().enumerate().filter_map(can_go_on).collect();
        if !ready.is_empty() {
            let at = ready[choose(ready.len())];
            let (task, woken) = &mut tasks[at];
            woken.is_woken.store(false, Ordering::SeqCst);
            let waker = Waker::from(Arc::clone(woken));
            if task.as_mut().poll(&mut Context::from_waker(&waker)).is_ready() {
                drop(tasks.remove(at));
            }
            // What the step has woken is known only when the runtime has had its turn.
            context.waker().wake_by_ref();
        }
        if tasks.is_empty() { Poll::Ready(()) } else { Poll::Pending }
    });
    let ended = tokio::time::timeout(Duration::from_secs(600), steps).await;
    ended.expect("a task waits for what never comes");
}

/// One process: its agent, and its way to the database.
struct Process {
    store: MapStore,
    agent: Agent,
}

impl Process {
    fn of(database: &MapStore) -> Self {
        let store = database.another_process();
        let model = ScriptedModel::new(|_: &[UiMessage]| text("Aye."));
        let agent = Agent::builder().shared_store(Arc::new(store.clone())).provider(model);
        Self { agent: agent.without_built_in_tools().build(), store }
    }

    async fn accept(&self, text: &str) {
        self.agent.accept(&chat(), inbound(text)).await.unwrap();
    }

    /// Accepts a message and runs the chat. If another process runs it, that one has to see the message.
    async fn accept_and_run_now(&self, text: &str) {
        self.accept(text).await;
        if let Err(error) = self.agent.run_now(&chat(), &Stop::default()).await {
            assert!(error.is_elsewhere(), "{error:?}");
        }
    }

    /// Accepts a message and waits for the lane.
    async fn accept_and_run(&self, text: &str) {
        self.accept(text).await;
        if let Err(error) = self.agent.run(&chat(), &Stop::default()).await {
            assert!(error.is_elsewhere(), "{error:?}");
        }
    }

    /// Sends a message and waits for its answer.
    async fn send(&self, text: &str) {
        let reply = self.agent.send(&chat(), inbound(text)).await.unwrap();
        assert_eq!(reply.text(), "Aye.");
    }
}

/// Checks that each message is in the chat once, and that nothing is left to do.
async fn check(database: &MapStore, texts: &[&str], at: &str) {
    let stored = database.open(&chat()).await.unwrap().unwrap();
    let keys = ledger_keys(&*stored).await;
    let messages = everything(&*stored).await.unwrap();
    for text in texts {
        let key = format!("terminal:{text}");
        assert_eq!(keys.iter().filter(|known| **known == key).count(), 1, "{at}: {keys:?}");
        let said = messages.iter().filter(|message| message.text().ends_with(text)).count();
        assert_eq!(said, 1, "{at}: `{text}` waits, and no process runs it");
    }
    let left = Process::of(database).agent.run(&chat(), &Stop::default()).await.unwrap();
    assert_eq!(left, None, "{at}: something was left to do");
}

/// Ends the run of the first message while a second one comes, in the order of `choose`.
async fn end_while_accepting(choose: &mut dyn FnMut(usize) -> usize, last_look: usize, at: &str) {
    let database = MapStore::default();
    let (ending, coming) = (Process::of(&database), Process::of(&database));
    let mut run = Box::pin(ending.accept_and_run_now("first"));
    // Up to the last look at the ledger while the lane is held, nothing else happens.
    let until_look = poll_fn(|context| match ending.store.calls().len() > last_look {
        true => Poll::Ready(()),
        false => run.as_mut().poll(context),
    });
    until_look.await;
    interleave(vec![run, Box::pin(coming.accept_and_run_now("second"))], choose).await;
    check(&database, &["first", "second"], at).await;
}

/// Returns the number of the last look at the ledger that a run makes while it holds the lane.
async fn last_look() -> usize {
    let process = Process::of(&MapStore::default());
    process.accept_and_run_now("first").await;
    let calls = process.store.calls();
    let release = calls.iter().position(|call| *call == "release").unwrap();
    calls[..release].iter().rposition(|call| *call == "after").unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_message_that_comes_while_a_run_ends_is_answered_in_whatever_order() {
    let last_look = last_look().await;
    let (mut prefix, mut schedules) = (Vec::new(), 0);
    loop {
        // The choices of this schedule, and how many there were.
        let mut made: Vec<(usize, usize)> = Vec::new();
        let mut choose = |count: usize| {
            let choice = prefix.get(made.len()).copied().filter(|_| count > 1).unwrap_or(0);
            if count > 1 && made.len() < DEPTH {
                made.push((choice, count));
            }
            choice
        };
        end_while_accepting(&mut choose, last_look, &format!("schedule {prefix:?}")).await;
        schedules += 1;
        let Some(last) = made.iter().rposition(|(choice, count)| choice + 1 < *count) else {
            break;
        };
        prefix = made[..last].iter().map(|(choice, _)| *choice).collect();
        prefix.push(made[last].0 + 1);
    }
    assert!(schedules > 500, "only {schedules} schedules");
}

#[tokio::test(start_paused = true)]
async fn no_message_of_three_callers_waits_with_nobody_to_run_it() {
    for seed in sample(0..SCHEDULES, SAMPLE) {
        let mut random = Random::new(seed);
        let database = MapStore::default();
        database.create(&chat(), About::default()).await.unwrap();
        let callers = [(); 3].map(|()| Process::of(&database));
        let texts = ["first", "second", "third"];
        let mut tasks: Vec<Task<'_>> = Vec::new();
        for (caller, text) in callers.iter().zip(texts) {
            tasks.push(match random.below(3) {
                0 => Box::pin(caller.accept_and_run_now(text)),
                1 => Box::pin(caller.accept_and_run(text)),
                _ => Box::pin(caller.send(text)),
            });
        }
        interleave(tasks, &mut |count| random.below(count)).await;
        check(&database, &texts, &format!("seed {seed}")).await;
    }
}
