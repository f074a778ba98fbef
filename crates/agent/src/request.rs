//! Model calls: a request is prepared, recorded, and sent.

mod message_counts;
mod model_call;
mod prepared_request;
mod stored_texts;

pub(crate) use message_counts::{count_request, count_unsent};
pub(crate) use model_call::ModelCall;
pub(crate) use prepared_request::PreparedRequest;
pub(crate) use stored_texts::{last_request, log_not_recorded};
