//! Tests the events of Anthropic and of its imitations.

use crate::http::api::Api;
use crate::http::tests::describe_answer;

const START: &str = r#"{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"usage":{"input_tokens":10,"cache_creation_input_tokens":3,"cache_read_input_tokens":4,"output_tokens":1}}}"#;

/// Returns events as the API sends them, between its first and its last.
fn events(between: &[&str], reason: &str) -> String {
    let stop = format!(
        r#"{{"type":"message_delta","delta":{{"stop_reason":"{reason}","stop_sequence":null}},"usage":{{"output_tokens":9}}   }}"#
    );
    let all = [START].into_iter().chain(between.iter().copied());
    all.chain([&*stop, r#"{"type":"message_stop"}"#]).map(event).collect()
}

fn event(data: &str) -> String {
    let name = data.split('"').nth(3).unwrap_or_default();
    format!("event: {name}\ndata: {data}\n\n")
}

fn answer(between: &[&str], reason: &str) -> String {
    describe_answer(Api::Anthropic, &events(between, reason))
}

const TEXT: &str =
    r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#;
const HI: &str =
    r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hi"}}"#;
const STOP: &str = r#"{"type":"content_block_stop","index":0}"#;
const CALL: &str = r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_1","name":"f","input":{}}}"#;
const CALL_STOP: &str = r#"{"type":"content_block_stop","index":1}"#;

fn input(text: &str) -> String {
    format!(
        r#"{{"type":"content_block_delta","index":1,"delta":{{"type":"input_json_delta","partial_json":{}}}}}"#,
        ship_message::json::Json::from(text)
    )
}

#[test]
fn text_streams_and_pings_unknown_events_and_unknown_blocks_are_skipped() {
    let told = answer(
        &[
            TEXT,
            r#"{"type":"ping"}"#,
            HI,
            r#"{"type":"news","index":0}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"citations_delta","citation":{}}}"#,
            r#"{"type":"content_block_delta","index":7,"delta":{"type":"text_delta","text":"lost"}}"#,
            STOP,
            r#"{"type":"content_block_start","index":1,"content_block":{"type":"server_tool_use","id":"s","name":"web_search","input":{}}}"#,
            &input("{}"),
            CALL_STOP,
        ],
        "end_turn",
    );
    assert_eq!(told, "text: hi\nend: stop 17/4/9");
}

#[test]
fn thinking_keeps_its_signature_and_says_whose_it_is() {
    let told = answer(
        &[
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}}"#,
            STOP,
            r#"{"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"ZGF0YQ"}}"#,
            CALL_STOP,
            r#"{"type":"content_block_start","index":2,"content_block":{"type":"thinking","thinking":"","signature":""}}"#,
            r#"{"type":"content_block_delta","index":2,"delta":{"type":"signature_delta","signature":"only"}}"#,
            r#"{"type":"content_block_stop","index":2}"#,
            r#"{"type":"content_block_start","index":3,"content_block":{"type":"thinking","thinking":"unsigned"}}"#,
            r#"{"type":"content_block_stop","index":3}"#,
        ],
        "end_turn",
    );
    let ours = r#""ship":{"provider":"anthropic","model":"m"}"#;
    assert_eq!(
        told,
        format!(
            "reasoning: hm {{\"anthropic\":{{\"signature\":\"c2ln\"}},{ours}}}\n\
             reasoning:  {{\"anthropic\":{{\"redactedData\":\"ZGF0YQ\"}},{ours}}}\n\
             reasoning:  {{\"anthropic\":{{\"signature\":\"only\"}},{ours}}}\n\
             reasoning: unsigned {{{ours}}}\nend: stop 17/4/9"
        )
    );
}

#[test]
fn a_call_is_put_together_and_given_at_the_end() {
    let told = answer(
        &[TEXT, HI, STOP, CALL, &input(""), &input("{\"x\":"), &input("1}"), CALL_STOP],
        "tool_use",
    );
    assert_eq!(told, "text: hi\ntool-f toolu_1: input-available {\"x\":1}\nend: tool-calls 17/4/9");
}

