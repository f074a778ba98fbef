//! Plain refusals of the service: too much, too expensive, not allowed, broken.

use super::super::{Answer, Exchange, Format, Refusal, Status, anthropic, openai};

/// Answers with one of two refusals, by format, and further headers.
fn refused(
    openai: fn() -> Refusal,
    anthropic: fn() -> Refusal,
    headers: Vec<(&'static str, String)>,
) -> Answer {
    Answer::judge(move |exchange| {
        let refusal = match exchange.format {
            Format::OpenAi => openai(),
            Format::Anthropic => anthropic(),
        };
        let mut status = signed(exchange, refusal);
        for (name, value) in &headers {
            status = status.header(name, value);
        }
        Answer::Status(status)
    })
}

/// Puts the request's id into a body of Anthropic's, where it is the same as in the headers.
fn signed(exchange: &Exchange<'_>, mut refusal: Refusal) -> Status {
    if exchange.format == Format::Anthropic {
        refusal.body["request_id"] = exchange.request_id().into();
    }
    refusal.into()
}

/// 429, to be tried again after some seconds.
pub fn rate_limited_seconds(seconds: u64) -> Answer {
    rate_limited(vec![("retry-after", seconds.to_string())])
}

/// 429, to be tried again after some milliseconds.
pub fn rate_limited_millis(millis: u64) -> Answer {
    rate_limited(vec![("retry-after-ms", millis.to_string())])
}

/// 429, to be tried again at a time such as `Wed, 21 Oct 2026 07:28:00 GMT`.
pub fn rate_limited_until(http_date: &str) -> Answer {
    rate_limited(vec![("retry-after", http_date.to_owned())])
}

/// 429 that does not say for how long.
pub fn rate_limited_for_unknown_time() -> Answer {
    rate_limited(Vec::new())
}

fn rate_limited(headers: Vec<(&'static str, String)>) -> Answer {
    refused(openai::errors::rate_limited, anthropic::errors::rate_limited, headers)
}

/// 429 that no waiting cures: the quota, or the month's limit of spending, is used up.
pub fn quota_exhausted() -> Answer {
    refused(openai::errors::quota, anthropic::errors::spend_limit, Vec::new())
}

/// 400 that is about money: no credit left.
pub fn no_credit() -> Answer {
    refused(openai::errors::billing, anthropic::errors::credit, Vec::new())
}

/// 402 from Anthropic; OpenAI knows only [`no_credit`].
pub fn billing() -> Answer {
    refused(openai::errors::billing, anthropic::errors::billing, Vec::new())
}

/// 401 for a key that is wrong.
pub fn invalid_key() -> Answer {
    refused(openai::errors::invalid_key, anthropic::errors::invalid_key, Vec::new())
}

/// 401 for no key.
pub fn missing_key() -> Answer {
    refused(openai::errors::missing_key, anthropic::errors::missing_key, Vec::new())
}

/// Answers with 403, forbidden.
pub fn forbidden() -> Answer {
    refused(openai::errors::forbidden, anthropic::errors::forbidden, Vec::new())
}

/// 404 for the model that was asked for.
pub fn model_not_found() -> Answer {
    Answer::judge(|exchange| {
        let refusal = match exchange.format {
            Format::OpenAi => openai::errors::model_not_found(exchange.model()),
            Format::Anthropic => anthropic::errors::model_not_found(exchange.model()),
        };
        Answer::Status(signed(exchange, refusal))
    })
}

/// 409 from Anthropic; OpenAI's is the same with its server error's words.
pub fn conflict() -> Answer {
    let openai = || Refusal { status: 409, ..openai::errors::server_error() };
    refused(openai, anthropic::errors::conflict, Vec::new())
}

/// 413 for a body that is too large.
pub fn too_large() -> Answer {
    let openai = || Refusal { status: 413, ..openai::errors::server_error() };
    refused(openai, anthropic::errors::too_large, Vec::new())
}

/// 400 for words that the service does not like.
pub fn content_policy() -> Answer {
    refused(openai::errors::content_policy, anthropic::errors::content_policy, Vec::new())
}

/// Answers with 500, an internal error.
pub fn server_error() -> Answer {
    refused(openai::errors::server_error, anthropic::errors::server_error, Vec::new())
}

/// 500 with a header that says whether to try again, which wins over the status.
pub fn server_error_with_retry(should_retry: bool) -> Answer {
    let headers = vec![("x-should-retry", should_retry.to_string())];
    refused(openai::errors::server_error, anthropic::errors::server_error, headers)
}

/// 502 from the edge, in HTML.
pub fn bad_gateway() -> Answer {
    html(502, "Bad gateway")
}

/// 503: overloaded, in JSON from OpenAI and in HTML from the edge of Anthropic.
pub fn unavailable() -> Answer {
    Answer::judge(|exchange| match exchange.format {
        Format::OpenAi => Answer::Status(openai::errors::overloaded().into()),
        Format::Anthropic => html(503, "Service Temporarily Unavailable"),
    })
}

/// 504: in HTML from the edge of OpenAI, in JSON from Anthropic.
pub fn gateway_timeout() -> Answer {
    Answer::judge(|exchange| match exchange.format {
        Format::OpenAi => html(504, "Gateway time-out"),
        Format::Anthropic => Answer::Status(signed(exchange, anthropic::errors::timeout())),
    })
}

/// 529 from Anthropic, 503 from OpenAI.
pub fn overloaded() -> Answer {
    refused(openai::errors::overloaded, anthropic::errors::overloaded, Vec::new())
}

fn html(status: u16, title: &str) -> Answer {
    let body = page(status, title).into_bytes();
    Answer::Status(Status { status, headers: Vec::new(), body }.header("content-type", "text/html"))
}

/// A page as edges show it.
pub(super) fn page(status: u16, title: &str) -> String {
    format!(
        "<html>\r\n<head><title>{status} {title}</title></head>\r\n<body>\r\n<center><h1>{status} {title}</h1></center>\r\n<hr><center>cloudflare</center>\r\n</body>\r\n</html>\r\n"
    )
}
