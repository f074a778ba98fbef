//! Each misbehaviour, seen on a raw socket.

use serde_json::Value;
use ship_testkit::llm::{Answer, Format, faults};

use crate::client::{End, FORMATS, Reply, ask, ask_until, request};

use Format::Anthropic;

#[test]
fn connections_end_where_and_how_they_are_told() {
    // How it ends, whether there is a head, and how far the answer came.
    let table: Vec<(&str, Answer, End, u16, &str)> = vec![
        ("no_answer", faults::no_answer(), End::Silent, 0, ""),
        ("closed_before_headers", faults::closed_before_headers(), End::Closed, 0, ""),
        ("reset_before_headers", faults::reset_before_headers(), End::Reset, 0, ""),
        ("reset_after_headers", faults::reset_after_headers(), End::Reset, 200, ""),
        ("headers_only", faults::headers_only(), End::Silent, 200, ""),
        (
            "reset_mid_text",
            faults::reset_mid_text(),
            End::Reset,
            200,
            "Here is the first half of an answer",
        ),
        (
            "closed_mid_text",
            faults::closed_mid_text(),
            End::Closed,
            200,
            "Here is the first half of an answer",
        ),
        (
            "stall_mid_text",
            faults::stall_mid_text(),
            End::Silent,
            200,
            "Here is the first half of an answer",
        ),
        (
            "ended_mid_text",
            faults::ended_mid_text(),
            End::Whole,
            200,
            "Here is the first half of an answer",
        ),
        (
            "ended_mid_event",
            faults::ended_mid_event(),
            End::Whole,
            200,
            "Here is the first half of an answer",
        ),
    ];
    in_both_formats(table, |format, (name, answer, end, status, words)| {
        let reply = ask_until(answer.clone(), &request(format, true), format, *end);
        assert_eq!((reply.end, reply.status), (*end, *status), "{name}");
        assert!(reply.words().starts_with(words), "{name}: {}", reply.words());
        assert!(!is_finished(&reply), "{name}");
    });
}

