//! A case for every wording that providers are known to use, and for everything that only looks like one.

#[path = "../examples/cases/overflow.rs"]
mod cases;

use proptest::prelude::*;
use ship_message::json::{Json, Object};
use ship_provider::overflow::{Overflow, OverflowPlace, overflow};

#[test]
fn every_recorded_error_is_told_for_what_it_is() {
    for line in include_str!("samples/overflow.jsonl").lines() {
        let sample = Json::parse(line).unwrap();
        let our = cases::answer(&mut sample.as_object().unwrap().clone());
        assert_eq!(our.get("overflow"), sample.get("overflow"), "{line}");
    }
}

/// An error as most providers write it.
fn error(message: &str) -> String {
    let error = Object::from([("message", message), ("type", "invalid_request_error")]);
    Json::from(Object::from([("error", error)])).to_string()
}

fn sizes(found: Overflow) -> (Option<u64>, Option<u64>) {
    (found.prompt, found.limit)
}

/// A wording, and the sizes of prompt and window that it tells.
type Wording = (&'static str, Option<u64>, Option<u64>);

/// The wordings of an overflow that providers are known to use.
const WORDINGS: &[Wording] = &[
    (
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens. Please reduce the length of the messages.",
        Some(9000),
        Some(8192),
    ),
    (
        "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens (100 in the messages, 200 in the functions, and 8700 in the completion).",
        Some(300),
        Some(8192),
    ),
    (
        "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300000 tokens. Please reduce the length of the messages.",
        Some(300_000),
        Some(272_000),
    ),
    (
        "Your input exceeds the context window of this model. Please adjust your input and try again.",
        None,
        None,
    ),
    ("prompt is too long: 200,251 tokens > 200,000 maximum", Some(200_251), Some(200_000)),
    (
        "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length or `max_tokens` and try again",
        Some(190_000),
        Some(200_000),
    ),
    ("Request exceeds the maximum size", None, None),
    ("Request size exceeds model context window", None, None),
    (
        "The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).",
        Some(1_200_293),
        Some(1_048_576),
    ),
    (
        "The input token count exceeds the maximum number of tokens allowed 1048576.",
        None,
        Some(1_048_576),
    ),
    ("Please reduce the length of the messages or completion.", None, None),
    (
        "This endpoint\u{2019}s maximum context length is 131072 tokens. However, you requested about 135349 tokens (60662 of text input, 10687 of tool input, 64000 in the output). Please reduce the length of either one, or use the \"middle-out\" transform to compress your prompt automatically.",
        Some(71_349),
        Some(131_072),
    ),
    ("Input is too long for requested model.", None, None),
    (
        "The model returned the following errors: prompt is too long: 210000 tokens > 200000 maximum",
        Some(210_000),
        Some(200_000),
    ),
    (
        "request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it",
        Some(5000),
        Some(4096),
    ),
    ("the request exceeds the available context size, try increasing it", None, None),
    ("Context size has been exceeded.", None, None),
    (
        "This model's maximum context length is 4096 tokens. However, you requested 1000 output tokens and your prompt contains at least 3500 input tokens, for a total of at least 4500 tokens. Please reduce the length of the input prompt or the number of requested output tokens.",
        None,
        Some(4096),
    ),
    (
        "'max_tokens' or 'max_completion_tokens' is too large: 5000. This model's maximum context length is 4096 tokens and your request has 100 input tokens (5000 > 4096 - 100).",
        Some(100),
        Some(4096),
    ),
    (
        "The decoder prompt (length 10127) is longer than the maximum model length of 8192.",
        Some(10_127),
        Some(8192),
    ),
    ("Input length (9000) exceeds model's maximum context length (8192).", Some(9000), Some(8192)),
    (
        "The engine prompt length 41000 exceeds the max_model_len 40960. Please reduce prompt.",
        Some(41_000),
        Some(40_960),
    ),
    (
        "The input (61709 tokens) is longer than the model's context length (40960 tokens).",
        Some(61_709),
        Some(40_960),
    ),
    (
        "the prompt is longer than the context length currently available to the model; shorten the prompt",
        None,
        None,
    ),
    ("prompt too long; exceeded max context length by 500 tokens", None, None),
    (
        "The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 13055>= n_ctx: 4096).",
        Some(13_055),
        Some(4096),
    ),
    (
        "Trying to keep the first 111490 tokens when context the overflows. However, the model is loaded with context length of only 32768 tokens, which is not enough.",
        Some(111_490),
        Some(32_768),
    ),
    ("Cannot truncate prompt with n_keep (5000) >= n_ctx (4096)", Some(5000), Some(4096)),
    (
        "This model's maximum prompt length is 131072 but the request contains 136973 tokens.",
        Some(136_973),
        Some(131_072),
    ),
    (
        "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
        Some(40_000),
        Some(32_768),
    ),
    (
        "Please reduce the length of the messages or completion. Current length is 9000 while limit is 8192",
        None,
        Some(8192),
    ),
    ("prompt token count of 138898 exceeds the limit of 64000", Some(138_898), Some(64_000)),
    (
        "Invalid request: Your request exceeded model token limit: 262144 (requested: 269030)",
        None,
        Some(262_144),
    ),
    (
        "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]",
        None,
        Some(129_024),
    ),
    ("invalid params, context window exceeds limit (2013)", None, None),
    (
        "The prompt is too long: 140000, model maximum context length: 131072",
        Some(140_000),
        Some(131_072),
    ),
    (
        "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens and 20 `max_new_tokens`",
        Some(5000),
        Some(4096),
    ),
    (
        "Input validation error: `inputs` must have less than 4096 tokens. Given: 5000",
        Some(5000),
        Some(4096),
    ),
    (
        "litellm.ContextWindowExceededError: litellm.BadRequestError: OpenAIException - Error code: 400 - {'error': {'message': 'too many'}}",
        None,
        None,
    ),
    (
        "Requested token count exceeds the model's maximum context length of 131072 tokens.",
        None,
        Some(131_072),
    ),
    (
        "Input length 131393 exceeds the maximum allowed input length of 131040 tokens.",
        Some(131_393),
        Some(131_040),
    ),
    (
        "Error code: 400 - {'error': {'message': \"This model's maximum context length is 8192 tokens\"}}",
        None,
        Some(8192),
    ),
    ("当前对话上下文过长，请压缩上下文后重试", None, None),
    (
        "Unable to submit request because the input token count is 1100000 but model only supports up to 1048576.",
        Some(1_100_000),
        Some(1_048_576),
    ),
    (
        "400 Bad Request: Too many input tokens. Max input tokens: 8192, request input token count: 9000",
        Some(9000),
        Some(8192),
    ),
    ("Requested tokens (9000) exceed context window of 8192", Some(9000), Some(8192)),
    ("Prompt exceeds max length", None, None),
    ("model max length exceeded, max length:4096", None, Some(4096)),
    ("Input tokens exceeded", None, None),
    ("Request payload size exceeds the limit", None, None),
    ("the conversation is too long", None, None),
    ("Input sequence is too long", None, None),
    ("The user message is too long", None, None),
];

#[test]
fn every_known_wording_is_an_overflow_and_tells_its_sizes() {
    for &(message, prompt, limit) in WORDINGS {
        for (status, place) in [
            (Some(400), OverflowPlace::Body),
            (Some(413), OverflowPlace::Body),
            (Some(422), OverflowPlace::Body),
            (None, OverflowPlace::Stream),
            (Some(200), OverflowPlace::Stream),
        ] {
            let found = overflow(status, &error(message), place);
            assert_eq!(found.map(sizes), Some((prompt, limit)), "{status:?} {message}");
        }
        for status in [401, 403, 404, 429, 502, 503] {
            assert_eq!(
                overflow(Some(status), &error(message), OverflowPlace::Body),
                None,
                "{status} {message}"
            );
        }
    }
}

#[test]
fn what_only_sounds_like_an_overflow_is_none() {
    for message in [
        // Too much at a time, or for the money.
        "Request too large for model `x` in organization `o` on tokens per minute (TPM): Limit 6000, Requested 7000, please reduce your message size and try again.",
        "Too many tokens, please wait before trying again.",
        "Too many tokens for team e9fe and model grok-4. Your team's rate limit is 16000 Tokens per Minute.",
        "Number of request tokens has exceeded your per-minute rate limit.",
        "Throttling error: the prompt is too long to be processed now",
        "You exceeded your current quota; the context window is billed by the token",
        "This request requires more credits, or a shorter context window.",
        // Too long an answer was asked for.
        "The maximum tokens you requested exceeds the model limit of 4096. Try again with a maximum tokens value that is lower than 4096.",
        "max_tokens is too large: 50000. This model supports at most 16384 completion tokens, whereas you provided 50000.",
        "max_tokens: 200000 > 64000, which is the maximum allowed number of output tokens for claude-x",
        "Range of max_tokens should be [1, 8192]",
        "Invalid max_tokens value, the valid range of max_tokens is [1, 8192]",
        // Something small is too long.
        "Invalid 'messages[3].content': string too long. Expected a string with maximum length 1048576, but got a string with length 1200000 instead.",
        "Invalid 'tools[0].function.name': string too long.",
        "The tool name is too long",
        "messages.1.content.0.tool_use.id: String is too long",
        "Filename too long",
        "Image is too long: at most 8000 pixels",
        "The audio file is too long",
        "'stop' sequence is too long",
        "Request URI too long",
        // Something takes too long.
        "The request took too long to process",
        "Upstream timed out: the model was thinking for too long",
        // Parameters and plans.
        "Unrecognized request argument supplied: context_length",
        "Unknown parameter: 'context_length'.",
        "context_length: Extra inputs are not permitted",
        // What somebody wrote.
        "Could not read the file \"my prompt is too long.pdf\"",
        "Invalid image url: 'https://example.com/maximum context window.png'",
        "Unsupported file: context_length.txt",
        "Tool `explain_context_window too long` was not found",
        "Your request was flagged: I said the context window is too long",
        // Nothing of the kind.
        "messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 6000000 bytes > 5242880 bytes",
        "A maximum of 100 PDF pages may be provided.",
        "Incorrect API key provided",
        "messages: roles must alternate between \"user\" and \"assistant\"",
        "tool_use ids were found without tool_result blocks immediately after",
        "Bad Request",
    ] {
        for (status, place) in [
            (Some(400), OverflowPlace::Body),
            (Some(413), OverflowPlace::Body),
            (None, OverflowPlace::Stream),
        ] {
            let found = overflow(status, &error(message), place);
            assert_eq!(found, None, "{status:?} {message}");
        }
    }
}

#[test]
fn an_error_may_have_any_shape() {
    let long = "prompt is too long: 2 tokens > 1 maximum";
    for body in [
        long.to_owned(),
        format!("\"{long}\""),
        format!(r#"{{"error":"{long}"}}"#),
        format!(r#"{{"message":"{long}"}}"#),
        format!(r#"{{"object":"error","message":"{long}","code":400}}"#),
        format!(r#"[{{"error":{{"code":400,"message":"{long}"}}}}]"#),
        format!(
            r#"{{"type":"error","error":{{"type":"invalid_request_error","message":"{long}"}}}}"#
        ),
        format!(
            r#"{{"error":{{"message":"Provider returned error","metadata":{{"raw":"{{\"error\":{{\"message\":\"{long}\"}}}}"}}}}}}"#
        ),
        format!(
            r#"{{"error":{{"message":"upstream said {{\"error\":{{\"message\":\"{long}\"}}}}"}}}}"#
        ),
        format!(r#"{{"type":"response.failed","response":{{"error":{{"message":"{long}"}}}}}}"#),
        format!("event: error\ndata: {{\"error\":{{\"message\":\"{long}\"}}}}\n\n"),
        format!("<html><body><h1>400</h1><p>{long}</p></body></html>"),
    ] {
        let expected = Some((Some(2), Some(1)));
        assert_eq!(overflow(Some(400), &body, OverflowPlace::Body).map(sizes), expected, "{body}");
        assert_eq!(overflow(None, &body, OverflowPlace::Stream).map(sizes), expected, "{body}");
    }
}

#[test]
fn sizes_in_fields_of_their_own_are_read() {
    let body = r#"{"error":{"code":400,"type":"exceed_context_size_error","message":"too big","n_prompt_tokens":5000,"n_ctx":4096}}"#;
    assert_eq!(
        overflow(Some(400), body, OverflowPlace::Body).map(sizes),
        Some((Some(5000), Some(4096)))
    );
}

#[test]
fn codes_count_wherever_they_stand_but_not_for_whom_is_refused() {
    for code in [
        "context_length_exceeded",
        "context_window_exceeded",
        "model_context_window_exceeded",
        "exceed_context_size_error",
        "model_max_prompt_tokens_exceeded",
        "request_too_large",
    ] {
        let body = format!(r#"{{"error":{{"message":"no","code":"{code}"}}}}"#);
        for status in [None, Some(200), Some(400), Some(413), Some(500)] {
            assert!(overflow(status, &body, OverflowPlace::Body).is_some(), "{status:?} {code}");
        }
        assert_eq!(overflow(Some(429), &body, OverflowPlace::Body), None);
    }
}

#[test]
fn an_answer_that_ends_in_a_full_window_is_an_overflow_and_one_that_is_cut_is_not() {
    let ended = |reason: &str| format!(r#"{{"choices":[{{"finish_reason":"{reason}"}}]}}"#);
    let full = ended("model_context_window_exceeded");
    assert!(overflow(Some(200), &full, OverflowPlace::Finish).is_some());
    for reason in ["length", "stop", "max_tokens", "tool_calls", "content_filter"] {
        assert_eq!(overflow(Some(200), &ended(reason), OverflowPlace::Finish), None);
    }
}

#[test]
fn what_people_and_models_write_is_no_error() {
    for body in [
        r#"{"choices":[{"message":{"role":"assistant","content":"Your prompt is too long for the context window"}}]}"#,
        r#"{"choices":[{"delta":{"content":"the maximum context length"}}]}"#,
        r#"{"type":"content_block_delta","delta":{"type":"text_delta","text":"prompt is too long: 2 tokens > 1 maximum"}}"#,
        r#"{"detail":[{"loc":["body","messages"],"msg":"Field required","input":"is the context window too long?"}]}"#,
        r#"{"error":{"message":"Invalid schema","metadata":{"flagged_input":"context_length_exceeded"}}}"#,
    ] {
        assert_eq!(overflow(Some(200), body, OverflowPlace::Stream), None, "{body}");
        assert_eq!(overflow(Some(400), body, OverflowPlace::Body), None, "{body}");
    }
}

#[test]
fn silence_is_an_overflow_only_where_it_is_known_to_be() {
    for body in ["", "  \n", "null", "400 status code (no body)"] {
        assert!(overflow(Some(400), body, OverflowPlace::Body).is_some(), "{body:?}");
        assert!(overflow(Some(413), body, OverflowPlace::Body).is_some(), "{body:?}");
        for status in [None, Some(200), Some(401), Some(422), Some(429), Some(500)] {
            assert_eq!(overflow(status, body, OverflowPlace::Body), None, "{status:?} {body:?}");
        }
    }
    assert_eq!(
        overflow(Some(400), "<html><h1>400 Bad Request</h1></html>", OverflowPlace::Body),
        None
    );
}

#[test]
fn a_request_that_is_too_large_for_a_proxy_is_an_overflow_of_bytes() {
    let page = "<html><head><title>413 Request Entity Too Large</title></head></html>";
    assert!(overflow(Some(413), page, OverflowPlace::Body).is_some());
    assert_eq!(overflow(Some(400), page, OverflowPlace::Body), None);
    assert_eq!(
        overflow(Some(413), &error("Image file: content too large"), OverflowPlace::Body),
        None
    );
}

#[test]
fn llama_cpp_ollama_and_litellm_report_a_full_window_as_their_own_failure() {
    for message in [
        "Context size has been exceeded.",
        "the request exceeds the available context size, try increasing it",
        "the input length exceeds the context length",
        "prompt too long; exceeded max context length by 500 tokens",
        "litellm.ContextWindowExceededError: litellm.BadRequestError: OpenAIException - no",
    ] {
        let found = overflow(Some(500), &error(message), OverflowPlace::Body);
        assert!(found.is_some(), "{message}");
    }
    assert_eq!(overflow(Some(500), &error("prompt is too long"), OverflowPlace::Body), None);
}

#[test]
fn prompt_and_answer_are_told_apart() {
    for (message, prompt, completion) in [
        (
            "This model's maximum context length is 8000 tokens. However, you requested 10535 tokens (2343 in the messages, 8192 in the completion). Please reduce the length of the messages or completion.",
            Some(2343),
            Some(8192),
        ),
        (
            "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens (100 in the messages, 200 in the functions, and 8700 in the completion).",
            Some(300),
            Some(8700),
        ),
        (
            "This endpoint's maximum context length is 131072 tokens. However, you requested about 135349 tokens (60662 of text input, 10687 of tool input, 64000 in the output).",
            Some(71_349),
            Some(64_000),
        ),
        (
            "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length or `max_tokens` and try again",
            Some(190_000),
            Some(20_000),
        ),
        (
            "'max_tokens' or 'max_completion_tokens' is too large: 5000. This model's maximum context length is 4096 tokens and your request has 100 input tokens (5000 > 4096 - 100).",
            Some(100),
            Some(5000),
        ),
        (
            "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4090 `inputs` tokens and 20 `max_new_tokens`",
            Some(4090),
            Some(20),
        ),
        ("prompt is too long: 200251 tokens > 200000 maximum", Some(200_251), None),
        // A sum is neither of the two, and "at least" is not a size.
        (
            "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens.",
            None,
            None,
        ),
        (
            "This model's maximum context length is 4096 tokens. However, you requested 1000 output tokens and your prompt contains at least 3500 input tokens, for a total of at least 4500 tokens.",
            None,
            Some(1000),
        ),
    ] {
        let found = overflow(Some(400), &error(message), OverflowPlace::Body).unwrap();
        assert_eq!((found.prompt, found.completion), (prompt, completion), "{message}");
    }
}

#[test]
fn an_error_in_a_stream_may_name_a_status_that_says_otherwise() {
    let body = r#"{"error":{"code":429,"message":"Provider returned error: input is too long"}}"#;
    assert_eq!(overflow(None, body, OverflowPlace::Stream), None);
}

#[test]
fn a_smaller_answer_is_the_cure_when_messages_and_answer_together_are_too_long() {
    for (message, max_tokens) in [
        (
            "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length or `max_tokens` and try again",
            Some(10_000),
        ),
        ("input length and `max_tokens` exceed context limit: 200001 + 20000 > 200000", None),
        (
            "This model's maximum context length is 4097 tokens, however you requested 4569 tokens (3545 in your prompt; 1024 for the completion).",
            Some(552),
        ),
        (
            "This model's maximum context length is 8192 tokens. However, you requested 8192 tokens (58 in the messages, 8134 in the completion).",
            None,
        ),
        (
            "This model's maximum context length is 131072 tokens. However, you requested 131749 tokens (131749 in the messages, 0 in the completion).",
            None,
        ),
        ("prompt is too long: 200251 tokens > 200000 maximum", None),
    ] {
        let found = overflow(Some(400), &error(message), OverflowPlace::Body).unwrap();
        assert_eq!(found.max_tokens(), max_tokens, "{message}");
    }
}

proptest! {
    #[test]
    fn no_body_makes_it_panic(
        body in "(.|[{}\\[\\]\"'`,:]|too long|context_length|maximum context length is |[0-9]{1,25}| tokens|\\.|data:|\n){0,40}",
        status in prop::option::of(any::<u16>()),
    ) {
        for place in [OverflowPlace::Body, OverflowPlace::Stream, OverflowPlace::Finish] {
            let _ = overflow(status, &body, place);
        }
    }
}

#[test]
fn words_that_are_told_on_or_stand_elsewhere_in_an_error_are_heard() {
    for body in [
        r#"{"error":{"message":"This model does not support inputs this long: maximum context length is 8192 tokens"}}"#,
        r#"{"error":{"message":"Not supported: input exceeds the context window"}}"#,
        r#"{"error":{"message":"The \"context window\" of this model was exceeded"}}"#,
        r#"{"error":{"message":"n_ctx/context_length exceeded"}}"#,
        r#"{"error":{"message":"upstream said 'Your input exceeds the context window of this model.'"}}"#,
        r#"{"error":{"message":"Error: \"prompt is too long: 9 tokens > 3 maximum\""}}"#,
        r#"{"error":{"text":"prompt is too long: 9 tokens > 3 maximum"}}"#,
        r#"{"error":{"content":[{"text":"the context window is full"}]}}"#,
    ] {
        for status in [400, 413, 422] {
            assert!(overflow(Some(status), body, OverflowPlace::Body).is_some(), "{status} {body}");
        }
        assert!(overflow(None, body, OverflowPlace::Stream).is_some(), "{body}");
        assert!(overflow(Some(429), body, OverflowPlace::Body).is_none(), "{body}");
    }
}
