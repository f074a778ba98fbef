//! Options of a case that only its caller could carry out.

use ship_message::json::{Json, Object};

/// The answer to a case that needs a function or a schema of the caller.
pub(crate) fn skip() -> Object {
    Object::from([("skip", true)])
}

/// Whether an option is given: what JavaScript takes for true.
pub(crate) fn is_given(options: Option<&Json>, key: &str) -> bool {
    options.and_then(|options| options.get(key)).is_some_and(is_true)
}

/// Whether JavaScript takes a value for true.
pub(crate) fn is_true(value: &Json) -> bool {
    match value {
        Json::Null => false,
        Json::Bool(bool) => *bool,
        Json::Number(number) => *number != 0.0,
        Json::String(text) => !text.is_empty(),
        Json::Array(_) | Json::Object(_) => true,
    }
}
