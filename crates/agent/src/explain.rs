//! Explanations: what a model would be sent now, and what it was sent once.

mod next_request;
mod past_request;

pub use next_request::NextRequest;
pub use past_request::PastRequest;
