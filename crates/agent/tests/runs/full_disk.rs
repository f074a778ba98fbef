//! A disk that fills up in the middle: what is said is said.

use ship_agent::{Outcome, RunError, Stop};
use ship_testkit::sample::sample;
use ship_testkit::sim::{Fault, Lasts};

use crate::harness::Setup;

const NO_SPACE: i32 = 28;

/// Fills the disk at calls to it, and asks whether what was reported is what is stored.
#[tokio::test]
async fn a_turn_whose_answer_is_in_the_log_is_never_reported_as_failed() {
    let whole = Setup::default();
    whole.agent().say("hello").await;
    let (mut answered, mut logged) = (0, 0);
    for at in sample(0..whole.disk.calls(), 2) {
        let setup = Setup::default();
        setup.disk.fail_in(at, Fault::Fail(NO_SPACE, Lasts::Forever));
        let test = setup.agent();
        let accepted = test.accept("hello").await;
        let outcome = test.agent.run(&test.chat, &Stop::default()).await;
        let told = test.log.of("error");
        drop(test);
        setup.disk.heal();
        let after = setup.agent();
        if !accepted {
            continue;
        }
        let is_in_log = after.context().await.len() == 2;
        match outcome {
            Ok(Some(Outcome::Done)) => assert!(is_in_log, "at call {at}"),
            Ok(other) => panic!("at call {at}: {other:?}"),
            // Written and not synced: nobody knows yet whether it stays.
            Err(RunError::Append(_)) => {}
            Err(error) => assert!(!is_in_log, "at call {at}: answered, and told {error}"),
        }
        answered += usize::from(is_in_log);
        logged += usize::from(is_in_log && !told.is_empty());
        // Whatever was left to do is done now, once.
        after.run().await;
        assert_eq!(after.context().await.len(), 2, "at call {at}");
        assert_eq!(after.ledger().await.len(), 2, "at call {at}");
    }
    assert!(answered > 0 && logged > 0, "{answered} answered, {logged} of them in the log");
}
