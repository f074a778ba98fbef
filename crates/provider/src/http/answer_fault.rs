//! Faults of an answer, and errors that a provider reports.
//!
//! Errors come as the body of a refused request, and inside an answer that began with 200, in a dozen forms: an
//! object under `error`, a string under it, a flat object, a list of objects, text, a page. [`ProviderErrorText`]
//! represents all of them. [`ProviderErrorText::verdict`] determines their meaning from status, type and code, and
//! from the text only where these do not suffice.

use ship_message::json::{Json, JsonError};

use super::sse::TooLarge;
use crate::HostForm;
use crate::overflow::{Overflow, OverflowPlace, overflow};

/// The fault of an answer.
#[derive(Debug)]
pub(crate) enum AnswerFault {
    /// The provider reports a failure.
    Reported(ProviderErrorText),
    /// It is not an answer of such a provider. The text describes it, as the end of a sentence.
    Protocol(String),
    /// An event cannot be parsed, as if something on the way had damaged it.
    BadEvent(String),
    /// The answer is completely empty.
    Empty,
    /// The answer ended without saying so.
    Unfinished,
}

impl AnswerFault {
    pub(crate) fn bad_event(error: &JsonError) -> Self {
        Self::BadEvent(format!("an event whose data is {error}"))
    }
}

impl From<TooLarge> for AnswerFault {
    fn from(TooLarge: TooLarge) -> Self {
        let megabytes = super::sse::EVENT_BYTES_MAX / 1024 / 1024;
        Self::Protocol(format!("an event of more than {megabytes} MB"))
    }
}

/// An error that a provider reports.
#[derive(Debug, Default)]
pub(crate) struct ProviderErrorText {
    /// The status of the answer, or the number that an error inside it has as its code.
    pub(crate) status: Option<u16>,
    /// The type and the codes of the error, in lower case.
    marks: Vec<String>,
    /// The field of the request that it concerns.
    param: String,
    /// The message of the error.
    pub(crate) message: String,
    /// The whole body, which is searched for signs of an overflow.
    body: String,
    /// The place where it was reported.
    place: OverflowPlace,
}

/// The meaning of an error for us.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The request is too long.
    Overflow(Overflow),
    /// The account has reached its spending limit.
    Quota,
    /// The key lacks the permission.
    Key,
    /// The model or the address does not exist.
    Model,
    /// The provider's policy refuses the content.
    Policy,
    /// The provider does not serve the country of the sender.
    Country,
    /// The host wants another form of the same request.
    Form(HostForm),
    /// The problem is temporary.
    Passing,
    /// The provider failed, and it is unknown whether the problem is temporary.
    Failed,
    /// The answer comes from another kind of server.
    OtherServer,
    /// The request would be refused again.
    Refused,
}

impl ProviderErrorText {
    /// Reads the body of an answer whose status is not 200.
    pub(crate) fn from_body(status: u16, body: &[u8]) -> Self {
        let text = String::from_utf8_lossy(body);
        let text = text.trim();
        let mut error = match Json::parse(text) {
            Ok(json) => Self::read(&json),
            // A page says no more than the status.
            Err(_) if text.starts_with('<') => Self::default(),
            Err(_) => Self { message: text.to_owned(), ..Self::default() },
        };
        error.status = Some(status);
        error.place = OverflowPlace::Body;
        error.body = text.to_owned();
        error
    }

    /// Reads an event, or an answer that is not a stream, if it reports an error.
    pub(crate) fn from_stream(json: &Json, is_named_error: bool) -> Option<Self> {
        let first = json.as_array().and_then(<[Json]>::first).unwrap_or(json);
        let has_error = match first.get("error") {
            None | Some(Json::Null | Json::Bool(_)) => false,
            Some(Json::String(text)) => !text.is_empty(),
            Some(Json::Object(object)) => !object.is_empty(),
            Some(Json::Number(_) | Json::Array(_)) => true,
        };
        let is_error = ["object", "type"]
            .iter()
            .any(|key| first.get(key).and_then(Json::as_str) == Some("error"));
        (has_error || is_error || is_named_error).then(|| Self::read(json))
    }

