//! A lease that runs out at any point of a run, while its holder stands still or while it works on: the next holder
//! ends the run, and the first one neither writes nor does anything any more.

use std::sync::atomic::Ordering;

use ship_testkit::map_store::CallStop;
use ship_testkit::sample::sample;

use super::world::World;

/// One case in so many is tried at once.
const SAMPLE: usize = 8;

/// What the first holder does while another has its lane.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Meanwhile {
    /// Nothing: its process is frozen.
    Frozen,
    /// It works, but for one call whose answer does not come.
    Works,
}

/// Ends the lease of a run at a call. Returns whether the run came to that call.
async fn lose_at(call: usize, side: CallStop, meanwhile: Meanwhile) -> bool {
    let world = World::asked().await;
    let (first, second) = (world.process(), world.process());
    match meanwhile {
        Meanwhile::Frozen => first.store.calls().freeze_at(call, side),
        Meanwhile::Works => first.store.calls().stop_at(call, side),
    }
    let mut running = Box::pin(first.run());
    tokio::select! {
        biased;
        ended = &mut running => {
            ended.unwrap();
            return false;
        }
        () = first.store.calls().stopped() => {}
    }
    let at = format!("{side:?} call {call} ({}), {meanwhile:?}", first.store.calls().names()[call]);
    world.database.end_leases();
    let effects = first.effects.load(Ordering::SeqCst);
    let took_over = async || {
        let done = second.run().await;
        done.unwrap_or_else(|error| panic!("{at}: {error}"));
        world.check(&at).await;
        world.database.rows()
    };
    let (lost, rows) = match meanwhile {
        Meanwhile::Frozen => {
            let left = took_over().await;
            first.store.calls().resume();
            (running.await, left)
        }
        Meanwhile::Works => tokio::join!(running, async {
            let left = took_over().await;
            first.store.calls().resume();
            left
        }),
    };
    if let Err(error) = lost {
        assert!(error.is_elsewhere(), "{at}: {error:?}");
    }
    // Tasks of the first process that were not ended with its run have their turn.
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert_eq!(world.database.rows(), rows, "{at}: it wrote without the lane");
    assert_eq!(first.effects.load(Ordering::SeqCst), effects, "{at}: an effect without the lane");
    world.check_idle(&at).await;
    true
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_runs_out_anywhere_costs_no_answer_and_repeats_nothing() {
    let whole = World::asked().await;
    let process = whole.process();
    process.run().await.unwrap();
    whole.check("nothing happens").await;
    assert_eq!(whole.effects(), 1);
    let calls = process.store.calls().names();
    let sides = [CallStop::Before, CallStop::After];
    let cases = (0..calls.len()).flat_map(|call| sides.map(|side| (call, side)));
    let cases = cases.flat_map(|(call, side)| {
        [Meanwhile::Frozen, Meanwhile::Works].map(|meanwhile| (call, side, meanwhile))
    });
    // The cases in which the lease runs out while the tool is about to act are tried always.
    let (acting, others): (Vec<_>, Vec<_>) = cases.partition(|case| calls[case.0] == "effect");
    let mut reached = 0;
    for (call, side, meanwhile) in acting.into_iter().chain(sample(others, SAMPLE)) {
        reached += usize::from(lose_at(call, side, meanwhile).await);
    }
    assert!(reached * SAMPLE > calls.len() * 3, "{reached} of {} calls: {calls:?}", calls.len());
}
