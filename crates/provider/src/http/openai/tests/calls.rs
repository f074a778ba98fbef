//! Tests calls of tools in all the pieces that hosts make of them.

use proptest::prelude::*;
use ship_message::json::{Json, Object};

use super::{calls, deltas};
use crate::http::api::Api;
use crate::http::tests::describe_answer;

#[test]
fn a_call_is_put_together_from_its_pieces() {
    let told = calls(&[
        r#"{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":""}}"#,
        r#"{"index":0,"function":{"arguments":"{\"x\":"}}"#,
        r#"{"index":0,"function":{"arguments":"1}"}}"#,
        r#"{"index":1,"id":"b","function":{"name":"g","arguments":"{}"}}"#,
    ]);
    assert_eq!(
        told,
        "tool-f a: input-available {\"x\":1}\ntool-g b: input-available {}\nend: tool-calls"
    );
}

#[test]
fn pieces_of_two_calls_may_alternate() {
    let told = calls(&[
        r#"{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}}"#,
        r#"{"index":1,"id":"b","function":{"name":"f","arguments":"{\"y\""}}"#,
        r#"{"index":0,"function":{"arguments":":1}"}}"#,
        r#"{"index":1,"function":{"arguments":":2}"}}"#,
    ]);
    assert_eq!(
        told,
        "tool-f a: input-available {\"x\":1}\ntool-f b: input-available {\"y\":2}\nend: tool-calls"
    );
}

#[test]
fn pieces_without_an_index_go_by_their_ids_and_names() {
    // Gemini sends whole calls.
    let told_whole = calls(&[
        r#"{"id":"","function":{"name":"f","arguments":"{\"x\":1}"}}"#,
        r#"{"id":"","function":{"name":"f","arguments":"{\"x\":2}"}}"#,
    ]);
    assert_eq!(
        told_whole,
        "tool-f call_0000000000000007_0: input-available {\"x\":1}\n\
         tool-f call_0000000000000007_1: input-available {\"x\":2}\nend: tool-calls"
    );
    let told_pieces = calls(&[
        r#"{"id":"a","function":{"name":"f","arguments":"{\"x\":"}}"#,
        r#"{"function":{"arguments":"1}"}}"#,
        r#"{"id":"b","function":{"name":"g","arguments":"{"}}"#,
        r#"{"id":"b","function":{"arguments":"}"}}"#,
    ]);
    assert_eq!(
        told_pieces,
        "tool-f a: input-available {\"x\":1}\ntool-g b: input-available {}\nend: tool-calls"
    );
}

#[test]
fn missing_blank_repeated_and_impossible_ids_are_replaced() {
    let long = "x".repeat(65);
    for id in
        ["null", "\"\"", "\"  \"", "\"a\\nb\"", "\"<b>\"", "\"\\u0000\"", &format!("\"{long}\"")]
    {
        let piece =
            format!(r#"{{"index":0,"id":{id},"function":{{"name":"f","arguments":"{{}}"}}}}"#);
        assert_eq!(
            calls(&[&piece]),
            "tool-f call_0000000000000007_0: input-available {}\nend: tool-calls",
            "{id}"
        );
    }
    let told = calls(&[
        r#"{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}"#,
        r#"{"index":1,"id":"a","function":{"name":"g","arguments":"{}"}}"#,
    ]);
    assert_eq!(
        told,
        "tool-f a: input-available {}\ntool-g call_0000000000000007_1: input-available {}\nend: tool-calls"
    );
}

#[test]
fn names_may_come_late_blank_or_again_and_ids_may_change() {
    let told = calls(&[
        r#"{"index":0,"id":"a","function":{"arguments":"{"}}"#,
        r#"{"index":0,"function":{"name":"f","arguments":""}}"#,
        r#"{"index":0,"id":"","function":{"name":"","arguments":"\"x\""}}"#,
        r#"{"index":0,"id":"a","function":{"name":"f","arguments":":1"}}"#,
        r#"{"index":0,"id":"other","function":{"name":null,"arguments":"}"}}"#,
    ]);
    assert_eq!(told, "tool-f a: input-available {\"x\":1}\nend: tool-calls");
}

#[test]
fn several_calls_may_share_an_index() {
    let told = calls(&[
        r#"{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":\"}\"}"}}"#,
        r#"{"index":0,"id":"b","function":{"name":"f","arguments":"{"}}"#,
        r#"{"index":0,"function":{"arguments":"}"}}"#,
        r#"{"index":0,"function":{"name":"g","arguments":"{}"}}"#,
    ]);
    assert_eq!(
        told,
        "tool-f a: input-available {\"x\":\"}\"}\ntool-f b: input-available {}\n\
         tool-g call_0000000000000007_2: input-available {}\nend: tool-calls"
    );
}

#[test]
fn arguments_may_be_an_object_null_or_missing() {
    let told = calls(&[
        r#"{"index":0,"id":"a","function":{"name":"f","arguments":{"x":1}}}"#,
        r#"{"index":1,"id":"b","function":{"name":"f","arguments":null}}"#,
        r#"{"index":2,"id":"c","function":{"name":"f"}}"#,
        r#"{"index":3,"id":"d","function":{"name":"f","arguments":"null"}}"#,
        r#"null"#,
        r#"{"index":4,"id":"e"}"#,
    ]);
    assert_eq!(
        told,
        "tool-f a: input-available {\"x\":1}\ntool-f b: input-available {}\n\
         tool-f c: input-available {}\ntool-f d: input-available {}\n\
         tool-unnamed e: output-error {}\nend: tool-calls"
    );
}

#[test]
fn a_thought_signature_is_kept_with_its_call() {
    let told = calls(&[
        r#"{"index":0,"id":"a","function":{"name":"f","arguments":"{}"},"extra_content":{"google":{"thought_signature":"s=="}}}"#,
    ]);
    assert_eq!(
        told,
        "tool-f a: input-available {} {\"google\":{\"thoughtSignature\":\"s==\"}}\nend: tool-calls"
    );
}

#[test]
fn input_that_is_no_object_is_an_error_that_keeps_it() {
    let told = calls(&[
        r#"{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":"}}"#,
        r#"{"index":1,"id":"b","function":{"name":"f","arguments":"[1]"}}"#,
        r#"{"index":2,"id":"c","function":{"name":"a b\u0007<i>","arguments":"{}"}}"#,
    ]);
    assert_eq!(
        told,
        "tool-f a: output-error \"{\\\"x\\\":\"\ntool-f b: output-error \"[1]\"\n\
         tool-a b\u{FFFD}<i> c: input-available {}\nend: tool-calls"
    );
}

#[test]
fn a_call_in_an_answer_that_was_cut_short_is_never_run() {
    let piece = r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}"#;
    for (reason, end) in [
        ("length", "length"),
        ("model_context_window_exceeded", "length"),
        ("content_filter", "content-filter"),
    ] {
        assert_eq!(
            describe_answer(Api::OpenAi, &deltas(&[piece], &format!("\"{reason}\""))),
            format!("tool-f a: output-error {{}}\nend: {end}")
        );
    }
}

