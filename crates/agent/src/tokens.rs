//! Counts the tokens of a request as the provider will count them.
//!
//! `token_meter` counts and learns from the reports of the provider, `host_limits` has the sizes that it has shown,
//! `piece_tokens` describes the pieces of a request, `text_counts` remembers the counts of blocks and tools, and `rough`
//! counts without a vocabulary. `offered_tools` has the tools with their texts.

mod host_limits;
mod offered_tools;
mod piece_tokens;
mod rough;
mod text_counts;
mod token_meter;

pub use piece_tokens::PieceTokens;

pub(crate) use host_limits::HostLimits;
pub(crate) use offered_tools::OfferedTools;
pub(crate) use piece_tokens::{RequestLoad, RequestPieces};
pub(crate) use token_meter::TokenMeter;
