//! The recorded behaviour of the AI SDK, case by case.

use std::collections::HashSet;

use ship_message::json::{Json, Object};
use ship_message::{
    Assembler, Chunk, ConvertOptions, DataPart, ModelPart, UiMessage, ValidateOptions,
    convert_to_model_messages, validate_ui_messages,
};

fn cases(text: &str) -> Vec<Json> {
    let cases: Vec<Json> = text.lines().map(|line| Json::parse(line).unwrap()).collect();
    assert!(cases.len() >= 50);
    cases
}

fn name(case: &Json) -> &str {
    case.get("name").and_then(Json::as_str).unwrap()
}

fn messages(json: &Json) -> Vec<UiMessage> {
    let list = json.as_array().unwrap();
    list.iter().map(|json| UiMessage::from_json(json.clone()).unwrap()).collect()
}

/// The converters of data parts that the cases name.
fn convert_data(kind: &str, part: &DataPart) -> Option<ModelPart<'static>> {
    match kind {
        "data-text" => {
            let text = part.data()?.get("text")?.clone();
            Some(ModelPart::from_json(Json::Object(Object::from([
                ("type", Json::from("text")),
                ("text", text),
            ]))))
        }
        "none" | "null" => None,
        other => panic!("unknown converter {other}"),
    }
}

/// The tools' own outputs that the cases name.
fn convert_output(
    kind: &str,
    call_id: Option<&Json>,
    input: Option<&Json>,
    output: Option<&Json>,
) -> Result<Json, String> {
    let of = |kind: &str, value: Json| {
        Json::Object(Object::from([("type", kind.into()), ("value", value)]))
    };
    match kind {
        "echo-args" => {
            let mut args = Object::new();
            args.set_or_remove("toolCallId", call_id.cloned());
            args.set_or_remove("input", input.cloned());
            args.set_or_remove("output", output.cloned());
            Ok(of("json", args.into()))
        }
        "fixed" => Ok(of("text", "REDACTED".into())),
        "throws" => Err("toModelOutput failed".to_owned()),
        other => panic!("unknown output {other}"),
    }
}

fn convert(case: &Json) -> Json {
    let ui = messages(case.get("ui").unwrap());
    let option = |key: &str| case.get("options").and_then(|options| options.get(key));
    let tools = option("tools").and_then(Json::as_object);
    let names: Option<HashSet<String>> =
        tools.map(|tools| tools.keys().map(str::to_owned).collect());
    let data = option("convertDataPart").and_then(Json::as_str);
    let data = |part: &DataPart| data.and_then(|kind| convert_data(kind, part));
    let output = |name: &str, id: Option<&Json>, input: Option<&Json>, output: Option<&Json>| {
        let kind = tools?.get(name)?.get("toModelOutput")?.as_str()?;
        Some(convert_output(kind, id, input, output))
    };
    let options = ConvertOptions {
        tools: names.as_ref(),
        to_model_output: Some(&output),
        ignore_incomplete_tool_calls: option("ignoreIncompleteToolCalls").is_some(),
        convert_data_part: Some(&data),
    };
    match convert_to_model_messages(&ui, &options) {
        Ok(model) => {
            let model = model.iter().map(|m| Json::parse(&m.to_string()).unwrap());
            Json::Object(Object::from([("model", model.collect::<Vec<_>>())]))
        }
        Err(error) => {
            let error = Object::from([("name", error.name()), ("message", &error.to_string())]);
            Json::Object(Object::from([("error", error)]))
        }
    }
}

#[test]
fn every_recorded_conversion_agrees() {
    for case in cases(include_str!("fixtures/convert.jsonl")) {
        let ours = convert(&case);
        for key in ["model", "error"] {
            assert_eq!(ours.get(key), case.get(key), "{}", name(&case));
        }
    }
}

#[test]
fn every_recorded_validation_agrees_in_verdict_and_in_what_it_keeps() {
    for case in cases(include_str!("fixtures/validate.jsonl")) {
        assert!(
            case.get("options").is_none_or(Json::is_null),
            "a case with options wants a reader"
        );
        let ours = validate_ui_messages(
            case.get("messages").cloned().unwrap_or_default(),
            &ValidateOptions::default(),
        );
        assert_eq!(
            Some(ours.is_ok()),
            case.get("valid").and_then(Json::as_bool),
            "{}",
            name(&case)
        );
        if let Ok(kept) = ours {
            let kept: Json = kept.into_iter().map(UiMessage::into_json).collect::<Vec<_>>().into();
            assert_eq!(Some(&kept), case.get("data"), "{}", name(&case));
        }
    }
}

#[test]
fn every_recorded_stream_is_put_together_alike() {
    for case in cases(include_str!("fixtures/stream.jsonl")) {
        let initial = case.get("initial").filter(|initial| !initial.is_null());
        let last = initial.and_then(|initial| messages(initial).pop());
        let mut assembler = Assembler::new("gen-id", last);
        let mut failed = false;
        for chunk in case.get("chunks").and_then(Json::as_array).unwrap() {
            let chunk = match chunk.as_str() {
                Some(text) => Chunk::parse(text),
                None => Chunk::from_json(chunk.clone()),
            };
            failed = chunk.is_err() || chunk.is_ok_and(|chunk| assembler.push(chunk).is_err());
            if failed {
                break;
            }
        }
        let client = case.get("client").unwrap();
        let finish_reason = assembler.finish_reason().map(|reason| reason.name());
        assert_eq!(Some(failed), client.get("isError").and_then(Json::as_bool), "{}", name(&case));
        assert_eq!(
            finish_reason,
            client.get("finishReason").and_then(Json::as_str),
            "{}",
            name(&case)
        );
        let message = assembler.into_message().into_json();
        assert_eq!(Some(&message), client.get("message"), "{}", name(&case));
    }
}

#[test]
fn a_recorded_message_read_and_written_again_is_the_same_text() {
    let all = [
        include_str!("fixtures/convert.jsonl"),
        include_str!("fixtures/validate.jsonl"),
        include_str!("fixtures/stream.jsonl"),
    ];
    let mut seen = 0;
    for case in all.into_iter().flat_map(cases) {
        for key in ["ui", "messages", "initial", "data"] {
            for message in case.get(key).and_then(Json::as_array).unwrap_or_default() {
                let text = message.to_string();
                if let Ok(message) = UiMessage::parse(&text) {
                    assert_eq!(message.to_string(), text);
                    seen += 1;
                }
            }
        }
    }
    assert!(seen > 200, "only {seen} messages were looked at");
}
