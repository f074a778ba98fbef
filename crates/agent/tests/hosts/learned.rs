//! What is learned of a host from its refusals.

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn a_prompt_that_fits_is_sent_again_with_a_shorter_answer_and_nothing_else_changes() {
    for format in FORMATS {
        let host = Host::new(format, 8_000);
        let agent = host.agent();
        assert_eq!(host.say(&agent, "ahoy").await, Some(Outcome::Done));
        assert_eq!(host.refused(), [0]);
        let [first, second] = &host.max_tokens()[..] else { panic!("two requests") };
        assert!(*first == 8_192 && (1_000..8_000).contains(second), "{first}, {second}");
        let sequences: Vec<_> = host.bodies().iter().map(|body| CachedSequence::of(body)).collect();
        assert_eq!(sequences[0], sequences[1], "only the answer is shorter");
        assert_eq!(host.log.of("compacted").len(), 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_prompt_of_a_refusal_teaches_how_a_host_counts() {
    let host = Host::new(Format::OpenAi, 100_000);
    host.server.then(refusal(
        "This model's maximum context length is 8000 tokens. However, you requested 10535 tokens \
         (2343 in the messages, 8192 in the completion).",
    ));
    let agent = host.agent();
    assert_eq!(host.say(&agent, "ahoy").await, Some(Outcome::Done));
    let next = agent.inspect(&chat()).await.unwrap();
    assert_eq!(next.window_tokens, Some(8_000));
    let rate = next.host.unwrap().get("rate").unwrap().as_number().unwrap();
    assert!((0.5..1.5).contains(&rate), "a sum would have taught {rate}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limit_is_on_disk_shown_and_given_up_when_a_person_says_otherwise() {
    let host = Host::new(Format::OpenAi, 8_000);
    let agent = host.agent();
    assert_eq!(host.say(&agent, "ahoy").await, Some(Outcome::Done));
    let facts = host.facts();
    for piece in [r#"{"v":1,"hosts":{"openai http://127.0.0.1:"#, " test-model", r#""limit":8000"#]
    {
        assert!(facts.contains(piece), "no {piece} in {facts}");
    }
    let next = host.agent().inspect(&chat()).await.unwrap();
    assert_eq!(next.window_tokens, Some(8_000));
    let shown = Json::from(next.host.unwrap()).to_string();
    assert!(shown.contains(r#""limit":8000,"accepted":"#), "{shown}");
    let agent = host.agent_with(None, Rules { window: Some(32_000), ..Rules::default() });
    assert_eq!(agent.inspect(&chat()).await.unwrap().window_tokens, Some(32_000));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_without_numbers_costs_one_request_in_all() {
    for format in FORMATS {
        let host = Host::without_numbers(format, 8_000);
        let agent = host.agent();
        assert_eq!(host.say(&agent, "ahoy").await, Some(Outcome::Done));
        assert_eq!(host.bodies().len(), 2, "{format:?}");
        for agent in [agent, host.agent()] {
            assert_eq!(host.say(&agent, "ahoy again").await, Some(Outcome::Done));
        }
        assert_eq!(host.bodies().len(), 4, "{format:?}: no request was refused again");
        assert_eq!(host.log.of("compacted").len(), 0);
        let [8_192, cautious, later @ ..] = &host.max_tokens()[..] else { panic!("four requests") };
        assert!(*cautious >= 256, "{cautious}");
        assert!(later.iter().all(|max| *max > 4_000), "{format:?}: an answer has room: {later:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_of_half_the_assumed_window_refuses_twice_in_all() {
    let host = Host::without_numbers(Format::OpenAi, 4_500);
    for _ in 0..2 {
        let agent = host.agent();
        for nth in 0..12 {
            let said = format!("{nth:03} {}", words(90));
            assert_eq!(host.say(&agent, &said).await, Some(Outcome::Done));
        }
    }
    assert_eq!(host.count_refusals(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_without_numbers_at_a_small_window_still_lets_the_model_sum_up() {
    let host = Host::new(Format::OpenAi, 100_000);
    let agent = host.agent_with(None, Rules { max_tokens: 500, ..Rules::default() });
    for nth in 0..12 {
        let said = format!("{nth:03} {}", words(100));
        assert_eq!(host.say(&agent, &said).await, Some(Outcome::Done));
    }
    host.server.then(refusal("Please reduce the length of the messages or completion."));
    assert_eq!(host.say(&agent, "and now?").await, Some(Outcome::Done));
    let compacted = host.log.of("compacted");
    assert!(compacted.len() == 1 && !compacted[0].contains("extract"), "{compacted:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_window_is_told_once() {
    let host = Host::new(Format::OpenAi, 100_000);
    let agent = host.agent();
    assert_eq!(host.say(&agent, "ahoy").await, Some(Outcome::Done));
    let told = agent.take_budget_warnings();
    assert_eq!(
        told,
        ["the window of `test-model` is unknown, so requests are compacted above 12000 tokens; \
             set `llm.window` to change that"]
    );
    for agent in [agent, host.agent()] {
        assert_eq!(host.say(&agent, "ahoy").await, Some(Outcome::Done));
        assert!(agent.take_budget_warnings().is_empty());
    }
    let known = Host::new(Format::OpenAi, 100_000);
    let agent = known.agent_with(Some(100_000), Rules::default());
    agent.warn_of_unknown_window(&chat()).await;
    assert_eq!(known.say(&agent, "ahoy").await, Some(Outcome::Done));
    assert!(agent.take_budget_warnings().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_window_can_be_told_before_the_first_answer_and_is_not_told_again() {
    let host = Host::new(Format::OpenAi, 100_000);
    let agent = host.agent();
    agent.warn_of_unknown_window(&chat()).await;
    assert_eq!(agent.take_budget_warnings().len(), 1);
    assert_eq!(host.say(&agent, "ahoy").await, Some(Outcome::Done));
    let later = host.agent();
    later.warn_of_unknown_window(&chat()).await;
    assert!(agent.take_budget_warnings().is_empty() && later.take_budget_warnings().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_takes_more_than_it_once_said_is_believed() {
    let host = Host::new(Format::OpenAi, 8_000);
    let agent = host.agent();
    assert_eq!(host.say(&agent, "ahoy").await, Some(Outcome::Done));
    assert_eq!(agent.inspect(&chat()).await.unwrap().window_tokens, Some(8_000));
    host.server.set_rules(Judge::default());
    host.server.then(Answer::judge(|exchange| {
        let usage = ship_testkit::llm::Usage { input: 9_000, ..exchange.counted };
        ship_testkit::llm::Speech::text("Aye.").usage(usage).into()
    }));
    assert_eq!(host.say(&agent, "and now?").await, Some(Outcome::Done));
    assert_eq!(agent.inspect(&chat()).await.unwrap().window_tokens, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_without_a_reason_is_tried_once_smaller_if_the_request_is_large() {
    for (status, window) in [(400, 100_000), (413, 100_000), (422, 100_000), (500, 4_000)] {
        let host = Host::new(Format::OpenAi, 100_000);
        let rules = Rules { input_tokens_max: Some(20_000), max_tokens: 100, ..Rules::default() };
        let agent = host.agent_with(Some(window), rules);
        for nth in 0..6 {
            let said = format!("{nth:03} {}", words(200));
            assert_eq!(host.say(&agent, &said).await, Some(Outcome::Done));
        }
        let asked = host.bodies().len();
        host.server.then(refusal_with(status, "Bad Request"));
        assert_eq!(host.say(&agent, "and now?").await, Some(Outcome::Done), "{status}");
        let bodies = host.bodies().split_off(asked);
        let answers: Vec<usize> = bodies
            .iter()
            .filter(|body| !body.contains("You keep the memory"))
            .map(|body| body.len())
            .collect();
        assert!(answers.len() == 2 && answers[1] < answers[0], "{status}: {answers:?}");
        assert_eq!(agent.inspect(&chat()).await.unwrap().window_tokens, Some(window));

        host.server.otherwise(refusal_with(status, "Bad Request"));
        let asked = host.bodies().len();
        let Some(Outcome::Failed(sentence)) = host.say(&agent, "and then?").await else {
            panic!("{status}: nothing answers")
        };
        assert!(sentence.contains("Bad Request"), "{sentence}");
        assert!(host.bodies().len() - asked <= 4, "{status}: no loop");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_refuses_without_a_reason_does_so_twice_in_all() {
    let host = Host::that_refuses(Format::OpenAi, "Bad Request", |it| it.counted.input > 6_000);
    for _ in 0..2 {
        let agent = host.agent();
        for nth in 0..75 {
            let said = format!("{nth:03} {}", words(120));
            assert_eq!(host.say(&agent, &said).await, Some(Outcome::Done));
        }
        assert_eq!(host.count_refusals(), 2, "{}", host.facts());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_reports_no_tokens_is_known_by_our_own_count() {
    let host = Host::new(Format::OpenAi, 100_000);
    host.server.otherwise(Answer::judge(|_| Speech::text("Aye.").without_usage().into()));
    let agent = host.agent();
    for nth in 0..12 {
        let said = format!("{nth:03} {}", words(200));
        assert_eq!(host.say(&agent, &said).await, Some(Outcome::Done));
    }
    let told = agent.take_budget_warnings();
    assert!(told.len() == 1 && told[0].contains("`llm.window`"), "{told:?}");
    host.server.then(refusal("Bad Request"));
    assert_eq!(host.say(&agent, "and now?").await, Some(Outcome::Done), "tried smaller");
    assert_eq!(host.log.of("compacted").len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_with_a_reason_or_of_a_small_request_is_told_at_once() {
    let host = Host::new(Format::OpenAi, 100_000);
    let agent = host.agent_with(Some(100_000), Rules::default());
    host.server.then(refusal("Bad Request"));
    assert!(matches!(host.say(&agent, "ahoy").await, Some(Outcome::Failed(_))));
    assert_eq!(host.bodies().len(), 1, "nothing was accepted yet, and the window is large");
    assert_eq!(host.say(&agent, "ahoy").await, Some(Outcome::Done));
    host.server.then(refusal_with(500, "Internal Server Error"));
    assert!(matches!(host.say(&agent, "ahoy").await, Some(Outcome::Failed(_))));
    assert_eq!(host.bodies().len(), 3, "an outage compacts nothing while there is room");
    assert_eq!(host.say(&agent, "ahoy").await, Some(Outcome::Done));
    host.server.then(refusal("Unsupported value: 'temperature'"));
    assert!(matches!(host.say(&agent, "ahoy").await, Some(Outcome::Failed(_))));
    assert_eq!(host.bodies().len(), 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_too_long_by_itself_is_refused_once_by_all_processes_together() {
    for format in FORMATS {
        let host = Host::new(format, 100_000);
        let rules = Judge { max_output: Some(4_096), window: Some(100_000), ..Judge::default() };
        host.server.set_rules(rules);
        for _ in 0..2 {
            let agent = host.agent_with(Some(100_000), Rules::default());
            assert_eq!(host.say(&agent, "ahoy").await, Some(Outcome::Done), "{format:?}");
        }
        assert_eq!(host.max_tokens(), [8_192, 4_096, 4_096], "{format:?}");
        assert!(host.facts().contains("\"answerLimit\":4096"), "{}", host.facts());
        assert_eq!(host.log.of("compacted").len(), 0);
    }
}
