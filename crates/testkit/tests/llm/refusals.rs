//! Each plain refusal, seen on a raw socket.

use serde_json::{Value, json};
use ship_testkit::llm::{Answer, Format, faults};

use crate::client::{End, FORMATS, ask};

/// A status, and where in the body which word is. Nowhere, if it is HTML.
type Expected = (u16, &'static str, Value);

#[test]
fn refusals_have_the_status_and_the_body_of_the_service() {
    let table: Vec<(Answer, [Expected; 2])> = vec![
        (
            faults::rate_limited_seconds(7),
            [
                (429, "/error/code", json!("rate_limit_exceeded")),
                (429, "/error/type", json!("rate_limit_error")),
            ],
        ),
        (
            faults::quota_exhausted(),
            [
                (429, "/error/code", json!("insufficient_quota")),
                (429, "/error/details/error_code", json!("enforced_spend_limit_reached")),
            ],
        ),
        (
            faults::no_credit(),
            [
                (400, "/error/code", json!("billing_hard_limit_reached")),
                (
                    400,
                    "/error/message",
                    json!(
                        "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits."
                    ),
                ),
            ],
        ),
        (
            faults::billing(),
            [
                (400, "/error/code", json!("billing_hard_limit_reached")),
                (402, "/error/type", json!("billing_error")),
            ],
        ),
        (
            faults::invalid_key(),
            [
                (401, "/error/code", json!("invalid_api_key")),
                (401, "/error/message", json!("invalid x-api-key")),
            ],
        ),
        (
            faults::missing_key(),
            [
                (401, "/error/code", json!(null)),
                (401, "/error/message", json!("x-api-key header is required")),
            ],
        ),
        (
            faults::forbidden(),
            [
                (403, "/error/code", json!("unsupported_country_region_territory")),
                (403, "/error/type", json!("permission_error")),
            ],
        ),
        (
            faults::model_not_found(),
            [
                (
                    404,
                    "/error/message",
                    json!("The model `m` does not exist or you do not have access to it."),
                ),
                (404, "/error/message", json!("model: m")),
            ],
        ),
        (
            faults::conflict(),
            [
                (409, "/error/type", json!("server_error")),
                (409, "/error/type", json!("conflict_error")),
            ],
        ),
        (
            faults::too_large(),
            [
                (413, "/error/type", json!("server_error")),
                (413, "/error/type", json!("request_too_large")),
            ],
        ),
        (
            faults::content_policy(),
            [
                (400, "/error/code", json!("content_policy_violation")),
                (400, "/error/message", json!("Output blocked by content filtering policy")),
            ],
        ),
        (
            faults::server_error(),
            [(500, "/error/type", json!("server_error")), (500, "/error/type", json!("api_error"))],
        ),
        (faults::bad_gateway(), [(502, "", json!(null)), (502, "", json!(null))]),
        (
            faults::unavailable(),
            [
                (
                    503,
                    "/error/message",
                    json!("The engine is currently overloaded, please try again later"),
                ),
                (503, "", json!(null)),
            ],
        ),
        (
            faults::gateway_timeout(),
            [(504, "", json!(null)), (504, "/error/type", json!("timeout_error"))],
        ),
        (
            faults::overloaded(),
            [
                (503, "/error/type", json!("server_error")),
                (529, "/error/type", json!("overloaded_error")),
            ],
        ),
    ];
    for (answer, expected) in table {
        for (format, (status, place, word)) in FORMATS.into_iter().zip(expected) {
            let reply = ask(answer.clone(), format);
            assert_eq!((reply.status, reply.end), (status, End::Whole), "{reply:?}");
            assert_eq!(reply.json().pointer(place), Some(&word), "{}", reply.text());
            if format == Format::Anthropic && !place.is_empty() {
                assert_eq!(reply.json()["request_id"], "req_000001");
                assert!(reply.head.contains("request-id: req_000001\r\n"));
            }
            let html = reply.head.contains("content-type: text/html");
            assert_eq!(html, place.is_empty(), "JSON is not HTML: {}", reply.head);
        }
    }
}

#[test]
fn a_rate_limit_says_how_long_in_three_ways_or_not_at_all() {
    let date = "Wed, 21 Oct 2026 07:28:00 GMT";
    for (answer, header) in [
        (faults::rate_limited_seconds(7), Some("retry-after: 7\r\n")),
        (faults::rate_limited_millis(1500), Some("retry-after-ms: 1500\r\n")),
        (faults::rate_limited_until(date), Some("retry-after: Wed, 21 Oct 2026 07:28:00 GMT\r\n")),
        (faults::rate_limited_for_unknown_time(), None),
        (faults::quota_exhausted(), None),
    ] {
        for format in FORMATS {
            let head = ask(answer.clone(), format).head;
            assert_eq!(head.contains("retry-after"), header.is_some(), "{head}");
            assert!(head.contains(header.unwrap_or_default()), "{head}");
        }
    }
    let head = ask(faults::server_error_with_retry(false), Format::OpenAi).head;
    assert!(head.contains("x-should-retry: false\r\n"), "{head}");
}
