//! Bodies that the AI SDK's own clients have sent, judged.

use serde_json::{Value, json};
use ship_testkit::llm::{Refusal, Rules, judge_anthropic, judge_openai};

const BODIES: &str = include_str!("recorded.jsonl");

#[test]
fn bodies_of_real_clients_are_taken_or_refused_for_what_is_wrong_with_them() {
    let mut counted = (0, 0);
    for line in BODIES.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let (name, body) = (line["name"].as_str().unwrap(), line["body"].to_string());
        let judged = match name.starts_with("anthropic/") {
            true => judge_anthropic(body, &Rules::default()),
            false => judge_openai(body, &Rules::default()),
        };
        let rule = judged.err().map(|refusal| refusal.rule);
        assert_eq!(rule, line["rule"].as_str(), "{name}");
        *(if rule.is_none() { &mut counted.0 } else { &mut counted.1 }) += 1;
    }
    assert_eq!(counted, (28, 10));
}

#[test]
fn no_body_makes_a_judge_panic_whatever_is_put_in_the_place_of_what() {
    let strange = [json!(null), json!(7), json!(""), json!("x"), json!([]), json!({}), json!([[]])];
    let rules = [
        Rules { window: Some(10), ..Rules::strict() },
        Rules { system_role: true, ..Rules::default() },
    ];
    let mut judged = 0;
    for line in BODIES.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let mut places = Vec::new();
        collect(&line["body"], String::new(), &mut places);
        for place in &places {
            for strange in &strange {
                let mut body = line["body"].clone();
                *body.pointer_mut(place).unwrap() = strange.clone();
                let body = body.to_string();
                for rules in &rules {
                    check(judge_openai(&body, rules).err());
                    check(judge_anthropic(&body, rules).err());
                    judged += 2;
                }
            }
        }
    }
    assert!(judged > 15_000, "{judged}");
}

/// A refusal is one that a client can read.
fn check(refusal: Option<Refusal>) {
    if let Some(refusal) = refusal {
        assert!((400..500).contains(&refusal.status) && !refusal.message().is_empty());
        assert!(!refusal.rule.is_empty());
    }
}

/// Collects the pointers to every value inside of a value, itself included.
fn collect(value: &Value, place: String, places: &mut Vec<String>) {
    match value {
        Value::Array(list) => {
            list.iter()
                .enumerate()
                .for_each(|(at, one)| collect(one, format!("{place}/{at}"), places));
        }
        Value::Object(fields) => {
            let plain = fields.iter().filter(|(name, _)| !name.contains(['/', '~']));
            plain.for_each(|(name, one)| collect(one, format!("{place}/{name}"), places));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    places.push(place);
}