#[test]
fn a_call_without_input_has_an_empty_one_and_a_whole_one_may_come_first() {
    assert_eq!(
        answer(&[CALL, &input(""), CALL_STOP], "tool_use"),
        "tool-f toolu_1: input-available {}\nend: tool-calls 17/4/9"
    );
    let whole = r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t","name":"f","input":{"x":1}}}"#;
    let stop = r#"{"type":"content_block_stop","index":1}"#;
    assert_eq!(
        answer(&[whole, stop], "tool_use"),
        "tool-f t: input-available {\"x\":1}\nend: tool-calls 17/4/9"
    );
    assert_eq!(
        answer(&[whole], "tool_use"),
        "unfinished",
        "a block that never stopped was cut off"
    );
}

#[test]
fn a_call_in_an_answer_that_was_cut_short_is_never_run() {
    let cut = [CALL, &*input("{\"x\":"), CALL_STOP];
    for (reason, end) in [
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("refusal", "content-filter"),
    ] {
        assert_eq!(
            answer(&cut, reason),
            format!("tool-f toolu_1: output-error \"{{\\\"x\\\":\"\nend: {end} 17/4/9")
        );
    }
}

#[test]
fn reasons_are_told_apart() {
    for (reason, end) in [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("pause_turn", "other"),
        ("refusal", "content-filter"),
        ("something_new", "other"),
    ] {
        assert_eq!(answer(&[TEXT, HI, STOP], reason), format!("text: hi\nend: {end} 17/4/9"));
    }
}

#[test]
fn counts_are_cumulative_and_a_later_one_replaces() {
    let told = answer(
        &[
            r#"{"type":"message_delta","delta":{},"usage":{"input_tokens":20,"cache_creation_input_tokens":0,"cache_read_input_tokens":5,"output_tokens":2}}"#,
        ],
        "end_turn",
    );
    assert_eq!(told, "end: stop 25/5/9");
}

#[test]
fn an_error_event_is_an_error_before_and_within_the_answer() {
    let error =
        event(r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#);
    assert_eq!(describe_answer(Api::Anthropic, &error), "said: Passing Overloaded");
    let within = [event(START), event(TEXT), event(HI), error].concat();
    assert_eq!(describe_answer(Api::Anthropic, &within), "text: hi\nsaid: Passing Overloaded");
    let refused =
        event(r#"{"type":"error","error":{"type":"invalid_request_error","message":"no"}}"#);
    assert_eq!(describe_answer(Api::Anthropic, &refused), "said: Refused no");
}

#[test]
fn an_answer_without_its_last_event_is_cut_whatever_it_said_before() {
    let whole = events(&[TEXT, HI, STOP, CALL, CALL_STOP], "tool_use");
    let cut = whole.split("event: message_stop").next().unwrap();
    assert_eq!(describe_answer(Api::Anthropic, cut), "text: hi\nunfinished");
    // OpenAI's word for the end does not end an answer of Anthropic.
    assert_eq!(
        describe_answer(Api::Anthropic, &format!("{cut}data: [DONE]\n\n")),
        "text: hi\nunfinished"
    );
}

#[test]
fn an_answer_that_is_no_stream_is_an_answer() {
    let whole = r#"{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"hi"},{"type":"tool_use","id":"t","name":"f","input":{"x":1}}],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":2}}"#;
    assert_eq!(
        describe_answer(Api::Anthropic, whole),
        "reasoning: hm {\"anthropic\":{\"signature\":\"s\"},\"ship\":{\"provider\":\"anthropic\",\"model\":\"m\"}}\n\
         text: hi\ntool-f t: input-available {\"x\":1}\nend: tool-calls 1/0/2"
    );
}
