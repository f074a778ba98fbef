//! What the model would be sent next, also while a run waits and messages queue up.

use ship_agent::{Outcome, Rules};
use ship_testkit::scripted_model::{call, calls, said};

use crate::harness::{Setup, line_with_outputs};

#[tokio::test]
async fn a_run_that_waits_and_what_is_queued_behind_it_are_part_of_the_next_request() {
    let rules = Rules { approval: ["effect".to_owned()].into(), ..Rules::default() };
    let script = vec![calls(&[said("May I?"), call("1", "effect", "{}")])];
    let test = Setup { rules, ..Setup::scripted(&script) }.agent();
    assert_eq!(test.say("please").await, Some(Outcome::Parked));
    assert!(test.accept("hurry").await);
    let next = test.agent.inspect(&test.chat).await.unwrap();
    assert_eq!((next.queued, next.parked), (1, true));
    let lines: Vec<String> = next.messages.iter().map(line_with_outputs).collect();
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert_eq!(lines[0], "user: please");
    assert_eq!(lines[1], "assistant: May I? [effect interrupted, outcome unknown]");
    assert_eq!(lines[2], "user: hurry");
    assert!(next.messages[2].text().starts_with("Request ID: req hurry"));
}

#[tokio::test]
async fn looking_changes_nothing() {
    let setup = Setup::default();
    let test = setup.agent();
    assert!(test.accept("hello").await);
    let before = setup.disk.ops_len();
    let next = test.agent.inspect(&test.chat).await.unwrap();
    assert_eq!((next.queued, next.parked, next.messages.len()), (1, false, 1));
    assert_eq!(setup.disk.ops_len(), before);
}

#[tokio::test]
async fn the_budget_follows_from_the_window_when_it_is_known() {
    for (window, set, budget) in
        [(None, None, 12_000), (Some(200_000), None, 172_627), (Some(200_000), Some(9_000), 9_000)]
    {
        let rules = Rules { window, input_tokens_max: set, ..Rules::default() };
        let test = Setup::ruled(rules).agent();
        let next = test.agent.inspect(&test.chat).await.unwrap();
        assert_eq!((next.trigger.tokens, next.window_tokens), (Some(budget), window));
        assert_eq!(next.trigger.warning, None);
    }
}
