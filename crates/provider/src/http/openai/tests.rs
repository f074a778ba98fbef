//! Tests the deviations of hosts that claim to be compatible, one by one.

mod calls;

use crate::http::api::Api;
use crate::http::tests::describe_answer;

/// Returns a stream of deltas with the end that OpenAI gives it.
fn deltas(deltas: &[&str], reason: &str) -> String {
    let mut lines: Vec<String> =
        deltas.iter().map(|delta| format!(r#"{{"choices":[{{"delta":{delta}}}]}}"#)).collect();
    lines.push(format!(r#"{{"choices":[{{"delta":{{}},"finish_reason":{reason}}}]}}"#));
    events(&lines.iter().map(String::as_str).collect::<Vec<_>>())
}

fn events(data: &[&str]) -> String {
    data.iter()
        .map(|data| format!("data: {data}\n\n"))
        .chain(["data: [DONE]\n\n".to_owned()])
        .collect()
}

/// Returns pieces of calls, each in a delta of its own.
fn calls(pieces: &[&str]) -> String {
    let pieces: Vec<String> =
        pieces.iter().map(|piece| format!(r#"{{"tool_calls":[{piece}]}}"#)).collect();
    let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
    describe_answer(Api::OpenAi, &deltas(&pieces, r#""tool_calls""#))
}

fn answer(of: &[&str]) -> String {
    describe_answer(Api::OpenAi, &deltas(of, r#""stop""#))
}

const OURS: &str = r#"{"ship":{"provider":"openai","model":"m"}}"#;
/// The metadata of reasoning that its host takes back.
const READ_BACK: &str = r#"{"ship":{"provider":"openai","model":"m","field":"reasoning_content"}}"#;

#[test]
fn text_streams_and_an_empty_delta_is_nothing() {
    let deltas = [
        r#"{"role":"assistant","content":"","refusal":null}"#,
        r#"{"content":"Hel"}"#,
        r#"{"content":null}"#,
        r#"{"content":"lo"}"#,
    ];
    assert_eq!(answer(&deltas), "text: Hello\nend: stop");
    assert_eq!(answer(&[]), "end: stop");
}

#[test]
fn reasoning_comes_under_two_names_and_says_whose_it_is() {
    for (name, whose) in [("reasoning_content", READ_BACK), ("reasoning", OURS)] {
        let deltas = [&*format!(r#"{{"{name}":"hm","content":""}}"#), r#"{"content":"yes"}"#];
        assert_eq!(answer(&deltas), format!("reasoning: hm {whose}\ntext: yes\nend: stop"));
    }
    // The same reasoning under both names counts once.
    assert_eq!(
        answer(&[r#"{"reasoning_content":"hm","reasoning":"hm"}"#]),
        format!("reasoning: hm {READ_BACK}\nend: stop")
    );
}

#[test]
fn content_may_be_a_list_of_texts_and_thoughts() {
    let deltas = [
        r#"{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]}]}"#,
        r#"{"content":[{"type":"thinking","thinking":"m"},{"type":"text","text":"yes"},{"type":"reference"}]}"#,
    ];
    assert_eq!(answer(&deltas), format!("reasoning: hmm {OURS}\ntext: yes\nend: stop"));
}

#[test]
fn a_refusal_is_text() {
    assert_eq!(
        answer(&[r#"{"refusal":"I "}"#, r#"{"refusal":"won't"}"#]),
        "text: I won't\nend: stop"
    );
}

#[test]
fn calls_are_decided_by_whether_they_came() {
    let piece = r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}"#;
    for reason in ["\"\"", "null", "7"] {
        assert_eq!(describe_answer(Api::OpenAi, &deltas(&[piece], reason)), "unfinished");
    }
    for reason in ["\"stop\"", "\"function_call\"", "\"eos\""] {
        assert_eq!(
            describe_answer(Api::OpenAi, &deltas(&[piece], reason)),
            "tool-f a: input-available {}\nend: tool-calls"
        );
    }
    assert_eq!(describe_answer(Api::OpenAi, &deltas(&[], r#""tool_calls""#)), "end: stop");
    assert_eq!(describe_answer(Api::OpenAi, &deltas(&[], r#""eos""#)), "end: other");
}

#[test]
fn usage_is_taken_wherever_it_is() {
    let usage =
        r#"{"prompt_tokens":10,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":4}}"#;
    let stop = r#"{"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}],"usage":null}"#;
    for last in [
        format!(r#"{{"choices":[],"usage":{usage}}}"#),
        format!(r#"{{"choices":null,"usage":{usage}}}"#),
        format!(r#"{{"usage":{usage}}}"#),
        format!(r#"{{"choices":[],"x_groq":{{"usage":{usage}}}}}"#),
        format!(r#"{{"choices":[{{"index":0,"delta":{{}},"usage":{usage}}}]}}"#),
        r#"{"usage":{"prompt_tokens":10,"completion_tokens":2,"prompt_cache_hit_tokens":4}}"#
            .to_owned(),
    ] {
        assert_eq!(
            describe_answer(Api::OpenAi, &events(&[stop, &last])),
            "text: a\nend: stop 10/4/2",
            "{last}"
        );
        assert_eq!(
            describe_answer(Api::OpenAi, &events(&[&last, stop])),
            "text: a\nend: stop 10/4/2",
            "{last}"
        );
    }
    let odd = r#"{"usage":{"prompt_tokens":-1,"completion_tokens":"2"}}"#;
    assert_eq!(describe_answer(Api::OpenAi, &events(&[stop, odd])), "text: a\nend: stop");
}

#[test]
fn errors_inside_a_stream_are_understood_in_every_shape() {
    for (data, wanted) in [
        (r#"{"error":{"message":"x","type":"server_error","code":null}}"#, "said: Passing x"),
        (r#"{"error":{"message":"x","type":"insufficient_quota"}}"#, "said: Quota x"),
        (
            r#"{"error":{"message":"x","code":502,"metadata":{"raw":"y"}},"choices":[{"delta":{"content":""},"finish_reason":"error"}]}"#,
            "said: Passing x: y",
        ),
        (
            r#"{"error":{"message":"x","code":"context_length_exceeded"}}"#,
            "said: Overflow(Overflow { prompt: None, completion: None, limit: None }) x",
        ),
        (
            r#"{"object":"error","message":"x","type":"BadRequestError","code":400}"#,
            "said: Refused x",
        ),
        (r#"{"error":"x"}"#, "said: Failed x"),
        (r#"[{"error":{"code":503,"message":"x","status":"UNAVAILABLE"}}]"#, "said: Passing x"),
        (r#"{"choices":[{"error":{"message":"x","code":429}}]}"#, "said: Passing x"),
        (
            r#"{"choices":[{"delta":{},"finish_reason":"error"}]}"#,
            "said: Passing it ended the answer with `error`",
        ),
        (r#"{"error":null,"choices":[]}"#, "unfinished"),
    ] {
        assert_eq!(describe_answer(Api::OpenAi, &events(&[data])), wanted, "{data}");
    }
    assert_eq!(
        describe_answer(Api::OpenAi, "event: error\ndata: {\"message\":\"x\"}\n\n"),
        "said: Failed x"
    );
}

#[test]
fn a_stream_that_does_not_end_properly_gives_no_calls() {
    let piece = r#"data: {"choices":[{"delta":{"content":"a","tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}}]}"#;
    assert_eq!(describe_answer(Api::OpenAi, &format!("{piece}\n\n")), "text: a\nunfinished");
    // A stream that says it is done has not given a reason.
    let done = format!("{piece}\n\ndata: [DONE]");
    assert_eq!(describe_answer(Api::OpenAi, &done), "text: a\nunfinished");
}

#[test]
fn an_answer_that_is_no_stream_is_an_answer() {
    let whole = r#" {"id":"x","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","reasoning_content":"hm","content":"hi","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}},{"id":"b","type":"function","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":1,"completion_tokens":2}}"#;
    assert_eq!(
        describe_answer(Api::OpenAi, whole),
        format!(
            "reasoning: hm {READ_BACK}\ntext: hi\ntool-f a: input-available {{\"x\":1}}\n\
             tool-f b: input-available {{}}\nend: tool-calls 1/0/2"
        )
    );
    assert_eq!(
        describe_answer(Api::OpenAi, r#"{"error":{"message":"x","code":500}}"#),
        "said: Passing x"
    );
}

#[test]
fn what_cannot_be_stored_becomes_the_replacement_character() {
    assert_eq!(
        answer(&[r#"{"content":"a\u0000b\ud800"}"#, r#"{"content":"c"}"#]),
        "text: a\u{FFFD}b\u{FFFD}c\nend: stop"
    );
    // A pair that was cut between two deltas is joined.
    assert_eq!(
        answer(&[r#"{"content":"\ud83d"}"#, r#"{"content":"\ude00"}"#]),
        "text: 😀\nend: stop"
    );
}
