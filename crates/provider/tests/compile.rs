//! No history makes a request that a provider refuses.
//!
//! The histories hold whatever can happen to a chat, and the judges are the scripted provider's, which share
//! no code with the compiler and know the providers' rules from their side.
//!
//! `SHIP_SEED` chooses the first history and `SHIP_CASES` how many are judged; a failure names its seed.

use std::collections::BTreeMap;

use ship_message::json::Json;
use ship_message::{Role, UiMessage, UiPart};
use ship_provider::wire::{Format, Parameters};
use ship_provider::{CompileTarget, HostForm, HostForms, Request, SendFiles, ToolSpec, compile};
use ship_testkit::histories::{Feature, History};
use ship_testkit::llm::{Oddity, Rules, judge_anthropic, judge_openai, signature};

/// The histories to try. `./soak` tries many more, and others.
fn histories(usual: u64) -> impl Iterator<Item = (u64, History)> {
    let number = |name: &str| std::env::var(name).ok().map(|n| n.parse::<u64>().expect(name));
    let first = number("SHIP_SEED").unwrap_or_default();
    let seeds = (0..number("SHIP_CASES").unwrap_or(usual)).map(move |nth| first.wrapping_add(nth));
    seeds.map(|seed| (seed, History::of_seed(seed, &signature)))
}

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

fn target<'a>(format: Format, history: &History, files: SendFiles) -> CompileTarget<'a> {
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
    CompileTarget { format, provider, files, forms: HostForms::default(), parameters }
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
        let judged = match format {
            Format::OpenAi => judge_openai(&body, &rules(history)),
            Format::Anthropic => judge_anthropic(&body, &rules(history)),
        };
        judged.map_err(|refusal| format!("{format:?} refuses by {refusal:?}:\n{body}"))?;
        if files == SendFiles::No && body.contains(r#"{"type":"image_url""#) {
            return Err(format!("{format:?} is sent an image that it has refused:\n{body}"));
        }
        passes_nothing_foreign_on(&body, format)?;
        calls_nothing_that_ran_elsewhere(&body, &history.messages)?;
        says_everything(&body, &history.messages)?;
    }
    Ok(())
}

/// The strictest rules. A host that has written `reasoning_content` takes it back; others know no such field.
fn rules(history: &History) -> Rules {
    let wrote = |part: &UiPart| {
        let json = part.clone().into_json();
        let by = json.get("providerMetadata").and_then(|metadata| metadata.get("ship"));
        let is = |key, value| by.and_then(|by| by.get(key)).and_then(Json::as_str) == Some(value);
        is("provider", "openai") && is("model", history.maker.model) && is("field", REASONING)
    };
    let takes_back = history.messages.iter().flat_map(UiMessage::parts).any(wrote);
    let extra_message_fields = takes_back.then(|| REASONING.to_owned()).into_iter().collect();
    Rules { extra_message_fields, ..Rules::strict() }
}

const REASONING: &str = "reasoning_content";

/// What other programs leave on parts is in every history's marks and signatures, and in no request.
fn passes_nothing_foreign_on(body: &str, format: Format) -> Result<(), String> {
    let foreign = ["forged", "citations", "itemId"].into_iter();
    let marks = (format == Format::OpenAi).then_some("cache_control");
    match foreign.chain(marks).find(|word| body.contains(word)) {
        Some(word) => Err(format!("{format:?} is sent `{word}`, which is not ours:\n{body}")),
        None => Ok(()),
    }
}

/// A call that the provider has run is no call of ours, to be answered by us.
fn calls_nothing_that_ran_elsewhere(body: &str, messages: &[UiMessage]) -> Result<(), String> {
    let tools = messages.iter().flat_map(UiMessage::parts);
    let tools = tools.filter(|part| matches!(part, UiPart::Tool(_))).cloned();
    let (elsewhere, here): (Vec<Json>, Vec<Json>) = tools
        .map(UiPart::into_json)
        .partition(|tool| tool.get("providerExecuted").and_then(Json::as_bool) == Some(true));
    let id = |tool: &Json| tool.get("toolCallId").map(Json::to_string);
    let ours: Vec<Option<String>> = here.iter().map(id).collect();
    // An id that is used twice is that of one of our calls as well, or of nothing.
    let theirs = elsewhere.iter().map(id).filter(|id| !ours.contains(id)).flatten();
    match theirs.filter(|id| id != "\"\"").find(|id| body.contains(id.as_str())) {
        Some(id) => Err(format!("{id}, which the provider has run, is called in\n{body}")),
        None => Ok(()),
    }
}

/// No rule may be kept by leaving out what somebody has said, or by hiding that something cannot be read.
fn says_everything(body: &str, messages: &[UiMessage]) -> Result<(), String> {
    for message in messages {
        if message.role() == Role::Unknown || !message.has_parts() {
            is_said("[a message that cannot be read]", body)?;
            continue;
        }
        for part in message.parts() {
            match part {
                UiPart::Text(part) if part.text().chars().any(char::is_alphanumeric) => {
                    is_said(part.text(), body)?;
                }
                UiPart::Unknown(_) => is_said("[a part ", body)?,
                _ => {}
            }
        }
    }
    Ok(())
}

fn is_said(text: &str, body: &str) -> Result<(), String> {
    let written = Json::from(text).to_string();
    match body.contains(written.trim_matches('"')) {
        true => Ok(()),
        false => Err(format!("{written} is not in\n{body}")),
    }
}