#[test]
fn only_64_calls_are_run() {
    let pieces: Vec<String> = (0..66)
        .map(|i| {
            format!(r#"{{"index":{i},"id":"c{i}","function":{{"name":"f","arguments":"{{}}"}}}}"#)
        })
        .collect();
    let told = calls(&pieces.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(told.matches("input-available").count(), 64);
    assert!(
        told.contains("tool-f c64: output-error {}\ntool-f c65: output-error {}\nend: tool-calls")
    );
    let flood: Vec<String> = (0..2000).map(|i| format!(r#"{{"index":{i},"id":"c{i}"}}"#)).collect();
    let told = calls(&flood.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(told, "protocol: more than 1024 calls in one answer");
}

proptest! {
    /// A host may cut the input anywhere, and repeat id and name in any piece.
    #[test]
    fn an_input_cut_anywhere_is_the_same_input(
        value in "[a-z{}\\[\\]\\\\\"你 ]{0,24}",
        cuts in prop::collection::vec((1_usize..6, 0_usize..3, 0_usize..3), 40),
        has_index in any::<bool>(),
    ) {
        let input = Json::from(Object::from([("x", value.as_str())])).stringify();
        let chars: Vec<char> = input.chars().collect();
        let mut rest = chars.as_slice();
        let mut pieces = Vec::new();
        for (at, (size, id, name)) in cuts.into_iter().enumerate() {
            let (now, later) = rest.split_at(size.min(rest.len()));
            rest = later;
            // The first piece has both; a later one has them, has them blank, or has none.
            let say = |which: usize, key: &str, word: &str| match if at == 0 { 0 } else { which } {
                0 => format!(r#""{key}":"{word}","#),
                1 => format!(r#""{key}":"","#),
                _ => String::new(),
            };
            let text = Json::from(now.iter().collect::<String>());
            let index = if has_index { r#""index":0,"# } else { "" };
            pieces.push(format!(
                r#"{{{index}{}"function":{{{}"arguments":{text}}}}}"#,
                say(id, "id", "a"),
                say(name, "name", "f"),
            ));
        }
        prop_assume!(rest.is_empty());
        let told = calls(&pieces.iter().map(String::as_str).collect::<Vec<_>>());
        prop_assert_eq!(told, format!("tool-f a: input-available {input}\nend: tool-calls"));
    }
}

#[test]
fn ids_made_up_for_every_piece_do_not_make_calls() {
    let told = calls(&[
        r#"{"id":"r1","function":{"name":"f","arguments":"{\"x\""}}"#,
        r#"{"id":"r2","function":{"arguments":":1}"}}"#,
        r#"{"id":"r3","function":{"name":"g","arguments":"{"}}"#,
        r#"{"id":"r4","function":{"arguments":"}"}}"#,
    ]);
    assert_eq!(
        told,
        "tool-f r1: input-available {\"x\":1}\ntool-g r3: input-available {}\nend: tool-calls"
    );
}
