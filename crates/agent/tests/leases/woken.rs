//! A message that comes while another caller holds the lane, for a run or for something else: in whatever order the
//! calls of the processes come to the database, the message is answered, and no process waits for another that does
//! nothing.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use ship_agent::{Agent, CallAnswer, ContextOperation, Outcome, Rules, RunError, Stop, Tool};
use ship_message::json::{Json, Object};
use ship_message::{Role, UiMessage};
use ship_store::{ChatKey, Store as _};
use ship_testkit::chat::{everything, ledger_keys};
use ship_testkit::map_store::MapStore;
use ship_testkit::random::Random;
use ship_testkit::sample::sample;
use ship_testkit::scripted_model::{ScriptedModel, ScriptedStep, call, calls, text};

use crate::harness::{chat, inbound};

/// One random schedule in so many is tried at once.
const SAMPLE: usize = 200;
const SCHEDULES: u64 = 100_000;

/// The number of choices that are enumerated at the end of a run, and around each call by which another holder takes or
/// releases a lane. After them, the first task goes on as long as it can.
const RUN_CHOICES: usize = 12;
const HOLDER_CHOICES: usize = 7;

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

/// What a caller holds a lane for, besides a run.
#[derive(Debug, Clone, Copy)]
enum Holding {
    NewContext,
    Title,
    /// A copy in another chat, whose lane is held for it.
    Copy,
    Compaction,
    CompactionPreview,
    CompactionUndo,
    /// An answer to a call that does not wait.
    LateAnswer,
    Repair,
    Stop,
}

impl Holding {
    const ALL: [Self; 9] = [
        Self::NewContext,
        Self::Title,
        Self::Copy,
        Self::Compaction,
        Self::CompactionPreview,
        Self::CompactionUndo,
        Self::LateAnswer,
        Self::Repair,
        Self::Stop,
    ];

    /// Those that stop no run of another caller.
    const PEACEFUL: [Self; 8] = [
        Self::NewContext,
        Self::Title,
        Self::Copy,
        Self::Compaction,
        Self::CompactionPreview,
        Self::CompactionUndo,
        Self::LateAnswer,
        Self::Repair,
    ];

    /// The chat to which a message comes meanwhile.
    fn chat(self) -> ChatKey {
        match self {
            Self::Copy => copy(),
            _ => chat(),
        }
    }

    /// The message that is said before. A stop needs a run that waits.
    fn said_before(self) -> &'static str {
        match self {
            Self::Stop => "ask",
            _ => "first",
        }
    }
}

fn copy() -> ChatKey {
    "terminal:copy".parse().unwrap()
}

/// One process: its agent, and its way to the database.
struct Process {
    store: MapStore,
    agent: Agent,
}

/// Answers every message, after a call that needs approval if the message is `ask`.
fn mind(seen: &[UiMessage]) -> ScriptedStep {
    match seen.last() {
        Some(last) if last.role() == Role::User && last.text().ends_with("ask") => {
            calls(&[call("1", "look", "{}")])
        }
        _ => text("Aye."),
    }
}

impl Process {
    fn of(database: &MapStore) -> Self {
        let store = database.another_process();
        let schema = Json::Object(Object::from([("type", "object")]));
        let look = Tool::with_schema("look", "looks", schema, |_, _| {
            Box::pin(async { Ok(Json::from("seen")) })
        });
        let rules = Rules { approval: ["look".to_owned()].into(), ..Rules::default() };
        let agent = Agent::builder().shared_store(Arc::new(store.clone())).rules(rules);
        let agent = agent.provider(ScriptedModel::new(mind)).without_built_in_tools().tool(look);
        Self { agent: agent.build(), store }
    }

    async fn accept(&self, to: &ChatKey, text: &str) {
        self.agent.accept(to, inbound(text)).await.unwrap();
    }

    /// Accepts a message and runs the chat. If another process runs it, that one has to see the message.
    async fn accept_and_run_now(&self, to: &ChatKey, text: &str) {
        self.accept(to, text).await;
        unless_elsewhere(self.agent.run_now(to, &Stop::default()).await);
    }

    /// Accepts a message and waits for the lane.
    async fn accept_and_run(&self, text: &str) {
        self.accept(&chat(), text).await;
        unless_elsewhere(self.agent.run(&chat(), &Stop::default()).await);
    }