    /// Makes an error of the provider's server that has no code.
    pub(crate) fn server_error(message: String) -> Self {
        Self { marks: vec!["server_error".to_owned()], message, ..Self::default() }
    }

    fn read(json: &Json) -> Self {
        let first = json.as_array().and_then(<[Json]>::first).unwrap_or(json);
        let error = first.get("error").filter(|error| !error.is_null()).unwrap_or(first);
        let text = |key: &str| error.get(key).and_then(Json::as_str);
        let inner = error.get("details").and_then(|details| details.get("error_code")?.as_str());
        let marks = [text("type"), text("code"), text("status"), inner];
        let code = error.get("code").and_then(Json::as_u64);
        let status = code.and_then(|code| u16::try_from(code).ok());
        Self {
            // Any other number is a code of the host's own.
            status: status.filter(|status| (400..600).contains(status)),
            marks: marks.into_iter().flatten().map(str::to_ascii_lowercase).collect(),
            param: text("param").unwrap_or_default().to_owned(),
            message: error_message(error).unwrap_or_default(),
            body: json.stringify(),
            place: OverflowPlace::Stream,
        }
    }

    /// Determines the meaning of the error.
    pub(crate) fn verdict(&self) -> Verdict {
        if let Some(overflow) = overflow(self.status, &self.body, self.place) {
            return Verdict::Overflow(overflow);
        }
        if self.is_quota() {
            return Verdict::Quota;
        }
        if let Some(form) = self.wanted_form() {
            return Verdict::Form(form);
        }
        if let Some(verdict) = self.verdict_by_words() {
            return verdict;
        }
        match self.status {
            Some(401 | 403) => Verdict::Key,
            Some(402) => Verdict::Quota,
            Some(404) => Verdict::Model,
            // The clients of OpenAI and Anthropic try again at the same statuses.
            Some(408 | 409 | 429 | 500..) => Verdict::Passing,
            Some(300..=399) => Verdict::OtherServer,
            Some(_) => Verdict::Refused,
            None => self.verdict_by_mark(),
        }
    }

    /// Determines the meaning of refusals that share a status with others.
    fn verdict_by_words(&self) -> Option<Verdict> {
        const COUNTRY: &[&str] =
            &["unsupported_country", "territory not supported", "location is not supported"];
        const POLICY: &[&str] = &[
            "content_policy",
            "content_filter",
            "content policy",
            "content management policy",
            "responsibleaipolicy",
            "safety system",
            "usage policy",
        ];
        const MODEL: &[&str] = &[
            "unsupported_model",
            "model_not_supported",
            "model_not_found",
            "model is not supported",
            "unsupported model",
        ];
        let message = self.message.to_ascii_lowercase();
        let says = |words: &[&str]| {
            words.iter().any(|word| {
                message.contains(word) || self.marks.iter().any(|mark| mark.contains(word))
            })
        };
        match self.status {
            Some(400 | 403) if says(COUNTRY) => Some(Verdict::Country),
            Some(400 | 403 | 422) if says(POLICY) => Some(Verdict::Policy),
            Some(400 | 403 | 404 | 422) if says(MODEL) => Some(Verdict::Model),
            _ => None,
        }
    }

    /// Determines the meaning from the type: an error inside an answer has no status.
    fn verdict_by_mark(&self) -> Verdict {
        let has = |words: &[&str]| {
            self.marks.iter().any(|mark| words.iter().any(|word| mark.contains(word)))
        };
        if has(&["overloaded", "server_error", "api_error", "rate_limit", "timeout"])
            || has(&["unavailable", "internal", "exhausted", "conflict"])
        {
            Verdict::Passing
        } else if has(&["authentication", "permission", "invalid_api_key"]) {
            Verdict::Key
        } else if has(&["not_found"]) {
            Verdict::Model
        } else if has(&["invalid", "badrequest", "bad_request", "unsupported"]) {
            Verdict::Refused
        } else {
            Verdict::Failed
        }
    }

