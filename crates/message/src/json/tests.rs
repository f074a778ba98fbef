//! What the reader accepts, what the writer gives, and that neither cares how deep or large a text is.

use proptest::prelude::*;

use super::*;

fn rewritten(text: &str) -> String {
    Json::parse(text).unwrap().to_string()
}

#[test]
fn numbers_are_read_and_written_as_javascript_does() {
    for (text, written) in [
        ("0", "0"),
        ("-0", "0"),
        ("1.0", "1"),
        ("1e3", "1000"),
        ("1E-7", "1e-7"),
        ("0.1", "0.1"),
        ("123456789012345678901234567890", "1.2345678901234568e+29"),
        ("12345678901234567890", "12345678901234567000"),
        ("9007199254740993", "9007199254740992"),
        ("1e21", "1e+21"),
        ("1e400", "null"),
        ("-1e400", "null"),
        ("1e-400", "0"),
        ("5e-324", "5e-324"),
        ("999999999999999", "999999999999999"),
        ("1000000000000000", "1000000000000000"),
    ] {
        assert_eq!(rewritten(text), written, "{text}");
    }
}

#[test]
fn strings_are_written_with_the_escapes_javascript_uses() {
    let text = r#""\u0000\u001f\b\f\n\r\t\"\\\/é\u2028\u007f😀""#;
    assert_eq!(rewritten(text), "\"\\u0000\\u001f\\b\\f\\n\\r\\t\\\"\\\\/é\u{2028}\u{7f}😀\"");
}

#[test]
fn an_escaped_pair_is_one_character_and_a_lone_half_the_replacement() {
    assert_eq!(rewritten(r#""\ud83d\ude00""#), "\"😀\"");
    assert_eq!(rewritten(r#""a\ud83d""#), "\"a\u{FFFD}\"");
    assert_eq!(rewritten(r#""\ud83d\ud83d\ude00\ude00""#), "\"\u{FFFD}😀\u{FFFD}\"");
}

#[test]
fn keys_keep_their_order_and_the_last_of_two_equal_ones_wins() {
    assert_eq!(rewritten(r#"{"b":1,"2":0,"a":2,"b":3}"#), r#"{"b":3,"2":0,"a":2}"#);
    let many = (0..40).map(|i| format!("\"k{}\":{i}", i % 20)).collect::<Vec<_>>().join(",");
    let merged = Json::parse(&format!("{{{many}}}")).unwrap();
    assert_eq!(merged.as_object().unwrap().len(), 20);
    assert_eq!(merged.get("k3").and_then(Json::as_number), Some(23.0));
}

#[test]
fn what_is_read_takes_no_more_room_than_it_needs() {
    let Ok(Json::Object(object)) = Json::parse(r#"{"a":[1,2,3],"b":{"c":4},"d":5}"#) else {
        panic!("an object")
    };
    assert_eq!(object.0.capacity(), 3);
    let Some(Json::Array(array)) = object.get("a") else { panic!("a list") };
    assert_eq!(array.0.capacity(), 3);
}

#[test]
fn stringify_puts_array_indexes_first_as_javascript_does() {
    let value = Json::parse(
        r#"{"b":{"1":0,"0":1},"10":1,"01":2,"9":3,"-1":4,"4294967295":5,"4294967294":6}"#,
    );
    assert_eq!(
        value.unwrap().stringify(),
        r#"{"9":3,"10":1,"4294967294":6,"b":{"0":1,"1":0},"01":2,"-1":4,"4294967295":5}"#
    );
}

#[test]
fn what_is_not_json_is_refused_with_its_place() {
    for (text, offset) in [
        ("", 0),
        ("{", 1),
        ("[1,]", 3),
        ("{\"a\":1,}", 7),
        ("{a:1}", 1),
        ("01", 1),
        ("1.", 2),
        ("-", 1),
        ("+1", 0),
        (".5", 0),
        ("1e", 2),
        ("tru", 0),
        ("nul", 0),
        ("\"a", 2),
        ("\"a\nb\"", 2),
        ("\"\\x\"", 2),
        ("\"\\u12\"", 2),
        ("[1 2]", 3),
        ("1 2", 2),
        ("NaN", 0),
        ("\u{FEFF}1", 0),
    ] {
        assert_eq!(Json::parse(text).unwrap_err().offset(), offset, "{text:?}");
    }
    assert_eq!(Json::parse_bytes(b"\"\xff\"").unwrap_err().offset(), 1);
}

#[test]
fn nesting_deeper_than_any_stack_is_read_written_copied_compared_and_dropped() {
    let depth = 1_000_000;
    let text = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let value = Json::parse(&text).unwrap();
    let copy = value.clone();
    assert!(value == copy);
    assert_eq!(copy.to_string(), text);

    let text = format!("{}1{}", "{\"a\":".repeat(depth), "}".repeat(depth));
    let value = Json::parse(&text).unwrap();
    assert!(value == value.clone());
    assert_eq!(value.to_string(), text);
}

/// Any JSON value, of modest size.
fn any_json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::Bool),
        any::<f64>().prop_filter("finite", |n| n.is_finite()).prop_map(Json::Number),
        (-1000i32..1000).prop_map(|n| Json::Number(f64::from(n))),
        any::<String>().prop_map(Json::from),
    ];
    leaf.prop_recursive(5, 64, 8, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Json::from),
            prop::collection::vec(("[a-c]{1,2}|id|role|\\PC{0,3}", inner), 0..24)
                .prop_map(|entries| Json::Object(entries.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn what_is_written_reads_the_same(value in any_json()) {
        let text = value.to_string();
        let again = Json::parse(&text).unwrap();
        prop_assert_eq!(&again, &value);
        prop_assert_eq!(again.to_string(), text);
        prop_assert_eq!(&value.clone(), &value);
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in any::<String>(), cut in any::<prop::sample::Index>()) {
        let _ = Json::parse(&text);
        let json = Json::from(text).to_string();
        let at = cut.index(json.len());
        let _ = Json::parse_bytes(&json.as_bytes()[..at]);
    }

    #[test]
    fn near_json_never_panics(text in "[\\[\\]{}:,\"\\\\ud8-9dcf0-3eE+.truefalsn -]{0,40}") {
        if let Ok(value) = Json::parse(&text) {
            prop_assert_eq!(Json::parse(&value.to_string()).unwrap().to_string(), value.to_string());
        }
    }
}

#[test]
fn an_escape_is_written_at_any_place_of_a_text() {
    for special in ['"', '\\', '\n', '\u{0}', '\u{1f}'] {
        for place in 0..20 {
            let text = format!("{}{special}{}", "é".repeat(place), "~\u{7f} plain text".repeat(2));
            let written = Json::from(text.as_str()).to_string();
            assert!(written.bytes().all(|byte| byte >= 0x20), "{written}");
            assert_eq!(Json::parse(&written).unwrap().as_str(), Some(text.as_str()));
        }
    }
}
