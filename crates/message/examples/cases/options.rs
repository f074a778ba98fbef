//! Options of a case that only its caller could carry out.

use ship_message::json::{Json, Object};

/// The answer to a case that needs a function or a schema of the caller.
pub(crate) fn skip() -> Object {
    Object::from([("skip", true)])
}

/// Whether an option is given: neither absent nor null.
pub(crate) fn is_given(options: Option<&Json>, key: &str) -> bool {
    options.and_then(|options| options.get(key)).is_some_and(|value| !value.is_null())
}
