//! What an answer cost, as its host reports it.

use ship_agent::{Agent, Reply, Rules, Usage};
use ship_testkit::llm::{Answer, Format, Speech, Stop, Usage as Reported};
use ship_testkit::summary::SUMMARY;

use super::{FORMATS, Host};
use crate::harness::chat;

const REPORTED: Reported =
    Reported { input: 1200, cached: 1000, created: [0; 2], output: 50, reasoning: 0 };

async fn ask(agent: &Agent, text: &str) -> Reply {
    agent.send(&chat(), text).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_has_the_tokens_of_all_its_calls_and_the_model() {
    for format in FORMATS {
        let host = Host::new(format, 100_000);
        let agent = host.agent_with(Some(100_000), Rules::default());
        let call = ship_testkit::llm::Piece::call("skills_list", "{}");
        host.server.then(Speech::new([call]).usage(REPORTED));
        host.server.then(Speech::text("Aye.").usage(REPORTED));
        let reply = ask(&agent, "Sail?").await;
        let counted = Usage { input: 2400, cached: 2000, output: 100 };
        assert_eq!((reply.usage, reply.model.as_deref()), (Some(counted), Some("test-model")));
        assert!(!reply.is_cut());

        host.server.then(Speech::text("Half").usage(REPORTED).stop(Stop::Length));
        assert!(ask(&agent, "More?").await.is_cut());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_without_a_count_has_none() {
    let host = Host::new(Format::OpenAi, 100_000);
    let agent = host.agent_with(Some(100_000), Rules::default());
    host.server.then(Speech::text("Aye.").without_usage());
    assert_eq!(ask(&agent, "Sail?").await.usage, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_summary_on_the_way_is_counted() {
    let host = Host::new(Format::OpenAi, 100_000);
    let rules = Rules { input_tokens_max: Some(2_000), keep_last_messages: 2, ..Rules::default() };
    let agent = host.agent_with(Some(100_000), rules);
    host.server.otherwise(Answer::judge(|exchange| {
        match exchange.body.to_string().contains("You keep the memory of a long chat") {
            true => Speech::text(SUMMARY).usage(REPORTED).into(),
            false => Speech::text("Aye.").usage(REPORTED).into(),
        }
    }));
    for nth in 0..20 {
        let asked = host.bodies().len();
        let reply = ask(&agent, &format!("{nth} {}", "the ship sails ".repeat(60))).await;
        let calls = (host.bodies().len() - asked) as u64;
        let counted = Usage { input: 1200 * calls, cached: 1000 * calls, output: 50 * calls };
        assert_eq!(reply.usage, Some(counted));
        if calls > 1 {
            return;
        }
    }
    panic!("no summary was made");
}
