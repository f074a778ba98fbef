//! What will not pass is said at once, with the setting it hangs on and never with the key.

use ship_provider::{ApiKey, HttpSettings, ProviderError};

use super::host::{Act, Host, KEY, STREAM, ask, hello, openai, play_openai, reply, send, settings};

/// Asks a host that refuses, and gives the code and the sentence. It must not be asked again.
async fn refused(status: &str, body: &str) -> (&'static str, String) {
    let (asked, host) = play_openai(vec![reply(status, "", body), hello()]).await;
    assert_eq!(host.asked(), 1);
    asked.error()
}

#[tokio::test]
async fn quota_and_billing_are_not_tried_again() {
    for (status, body) in [
        (
            "429 x",
            r#"{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}"#,
        ),
        (
            "400 x",
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}"#,
        ),
        ("402 x", r#"{"type":"error","error":{"type":"billing_error","message":"pay"}}"#),
        (
            "429 x",
            r#"{"type":"error","error":{"type":"rate_limit_error","message":"limit","details":{"error_code":"enforced_spend_limit_reached"}}}"#,
        ),
    ] {
        let (code, told) = refused(status, body).await;
        assert_eq!(code, "quota", "{told}");
        assert!(told.starts_with("the account at openai has no credit or quota left: "), "{told}");
    }
}

#[tokio::test]
async fn a_bad_key_names_the_setting_and_never_the_key() {
    let body = format!(
        r#"{{"error":{{"message":"Incorrect API key provided: {KEY}, that is sk-t****Zr9x or 7Kq2Zr.","code":"invalid_api_key"}}}}"#
    );
    let (code, told) = refused("401 Unauthorized", &body).await;
    assert_eq!(code, "key");
    assert_eq!(
        told,
        "the API key for openai (`llm.apiKey` or `OPENAI_API_KEY`) does not work: Incorrect API key provided: […] that is […] or […] (401)"
    );
    let (code, told) = refused("403 Forbidden", "").await;
    assert_eq!(code, "key");
    assert!(told.ends_with("it answered 403 Forbidden"), "{told}");
}

#[tokio::test]
async fn a_host_that_wants_a_key_where_none_is_set_does_not_refuse_one() {
    for key in [None, Some(ApiKey::new(" "))] {
        let host = Host::playing(vec![reply("401 Unauthorized", "", "")]).await;
        let asked = ask(openai(HttpSettings { key, ..settings(&host.address) })).await;
        let (code, told) = asked.error();
        assert_eq!(code, "key");
        let expected =
            "(`llm.baseUrl`) wants an API key, and none was sent: it answered 401 Unauthorized";
        assert_eq!(told, format!("{} {expected}", host.address));
    }
}

#[tokio::test]
async fn a_policy_a_country_and_an_unsupported_model_have_words_of_their_own() {
    for (status, body, code, words) in [
        (
            "400 x",
            r#"{"error":{"message":"Your request was rejected as a result of our safety system.","type":"invalid_request_error","code":"content_policy_violation"}}"#,
            "policy",
            "openai refused the content of the request: ",
        ),
        (
            "403 x",
            r#"{"error":{"message":"Country, region, or territory not supported","type":"invalid_request_error","code":"unsupported_country_region_territory"}}"#,
            "country",
            "openai is not available in your country: ",
        ),
        (
            "403 x",
            r#"{"error":{"code":403,"message":"Your chosen model requires moderation and your input was flagged","metadata":{"reasons":["violence"],"flagged_input":"x"}}}"#,
            "policy",
            "openai refused the content of the request: ",
        ),
        (
            "400 x",
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"Output blocked by content filtering policy"}}"#,
            "policy",
            "openai refused the content of the request: ",
        ),
        (
            "400 x",
            r#"{"error":{"message":"The requested model is not supported.","code":"model_not_supported"}}"#,
            "model",
            "has no model `m` (`llm.model`)",
        ),
    ] {
        let (found, told) = refused(status, body).await;
        assert_eq!(found, code, "{told}");
        assert!(told.contains(words) && !told.contains("llm.apiKey"), "{told}");
    }
}

#[tokio::test]
async fn a_missing_model_names_model_and_address() {
    let body = r#"{"error":{"message":"The model `m` does not exist","code":"model_not_found"}}"#;
    let (code, told) = refused("404 Not Found", body).await;
    assert_eq!(code, "model");
    for word in ["`llm.model`", "`llm.baseUrl`", "`m`", "127.0.0.1"] {
        assert!(told.contains(word), "{told}");
    }
}