    fn is_quota(&self) -> bool {
        const MARKS: [&str; 4] = [
            "insufficient_quota",
            "billing_error",
            "billing_hard_limit_reached",
            "enforced_spend_limit_reached",
        ];
        // Anthropic reports an empty account only in the text.
        self.marks.iter().any(|mark| MARKS.contains(&mark.as_str()))
            || self.message.to_ascii_lowercase().contains("credit balance is too low")
    }

    /// Returns the form that the host wants instead of the one that it refuses, if it says.
    fn wanted_form(&self) -> Option<HostForm> {
        if !matches!(self.status, Some(400 | 404 | 422 | 500 | 501)) {
            return None;
        }
        let message = self.message.to_ascii_lowercase();
        let says = |words: &[&str]| words.iter().any(|word| message.contains(word));
        let has_code = |code: &str| self.marks.iter().any(|mark| mark == code);
        let is_about_id = says(&["tool call id", "tool_call_id", "tool_call.id", "tool_calls"])
            && says(&["length of 9", "9 characters"]);
        if self.is_about_max_tokens() {
            Some(HostForm::MaxCompletionTokens)
        } else if self.param == "stream_options" || says(&["stream_options"]) {
            Some(HostForm::NoStreamOptions)
        } else if says(TAKES_NO_TOOLS) {
            Some(HostForm::NoTools)
        } else if has_code("3280") || is_about_id {
            Some(HostForm::ShortCallIds)
        } else if has_code("3230") || says(&["after role 'tool'", "roles must alternate"]) {
            Some(HostForm::AssistantAfterTool)
        } else {
            None
        }
    }

    fn is_about_max_tokens(&self) -> bool {
        self.status == Some(400)
            && self.marks.iter().any(|mark| mark == "unsupported_parameter")
            && (self.param == "max_tokens" || self.message.contains("'max_tokens'"))
    }
}

/// The words of hosts and models that take no tools.
const TAKES_NO_TOOLS: &[&str] = &[
    "does not support tool",
    "do not support tool",
    "not support function call",
    "support tool use",
    "support tool calling",
    "tools are not supported",
    "tools is not supported",
    "tool use is not supported",
    "tool calling is not supported",
    "tool calls are not supported",
    "function calling is not supported",
    "function calling is not enabled",
    "tool choice requires --enable-auto-tool-choice",
    "tools param requires",
];

/// Returns the message of an error, in any of its forms.
fn error_message(error: &Json) -> Option<String> {
    if let Some(text) = error.as_str() {
        return Some(text.to_owned());
    }
    // The quoted error of a router's backend says more than the router's own words.
    let raw = error.get("metadata").and_then(|metadata| metadata.get("raw"));
    let inner = raw.and_then(Json::as_str).filter(|raw| !raw.is_empty());
    let own = ["message", "detail", "msg"].iter().find_map(|key| error.get(key)?.as_str());
    match (own, inner) {
        (Some(own), Some(inner)) => Some(format!("{own}: {inner}")),
        (own, inner) => own.or(inner).map(str::to_owned).or_else(|| listed_problems(error)),
    }
}

/// Returns the problems that FastAPI lists: `{"detail":[{"loc":["body","tools"],"msg":"Field required"}]}`.
fn listed_problems(error: &Json) -> Option<String> {
    let problem = |problem: &Json| {
        let message = problem.get("msg")?.as_str()?;
        let place = problem.get("loc").and_then(Json::as_array).unwrap_or_default();
        let place: Vec<String> = place
            .iter()
            .map(|step| step.as_str().map_or_else(|| step.to_string(), str::to_owned))
            .collect();
        Some(if place.is_empty() {
            message.to_owned()
        } else {
            format!("{}: {message}", place.join("."))
        })
    };
    let list = ["detail", "message"].iter().find_map(|key| error.get(key)?.as_array())?;
    let problems: Vec<String> = list.iter().filter_map(problem).collect();
    (!problems.is_empty()).then(|| problems.join("; "))
}
