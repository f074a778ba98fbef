//! What a request takes, in the tokens that the provider will count.
//!
//! `token_meter` counts and learns from what the provider reports, `piece_tokens` tells the pieces of a request apart, and
//! `rough` counts without a vocabulary.

mod piece_tokens;
mod rough;
mod token_meter;

pub use piece_tokens::PieceTokens;

pub(crate) use piece_tokens::{RequestLoad, RequestPieces};
pub(crate) use rough::rough;
pub(crate) use token_meter::TokenMeter;
