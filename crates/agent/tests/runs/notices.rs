//! Notices: the person reads them, no model does, and the ledger has them apart.

use ship_agent::{Outcome, Rules};
use ship_message::json::Json;
use ship_message::{FinishReason, Role, UiMessage};
use ship_provider::wire::Format;
use ship_provider::{Recipe, Request};
use ship_testkit::scripted_model::{
    ModelRequest, ScriptedEnd, ScriptedModel, ScriptedStep, calls_tool, half, said, step, text,
};

use crate::harness::{Setup, TestAgent, inbound};

/// Makes an agent whose model answers the nth message of the person with the nth step.
fn agent(script: &[ScriptedStep]) -> TestAgent {
    let script = script.to_vec();
    let nth = |view: &[UiMessage]| view.iter().filter(|it| it.role() == Role::User).count() - 1;
    let model = ScriptedModel::new(move |view| script[nth(view)].clone());
    Setup { many_runs: true, model: Some(model), ..Setup::default() }.agent()
}

/// Returns a request as the provider gets it, a line for each message. Ids and times are left out.
fn sent(request: &ModelRequest) -> String {
    let recipe = Recipe { format: Some(Format::OpenAi), ..Recipe::plain("openai", "m") };
    let request = Request { system: &[], view: &request.view, tools: &[], max_tokens: 9 };
    let body = Json::parse(&recipe.body(&request).unwrap()).unwrap();
    let text = |part: &Json| part.get("text").and_then(Json::as_str).unwrap_or("?").to_owned();
    let line = |message: &Json| {
        let role = message.get("role").and_then(Json::as_str).unwrap();
        let texts = match message.get("content") {
            Some(Json::Array(parts)) => parts.iter().map(text).collect(),
            Some(content) => vec![content.as_str().unwrap_or("(no text)").to_owned()],
            None => vec![],
        };
        let is_fact = |line: &&str| line.starts_with("Request ID:") || line.starts_with("Time:");
        let lines = texts
            .iter()
            .flat_map(|text| text.lines())
            .filter(|line| !is_fact(line) && !line.is_empty());
        format!("{role}: {}", lines.collect::<Vec<_>>().join(" | "))
    };
    let messages = body.get("messages").and_then(Json::as_array).unwrap();
    messages.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Lets a run end this way, asks again, and returns the last request.
async fn seen_after(ending: ScriptedStep) -> String {
    let hangs = matches!(ending.end, ScriptedEnd::Hangs);
    let test = agent(&[text("Aye."), ending, text("Well."), text("Done.")]);
    test.say("one").await;
    match hangs {
        true => stop_when_it_hangs(&test, "two").await,
        false => drop(test.say("two").await),
    }
    test.say("three").await;
    let three = sent(test.model().requests().last().unwrap());
    test.say("four").await;
    let four = sent(test.model().requests().last().unwrap());
    assert!(four.starts_with(&three), "what was sent once is sent again:\n{four}");
    three
}

async fn stop_when_it_hangs(test: &TestAgent, text: &str) {
    let stop = ship_agent::Stop::default();
    test.accept(text).await;
    let stops = async {
        test.model().is_asked_for(2).await;
        stop.stop();
    };
    let (outcome, ()) = tokio::join!(test.agent.run(&test.chat, &stop), stops);
    assert_eq!(outcome.unwrap(), Some(Outcome::Stopped));
}

#[tokio::test]
async fn what_the_model_sees_after_a_stop_a_failure_and_a_cut() {
    let mut seen = String::new();
    for (name, ending) in [
        ("a stop before a word", step(&[], ScriptedEnd::Hangs)),
        ("a stop in a text", step(&[half("I was")], ScriptedEnd::Hangs)),
        ("a cut", step(&[said("Half")], ScriptedEnd::Because(FinishReason::Length))),
        ("a filter", step(&[said("Half")], ScriptedEnd::Because(FinishReason::ContentFilter))),
        ("a failure", step(&[], ScriptedEnd::Fails("it is on fire"))),
        ("a silent model", step(&[], ScriptedEnd::Because(FinishReason::Stop))),
    ] {
        seen.push_str(&format!("== after {name}\n{}\n\n", seen_after(ending).await));
    }
    insta::assert_snapshot!(seen);
}

#[tokio::test]
async fn a_notice_is_an_entry_of_its_own_in_the_ledger() {
    let cut = step(&[said("Half")], ScriptedEnd::Because(FinishReason::Length));
    let test = agent(&[cut, step(&[], ScriptedEnd::Fails("fire"))]);
    test.say("one").await;
    test.say("two").await;
    let vias: Vec<_> = test
        .entries()
        .await
        .into_iter()
        .skip(1)
        .map(|(key, entry)| {
            let via = entry.get("meta").and_then(|meta| meta.get("via")).cloned();
            (key.split(':').next().unwrap().to_owned(), via)
        })
        .collect();
    let notice = Some(Json::from("notice"));
    let kind = |key: &str| key.to_owned();
    assert_eq!(vias[0], (kind("answer"), None));
    assert_eq!(vias[1], (kind("notice"), notice.clone()));
    assert_eq!(vias[3], (kind("answer"), notice), "an answer of notices alone is an answer");
}

#[tokio::test]
async fn only_the_operator_reads_settings_and_addresses() {
    let cut = || step(&[said("Half")], ScriptedEnd::Because(FinishReason::Length));
    for (channel, reads) in [("terminal", true), ("", true), ("telegram", false), ("http", false)] {
        let fails = step(&[], ScriptedEnd::Fails("the host at 10.0.0.7 is on fire"));
        let test = agent(&[cut(), fails]);
        for text in ["one", "two"] {
            let message = ship_agent::Inbound { channel: channel.to_owned(), ..inbound(text) };
            test.agent.accept(&test.chat, message).await.unwrap();
            test.run().await;
        }
        let told = test.context().await.join("\n");
        assert_eq!(told.contains("llm.maxTokens"), reads, "{channel}: {told}");
        assert_eq!(told.contains("10.0.0.7"), reads, "{channel}: {told}");
        assert!(told.contains("cut off here") && told.contains("I could not answer"), "{told}");
        assert!(test.log.of("error").concat().contains("10.0.0.7"));
    }
}

#[tokio::test]
async fn the_number_of_steps_is_a_setting_that_only_the_operator_reads() {
    let rules = Rules { max_steps: 1, ..Rules::default() };
    for (channel, reads) in [("terminal", true), ("telegram", false)] {
        let model = ScriptedModel::of_steps(vec![calls_tool("skills_list", "{}")]);
        let test = Setup { model: Some(model), ..Setup::ruled(rules.clone()) }.agent();
        let message = ship_agent::Inbound { channel: channel.to_owned(), ..inbound("one") };
        test.agent.accept(&test.chat, message).await.unwrap();
        test.run().await;
        let told = test.context().await.join("\n");
        assert!(told.contains("I stopped after 1 step without finishing"), "{told}");
        assert_eq!(told.contains("maxSteps"), reads, "{told}");
    }
}
