//! No history makes a request that a provider refuses.
//!
//! The histories hold whatever can happen to a chat, and the judges are the scripted provider's, which share
//! no code with the compiler and know the providers' rules from their side.

use std::collections::BTreeMap;

use ship_message::json::Json;
use ship_provider::wire::{Format, Parameters};
use ship_provider::{Request, SendFiles, Target, ToolSpec, compile};
use ship_testkit::histories::{Feature, History};
use ship_testkit::llm::{Rules, Strictness, judge_anthropic, judge_openai, signature};

/// More of them are tried by `./soak`.
const HISTORIES: u64 = 3_000;

fn tools() -> Vec<ToolSpec> {
    let tool = |name: &str, schema: &str| ToolSpec {
        name: name.to_owned(),
        description: format!("Does {name}."),
        input_schema: Json::parse(schema).expect("a schema"),
    };
    vec![
        tool("weather", r#"{"type":"object","properties":{"city":{"type":"string"}}}"#),
        tool("files:read", r#"{"properties":{}}"#),
        tool("chat_send", "true"),
    ]
}

fn target<'a>(format: Format, history: &History, files: SendFiles) -> Target<'a> {
    // A model that is asked in another format than its own is another model.
    let provider = match format {
        Format::OpenAi => "openai",
        Format::Anthropic => "anthropic",
    };
    let model = history.maker.model;
    let parameters = Parameters {
        max_tokens: Some(1_000),
        stream: true,
        cache_marks: true,
        ..Parameters::new(model)
    };
    Target { format, provider, files, parameters }
}

/// Compiles a history for both formats and has each judged; tells what was refused, and why.
fn judged(history: &History) -> Result<(), String> {
    let system = ["You are a shipmate.".to_owned(), "Be kind.".to_owned()];
    let tools = tools();
    let request =
        Request { system: &system, view: &history.messages, tools: &tools, max_tokens: 1_000 };
    for (format, files) in [
        (Format::OpenAi, SendFiles::Yes),
        (Format::Anthropic, SendFiles::Yes),
        (Format::OpenAi, SendFiles::No),
    ] {
        let body = compile(&request, &target(format, history, files)).map_err(|e| e.to_string())?;
        // Who is sent `reasoning_content` has written it, and so takes it; the strictest know no such field.
        let strictness = match body.contains("\"reasoning_content\"") {
            true => Strictness::Real,
            false => Strictness::Strict,
        };
        let rules = Rules { strictness, ..Rules::default() };
        let judged = match format {
            Format::OpenAi => judge_openai(&body, &rules),
            Format::Anthropic => judge_anthropic(&body, &rules),
        };
        judged.map_err(|refusal| format!("{format:?} refuses by {refusal:?}:\n{body}"))?;
    }
    Ok(())
}

#[test]
fn no_history_makes_a_request_that_a_provider_refuses() {
    for seed in 0..HISTORIES {
        let history = History::of_seed(seed, &signature);
        if let Err(refused) = judged(&history) {
            let messages: Vec<String> = history.messages.iter().map(|m| m.to_string()).collect();
            panic!("seed {seed}: {refused}\nof the history\n{}", messages.join("\n"));
        }
    }
}

#[test]
fn the_histories_hold_enough_of_everything() {
    let mut counts: BTreeMap<Feature, usize> = BTreeMap::new();
    for seed in 0..10_000 {
        for feature in History::of_seed(seed, &signature).features {
            *counts.entry(feature).or_default() += 1;
        }
    }
    for feature in Feature::ALL {
        let count = counts.get(&feature).copied().unwrap_or_default();
        assert!(count >= 100, "{feature:?} is in {count} of 10000 histories");
    }
}

#[test]
fn a_request_begins_with_the_bytes_of_the_one_before() {
    // What is appended comes behind; nothing before it changes. Files and breaks are the exceptions.
    let unstable = [Feature::Image, Feature::BadImage, Feature::OtherFile, Feature::BrokenText];
    let mut compared = 0;
    for seed in 0..2_000 {
        let history = History::of_seed(seed, &signature);
        if unstable.iter().any(|feature| history.features.contains(feature)) {
            continue;
        }
        for format in [Format::OpenAi, Format::Anthropic] {
            let mut before: Option<Vec<Json>> = None;
            for end in 1..=history.messages.len() {
                let view = &history.messages[..end];
                let request = Request { system: &[], view, tools: &[], max_tokens: 1_000 };
                let mut target = target(format, &history, SendFiles::Yes);
                target.parameters.cache_marks = false;
                let body = Json::parse(&compile(&request, &target).unwrap()).unwrap();
                let list = body.get("messages").and_then(Json::as_array).unwrap().to_vec();
                if let Some(before) = before.replace(list.clone()) {
                    // The last one may have grown, or was only a word in the person's place.
                    let whole = before.len() - 1;
                    assert_eq!(before[..whole], list[..whole], "seed {seed}, {format:?}, {end}");
                    compared += 1;
                }
            }
        }
    }
    assert!(compared > 2_000, "{compared}");
}
