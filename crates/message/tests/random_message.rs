//! Random messages, in every state of every part that a stream can express.

use proptest::prelude::*;
use proptest::strategy::Union;
use ship_message::UiMessage;
use ship_message::json::{Json, Object};

type Fields = BoxedStrategy<Vec<(&'static str, Json)>>;

const ANY: &[&str] =
    &["null", "true", "-1.5", r#""x""#, "[]", r#"[1,{"a":null}]"#, "{}", r#"{"b":"😀","2":[]}"#];
const TEXT: &[&str] = &[r#""""#, r#""hi""#, r#""héllo 😀\n你好""#];
const METADATA: &[&str] = &["{}", r#"{"p":{"k":[1]}}"#];
const BOOL: &[&str] = &["true", "false"];

/// A field with one of these values.
fn field(key: &'static str, values: &'static [&'static str]) -> Fields {
    prop::sample::select(values)
        .prop_map(move |text| vec![(key, Json::parse(text).unwrap())])
        .boxed()
}

fn maybe(fields: Fields) -> Fields {
    prop_oneof![Just(Vec::new()), fields].boxed()
}

fn all(fields: impl IntoIterator<Item = Fields>) -> Fields {
    fields.into_iter().collect::<Vec<_>>().prop_map(|fields| fields.concat()).boxed()
}

fn one(fields: impl IntoIterator<Item = Fields>) -> Fields {
    Union::new(fields).boxed()
}

fn none() -> Fields {
    Just(Vec::new()).boxed()
}

/// Any message that a stream can express: an answer, with its calls and texts as complete as they happen to be.
pub(crate) fn message() -> impl Strategy<Value = UiMessage> {
    let metadata = &ANY[1..];
    (prop::collection::vec(part(), 0..12), maybe(field("metadata", metadata))).prop_map(
        |(parts, metadata)| {
            let mut message = Object::from([("id", "m1"), ("role", "assistant")]);
            message.set("parts", number(parts));
            for (key, value) in metadata {
                message.set(key, value);
            }
            UiMessage::from_object(message)
        },
    )
}

/// Makes parts of their fields. An id occurs once in a step, and again in the next.
fn number(parts: Vec<Vec<(&'static str, Json)>>) -> Vec<Json> {
    let mut in_step = 0;
    let mut numbered = Vec::new();
    for (at, fields) in parts.into_iter().enumerate() {
        let mut part: Object = fields.into_iter().collect();
        in_step = if part.str("type") == Some("step-start") { 0 } else { in_step + 1 };
        if part.has("toolCallId") {
            part.set("toolCallId", format!("c{in_step}"));
        }
        if part.has("data") && part.has("id") {
            part.set("id", format!("d{at}"));
        }
        numbered.push(Json::Object(part));
    }
    numbered
}

fn part() -> Fields {
    let kind = |kind| field("type", kind);
    let metadata = || maybe(field("providerMetadata", METADATA));
    let state = || field("state", &[r#""streaming""#, r#""done""#]);
    prop_oneof![
        1 => kind(&[r#""step-start""#]),
        1 => all([kind(&[r#""text""#]), field("text", TEXT), state(), metadata()]),
        1 => all([
            kind(&[r#""reasoning""#]),
            field("id", &[r#""r1""#, r#""r2""#, r#""0""#]),
            field("text", TEXT),
            state(),
            metadata(),
        ]),
        1 => all([
            kind(&[r#""file""#]),
            field("mediaType", &[r#""a/b""#]),
            field("url", TEXT),
            metadata(),
        ]),
        1 => all([
            kind(&[r#""source-url""#]),
            field("sourceId", TEXT),
            field("url", TEXT),
            maybe(field("title", TEXT)),
            metadata(),
        ]),
        1 => all([
            kind(&[r#""source-document""#]),
            field("sourceId", TEXT),
            field("mediaType", TEXT),
            field("title", TEXT),
            maybe(field("filename", TEXT)),
            metadata(),
        ]),
        1 => all([
            kind(&[r#""data-x""#, r#""data-""#]),
            maybe(field("id", &["0"])),
            field("data", ANY),
            maybe(field("transient", &["false"])),
        ]),
        5 => tool(),
    ]
    .boxed()
}

fn tool() -> Fields {
    let fixed = all([
        field("type", &[r#""tool-w""#, r#""tool-get-weather""#, r#""tool-""#]),
        one(states(true)),
    ]);
    let dynamic = all([
        field("type", &[r#""dynamic-tool""#]),
        field("toolName", &[r#""w""#, r#""""#]),
        one(states(false)),
    ]);
    all([
        one([fixed, dynamic]),
        field("toolCallId", &["0"]),
        maybe(field("title", TEXT)),
        maybe(field("toolMetadata", &["{}", r#"{"m":[{}]}"#])),
        maybe(field("providerExecuted", BOOL)),
        maybe(field("callProviderMetadata", METADATA)),
    ])
}

/// The fields of a call in each of its states, except those that only a person's answer brings about.
fn states(is_static: bool) -> Vec<Fields> {
    let input = || maybe(field("input", ANY));
    let result = || all([maybe(field("resultProviderMetadata", METADATA)), maybe(approval())]);
    let raw_input = if is_static { one([field("rawInput", ANY), partial()]) } else { none() };
    vec![
        all([
            field("state", &[r#""input-streaming""#]),
            one([
                maybe(field("inputEncoding", &[r#""json""#, r#""text""#])),
                partial(),
                all([
                    field("inputEncoding", &[r#""text""#]),
                    field("input", &[r#""abc""#]),
                    field("rawInput", &[r#""abc""#]),
                ]),
            ]),
        ]),
        all([field("state", &[r#""input-available""#]), field("input", ANY)]),
        all([field("state", &[r#""approval-requested""#]), input(), approval()]),
        all([
            field("state", &[r#""output-available""#]),
            input(),
            field("output", ANY),
            maybe(field("preliminary", BOOL)),
            result(),
        ]),
        all([
            field("state", &[r#""output-error""#]),
            one([input(), raw_input]),
            field("errorText", TEXT),
            result(),
        ]),
        all([field("state", &[r#""output-denied""#]), input(), maybe(approval())]),
    ]
}

/// An input that the model has not completed, with its text.
fn partial() -> Fields {
    one([
        field("rawInput", &[r#""""#, r#""x y""#]),
        all([
            field("rawInput", &[r#""{\"a\":[1,tru""#, r#""{\"a\": [1,true]""#]),
            field("input", &[r#"{"a":[1,true]}"#]),
        ]),
    ])
}

/// A request for approval that is not answered.
fn approval() -> Fields {
    let approval = all([
        field("id", TEXT),
        maybe(field("descriptor", &ANY[1..])),
        maybe(field("inputSchemaInput", ANY)),
        maybe(field("signature", TEXT)),
    ]);
    approval
        .prop_map(|fields| vec![("approval", Json::Object(fields.into_iter().collect()))])
        .boxed()
}
