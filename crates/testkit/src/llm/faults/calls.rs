//! Calls of tools that are not what they should be.

use serde_json::{Value, json};

use super::super::sse::{Frame, Kind};
use super::super::{Answer, Format, Piece, Speech, Stop};
use super::steps;

/// How many calls [`many_calls`] makes.
pub const CALLS: usize = 65;

/// Arguments that are not JSON.
pub fn invalid_arguments(name: &str) -> Answer {
    Answer::call(name, r#"{"path": "a.txt", "#)
}

/// Arguments that are JSON, but no object.
pub fn arguments_of_another_type(name: &str) -> Answer {
    Answer::call(name, r#"["a.txt"]"#)
}

/// No arguments at all.
pub fn no_arguments(name: &str) -> Answer {
    Answer::call(name, "")
}

/// Arguments that the limit on the answer's length has cut off.
pub fn arguments_cut_by_length(name: &str) -> Answer {
    Speech::new([Piece::call(name, r#"{"path": "a"#)]).stop(Stop::Length).into()
}

/// A tool that nobody offered.
pub fn unknown_tool() -> Answer {
    Answer::call("launch_rocket", "{}")
}

/// A name that is HTML.
pub fn html_in_name() -> Answer {
    Answer::call("<script>alert(1)</script>", "{}")
}

/// An id with nothing in it.
pub fn blank_id(name: &str) -> Answer {
    Speech::new([Piece::call_with_id("", name, "{}")]).into()
}

/// An id that is much too long, with characters that ids do not have.
pub fn long_id(name: &str) -> Answer {
    Speech::new([Piece::call_with_id(format!("call:{}", "é/".repeat(100)), name, "{}")]).into()
}

/// Two calls of one id.
pub fn duplicate_ids(name: &str) -> Answer {
    let call = |arguments: &str| Piece::call_with_id("call_same", name, arguments);
    Speech::new([call(r#"{"n":1}"#), call(r#"{"n":2}"#)]).into()
}

/// Very many calls at once.
pub fn many_calls(name: &str) -> Answer {
    let calls = (0..CALLS).map(|number| Piece::call(name, format!(r#"{{"n":{number}}}"#)));
    Speech::new(calls).into()
}

/// Calls, and yet a reason to stop that says there are none, as when a tool was named in the request.
pub fn calls_that_stop_as_text(name: &str) -> Answer {
    Speech::new([Piece::call(name, "{}")]).stop(Stop::End).into()
}

/// No id at all.
pub fn missing_id(name: &str) -> Answer {
    bent_call(name, |frames| {
        for data in frames {
            remove(data, "/choices/0/delta/tool_calls/0", "id");
            remove(data, "/content_block", "id");
        }
    })
}

/// No index, as Google's compatible host sends it.
pub fn no_index(name: &str) -> Answer {
    bent_call(name, |frames| {
        for data in frames {
            remove(data, "/choices/0/delta/tool_calls/0", "index");
            remove(data, "", "index");
        }
    })
}

/// A name that comes with the second fragment; Anthropic's has no place for it but the first.
pub fn late_name(name: &str) -> Answer {
    let late = name.to_owned();
    bent_call(name, move |frames| {
        let mut function = "/choices/0/delta/tool_calls/0/function";
        for data in frames {
            let Some(fields) = data.pointer_mut(function).and_then(Value::as_object_mut) else {
                continue;
            };
            if fields.shift_remove("name").is_none() {
                fields.insert("name".to_owned(), late.clone().into());
                // Only the first that has none.
                function = "/nowhere";
            }
        }
    })
}

/// The whole call in one chunk; Anthropic's in one delta.
pub fn whole_call(name: &str) -> Answer {
    let name = name.to_owned();
    steps(move |exchange| {
        let speech = Speech::new([Piece::call(&name, "{}")]);
        let mut frames = exchange.frames(&speech);
        if exchange.format == Format::OpenAi {
            let arguments = r#"{"path":"a.txt"}"#;
            let function = json!({"name": name, "arguments": arguments});
            let call =
                json!([{"index": 0, "id": "call_whole", "type": "function", "function": function}]);
            let first = frames.iter().position(|frame| frame.kind == Kind::Call).unwrap_or(0);
            change(&mut frames[first], |data| {
                data["choices"][0]["delta"]["tool_calls"] = call.clone()
            });
            frames.remove(first + 1);
        }
        exchange.stream(&frames)
    })
}

/// Two calls, both on index 0; Anthropic's blocks as well.
pub fn shared_index(name: &str) -> Answer {
    let name = name.to_owned();
    steps(move |exchange| {
        let call = |arguments: &str| Piece::call(&name, arguments);
        let speech = Speech::new([call(r#"{"n":1}"#), call(r#"{"n":2}"#)]);
        let mut frames = exchange.frames(&speech);
        for frame in &mut frames {
            change(frame, |data| {
                if let Some(index) = data.pointer_mut("/choices/0/delta/tool_calls/0/index") {
                    *index = 0.into();
                }
                if data.get("index").is_some() {
                    data["index"] = 0.into();
                }
            });
        }
        exchange.stream(&frames)
    })
}

/// Streams one call whose events were changed first.
fn bent_call(name: &str, bend: impl Fn(&mut [Value]) + Send + Sync + 'static) -> Answer {
    let name = name.to_owned();
    steps(move |exchange| {
        let speech = Speech::new([Piece::call(&name, r#"{"path":"a.txt"}"#)]);
        let mut frames = exchange.frames(&speech);
        let read = |frame: &Frame| serde_json::from_str(&frame.data).unwrap_or_default();
        let mut data: Vec<Value> = frames.iter().map(read).collect();
        bend(&mut data);
        // `[DONE]` is no JSON and stays as it is.
        for (frame, data) in frames.iter_mut().zip(data).filter(|(_, data)| data.is_object()) {
            frame.data = data.to_string();
        }
        exchange.stream(&frames)
    })
}

fn change(frame: &mut Frame, change: impl FnOnce(&mut Value)) {
    if let Ok(mut data) = serde_json::from_str(&frame.data) {
        change(&mut data);
        frame.data = data.to_string();
    }
}

fn remove(data: &mut Value, pointer: &str, field: &str) {
    if let Some(fields) = data.pointer_mut(pointer).and_then(Value::as_object_mut) {
        fields.shift_remove(field);
    }
}
