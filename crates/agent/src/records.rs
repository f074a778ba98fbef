//! Recorded model calls: what was sent, what came back, and how to write the same body again.
//!
//! `request_record` is one line of `requests.jsonl`, `read_records` reads them, `rebuild` writes a request
//! again from its record, and `shared_prefix` compares a request with the one before it. `request_cache` keeps
//! the last ones in memory.

mod block_digests;
mod read_records;
mod rebuild;
mod request_cache;
mod request_record;
mod shared_prefix;
mod usage;
mod written_body;

pub use request_record::{
    RENDERING, RecordedRequest, RequestAnswer, RequestMessages, RequestRecord, RequestTokens,
};
pub use shared_prefix::SharedPrefix;

pub(crate) use block_digests::{first_difference, journal_digests};
pub(crate) use read_records::read_records;
pub(crate) use rebuild::{RebuiltRequest, counted_parts, rebuild};
pub(crate) use request_cache::{RECENT_LINES, RequestCache};
pub(crate) use shared_prefix::{
    OutgoingRequest, block_digests, last_context_request, recipe_difference,
};
pub(crate) use usage::{model_of_run, usage_of_run};
pub(crate) use written_body::WrittenBody;
