//! Explains requests: what a model would be sent now, and what it was sent earlier.

mod next_request;
mod past_request;

pub use next_request::NextRequest;
pub use past_request::PastRequest;
