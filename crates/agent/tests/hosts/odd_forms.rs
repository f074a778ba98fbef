//! Hosts that want some things written differently: each is refused once, by all processes together.

use ship_testkit::llm::Oddity;

use super::*;

/// Talks with a host until it has refused what it refuses: a call, a stop after its result, another question.
async fn talk(host: &Host, agent: &Agent) {
    host.server.then(Answer::judge(|exchange| match exchange.body["tools"].is_null() {
        true => Answer::text("No tools here."),
        false => Answer::call("chat_context_list", "{}"),
    }));
    assert_eq!(host.say(agent, "which contexts are there?").await, Some(Outcome::Done));
    assert_eq!(host.say(agent, "and now?").await, Some(Outcome::Done));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_that_a_host_refuses_is_tried_once_and_then_remembered() {
    for (oddity, form) in [
        (Oddity::NoStreamOptions, Some("noStreamOptions")),
        (Oddity::NoTools, Some("noTools")),
        (Oddity::PlainTemplate, Some("noTools")),
        (Oddity::NineCharIds, Some("shortCallIds")),
        (Oddity::NineCharIdsTemplate, Some("shortCallIds")),
        (Oddity::NoTextLists, None),
    ] {
        let host = Host::new(Format::OpenAi, 100_000);
        let oddities = vec![oddity];
        host.server.set_rules(Judge { oddities, ..Judge::default() });
        let agent = host.agent_with(Some(100_000), Rules::default());
        talk(&host, &agent).await;
        assert_eq!(host.refused().len(), usize::from(form.is_some()), "{oddity:?}");
        let again = host.agent_with(Some(100_000), Rules::default());
        talk(&host, &again).await;
        assert_eq!(host.refused().len(), usize::from(form.is_some()), "{oddity:?}: remembered");
        let Some(form) = form else { continue };
        assert!(host.facts().contains(&format!(r#""forms":["{form}"]"#)), "{}", host.facts());
        let shown = again.inspect(&chat()).await.unwrap().host.unwrap();
        assert!(Json::from(shown).to_string().contains(form));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_may_speak_after_a_tool_at_hosts_that_refuse_it() {
    for oddity in [Oddity::NoUserAfterTool, Oddity::StrictTemplate] {
        let host = Host::new(Format::OpenAi, 100_000);
        host.server.set_rules(Judge { oddities: vec![oddity], ..Judge::default() });
        let agent = host.agent_with(Some(100_000), Rules { max_steps: 1, ..Rules::default() });
        // The run ends after its only step, so the person speaks after the result.
        host.server.then(Answer::call("chat_context_list", "{}"));
        let outcome = host.say(&agent, "which contexts are there?").await;
        assert!(matches!(outcome, Some(Outcome::Failed(_))), "{outcome:?}");
        for _ in 0..2 {
            assert_eq!(host.say(&agent, "and now?").await, Some(Outcome::Done), "{oddity:?}");
        }
        assert!(host.refused().len() <= 1, "{oddity:?}: {:?}", host.refused());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_are_told_as_text_to_a_model_that_takes_no_tools() {
    let host = Host::new(Format::OpenAi, 100_000);
    let agent = host.agent_with(Some(100_000), Rules::default());
    host.server.then(Answer::call("chat_context_list", "{}"));
    assert_eq!(host.say(&agent, "which contexts are there?").await, Some(Outcome::Done));
    host.server.set_rules(Judge { oddities: vec![Oddity::NoTools], ..Judge::default() });
    assert_eq!(host.say(&agent, "and now?").await, Some(Outcome::Done));
    let body = host.bodies().pop().unwrap();
    for piece in ["[chat_context_list was called with {}]", "[chat_context_list answered: "] {
        assert!(body.contains(piece), "no {piece} in {body}");
    }
    let next = agent.inspect(&chat()).await.unwrap();
    assert!(next.tools.is_empty(), "they take no tokens any more");
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_that_a_setting_left_out_are_sent_again_without_it() {
    let host = Host::new(Format::OpenAi, 100_000);
    for (tools, is_sent) in [(Some(false), false), (None, true)] {
        let agent = host.agent_set(Rules::default(), |settings| {
            (settings.window, settings.tools) = (Some(100_000), tools);
        });
        assert_eq!(host.say(&agent, "ahoy").await, Some(Outcome::Done));
        assert_eq!(host.bodies().pop().unwrap().contains("\"tools\":["), is_sent, "{tools:?}");
        assert!(!host.facts().contains("forms"), "nothing was learned: {}", host.facts());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_is_sent_again_in_another_form_names_the_form() {
    for (oddity, difference) in [
        (Oddity::NineCharIds, Some("form shortCallIds")),
        (Oddity::NoTools, Some("form noTools")),
        // A cache does not see this one.
        (Oddity::NoStreamOptions, None),
    ] {
        let host = Host::new(Format::OpenAi, 100_000);
        let agent = host.agent_with(Some(100_000), Rules::default());
        host.server.then(Answer::call("chat_context_list", "{}"));
        assert_eq!(host.say(&agent, "which contexts are there?").await, Some(Outcome::Done));
        host.server.set_rules(Judge { oddities: vec![oddity], ..Judge::default() });
        assert_eq!(host.say(&agent, "and now?").await, Some(Outcome::Done));
        assert_eq!(host.say(&agent, "and then?").await, Some(Outcome::Done));
        let calls = agent.requests(&chat(), 100).await.unwrap();
        let told: Vec<Option<&str>> =
            calls.iter().map(|call| call.record.shared_prefix.difference.as_deref()).collect();
        let wanted = [Some("first request"), None, None, difference, None];
        assert_eq!(told, wanted, "{oddity:?}");
    }
}
