//! What a cache would have known, as both services say it in their usage.

use serde_json::{Value, json};
use ship_testkit::llm::{Format, LlmServer, Rules};

use crate::cases::with;
use crate::client::post;

/// So many tokens of text, told apart by its first word.
fn words(first: &str, count: usize) -> String {
    format!("{first}{}", " word".repeat(count - 1))
}

fn openai(server: &LlmServer, messages: Value) -> (u64, u64) {
    let body = json!({"model": "gpt-4o", "messages": messages});
    let usage = post(server, Format::OpenAi, &body).json()["usage"].clone();
    let cached = &usage["prompt_tokens_details"]["cached_tokens"];
    (usage["prompt_tokens"].as_u64().unwrap(), cached.as_u64().unwrap())
}

fn system(text: &str) -> Value {
    json!({"role": "system", "content": text})
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

#[test]
fn openai_caches_what_two_prompts_begin_with_in_steps_of_128_from_1024_up() {
    let server = LlmServer::start();
    let long = words("a", 1500);
    assert_eq!(openai(&server, json!([system(&long), user("one")])), (1509, 0));
    // 4 + 1500 + 4 tokens are the same: eleven steps of 128 and a rest.
    assert_eq!(openai(&server, json!([system(&long), user("two")])), (1509, 1408));
    // What is changed at the front spoils everything behind it.
    assert_eq!(openai(&server, json!([system(&words("b", 1500)), user("two")])), (1509, 0));
    // What is changed in the midst spoils the rest only.
    let changed = format!("{} other", words("a", 1200));
    assert_eq!(openai(&server, json!([system(&changed), user("two")])).1, 1152);
    server.forget_cache();
    assert_eq!(openai(&server, json!([system(&long), user("two")])).1, 0);
}

#[test]
fn openai_caches_nothing_below_1024_and_counts_by_its_own_measure() {
    let server = LlmServer::start();
    let short = json!([system(&words("a", 1000)), user("one")]);
    openai(&server, short.clone());
    assert_eq!(openai(&server, short.clone()), (1009, 0));
    let server = LlmServer::with(Rules { token_factor: 1.4, ..Rules::default() });
    openai(&server, short.clone());
    assert_eq!(openai(&server, short), (1413, 1408));
}

#[test]
fn a_prompt_that_was_refused_or_asked_of_another_model_is_not_cached() {
    let server = LlmServer::start();
    let messages = json!([system(&words("a", 1500)), user("one")]);
    server.then(ship_testkit::llm::faults::server_error());
    let body = json!({"model": "gpt-4o", "messages": messages});
    assert_eq!(post(&server, Format::OpenAi, &body).status, 500);
    let other = with(body, json!({"model": "gpt-4o-mini"}));
    assert_eq!(post(&server, Format::OpenAi, &other).status, 200);
    assert_eq!(openai(&server, messages).1, 0);
}

#[test]
fn keys_in_another_order_spoil_the_cache() {
    let server = LlmServer::start();
    let ask = |tool: &str| {
        let text = words("a", 1500);
        let body = format!(
            r#"{{"model":"m","tools":[{{"type":"function","function":{tool}}}],"messages":[{{"role":"user","content":"{text}"}}]}}"#
        );
        let body: Value = serde_json::from_str(&body).unwrap();
        let usage = post(&server, Format::OpenAi, &body).json()["usage"].clone();
        usage["prompt_tokens_details"]["cached_tokens"].as_u64().unwrap()
    };
    ask(r#"{"name":"a","description":"b"}"#);
    assert_eq!(ask(r#"{"description":"b","name":"a"}"#), 0);
    assert_eq!(ask(r#"{"name":"a","description":"b"}"#), 1408);
}

/// Asks with blocks, of which some are marked, and returns what was read, created for five minutes and for
/// an hour, and the rest.
fn anthropic(server: &LlmServer, system: Value, blocks: Value) -> [u64; 4] {
    let messages = json!([{"role": "user", "content": blocks}]);
    let body =
        json!({"model": "claude-x", "max_tokens": 9, "system": system, "messages": messages});
    let usage = post(server, Format::Anthropic, &body).json()["usage"].clone();
    let created = &usage["cache_creation"];
    let numbers = [
        &usage["cache_read_input_tokens"],
        &created["ephemeral_5m_input_tokens"],
        &created["ephemeral_1h_input_tokens"],
        &usage["input_tokens"],
    ];
    numbers.map(|number| number.as_u64().unwrap())
}

fn block(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn marked(text: &str, ttl: &str) -> Value {
    with(block(text), json!({"cache_control": {"type": "ephemeral", "ttl": ttl}}))
}

#[test]
fn anthropic_caches_up_to_a_mark_and_reads_what_it_knows() {
    let server = LlmServer::start();
    let long = words("a", 1500);
    let system = json!([marked(&long, "1h")]);
    assert_eq!(anthropic(&server, system.clone(), json!([block("x")])), [0, 0, 1500, 5]);
    assert_eq!(anthropic(&server, system.clone(), json!([block("y")])), [1500, 0, 0, 5]);
    // A second mark adds what comes between the two.
    let more = json!([marked(&words("b", 100), "5m"), block("x")]);
    assert_eq!(anthropic(&server, system.clone(), more), [1500, 104, 0, 1]);
    // A mark that has moved on finds what ended at an earlier one.
    let moved = json!([block(&words("b", 100)), marked("x", "5m"), block("y")]);
    assert_eq!(anthropic(&server, system, moved), [1604, 1, 0, 1]);
}

#[test]
fn anthropic_caches_nothing_without_a_mark_below_1024_or_after_a_change() {
    let server = LlmServer::start();
    let long = words("a", 1500);
    assert_eq!(anthropic(&server, json!([block(&long)]), json!([block("x")])), [0, 0, 0, 1505]);
    assert_eq!(anthropic(&server, json!([block(&long)]), json!([block("x")])), [0, 0, 0, 1505]);
    let short = json!([marked(&words("a", 1000), "5m")]);
    assert_eq!(anthropic(&server, short.clone(), json!([block("x")])), [0, 0, 0, 1005]);
    assert_eq!(anthropic(&server, short, json!([block("x")])), [0, 0, 0, 1005]);
    anthropic(&server, json!([marked(&long, "5m")]), json!([block("x")]));
    let changed = json!([marked(&words("b", 1500), "5m")]);
    assert_eq!(anthropic(&server, changed, json!([block("x")])), [0, 1500, 0, 5]);
}

#[test]
fn anthropic_looks_back_twenty_blocks_and_no_further() {
    let server = LlmServer::start();
    anthropic(&server, Value::from("s"), json!([marked(&words("a", 1500), "5m")]));
    let read = |count: usize| {
        let mut blocks = vec![block(&words("a", 1500))];
        blocks.extend((1..count).map(|_| block("x")));
        blocks.push(marked("end", "5m"));
        anthropic(&server, Value::from("s"), json!(blocks))[0]
    };
    assert_eq!((read(20), read(21)), (1505, 0));
}
