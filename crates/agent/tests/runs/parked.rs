//! A call that waits for a person's word or for the client, across restarts.

use std::collections::BTreeSet;

use ship_agent::{CallAnswer, Outcome, Rules, Stop};
use ship_message::json::Json;

use crate::harness::Setup;

fn asks_for(tool: &str) -> Setup {
    Setup::ruled(Rules { approval: BTreeSet::from([tool.to_owned()]), ..Rules::default() })
}

#[tokio::test]
async fn a_tool_that_needs_a_word_waits_for_it_across_a_restart() {
    for (approved, told) in [(true, "[effect \"done\"]"), (false, "[effect ]")] {
        let setup = asks_for("effect");
        let test = setup.agent();
        assert_eq!(test.say("/tool effect {}").await, Some(Outcome::Parked));
        assert_eq!(test.context().await.len(), 1, "nothing is said until the word is given");
        drop(test);

        let test = setup.agent();
        assert_eq!(test.run().await, Some(Outcome::Parked));
        let approval_id = "approve_offline_1_0".to_owned();
        let answer = CallAnswer::Approval { approval_id, approved, reason: None };
        let outcome =
            test.agent.answer(&test.chat, answer.clone(), &Stop::default()).await.unwrap();
        assert_eq!(outcome, Some(Outcome::Done));
        assert_eq!(test.effects(), usize::from(approved));
        assert!(test.context().await[1].contains(told), "{:?}", test.context().await);
        assert!(test.agent.answer(&test.chat, answer, &Stop::default()).await.is_err());
    }
}

#[tokio::test]
async fn a_tool_of_the_client_waits_for_its_output() {
    let rules = Rules { client: BTreeSet::from(["effect".to_owned()]), ..Rules::default() };
    let test = Setup::ruled(rules).agent();
    assert_eq!(test.say("/tool effect {}").await, Some(Outcome::Parked));
    let answer = CallAnswer::Output {
        call_id: "offline_1_0".to_owned(),
        output: Ok(Json::from("from the client")),
    };
    let outcome = test.agent.answer(&test.chat, answer, &Stop::default()).await.unwrap();
    assert_eq!(outcome, Some(Outcome::Done));
    assert_eq!(test.effects(), 0);
    assert!(test.context().await[1].contains("[effect \"from the client\"]"));
}
