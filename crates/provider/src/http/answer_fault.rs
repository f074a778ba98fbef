//! Faults of an answer, and errors that a provider reports.
//!
//! Errors come as the body of a refused request, and inside an answer that began with 200, in a dozen forms: an
//! object under `error`, a string under it, a flat object, a list of objects, text, a page. [`ProviderErrorText`]
//! represents all of them, and [`super::verdict`] determines their meaning.

use ship_message::json::{Json, JsonError};

use super::sse::TooLarge;
use crate::overflow::OverflowPlace;

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
    pub(super) marks: Vec<String>,
    /// The field of the request that it concerns.
    pub(super) param: String,
    /// The message of the error.
    pub(crate) message: String,
    /// The whole body, which is searched for signs of an overflow.
    pub(super) body: String,
    /// The place where it was reported.
    pub(super) place: OverflowPlace,
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
        // LiteLLM has the number as a text.
        let code = error.get("code");
        let status = code.and_then(|code| match code.as_str() {
            Some(text) => text.parse().ok(),
            None => u16::try_from(code.as_u64()?).ok(),
        });
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
}

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

/// Returns the problems that FastAPI lists: `{"detail":[{"loc":["body","tools"],"msg":"Field required"}]}`. Mistral has
/// that object under `message`.
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
    let list = ["detail", "message"].iter().find_map(|key| {
        let value = error.get(key)?;
        value.as_array().or_else(|| value.get("detail")?.as_array())
    })?;
    let problems: Vec<String> = list.iter().filter_map(problem).collect();
    (!problems.is_empty()).then(|| problems.join("; "))
}
