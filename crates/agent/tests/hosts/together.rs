//! Processes that ask one host at the same time, and facts that cannot be kept.

use ship_testkit::llm::Oddity;

use super::*;

/// A read-only file system.
const EROFS: i32 = 30;

/// Has an agent say enough to have something to store.
async fn learn_more(host: &Host, agent: &Agent) {
    for nth in 0..4 {
        assert_eq!(host.say(agent, &words(300 + nth)).await, Some(Outcome::Done));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limit_that_one_process_learns_holds_for_older_and_for_later_ones() {
    for is_older_first in [true, false] {
        let host = Host::new(Format::OpenAi, 100_000);
        host.server.set_rules(Judge::default());
        let (older, newer) = (host.agent(), host.agent());
        assert_eq!(host.say(&older, "ahoy").await, Some(Outcome::Done));
        assert_eq!(host.say(&newer, "ahoy").await, Some(Outcome::Done));
        host.server.set_rules(Judge { window: Some(8_000), ..Judge::default() });
        let (first, second) = match is_older_first {
            true => (older, newer),
            false => (newer, older),
        };
        assert_eq!(host.say(&first, "ahoy").await, Some(Outcome::Done));
        assert_eq!(host.count_refusals(), 1);
        learn_more(&host, &second).await;
        assert_eq!(host.say(&host.agent(), "ahoy").await, Some(Outcome::Done));
        assert_eq!(host.count_refusals(), 1, "{}", host.facts());
        assert!(host.facts().contains(r#""limit":8000"#), "{}", host.facts());
        assert_eq!(second.inspect(&chat()).await.unwrap().window_tokens, Some(8_000));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_learned_elsewhere_during_an_answer_is_not_overwritten() {
    let host = Host::new(Format::OpenAi, 100_000);
    let agent = host.agent();
    assert_eq!(host.say(&agent, "ahoy").await, Some(Outcome::Done));
    let (disk, facts) = (host.disk.other_process(), host.facts());
    host.server.then(Answer::judge(move |_| {
        let learned = facts.replace(r#""accepted""#, r#""limit":8000,"accepted""#);
        let file = disk.open(".ship/hosts.json".as_ref(), OpenMode::Append).unwrap();
        file.truncate(0).unwrap();
        assert_eq!(file.write(learned.as_bytes()).unwrap(), learned.len());
        Answer::text("Aye.")
    }));
    assert_eq!(host.say(&agent, &words(900)).await, Some(Outcome::Done));
    assert!(host.facts().contains(r#""limit":8000"#), "{}", host.facts());
    assert!(!host.facts().contains(r#""accepted":1"#), "it has written: {}", host.facts());
    assert_eq!(agent.inspect(&chat()).await.unwrap().window_tokens, Some(8_000));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_that_one_process_learns_is_not_erased_by_another() {
    let host = Host::new(Format::OpenAi, 100_000);
    let agent = || host.agent_with(Some(100_000), Rules::default());
    let (older, newer) = (agent(), agent());
    assert_eq!(host.say(&older, "ahoy").await, Some(Outcome::Done));
    host.server.then(Answer::call("chat_context_list", "{}"));
    assert_eq!(host.say(&newer, "list").await, Some(Outcome::Done));
    host.server.set_rules(Judge { oddities: vec![Oddity::NineCharIds], ..Judge::default() });
    assert_eq!(host.say(&newer, "ahoy").await, Some(Outcome::Done));
    assert_eq!(host.count_refusals(), 1);
    learn_more(&host, &older).await;
    assert_eq!(host.count_refusals(), 1, "the older process knows the form");
    assert!(host.facts().contains(r#""forms":["shortCallIds"]"#), "{}", host.facts());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_window_is_told_once_in_a_process_that_cannot_store_it() {
    let host = Host::new(Format::OpenAi, 100_000);
    let agent = host.agent();
    host.disk.close_folder(".ship".as_ref(), EROFS);
    learn_more(&host, &agent).await;
    assert_eq!(agent.take_budget_warnings().len(), 1);
    let logged = host.log.of("warning");
    let lost = logged.iter().filter(|line| line.contains("cannot save what is known of the host"));
    assert_eq!(lost.count(), 1, "{logged:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn facts_of_a_newer_version_stay_and_a_window_is_told_once_in_a_process() {
    let host = Host::new(Format::OpenAi, 8_000);
    let newer = r#"{"v":2,"hosts":[]}"#;
    host.disk.make_folder(".ship".as_ref()).unwrap();
    let file = host.disk.open(".ship/hosts.json".as_ref(), OpenMode::Create).unwrap();
    assert_eq!(file.write(newer.as_bytes()).unwrap(), newer.len());
    let rules = || Rules { max_tokens: 500, ..Rules::default() };
    for agent in [host.agent_with(None, rules()), host.agent_with(None, rules())] {
        learn_more(&host, &agent).await;
        assert_eq!(agent.take_budget_warnings().len(), 1);
    }
    assert_eq!(host.facts(), newer);
}
