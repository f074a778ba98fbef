//! The answer to one case of the example `overflow`.

use ship_message::json::{Json, Object};
use ship_provider::overflow::{OverflowPlace, overflow};

pub(crate) fn answer(case: &mut Object) -> Object {
    let status = case.get("status").and_then(Json::as_u64).and_then(|s| u16::try_from(s).ok());
    let body = match case.get("body") {
        None | Some(Json::Null) => String::new(),
        Some(Json::String(text)) => text.as_str().to_owned(),
        Some(json) => json.to_string(),
    };
    let place = match case.str("where") {
        Some("finish-reason") => OverflowPlace::Finish,
        Some("http-body") | None => OverflowPlace::Body,
        Some(_) => OverflowPlace::Stream,
    };
    let found = overflow(status, &body, place);
    let mut answer = Object::from([("overflow", found.is_some())]);
    if let Some(found) = found {
        answer.set_or_remove("observed", found.prompt.map(Json::from));
        answer.set_or_remove("completion", found.completion.map(Json::from));
        answer.set_or_remove("limit", found.limit.map(Json::from));
        answer.set_or_remove("max_tokens", found.max_tokens().map(Json::from));
    }
    answer
}
