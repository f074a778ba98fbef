//! Serde gives the JSON that the crate itself reads and writes, and no value overflows the stack.

use proptest::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use ship_message::json::{DEPTH_MAX, Json, from_json, to_json};
use ship_message::{Chunk, ModelMessage, UiMessage, UiPart};

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "kind")]
enum Shape {
    Circle { radius: f64 },
    Polygon { corners: Vec<(i32, i32)>, title: Option<String> },
}

#[test]
fn a_typed_value_becomes_json_and_comes_back() {
    for (shape, text) in [
        (Shape::Circle { radius: 1.5 }, r#"{"kind":"circle","radius":1.5}"#),
        (
            Shape::Polygon { corners: vec![(0, 0), (3, -4)], title: None },
            r#"{"kind":"polygon","corners":[[0,0],[3,-4]],"title":null}"#,
        ),
    ] {
        let json = to_json(&shape).unwrap();
        assert_eq!(json.to_string(), text);
        assert_eq!(from_json::<Shape>(&json).unwrap(), shape);
    }
    let wrong = Json::parse(r#"{"kind":"circle","radius":"wide"}"#).unwrap();
    let error = from_json::<Shape>(&wrong).unwrap_err().to_string();
    assert_eq!(error, r#"invalid type: string "wide", expected f64"#);
}

#[test]
fn numbers_pass_as_javascript_writes_them() {
    for (text, written) in [
        ("1.0", "1"),
        ("-0", "0"),
        ("1e400", "null"),
        ("0.1", "0.1"),
        ("9007199254740993", "9007199254740992"),
        ("-9007199254740992", "-9007199254740992"),
        ("1e300", "1e+300"),
    ] {
        let value = Value::try_from(&Json::parse(text).unwrap()).unwrap();
        assert_eq!(Json::try_from(value).unwrap().to_string(), written, "{text}");
    }
}

#[test]
fn messages_parts_and_chunks_are_their_json() {
    let message = r#"{"id":"m1","role":"user","parts":[{"type":"text","text":"hi"},{"type":"new-kind","x":1}],"extra":[]}"#;
    let chunk = r#"{"type":"text-delta","id":"t","delta":"hi"}"#;
    let model = r#"{"role":"user","content":[{"type":"text","text":"hi"}]}"#;
    assert_eq!(rewritten::<UiMessage>(message), message);
    assert_eq!(rewritten::<UiPart>(r#"{"type":"step-start"}"#), r#"{"type":"step-start"}"#);
    assert_eq!(rewritten::<Chunk>(chunk), chunk);
    assert_eq!(rewritten::<ModelMessage<'static>>(model), model);
    let error = serde_json::from_str::<UiMessage>("[]").unwrap_err().to_string();
    assert!(error.starts_with("a message must be a JSON object"), "{error}");
    let error = serde_json::from_str::<Chunk>(r#"{"type":"odd"}"#).unwrap_err().to_string();
    assert!(error.starts_with("a chunk of the stream has the unknown type `odd`"), "{error}");
}

/// The text of a value that serde has read and written.
fn rewritten<T: Serialize + serde::de::DeserializeOwned>(text: &str) -> String {
    serde_json::to_string(&serde_json::from_str::<T>(text).unwrap()).unwrap()
}

/// Arrays and objects in turn, this many levels deep.
fn nested(levels: usize) -> Json {
    let open = (0..levels).map(|level| if level % 2 == 0 { "[" } else { r#"{"a":"# });
    let close = (0..levels).rev().map(|level| if level % 2 == 0 { "]" } else { "}" });
    Json::parse(&open.chain(["0"]).chain(close).collect::<String>()).unwrap()
}

#[test]
fn a_value_that_nests_too_deep_is_an_error_and_never_the_end_of_the_stack() {
    let value = Value::try_from(&nested(DEPTH_MAX)).unwrap();
    assert_eq!(Json::try_from(value.clone()).unwrap(), nested(DEPTH_MAX));
    let too_deep = format!("JSON nests more than {DEPTH_MAX} levels deep");
    for levels in [DEPTH_MAX + 1, 300_000] {
        let error = Value::try_from(&nested(levels)).unwrap_err();
        assert_eq!(error.to_string(), too_deep);
    }
    let error = Json::try_from(Value::Array(vec![value])).unwrap_err();
    assert_eq!(error.to_string(), too_deep);
}

proptest! {
    #[test]
    fn json_that_passed_through_serde_is_the_same_text(json in json()) {
        let value = Value::try_from(&json).unwrap();
        prop_assert_eq!(Json::try_from(value).unwrap().to_string(), json.to_string());
    }
}

/// Any small JSON value, in which no two keys are equal.
fn json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<f64>().prop_map(Json::from),
        (-1_000_000i32..1_000_000).prop_map(|number| Json::from(f64::from(number))),
        any::<String>().prop_map(Json::from),
    ];
    leaf.prop_recursive(4, 32, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Json::from),
            prop::collection::btree_map(any::<String>(), inner, 0..5)
                .prop_map(|entries| Json::Object(entries.into_iter().collect())),
        ]
    })
}
