//! Model calls: a request is prepared, recorded, and sent.

mod kept_texts;
mod model_call;
mod prepared_request;

pub(crate) use kept_texts::{last_request, not_recorded};
pub(crate) use model_call::ModelCall;
pub(crate) use prepared_request::PreparedRequest;