#[tokio::test]
async fn a_request_that_is_too_long_is_told_apart() {
    let body = r#"{"error":{"message":"This model's maximum context length is 10 tokens.","code":"context_length_exceeded"}}"#;
    assert_eq!(refused("400 Bad Request", body).await.0, "overflow");
    let body = r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 11 tokens > 10 maximum"}}"#;
    assert_eq!(refused("400 Bad Request", body).await.0, "overflow");
}

#[tokio::test]
async fn another_refusal_quotes_a_short_clean_sentence() {
    let body = format!(r#"{{"error":{{"message":"\u001b[31mbad\n\n{}"}}}}"#, "word ".repeat(1000));
    let (code, told) = refused("422 x", &body).await;
    assert_eq!(code, "refused");
    assert!(told.starts_with("openai refused the request: [31mbad word word"), "{told}");
    assert!(told.chars().count() < 350 && !told.contains(char::is_control), "{told}");
    assert_eq!(
        refused("400 x", r#"{"detail":"x"}"#).await.1,
        "openai refused the request: x (400)"
    );
    assert_eq!(refused("400 x", r#"{"error":"x"}"#).await.1, "openai refused the request: x (400)");
    assert_eq!(
        refused("405 x", "").await.1,
        "openai refused the request: it answered 405 Method Not Allowed"
    );
    // One host says nothing at all when a request is too long for it.
    assert_eq!(refused("400 x", "").await.0, "overflow");
}

#[tokio::test]
async fn the_body_of_an_error_is_read_so_far_and_no_further() {
    let endless = [
        vec![send("HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n")],
        vec![send("word ".repeat(100_000))],
        vec![Act::Hang],
    ];
    let (asked, _) = play_openai(vec![endless.concat()]).await;
    assert_eq!(asked.error().0, "refused");
}

#[tokio::test]
async fn what_is_no_answer_is_said_to_be_none() {
    let page = "<!doctype html><title>Log in</title>";
    let flood = format!("data: {}", "x".repeat(17 << 20));
    for body in [page, "{\"hello\":1}", "hello there", &flood] {
        let (code, told) = refused("200 OK", body).await;
        assert_eq!(code, "protocol", "{told}");
        assert!(told.contains("`llm.baseUrl`") && told.len() < 300, "{told}");
    }
}

#[tokio::test]
async fn an_empty_answer_is_tried_again_and_then_said() {
    let (asked, host) = play_openai(vec![reply("200 OK", "", "")]).await;
    let (code, told) = asked.error();
    assert_eq!(code, "protocol");
    assert!(told.ends_with("does not answer like openai: nothing at all"), "{told}");
    assert_eq!(host.asked(), 5);
}

#[tokio::test]
async fn what_cannot_be_stored_arrives_well_formed() {
    let mut bytes = STREAM.as_bytes().to_vec();
    bytes.extend_from_slice(b"data: {\"choices\":[{\"delta\":{\"content\":\"a\xffb\\u0000c\\ud800d\"},\"finish_reason\":\"stop\"}]}\n\n");
    let (asked, _) = play_openai(vec![vec![Act::Send(bytes)]]).await;
    assert_eq!(asked.text(), "a\u{FFFD}b\u{FFFD}c\u{FFFD}d");
    assert!(asked.answered.is_ok());
}

#[tokio::test]
async fn an_answer_that_is_too_long_by_itself_names_the_longest() {
    for (message, limit) in [
        (
            "max_tokens is too large: 50000. This model supports at most 16384 completion tokens, whereas you provided 50000.",
            16_384,
        ),
        (
            "max_tokens: 200000 > 64000, which is the maximum allowed number of output tokens for claude-x",
            64_000,
        ),
        (
            "`max_tokens` must be less than or equal to `8192`, the maximum value for `max_tokens` is less than the `context_window` for this model",
            8_192,
        ),
        ("Invalid max_tokens value, the valid range of max_tokens is [1, 8192]", 8_192),
        ("Range of max_tokens should be [1, 8192]", 8_192),
        (
            "The maximum tokens you requested exceeds the model limit of 4096. Try again with a maximum tokens value that is lower than 4096.",
            4_096,
        ),
    ] {
        let body = format!(r#"{{"error":{{"message":"{message}","param":"max_tokens"}}}}"#);
        let (asked, host) = play_openai(vec![reply("400 x", "", &body)]).await;
        let error = asked.answered.unwrap_err();
        assert!(
            matches!(error, ProviderError::AnswerTooLong { limit: found, .. } if found == limit),
            "{error}"
        );
        assert_eq!(host.asked(), 1);
    }
}