    /// Sends a message and waits for its answer.
    async fn send(&self, text: &str) {
        let reply = self.agent.send(&chat(), inbound(text)).await.unwrap();
        assert_eq!(reply.text(), "Aye.");
    }

    /// Holds a lane for something else than a run.
    async fn hold(&self, holding: Holding) {
        let operate = async |operation| {
            unless_elsewhere(self.agent.operate(&chat(), operation, "terminal").await);
        };
        match holding {
            Holding::NewContext => {
                operate(ContextOperation::New { title: None, reason: None }).await;
            }
            Holding::Title => operate(ContextOperation::Rename { title: "Title".into() }).await,
            Holding::Copy => {
                operate(ContextOperation::Fork { at: None, to: Some(copy()) }).await;
            }
            Holding::Compaction => unless_elsewhere(self.agent.compact(&chat(), None).await),
            Holding::CompactionPreview => {
                unless_elsewhere(self.agent.plan_compaction(&chat()).await);
            }
            Holding::CompactionUndo => unless_elsewhere(self.agent.undo_compaction(&chat()).await),
            Holding::LateAnswer => {
                let output = CallAnswer::Output { call_id: "9".into(), output: Ok(Json::Null) };
                let answered = self.agent.answer(&chat(), output, &Stop::default()).await;
                let error = answered.unwrap_err();
                let is_late = matches!(error, RunError::NotWaiting { .. });
                assert!(is_late || error.is_elsewhere(), "{error:?}");
            }
            Holding::Repair => unless_elsewhere(self.agent.repair(&chat()).await),
            Holding::Stop => unless_elsewhere(self.agent.stop_run(&chat(), "terminal").await),
        }
    }
}

/// Checks that a call did not fail, unless another process has the lane.
fn unless_elsewhere<T>(done: Result<T, RunError>) {
    if let Err(error) = done {
        assert!(error.is_elsewhere(), "{error:?}");
    }
}

/// Returns a database with a chat in which something was said.
async fn begun(said: &str) -> MapStore {
    let database = MapStore::default();
    let process = Process::of(&database);
    process.accept(&chat(), said).await;
    let outcome = process.agent.run(&chat(), &Stop::default()).await.unwrap();
    let is_parked = outcome == Some(Outcome::Parked);
    assert_eq!(is_parked, said == "ask", "{outcome:?}");
    database
}

/// Checks that each message is in the chat once, and that nothing is left to do.
async fn check(database: &MapStore, key: &ChatKey, texts: &[&str], at: &str) {
    let stored = database.open(key).await.unwrap().unwrap();
    let keys = ledger_keys(&*stored).await;
    let messages = everything(&*stored).await.unwrap();
    for text in texts {
        let key = format!("terminal:{text}");
        assert_eq!(keys.iter().filter(|known| **known == key).count(), 1, "{at}: {keys:?}");
        let said = messages.iter().filter(|message| message.text().ends_with(text)).count();
        assert_eq!(said, 1, "{at}: `{text}` waits, and no process runs it");
    }
    let left = Process::of(database).agent.run(key, &Stop::default()).await.unwrap();
    assert_eq!(left, None, "{at}: something was left to do");
}

/// Lets a task go on until its process has begun so many calls.
async fn until_calls(task: &mut Task<'_>, process: &Process, count: usize) {
    let until = poll_fn(|context| match process.store.calls().len() >= count {
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
    check(&database, &key, &["first", "second"], at).await;
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
    check(&database, &key, &["second"], at).await;
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
    let calls = process.store.calls();
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
    let calls = process.store.calls();
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
        let callers = [(); 3].map(|()| Process::of(&database));
        let others = [(); 2].map(|()| Process::of(&database));
        let (key, texts) = (chat(), ["first", "second", "third"]);
        let mut tasks: Vec<Task<'_>> = Vec::new();
        for (caller, text) in callers.iter().zip(texts) {
            tasks.push(match random.below(3) {
                0 => Box::pin(caller.accept_and_run_now(&key, text)),
                1 => Box::pin(caller.accept_and_run(text)),
                _ => Box::pin(caller.send(text)),
            });
        }
        for other in &others {
            let holding = Holding::PEACEFUL[random.below(Holding::PEACEFUL.len())];
            tasks.push(Box::pin(other.hold(holding)));
        }
        interleave(tasks, &mut |count| random.below(count)).await;
        check(&database, &key, &texts, &format!("seed {seed}")).await;
    }
}