#[test]
fn no_history_makes_a_request_that_a_provider_refuses() {
    for (seed, history) in histories(1_000) {
        if let Err(refused) = judged(&history) {
            let messages: Vec<String> = history.messages.iter().map(|m| m.to_string()).collect();
            panic!("seed {seed}: {refused}\nof the history\n{}", messages.join("\n"));
        }
    }
}

/// A host that refuses something, and the form in which it takes everything. Texts are never in lists.
const ODD_HOSTS: [(Oddity, Option<HostForm>); 8] = [
    (Oddity::NoUserAfterTool, Some(HostForm::AssistantAfterTool)),
    (Oddity::StrictTemplate, Some(HostForm::AssistantAfterTool)),
    (Oddity::PlainTemplate, Some(HostForm::NoTools)),
    (Oddity::NoTextLists, None),
    (Oddity::NoStreamOptions, Some(HostForm::NoStreamOptions)),
    (Oddity::NoTools, Some(HostForm::NoTools)),
    (Oddity::NineCharIds, Some(HostForm::ShortCallIds)),
    (Oddity::NineCharIdsTemplate, Some(HostForm::ShortCallIds)),
];

#[test]
fn no_history_makes_a_request_that_an_odd_host_refuses_in_its_form() {
    let tools = tools();
    for (seed, history) in histories(3_000) {
        let request =
            Request { system: &[], view: &history.messages, tools: &tools, max_tokens: 1_000 };
        for (oddity, form) in ODD_HOSTS {
            let forms = form.into_iter().fold(HostForms::default(), HostForms::with);
            let target = target(Format::OpenAi, &history, SendFiles::Yes);
            let stream_usage = !forms.has(HostForm::NoStreamOptions);
            let parameters = Parameters { stream_usage, ..target.parameters };
            let body = compile(&request, &CompileTarget { forms, parameters, ..target }).unwrap();
            let rules = Rules { oddities: vec![oddity], ..rules(&history) };
            if let Err(refusal) = judge_openai(&body, &rules) {
                panic!("seed {seed}, {oddity:?}: {refusal:?}\n{body}");
            }
            says_everything(&body, &history.messages).unwrap();
        }
    }
}

#[test]
fn every_odd_host_refuses_some_histories_without_its_form() {
    let tools = tools();
    for (oddity, form) in ODD_HOSTS {
        let is_refused = |(_, history): &(u64, History)| {
            let request =
                Request { system: &[], view: &history.messages, tools: &tools, max_tokens: 1_000 };
            let target = target(Format::OpenAi, history, SendFiles::Yes);
            let body = compile(&request, &target).unwrap();
            judge_openai(&body, &Rules { oddities: vec![oddity], ..rules(history) }).is_err()
        };
        let seeds = (0..60).map(|seed| (seed, History::of_seed(seed, &signature)));
        assert_eq!(seeds.filter(is_refused).count() > 0, form.is_some(), "{oddity:?}");
    }
}

#[test]
fn the_histories_hold_enough_of_everything() {
    const HISTORIES: u64 = 2_000;
    let mut counts: BTreeMap<Feature, usize> = BTreeMap::new();
    for seed in 0..HISTORIES {
        for feature in History::of_seed(seed, &signature).features {
            *counts.entry(feature).or_default() += 1;
        }
    }
    for feature in Feature::ALL {
        let count = counts.get(&feature).copied().unwrap_or_default();
        assert!(count >= 20, "{feature:?} is in {count} of {HISTORIES} histories");
    }
}

/// How many histories are followed from message to message.
const FOLLOWED_MAX: usize = 500;

/// What Anthropic is told of where its cache may end. The marks move with the end; the cache does not mind.
const MARK: &str = r#","cache_control":{"type":"ephemeral"}"#;

#[test]
fn a_request_begins_with_the_bytes_of_the_one_before() {
    let mut compared = 0;
    for (seed, history) in histories(FOLLOWED_MAX as u64).take(FOLLOWED_MAX) {
        for format in [Format::OpenAi, Format::Anthropic] {
            let mut before: Option<String> = None;
            for end in 1..=history.messages.len() {
                let body = body_of(&history, end, format);
                if let Some(before) = before.replace(body.clone()) {
                    let settled = settled(&before);
                    assert!(
                        body.starts_with(settled),
                        "seed {seed}, {format:?}, {end}:\n{settled}\nis not the beginning of\n{body}"
                    );
                    compared += 1;
                }
            }
        }
    }
    assert!(compared > 0, "histories have more than one message");
}

fn body_of(history: &History, end: usize, format: Format) -> String {
    let system = ["You are a shipmate.".to_owned(), "Be kind.".to_owned()];
    let tools = tools();
    let view = &history.messages[..end];
    let request = Request { system: &system, view, tools: &tools, max_tokens: 1_000 };
    let body = compile(&request, &target(format, history, SendFiles::Yes)).expect("a request");
    body.replace(MARK, "")
}

/// The bytes up to the last message, which may still grow, or is only a word in the person's place.
fn settled(body: &str) -> &str {
    let json = Json::parse(body).expect("a body is JSON");
    let messages = json.get("messages").and_then(Json::as_array).expect("messages");
    let (last, whole) = messages.split_last().expect("a message");
    let start = body.find("\"messages\":[").expect("messages") + "\"messages\":[".len();
    let bytes: usize = whole.iter().map(|message| message.to_string().len() + ",".len()).sum();
    let (settled, rest) = body.split_at(start + bytes);
    assert!(rest.starts_with(&last.to_string()), "messages are written as JSON is written");
    settled
}