#[test]
fn calls_are_cut_in_the_midst_of_their_arguments() {
    let table = vec![
        (faults::reset_mid_call(), End::Reset),
        (faults::closed_mid_call(), End::Closed),
        (faults::stall_mid_call(), End::Silent),
        (faults::ended_mid_call(), End::Whole),
    ];
    in_both_formats(table, |format, (answer, end)| {
        let reply = ask_until(answer.clone(), &request(format, true), format, *end);
        assert_eq!(reply.end, *end);
        let calls = calls(&reply);
        assert_eq!(calls[0].1, "read_file");
        assert!(calls[0].2.starts_with(r#"{"path":"#), "{calls:?}");
        assert!(serde_json::from_str::<Value>(&calls[0].2).is_err(), "{calls:?}");
        assert!(!is_finished(&reply));
    });
}

#[test]
fn an_answer_that_is_not_streamed_is_cut_as_well() {
    let table = vec![
        (faults::reset_mid_text(), End::Reset),
        (faults::closed_mid_text(), End::Closed),
        (faults::ended_mid_text(), End::Closed),
        (faults::stall_mid_text(), End::Silent),
    ];
    in_both_formats(table, |format, (answer, end)| {
        let reply = ask_until(answer.clone(), &request(format, false), format, *end);
        assert_eq!((reply.end, reply.status), (*end, 200));
        assert!(reply.text().starts_with('{') && reply.json().is_null());
    });
}

#[test]
fn only_the_last_event_may_be_missing() {
    for format in FORMATS {
        let reply = ask(faults::ended_without_last_event(), format);
        assert_eq!(reply.end, End::Whole);
        assert!(is_finished(&reply) && !reply.text().contains("[DONE]"));
        assert!(!reply.text().contains("message_stop"));
    }
}

#[test]
fn errors_come_inside_of_a_stream() {
    let openai = "The server had an error while processing your request. Sorry about that!";
    for (answer, words, messages) in [
        (faults::error_first(), false, [openai, "Overloaded"]),
        (faults::error_mid_text(), true, [openai, "Overloaded"]),
        (faults::error_of_another_shape(), true, ["EngineCore encountered an issue.", "Something"]),
        (faults::error_in_choice(), true, ["Provider disconnected", "Overloaded"]),
    ] {
        for (format, message) in FORMATS.into_iter().zip(messages) {
            let reply = ask(answer.clone(), format);
            assert_eq!((reply.status, reply.end), (200, End::Whole));
            assert_eq!(!reply.words().is_empty(), words);
            let last = reply.events().pop().unwrap();
            let said = last["error"]["message"].as_str().or(last["message"].as_str());
            assert_eq!(said, Some(message), "{last}");
            assert_eq!(reply.text().contains("event: error\n"), format == Anthropic);
        }
    }
}

#[test]
fn streams_are_malformed_in_one_place() {
    let is_json = |data: &String| data == "[DONE]" || serde_json::from_str::<Value>(data).is_ok();
    for format in FORMATS {
        let events = |answer: Answer| crate::client::events(&ask(answer, format).body);
        assert_eq!(events(faults::bad_json()).iter().filter(|data| !is_json(data)).count(), 1);

        let bare = ask(faults::missing_data_prefix(), format).text();
        assert_eq!(bare.lines().filter(|line| line.starts_with('{')).count(), 1);

        let null = ask(faults::null_choices(), format).events();
        let is_null = |event: &&Value| {
            event.get("choices") == Some(&Value::Null) || event.get("delta") == Some(&Value::Null)
        };
        assert_eq!(null.iter().filter(is_null).count(), 1);

        let other = ask(faults::data_of_another_kind(), format).events();
        assert_eq!(other.iter().filter(|event| event.is_array()).count(), 1);
    }
}

#[test]
fn bodies_are_not_what_the_status_promises() {
    for format in FORMATS {
        let html = ask(faults::html_with_status_200(), format);
        assert_eq!((html.status, html.end), (200, End::Whole));
        assert!(html.head.contains("text/html") && html.text().starts_with("<html>"));

        let empty = ask(faults::empty_body(), format);
        assert_eq!((empty.status, empty.end, empty.body.len()), (200, End::Whole, 0));

        let typed = ask(faults::wrong_content_type(), format);
        assert!(typed.head.contains("content-type: application/json\r\n") && is_finished(&typed));

        let endless = ask(faults::endless_line(), format);
        let longest = endless.body.split(|byte| *byte == b'\n').map(<[u8]>::len).max();
        assert!(longest >= Some(faults::LINE_BYTES), "{longest:?}");
    }
}

/// Checks every row in both formats, all at once, since silence takes time to be heard.
fn in_both_formats<Row: Sync>(table: Vec<Row>, check: impl Fn(Format, &Row) + Sync) {
    std::thread::scope(|scope| {
        for row in &table {
            for format in FORMATS {
                scope.spawn({
                    let check = &check;
                    move || check(format, row)
                });
            }
        }
    });
}

/// Whether it says why it stops.
pub(crate) fn is_finished(reply: &Reply) -> bool {
    let reason = |event: &Value| {
        event["choices"][0]["finish_reason"].is_string()
            || event["delta"]["stop_reason"].is_string()
    };
    reply.events().iter().any(reason)
}

/// Puts calls together: the id, the name, and the arguments of each.
pub(crate) fn calls(reply: &Reply) -> Vec<(String, String, String)> {
    let mut calls: Vec<(String, String, String)> = Vec::new();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    for event in reply.events() {
        let fragment = &event["choices"][0]["delta"]["tool_calls"][0];
        let block = &event["content_block"];
        if fragment["function"].get("name").is_some() {
            calls.push((text(&fragment["id"]), text(&fragment["function"]["name"]), String::new()));
        }
        if block["type"] == "tool_use" {
            calls.push((text(&block["id"]), text(&block["name"]), String::new()));
        }
        if let Some(call) = calls.last_mut() {
            call.2 += &text(&fragment["function"]["arguments"]);
            call.2 += &text(&event["delta"]["partial_json"]);
        }
    }
    calls
}
