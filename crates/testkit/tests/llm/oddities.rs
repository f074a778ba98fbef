//! Each oddity of a stream, of its calls and of its words, seen on a raw socket.

use serde_json::{Value, json};
use ship_testkit::llm::{Answer, Format, faults};

use crate::client::{End, FORMATS, ask};
use crate::faults::{calls, is_finished};

use Format::{Anthropic, OpenAi};

#[test]
fn odd_streams_say_what_they_mean() {
    let table: Vec<(&str, Answer, &str)> = vec![
        ("crlf", faults::crlf(), "\r\n\r\n"),
        ("cr", faults::cr(), "\r\r"),
        ("comments", faults::comments(), ": OPENROUTER PROCESSING\n"),
        ("multi_line_data", faults::multi_line_data(), ",\ndata: \""),
        ("no_space_after_colon", faults::no_space_after_colon(), "data:{"),
        ("further_fields", faults::further_fields(), "retry: 3000\n"),
        ("byte_order_mark", faults::byte_order_mark(), "\u{feff}"),
        ("unknown_events", faults::unknown_events(), "event: weather\n"),
        ("many_pings", faults::many_pings(), "ping"),
        ("split_utf8", faults::split_utf8(), "世"),
        ("all_at_once", faults::all_at_once(), "世"),
    ];
    for (name, answer, sign) in table {
        for format in FORMATS {
            let reply = ask(answer.clone(), format);
            assert_eq!(reply.end, End::Whole, "{name}");
            assert_eq!(reply.words(), faults::ODD_WORDS, "{name}");
            assert!(reply.text().contains(sign) && is_finished(&reply), "{name}");
        }
    }
    let pings = ask(faults::many_pings(), Anthropic).text().matches("event: ping\n").count();
    assert_eq!(pings, faults::PINGS + 1);
}

#[test]
fn calls_are_odd_in_what_they_ask_for() {
    for format in FORMATS {
        let calls = |answer: Answer| calls(&ask(answer, format));
        let (name, broken) = ("look", r#"{"path": "a.txt", "#);
        assert_eq!(calls(faults::invalid_arguments(name))[0].2, broken);
        assert_eq!(calls(faults::arguments_of_another_type(name))[0].2, r#"["a.txt"]"#);
        assert_eq!(calls(faults::no_arguments(name))[0].2, "");
        assert_eq!(calls(faults::arguments_cut_by_length(name))[0].2, r#"{"path": "a"#);
        assert_eq!(calls(faults::unknown_tool())[0].1, "launch_rocket");
        assert_eq!(calls(faults::html_in_name())[0].1, "<script>alert(1)</script>");
        assert_eq!(calls(faults::blank_id(name))[0].0, "");
        assert_eq!(calls(faults::long_id(name))[0].0.chars().count(), 205);
        let same = calls(faults::duplicate_ids(name));
        assert_eq!((same.len(), &same[0].0), (2, &same[1].0));
        assert_eq!(calls(faults::many_calls(name)).len(), faults::CALLS);
        let stopped = ask(faults::calls_that_stop_as_text(name), format).text();
        assert!(stopped.contains("\"stop\"") || stopped.contains("\"end_turn\""));
        let surrogate = calls(faults::lone_surrogate_in_arguments(name));
        assert_eq!(surrogate[0].2, r#"{"a":"\ud83d"}"#);
    }
}

#[test]
fn calls_are_odd_in_how_they_come() {
    let first = |answer: Answer, format| {
        let events = ask(answer, format).events();
        let fragment = |event: &Value| match format {
            OpenAi => event.pointer("/choices/0/delta/tool_calls/0").cloned(),
            Anthropic => event.get("content_block").map(|_| event.clone()),
        };
        events.iter().filter_map(fragment).collect::<Vec<Value>>()
    };
    assert!(first(faults::missing_id("look"), OpenAi).iter().all(|call| call.get("id").is_none()));
    assert!(first(faults::missing_id("look"), Anthropic)[0]["content_block"].get("id").is_none());
    for format in FORMATS {
        let fragments = first(faults::no_index("look"), format);
        assert!(!fragments.is_empty() && fragments.iter().all(|call| call.get("index").is_none()));
        let indexes: Vec<Value> = first(faults::shared_index("look"), format)
            .iter()
            .map(|call| call["index"].clone())
            .collect();
        assert!(indexes.len() >= 2 && indexes.iter().all(|index| index == 0), "{indexes:?}");
    }
    let late = first(faults::late_name("look"), OpenAi);
    let named: Vec<bool> = late.iter().map(|call| call["function"].get("name").is_some()).collect();
    assert_eq!(named[..3], [false, true, false]);
    let whole = first(faults::whole_call("look"), OpenAi);
    assert_eq!(
        (whole.len(), &whole[0]["function"]["arguments"]),
        (1, &json!(r#"{"path":"a.txt"}"#))
    );
}

#[test]
fn answers_say_what_no_client_expects() {
    for format in FORMATS {
        let raw = |answer: Answer| ask(answer, format);
        assert!(raw(faults::lone_surrogate()).text().contains(r"a\ud83db"));
        assert!(raw(faults::nul()).text().contains(r"a\u0000b"));
        let invalid = raw(faults::invalid_utf8());
        assert!(std::str::from_utf8(&invalid.body).is_err());
        let long = raw(faults::two_megabytes());
        assert_eq!((long.words().len(), long.end), (faults::MANY_BYTES, End::Whole));
        let empty = raw(faults::empty_answer());
        assert!(empty.words().is_empty() && is_finished(&empty));
        let reasoning = raw(faults::only_reasoning());
        assert!(reasoning.words().is_empty() && reasoning.text().contains("Hm."));
        assert_eq!(raw(faults::only_whitespace()).words(), " \n\t ");
        let refusal = raw(faults::refusal()).text();
        assert!(refusal.contains("\"content_filter\"") || refusal.contains("\"refusal\""));
        let cut = raw(faults::cut_by_length()).text();
        assert!(cut.contains("\"length\"") || cut.contains("\"max_tokens\""));
        assert!(raw(faults::unknown_stop()).text().contains("\"moon_phase\""));
    }
}
